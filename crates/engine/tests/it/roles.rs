//! A process without workers opens transfers, others carry them, and the caller that waits is told.

use crate::fixture::defaults::{FUNDING, NEVER, SPOT};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::running::create;
use crate::fixture::test_service::TestService;
use engine::operators::{ActionResult, AdminAction};
use kernel::record::Record;
use std::sync::Arc;
use std::time::Duration;
use testkit::{MINUTE, wait_until};

fn state(service: &TestService, record: &Record) -> &'static str {
    service.engine.flows().table(record.flow).state(record.head.state).name
}

/// Turns red where intake carries what it opens although no worker runs here, and where those who
/// wait are told only of what this process did.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "a client, not a task of the engine")]
async fn others_carry_what_is_opened_without_workers() {
    for fuse in [true, false] {
        let mut service = TestService::open_with(fuse, NEVER, |settings| {
            settings.workers = false;
            settings.sync_timeout_ms = 60_000;
        })
        .await;
        let engine = Arc::clone(&service.engine);
        let waits = tokio::spawn(async move { create(&engine, FUNDING, 1, 7).await });
        let open = async || {
            let journal = service.engine.journal();
            journal.open_older_than(u64::MAX >> 1, 10).await.expect("it answers")
        };
        assert!(wait_until(MINUTE, async || !open().await.is_empty()).await, "nothing is opened");
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
        service.assert_in_order().await;
    }
}

/// Turns red where an action takes a transfer into the hands of a process that has no workers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_action_without_workers_leaves_the_transfer_to_others() {
    let mut service =
        TestService::open_with(true, NEVER, |settings| settings.workers = false).await;
    service.settings.workers = true;
    service.settings.backoff.base = 3_600_000;
    service.settings.backoff.cap = 3_600_000;
    let worker = service.rival().await;
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    let id = service.open_transfer(FUNDING, 1, 7).await;
    service.wait_for_state(id, "TARGET_PENDING").await;
    // the worker asked in vain, and asks again in an hour
    service.wait_for_retries(id, 1).await;
    service.faulty_spot.set_fault(CallFault::None);
    let done = service.execute_as("ann", "now", AdminAction::Retry(id)).await.expect("it is done");
    assert_eq!(done.outcome, ActionResult::Retried);
    service.wait_for_end(&[id]).await;
    drop(worker);
    service.assert_in_order().await;
}
