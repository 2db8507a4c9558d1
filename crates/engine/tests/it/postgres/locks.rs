//! Rows that another session holds: what needs one waits, and nothing else does.
//!
//! A wrong build that was run: `lock_not_available` read as a refusal. The third test is red each time,
//! the first one now and then.

use super::fixture::{Fixture, Worker, full, quick};
use crate::fixture::defaults::{COIN, FUNDING, SPOT};
use engine::operators::{Actor, AdminAction};
use engine::{Alerts, Settings};
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ports::ledger::Moved;
use std::collections::BTreeSet;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testbed::Database;
use testkit::{MINUTE, deposit, wait_until};

/// Another session, with a transaction open in it.
pub(super) struct Holder(Child);

const HOLDS: &str = "FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' \
    AND state = 'active' AND pid <> pg_backend_pid() AND datname = current_database()";

impl Holder {
    /// Runs the statement in a transaction that stays open.
    pub(super) async fn takes(database: &Database, statement: &str) -> Self {
        let text = format!("BEGIN; {statement}; SELECT pg_sleep(600)");
        let mut psql = Command::new("psql");
        let psql = psql.args(["-X", "-q", "-o", "/dev/null", "-d", database.url(), "-c", &text]);
        let holder = Self(psql.spawn().expect("psql"));
        let count = format!("SELECT count(*) {HOLDS}");
        let holds = wait_until(MINUTE, async || database.sql(&count).is_ok_and(|n| n == "1"));
        assert!(holds.await, "it holds nothing");
        holder
    }

    /// Its session ends, and with it its transaction.
    pub(super) fn ends(mut self, database: &Database) {
        let ended = database.sql(&format!("SELECT count(pg_terminate_backend(pid)) {HOLDS}"));
        assert_eq!(ended.as_deref(), Ok("1"), "it held its row until now");
        assert!(!self.0.wait().expect("psql ends").success());
    }
}

/// Turns red where a lock is taken for a refusal (the money would go back), where no case is opened, or
/// where a neighbour waits for the row too: it is held until the neighbours are done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_balance_delays_its_own_transfers_only() {
    a_locked_balance_delays_its_own(true).await;
}

/// The same, where a station makes the call by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_balance_delays_its_own_transfers_only_plain() {
    a_locked_balance_delays_its_own(false).await;
}

async fn a_locked_balance_delays_its_own(fuse: bool) {
    let mut settings = quick(fuse);
    let alert = if full() { 60 } else { 2 };
    settings.alerts = Alerts { target_pending_seconds: alert, ..settings.alerts };
    let fixture = Fixture::open(settings).await;
    let worker = fixture.worker().await;
    for user in [1, 2] {
        worker.complete_transfer(FUNDING, user, "first", 1_000).await;
    }
    let holder =
        Holder::takes(&fixture.database, "SELECT 1 FROM balances_tb WHERE user_id = 1 FOR UPDATE")
            .await;
    // the withdraw is at Spot, the deposit needs the row
    let held = worker.create_with_key(SPOT, 1, "held", 7).await.expect("it is opened").record.id;
    worker.wait_for_state(held, "TARGET_PENDING").await;
    // one that would take its money from the row
    let poor = worker.create_with_key(FUNDING, 1, "poor", 7).await;
    // a row that is held for a minute and a half, or for as long as the neighbours take
    let (neighbours, pause) = if full() { (90, 1_000) } else { (40, 0) };
    for n in 0..neighbours {
        worker.complete_transfer(FUNDING, 2, &format!("free-{n}"), 3).await;
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    fixture.wait_for_sql("SELECT count(*) FROM cases WHERE kind = 'TARGET_PENDING'", "1").await;
    assert_eq!(worker.states(&[held]).await.get(&held), Some(&"TARGET_PENDING"));
    holder.ends(&fixture.database);
    worker.wait_for_state(held, "COMMITTED").await;
    let poor = match poor {
        Ok(accepted) => accepted.record.id,
        Err(_) => worker.open_with_key(FUNDING, 1, "poor", 7).await,
    };
    worker.wait_for_state(poor, "COMMITTED").await;
    fixture.assert_in_order(&worker).await;
    worker.kill().await;
}

/// A movement of the world for a user.
async fn given(worker: &Worker, user: u64, reference: &str) -> Result<Moved, Cause> {
    worker.opened.world.external(deposit(reference, user, COIN, 10)).await
}

/// Turns red where what waits for a balance that another session holds (a deposit, a transfer that pays
/// from it) keeps others waiting with it: other people's deposits, and the emergency brake.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_balance_delays_neither_a_halt_nor_other_deposits() {
    let mut fixture = Fixture::open(Settings { lease_ms: 10_000, ..quick(true) }).await;
    fixture.lock = Duration::from_secs(60);
    let worker = fixture.worker().await;
    for user in [1, 2] {
        worker.complete_transfer(FUNDING, user, "first", 1_000).await;
    }
    let holder =
        Holder::takes(&fixture.database, "SELECT 1 FROM balances_tb WHERE user_id = 1 FOR UPDATE")
            .await;
    worker.create_with_key(SPOT, 1, "paid", 7).await.expect("it is opened");
    let waits = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    fixture.wait_for_sql(waits, "t").await;
    let waiting = given(&worker, 1, "waits");
    let others = async {
        for n in 0..20 {
            let moved = given(&worker, 2, &format!("free-{n}")).await;
            assert!(matches!(moved, Ok(Moved::Done { .. })), "{moved:?}");
        }
        let ada = Actor { caller: "ada".into(), key: "brake".into(), reason: "a test".into() };
        worker.engine.operators.execute(ada, AdminAction::Halt).await.expect("it is halted");
        assert_eq!(fixture.sql("SELECT count(*) FROM service_state WHERE name = 'halted'"), "1");
        assert_eq!(fixture.sql(&format!("SELECT count(*) {HOLDS}")), "1", "and it is held still");
        holder.ends(&fixture.database);
    };
    // less than anybody waits for the row
    let others = tokio::time::timeout(Duration::from_secs(30), others);
    let (moved, others) = tokio::join!(waiting, others);
    others.expect("a deposit or the HALT waits for another session's row");
    // its tries may be over by then: then nobody knows, and its repeat finds out
    let moved = match moved {
        Err(_) => given(&worker, 1, "waits").await,
        known => known,
    };
    // the HALT was stored while it waited: nothing is booked behind that
    assert_eq!(moved, Ok(Moved::Refused(Code::Halted)));
    worker.kill().await;
}

/// Turns red where a client's key in another session's open transaction, asked for again and again,
/// holds the neighbours of those who ask for it, or the rest of their account (`batches-wait`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_key_delays_no_other_request() {
    let fixture = Fixture::open(quick(true)).await;
    let worker = fixture.worker().await;
    let key = "INSERT INTO keys VALUES ('internal', 'test|1', 'held', 0)";
    let holder = Holder::takes(&fixture.database, key).await;
    let over = AtomicBool::new(false);
    let asks = async || {
        while !over.load(Ordering::Relaxed) {
            let held = worker.create_with_key(FUNDING, 1, "held", 7).await;
            assert!(held.is_err(), "another session holds its key");
        }
    };
    let others = async {
        for n in 0..20 {
            worker.complete_transfer(FUNDING, 2, &format!("free-{n}"), 3).await;
            worker.complete_transfer(FUNDING, 1, &format!("own-{n}"), 3).await;
        }
        over.store(true, Ordering::Relaxed);
    };
    tokio::join!(asks(), asks(), asks(), asks(), others);
    holder.ends(&fixture.database);
    let id = worker.open_with_key(FUNDING, 1, "held", 7).await;
    worker.wait_for_state(id, "COMMITTED").await;
    fixture.assert_in_order(&worker).await;
    worker.kill().await;
}

/// Turns red where a lock that was not given counts as a refusal: a leg that is refused is tried three
/// times before that is stored, and only the last one stores it. So the row is let go in the first
/// wait for it, in the second, and so on. Each wait is a transaction of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_is_free_after_a_few_waits_refuses_nothing() {
    let fixture = Fixture::open(quick(true)).await;
    let worker = fixture.worker().await;
    worker.complete_transfer(FUNDING, 1, "first", 1_000).await;
    for waits in 1..=4 {
        let row = "SELECT 1 FROM balances_tb WHERE user_id = 1 FOR UPDATE";
        let holder = Holder::takes(&fixture.database, row).await;
        let held = worker.create_with_key(SPOT, 1, &format!("held-{waits}"), 7).await;
        let mut begun = BTreeSet::new();
        while begun.len() < waits {
            let waiting = "SELECT xact_start FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
                AND application_name = 'portage: writer'";
            let seen = fixture.sql(waiting);
            begun.extend((!seen.is_empty()).then_some(seen));
        }
        holder.ends(&fixture.database);
        let held = held.expect("it is opened").record.id;
        worker.wait_for_state(held, "COMMITTED").await;
    }
    assert_eq!(fixture.sql("SELECT count(*) FROM operations WHERE result = 'REJECTED'"), "0");
    fixture.assert_in_order(&worker).await;
    worker.kill().await;
}
