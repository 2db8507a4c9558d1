//! A process without workers opens transfers, others carry them, and the caller that waits is told.

use crate::fixture::faulty_ledger::Mood;
use crate::fixture::test_service::{FUNDING, NEVER, SPOT, TestService, create};
use engine::operators::{ActionResult, AdminAction};
use kernel::record::Record;
use std::sync::Arc;
use std::time::Duration;

fn state(service: &TestService, record: &Record) -> &'static str {
    service.engine().flows().table(record.flow).state(record.head.state).name
}

/// Turns red where intake carries what it opens although no worker runs here, and where those who
/// wait are told only of what this process did.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "a client, not a task of the engine")]
async fn others_carry_what_is_opened_without_workers() {
    for fuse in [true, false] {
        let mut service = TestService::tuned(fuse, NEVER, |settings| {
            settings.workers = false;
            settings.sync_timeout_ms = 60_000;
        })
        .await;
        let engine = Arc::clone(service.engine());
        let waits = tokio::spawn(async move { create(&engine, FUNDING, 1, 7).await });
        let open = async || {
            let journal = service.engine().journal();
            journal.open_older_than(u64::MAX >> 1, 10).await.expect("it answers")
        };
        while open().await.is_empty() {
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        // many rounds of the scanner
        tokio::time::sleep(Duration::from_millis(200)).await;
        let open = open().await;
        assert_eq!(open.iter().map(|record| state(&service, record)).collect::<Vec<_>>(), ["INIT"]);
        service.settings.workers = true;
        let worker = service.rival().await;
        let accepted = waits.await.expect("it is told").expect("it is opened");
        assert_eq!(state(&service, &accepted.record), "COMMITTED");
        let back = service.create(SPOT, 1, 5).await.expect("it is opened");
        assert_eq!(state(&service, &back.record), "COMMITTED");
        drop(worker);
        service.adds_up().await;
    }
}

/// Turns red where an action takes a transfer into the hands of a process that has no workers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_action_without_workers_leaves_the_transfer_to_others() {
    let mut service = TestService::tuned(true, NEVER, |settings| settings.workers = false).await;
    service.settings.workers = true;
    service.settings.backoff.base = 3_600_000;
    service.settings.backoff.cap = 3_600_000;
    let worker = service.rival().await;
    service.faulty_spot.mood(Mood::LoseRequests);
    let id = service.opened(FUNDING, 1, 7).await;
    service.reaches(id, "TARGET_PENDING").await;
    // the worker asked in vain, and asks again in an hour
    for _ in 0..20_000 {
        if service.stand(&[id]).await.iter().all(|record| record.head.retries > 0) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    service.faulty_spot.mood(Mood::Fair);
    let done = service.does("ann", "now", AdminAction::Retry(id)).await.expect("it is done");
    assert_eq!(done.outcome, ActionResult::Retried);
    service.ended(&[id]).await;
    drop(worker);
    service.adds_up().await;
}
