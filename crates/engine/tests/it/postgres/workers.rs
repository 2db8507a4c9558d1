//! Many workers on one database: one dies, one is left behind, all write at once.
//!
//! Wrong builds that were run, each of which turns one of these red: what a dead worker held is leased to
//! no worker; a client's key that is not bound as it came.

use super::fixture::{Fixture, quick};
use crate::fixture::defaults::{FUNDING, SOURCES};
use crate::fixture::faulty_ledger::CallFault;
use engine::Settings;
use std::sync::Arc;

/// Turns red where two workers execute a transfer twice, or where what a dead one held is stranded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dead_worker_held_is_ended_by_another() {
    let fixture = Fixture::open(quick(true)).await;
    let dying = fixture.worker().await;
    dying.complete_transfer(FUNDING, 1, "first", 10_000).await;
    let (late, ids) = fixture.open_with_late_replies(&dying, 10).await;
    dying.kill().await;
    fixture.faulty_spot.set_fault(CallFault::None);
    let heir = fixture.worker().await;
    for id in &ids {
        heir.wait_for_state(*id, "COMMITTED").await;
    }
    late.add_permits(1_000);
    fixture.assert_in_order(&heir).await;
    heir.kill().await;
}

/// Turns red where the next owner of a core in its process waits for the lease of the one that was
/// killed, an hour here (run: `Put::Own` leaves leases alone).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_owner_held_goes_on_at_the_next_start() {
    let settings = Settings { lease_ms: 3_600_000, ..quick(true) };
    let mut fixture = Fixture::open(settings).await;
    fixture.owned = true;
    let dying = fixture.worker().await;
    dying.complete_transfer(FUNDING, 1, "first", 10_000).await;
    fixture.faulty_spot.set_fault(CallFault::LoseReplies);
    let mut ids = Vec::new();
    for from in SOURCES {
        let id = dying.create_with_key(from, 1, from.name(), 5).await;
        ids.push(id.expect("it is opened").record.id);
    }
    dying.kill().await;
    fixture.faulty_spot.set_fault(CallFault::None);
    fixture.reopen_spot().await;
    let heir = fixture.worker().await;
    for id in &ids {
        heir.wait_for_state(*id, "COMMITTED").await;
    }
    fixture.assert_in_order(&heir).await;
    heir.kill().await;
}

/// Turns red where several workers that open, retry and end at once lose or double anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_workers_share_one_database() {
    let fixture = Fixture::open(quick(true)).await;
    let workers = [fixture.worker().await, fixture.worker().await, fixture.worker().await];
    for user in 1..10 {
        let [one, ..] = &workers;
        one.complete_transfer(FUNDING, user, "first", 10_000).await;
    }
    let fixture = Arc::new(fixture);
    let each = workers.iter().enumerate().map(|(w, worker)| async move {
        for n in 0..40_u64 {
            for from in SOURCES {
                // the same keys are asked for everywhere
                worker.complete_transfer(from, 1 + n % 9, &format!("{n}-{}", from.name()), 3).await;
            }
        }
        w
    });
    futures_util::future::join_all(each).await;
    fixture.wait_for_sql("SELECT count(*) FROM transfers", "89").await;
    let [one, two, three] = workers;
    fixture.assert_in_order(&one).await;
    for worker in [one, two, three] {
        worker.kill().await;
    }
}
