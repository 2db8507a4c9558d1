//! Triggers of an operator: 23514 refuses one leg that was alone, and nothing else refuses.
//!
//! Wrong builds that were run, each of which turns one of these red: a check violation is an error like any
//! other; it refuses every leg of the group that met it; 58030 is read as a refusal; a refund may be
//! refused (where a refund is a leg by itself).

use super::fixture::{Fixture, Worker, quick};
use crate::fixture::defaults::{FUNDING, SPOT};
use engine::Alerts;
use kernel::ids::{Id, LedgerId};

/// A balance that money comes to.
const COMES: &str = "NEW.available > OLD.available";

/// Ten transfers of three users each, asked for at the same moment: they share their writes.
async fn at_once(worker: &Worker, from: LedgerId) -> Vec<(u64, Id)> {
    let asked = (0..10).flat_map(|n| (1..4).map(move |user| (n, user)));
    let asked = asked.map(async |(n, user)| {
        (user, worker.open_with_key(from, user, &format!("{}-{n}", from.name()), 5).await)
    });
    futures_util::future::join_all(asked).await
}

/// Turns red where a check violation of a deposit is only tried again, where it is not sticky, or where
/// it takes neighbours of the batch along.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deposit_that_a_trigger_refuses_is_rolled_back() {
    for fuse in [true, false] {
        let fixture = Fixture::open(quick(fuse)).await;
        let worker = fixture.worker().await;
        for user in 1..4 {
            worker.complete_transfer(FUNDING, user, "first", 1_000).await;
        }
        fixture.trigger(COMES, "check_violation");
        for (user, id) in at_once(&worker, SPOT).await {
            worker.wait_for_state(id, if user == 1 { "ROLLED_BACK" } else { "COMMITTED" }).await;
        }
        fixture.drop_trigger();
        let refused =
            "SELECT count(*), min(code) FROM operations WHERE ledger = 1 AND result = 'REJECTED'";
        assert_eq!(fixture.sql(refused), "10|CHECK_VIOLATION");
        fixture.assert_in_order(&worker).await;
        worker.kill().await;
    }
}

/// Turns red where a withdraw that a trigger refuses is anything but FAILED.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_withdraw_that_a_trigger_refuses_fails() {
    for fuse in [true, false] {
        let fixture = Fixture::open(quick(fuse)).await;
        let worker = fixture.worker().await;
        fixture.trigger("NEW.available < OLD.available", "check_violation");
        for (user, id) in at_once(&worker, FUNDING).await {
            worker.wait_for_state(id, if user == 1 { "FAILED" } else { "COMMITTED" }).await;
        }
        fixture.assert_in_order(&worker).await;
        worker.kill().await;
    }
}

/// Turns red where an I/O error that a trigger raises (58030) compensates.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_io_error_never_compensates() {
    let fixture = Fixture::open(quick(true)).await;
    let worker = fixture.worker().await;
    worker.complete_transfer(FUNDING, 1, "first", 1_000).await;
    fixture.trigger(COMES, "io_error");
    let id = worker.create_with_key(SPOT, 1, "back", 5).await.expect("it is opened").record.id;
    fixture.wait_for_sql("SELECT retry_count > 5 FROM transfers WHERE state = 30", "t").await;
    assert_eq!(worker.states(&[id]).await.get(&id), Some(&"TARGET_PENDING"));
    fixture.drop_trigger();
    worker.wait_for_state(id, "COMMITTED").await;
    fixture.assert_in_order(&worker).await;
    worker.kill().await;
}

/// Turns red where a refund that a trigger hinders, by the very code that refuses a deposit, is given
/// up: it stays, a person is asked after three, and it ends once the cause is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_is_hindered_and_ends_later() {
    for fuse in [true, false] {
        hindered(fuse).await;
    }
}

async fn hindered(fuse: bool) {
    let mut settings = quick(fuse);
    settings.alerts = Alerts { compensation_failures: 3, ..settings.alerts };
    let fixture = Fixture::open(settings).await;
    let worker = fixture.worker().await;
    // Spot refuses what comes to user 1 from now on
    worker.complete_transfer(FUNDING, 1, "first", 1_000).await;
    worker.disable_at_spot(1).await;
    fixture.trigger(COMES, "check_violation");
    let id =
        worker.create_with_key(FUNDING, 1, "refused", 5).await.expect("it is opened").record.id;
    worker.wait_for_state(id, "COMPENSATING").await;
    fixture
        .wait_for_sql(
            "SELECT count(*) FROM cases WHERE severity = 'CRITICAL' AND status = 'OPEN'",
            "1",
        )
        .await;
    assert_eq!(worker.states(&[id]).await.get(&id), Some(&"COMPENSATING"));
    fixture.drop_trigger();
    worker.wait_for_state(id, "ROLLED_BACK").await;
    fixture
        .wait_for_sql(
            "SELECT count(*) FROM cases WHERE severity = 'CRITICAL' AND status = 'OPEN'",
            "0",
        )
        .await;
    fixture.assert_in_order(&worker).await;
    worker.kill().await;
}
