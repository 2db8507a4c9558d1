//! A database that forgot: an older copy of it comes back in its place, on the same timeline and on
//! another one, while clients repeat what was acknowledged to them and Spot has its money still.
//!
//! Wrong builds that were run, each of which turns one of these red: `look` finds every database the
//! same; it compares no write of this process's own; the pools are not looked at; `adoption` calls an
//! incarnation that is known without matching what it did.

use super::fixture::{Fixture, Worker, quick};
use crate::fixture::defaults::{FUNDING, SOURCES, SPOT};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::folders::books;
use engine::Refused;
use kernel::code::Code;
use kernel::ids::{Id, LedgerId};
use kernel::ports::journal::TransferQueries as _;
use std::time::Duration;
use testbed::Recovery;

/// What a client was told, and asks again with the same key.
struct Acknowledged {
    from: LedgerId,
    key: String,
    id: Id,
}

/// A site with something to give at both ledgers.
async fn lived_in() -> (Fixture, Worker) {
    let fixture = Fixture::open(quick(true)).await;
    let worker = fixture.worker().await;
    worker.complete_transfer(FUNDING, 1, "first", 1_000).await;
    (fixture, worker)
}

/// Transfers that clients were told of.
async fn acknowledged(worker: &Worker, name: &str) -> Vec<Acknowledged> {
    let mut told = Vec::new();
    for n in 0..3 {
        for from in SOURCES {
            let key = format!("{name}-{n}-{}", from.name());
            let id = worker.complete_transfer(from, 1, &key, 7).await;
            told.push(Acknowledged { from, key, id });
        }
    }
    told
}

/// The clients ask again; no client is told that anything was done.
async fn repeated(worker: &Worker, told: &[Acknowledged]) {
    for Acknowledged { from, key, id } in told {
        let again = worker.create_with_key(*from, 1, key, 7).await;
        let done = again.as_ref().is_ok_and(|a| a.record.head.state == 40 && a.record.id != *id);
        assert!(!done, "{key}: {again:?}");
    }
}

/// A process that worked on the database that was ends, and until then it answers nothing from the one that
/// is there now.
async fn ends(old: Worker, told: &[Acknowledged]) -> String {
    let first = told.first().expect("one of them").id;
    let (_, why) = tokio::join!(repeated(&old, told), async {
        for _ in 0..50 {
            if let Ok(found) = old.store.get(vec![first]).await {
                assert_eq!(found.len(), 1, "it answers from a database that forgot");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        old.wait_for_exit().await
    });
    assert!(why.contains("not the one that this process has been working on"), "{why}");
    old.kill().await;
    why
}

/// The whole scene: a copy, transfers, and the copy in their place.
async fn forgets(how: Recovery, running: bool, opened_again: bool) {
    let (mut fixture, old) = lived_in().await;
    let base = fixture.server.base_backup().expect("a copy");
    let told = acknowledged(&old, "told").await;
    let before = books(&fixture.faulty_spot.spot()).await;
    if running {
        fixture.server.restore(&base, &how).expect("it comes back");
        ends(old, &told).await;
    } else {
        old.kill().await;
        fixture.server.restore(&base, &how).expect("it comes back");
    }
    if opened_again {
        fixture.reopen_spot().await;
    }
    assert_eq!(books(&fixture.faulty_spot.spot()).await, before, "something was executed");
    let new = fixture.worker().await;
    repeated(&new, &told).await;
    let reason = new.wait_for_halt().await;
    assert!(reason.contains("SPOT did what no transfer asked for"), "{reason}");
    for Acknowledged { id, .. } in &told {
        assert!(reason.contains(&id.to_string()), "{id} is not named: {reason}");
    }
    // also when it is asked after the halt, and after the next start
    for start in 0..2 {
        for Acknowledged { from, key, .. } in &told {
            let again = new.create_with_key(*from, 1, key, 7).await;
            assert!(matches!(again, Err(Refused::Code(Code::Halted))), "{start}: {again:?}");
        }
    }
    assert_eq!(books(&fixture.faulty_spot.spot()).await, before, "something was paid twice");
    // each ledger's own books add up still, and what does not fit is what was forgotten, no more
    let report = new.engine.reconciler.check_now().await.expect("a proof");
    for found in &report.breaks {
        let named = told.iter().any(|told| found.key.contains(&told.id.to_string()));
        assert!(named, "{found:?}");
    }
    assert_eq!(report.breaks.len(), told.len(), "{:?}", report.breaks);
    new.kill().await;
}

macro_rules! forgotten {
    ($($name:ident: $how:ident, $running:literal, $again:literal;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            forgets(Recovery::$how, $running, $again).await;
        }
    )*};
}

forgotten! {
    the_same_timeline_under_work: Same, true, false;
    another_timeline_under_work: Promoted, true, true;
    the_same_timeline_at_a_start: Same, false, true;
    another_timeline_at_a_start: Promoted, false, false;
}

/// Turns red where a log that was written on after the restore passes for the old one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_is_long_enough_again_is_another_one() {
    let (mut fixture, old) = lived_in().await;
    let base = fixture.server.base_backup().expect("a copy");
    let told = acknowledged(&old, "told").await;
    let end = fixture.sql("SELECT pg_current_wal_flush_lsn()");
    fixture.proxy.refuse(true);
    fixture.server.restore(&base, &Recovery::Same).expect("it comes back");
    while fixture.sql(&format!("SELECT pg_current_wal_flush_lsn() > '{end}'")) != "t" {
        fixture.sql("SELECT pg_logical_emit_message(true, 'test', repeat('x', 100000))");
    }
    fixture.proxy.refuse(false);
    let why = ends(old, &told).await;
    assert!(why.contains("does not know what this process wrote last"), "{why}");
}

/// Claimed before the copy, executed after it: the database knows of the claim, and Spot of the rest.
/// Turns red where such a start halts, or where it executes them again.
async fn claimed(how: Recovery, running: bool, opened_again: bool) {
    let (mut fixture, old) = lived_in().await;
    fixture.faulty_spot.set_fault(CallFault::LoseRequests);
    let mut told = Vec::new();
    for n in 0..3 {
        for from in SOURCES {
            let key = format!("claimed-{n}-{}", from.name());
            let id = old.create_with_key(from, 1, &key, 7).await.expect("it is opened").record.id;
            let waits = if from == FUNDING { "TARGET_PENDING" } else { "SOURCE_PENDING" };
            old.wait_for_state(id, waits).await;
            told.push(Acknowledged { from, key, id });
        }
    }
    let base = fixture.server.base_backup().expect("a copy");
    fixture.faulty_spot.set_fault(CallFault::None);
    for Acknowledged { id, .. } in &told {
        old.wait_for_state(*id, "COMMITTED").await;
    }
    let before = books(&fixture.faulty_spot.spot()).await;
    fixture.server.restore(&base, &how).expect("it comes back");
    if running {
        ends(old, &told).await;
    } else {
        old.kill().await;
    }
    if opened_again {
        fixture.reopen_spot().await;
    }
    let new = fixture.worker().await;
    for Acknowledged { from, key, id } in &told {
        let again = new.open_with_key(*from, 1, key, 7).await;
        assert_eq!(again, *id, "{key} was acknowledged as another transfer");
        new.wait_for_state(*id, "COMMITTED").await;
    }
    assert_eq!(books(&fixture.faulty_spot.spot()).await, before, "something was executed again");
    fixture.assert_in_order(&new).await;
    let receipts = format!("SELECT count(*) FROM operations WHERE ledger = {}", SPOT.0);
    assert_eq!(fixture.sql(&receipts), (told.len() + 1).to_string(), "each has its receipt");
    new.kill().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_claimed_before_the_copy_is_matched() {
    claimed(Recovery::Same, true, false).await;
    claimed(Recovery::Promoted, false, true).await;
}

/// What a failover to a synchronous standby is: another timeline with all of the log. Turns red where
/// it halts, or where the one before goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_that_loses_nothing_goes_on_by_itself() {
    let (mut fixture, old) = lived_in().await;
    let base = fixture.server.base_backup().expect("a copy");
    let told = acknowledged(&old, "told").await;
    fixture.server.restore(&base, &Recovery::Whole).expect("it comes back");
    let why = old.wait_for_exit().await;
    assert!(why.contains("its timeline is 00000002 and was 00000001"), "{why}");
    old.kill().await;
    let new = fixture.worker().await;
    for Acknowledged { from, key, id } in &told {
        assert_eq!(new.open_with_key(*from, 1, key, 7).await, *id, "{key}");
    }
    acknowledged(&new, "later").await;
    fixture.assert_in_order(&new).await;
    new.kill().await;
}

/// Turns red where a writer that comes back is compared with what its neighbours saw and wrote while it
/// asked: a plain cut then ends the process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_under_work_is_no_other_database() {
    let (fixture, worker) = lived_in().await;
    let cut = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity \
         WHERE datname = '{}' AND application_name = 'portage: writer' ORDER BY random() LIMIT 1) p",
        fixture.database.name()
    );
    let worker = &worker;
    let stream = |user: u64| async move {
        for n in 0..100 {
            worker.open_with_key(FUNDING, user, &format!("{user}-{n}"), 3).await;
        }
    };
    let busy = futures_util::future::join_all((1..9).map(stream));
    let cutting = async {
        for _ in 0..150 {
            // beside the work: `psql` takes its time
            tokio::task::block_in_place(|| fixture.sql(&cut));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::join!(busy, cutting);
    assert_eq!(worker.exit_reason(), None);
    fixture.assert_in_order(worker).await;
}
