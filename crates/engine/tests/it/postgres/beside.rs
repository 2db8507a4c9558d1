//! What each process of one journal sees for itself: which copy of a ledger it calls, who is in a
//! hurry there.

use super::fixture::{Fixture, quick};
use crate::fixture::defaults::{FUNDING, NEVER, SOURCES, SPOT};
use crate::fixture::faulty_ledger::{CallFault, FaultyLedger};
use crate::fixture::folders::{copied, spot_at};
use engine::{Limits, Settings};
use kernel::operation::{Incarnation, Known};
use kernel::ports::journal::{ServiceQueries as _, UnitWriter as _};
use kernel::unit::{Guard, Put, Unit, Wrote};
use std::time::Duration;

/// Two copies of Spot, each called by processes of its own: who calls the one that the journal no longer
/// means halts, also where nothing is under own_spot. Turns red where no process compares (`StatusSync::compare`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_another_process_adopted_stops_the_money() {
    let fixture = Fixture::open(quick(true)).await;
    let worker = fixture.worker().await;
    worker.complete_transfer(FUNDING, 1, "first", 1_000).await;
    let status = worker.store.service_status().await.expect("it stands");
    let known = status.ledger(SPOT).expect("it was adopted");
    // as a process does whose settings name the copy
    let copy = Known { incarnation: Incarnation(known.incarnation.0 ^ 1), ..known };
    let guard = Guard::Incarnation { ledger: SPOT, known: Some(known) };
    let unit = Unit::guarded(vec![guard], vec![Put::Adopt { ledger: SPOT, known: copy }]);
    let wrote = worker.store.write(vec![unit]).await.pop();
    assert!(matches!(wrote, Some(Wrote::Written(_))), "{wrote:?}");
    let why = worker.wait_for_halt().await;
    assert!(why.contains("a second copy"), "{why}");
    // the case is opened behind the halt
    let case = "SELECT severity, status FROM cases WHERE kind = 'WRONG_LEDGER'";
    fixture.wait_for_sql(case, "CRITICAL|OPEN").await;
    worker.kill().await;
}

/// One process calls a copy of Spot that another one, with a later copy, has followed: what it says
/// counts no more, and nothing new is made there. Turns red where units rely on a ledger whichever it is
/// (run: `Ledgers::ledger_guard` adds nothing): the transfer ends by the word of a copy that no process means.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_copy_says_that_another_one_followed_does_not_count() {
    let fixture = Fixture::open(quick(true)).await;
    // it does not look who the journal takes Spot for
    let behind = fixture.worker_with(Settings { scan_interval_ms: NEVER, ..quick(true) }).await;
    behind.complete_transfer(FUNDING, 1, "first", 1_000).await;
    let before = fixture.faulty_spot.spot().known().highest;
    // one each way: more of a kind would wait for a hand
    let (late, ids) = fixture.open_with_late_replies(&behind, 1).await;
    let done = before + 2;
    fixture.faulty_spot.wait_for_operation(done).await;
    let copy = copied(&fixture.spot_folder());
    let other =
        fixture.worker_over(FaultyLedger::over(spot_at(copy.path()).await), quick(true)).await;
    late.add_permits(1_000);
    let why = behind.wait_for_halt().await;
    assert!(why.contains("a second copy"), "{why}");
    drop(behind.create_with_key(FUNDING, 1, "more", 5).await);
    for (id, state) in behind.states(&ids).await {
        assert!(!matches!(state, "COMMITTED" | "FAILED"), "{id}: {state}");
    }
    assert_eq!(fixture.faulty_spot.spot().known().highest, done, "it made something new");
    other.kill().await;
    behind.kill().await;
}

/// Turns red where a worker that cannot reach Spot keeps what it holds (run: `give_back` does nothing),
/// also one that never reached it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_worker_cannot_serve_another_one_does() {
    let fixture = Fixture::open(quick(true)).await;
    let other = fixture.worker().await;
    other.complete_transfer(FUNDING, 1, "first", 1_000).await;
    for met in [true, false] {
        let own_spot = FaultyLedger::over(fixture.faulty_spot.spot());
        own_spot.set_fault(if met { CallFault::None } else { CallFault::Silent });
        let unreached = fixture.worker_over(own_spot.clone(), quick(true)).await;
        own_spot.set_fault(CallFault::Silent);
        let mut ids = Vec::new();
        for n in 0..10 {
            for from in SOURCES {
                let key = format!("{met}-{n}-{}", from.name());
                ids.push(
                    unreached
                        .create_with_key(from, 1, &key, 5)
                        .await
                        .expect("it is opened")
                        .record
                        .id,
                );
            }
        }
        for id in ids {
            other.wait_for_state(id, "COMMITTED").await;
        }
        unreached.kill().await;
    }
    // no call was made by the one that never reached it: nothing was unclear, and nobody is alarmed
    let retries = "SELECT max(retry_count) FROM transfers_tb WHERE cid LIKE 'false-%'";
    assert_eq!(fixture.sql(retries), "0");
    fixture.assert_in_order(&other).await;
    other.kill().await;
}

/// Turns red where a process closes what it alone does not see: the case is opened again, and again,
/// as long as it lasts, and each time a case is opened. And where what a killed one saw stays open behind its lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_case_is_closed_by_a_process_that_saw_it() {
    let limits = Limits { warn_per_minute: 2, ..Limits::default() };
    let settings = Settings { limits, ..quick(true) };
    let fixture = Fixture::open(settings.clone()).await;
    let (hasty, calm) = (fixture.worker().await, fixture.worker_with(settings).await);
    for n in 0..5 {
        hasty.complete_transfer(FUNDING, 1, &format!("h-{n}"), 1).await;
    }
    let cases = "SELECT count(*) FROM cases WHERE kind = 'ABNORMAL_FREQUENCY'";
    fixture.wait_for_sql(cases, "1").await;
    // many rounds of both watches
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(fixture.sql(cases), "1", "{}", fixture.cases());
    assert!(fixture.cases().contains("ABNORMAL_FREQUENCY|WARNING|OPEN"), "{}", fixture.cases());
    hasty.kill().await;
    fixture.wait_for_sql("SELECT count(*) FROM cases WHERE status = 'OPEN'", "0").await;
    calm.kill().await;
}
