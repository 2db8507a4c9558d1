//! Messages that the bus acknowledged and lost: the audit misses them, and they are published again.

use super::fixture::AccountService;
use engine::operators::{ActionResult, AdminAction};
use kernel::ids::{Id, Millis};
use kernel::operators::Scope;
use std::time::Duration;
use testkit::{MINUTE, wait_until};

/// Longer than a transfer stands as it is before its messages are missed.
const SETTLED: Millis = 130_000;

impl AccountService {
    fn lose(&self, topic: &'static str) {
        self.service.pipeline_faults.lost.lock().expect("no panic").insert(topic);
    }

    /// Waits until the audit has had each message that these transfers sent.
    pub(super) async fn has_audited(&self, ids: &[Id]) {
        let records = self.service.records(ids).await;
        let mut audited: Vec<Option<bool>> = Vec::new();
        let all = wait_until(MINUTE, async || {
            let rows = self.service.engine.messaging.audit_rows(&records).await.expect("rows");
            audited = rows.iter().filter_map(|row| row.message).map(|one| one.audited).collect();
            audited.len() == 3 * ids.len() && audited.iter().all(|one| *one == Some(true))
        });
        assert!(all.await, "{audited:?}");
    }

    fn has_gap(&self) -> bool {
        format!("{:?}", self.service.episodes()).contains("MESSAGE_GAP")
    }
}

/// Turns red where the audit takes the end of a transfer for all of it, and where a message that is missed is not
/// published again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_was_lost_before_the_end_is_published_again() {
    let mut test = AccountService::impatient(true).await.with_money().await;
    test.lose("transfer-execution");
    let lost = test.open_transfer("A-1", "B-1", 5).await.id;
    test.service.wait_for_state(lost, "VALIDATED").await;
    test.outbox_published().await;
    test.service.pipeline_faults.heal();
    test.wait_for_end(&[lost]).await;
    test.service.wait_for_open_case("MESSAGE_GAP").await;
    let episodes = format!("{:?}", test.service.episodes());
    assert!(episodes.contains(&format!("transfer/{lost}")), "{episodes}");
    test.has_audited(&[lost]).await;
    test.service.restart().await;
    test.in_order().await;
}

/// The message of an end is the one on which others act, and no later one shows that it is missing.
///
/// Turns red where the audit waits for a message of the end to look at a transfer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_of_an_end_that_was_lost_is_published_again() {
    let test = AccountService::impatient(true).await.with_money().await;
    test.lose("transfer-completed");
    let lost = test.open_transfer("A-1", "B-1", 5).await.id;
    test.wait_for_end(&[lost]).await;
    test.outbox_published().await;
    test.service.pipeline_faults.heal();
    let whole = test.open_transfer("A-1", "B-1", 5).await.id;
    test.wait_for_end(&[whole]).await;
    assert!(!test.has_gap());
    test.service.clock.forward(SETTLED);
    test.has_audited(&[lost, whole]).await;
    test.service.wait_for_open_case("MESSAGE_GAP").await;
    let episodes = format!("{:?}", test.service.episodes());
    assert!(episodes.contains(&format!("transfer/{lost}")), "{episodes}");
    assert!(!episodes.contains(&format!("transfer/{whole}")), "{episodes}");
    test.published(lost, &["transfer-validation", "transfer-execution", "transfer-completed"])
        .await;
}

/// A bus whose file was deleted has nothing of what it had, and knows no offset.
///
/// Turns red where what is missing is missed by its topic.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_lost_bus_had_is_published_again() {
    let mut test = AccountService::impatient(true).await.with_money().await;
    let group = Scope::Group("audit-group");
    let paused = test.service.execute_as("ada", "pause", AdminAction::Pause(group)).await;
    let ActionResult::Paused { number: Some(number) } = paused.expect("it is paused").outcome
    else {
        panic!("no number")
    };
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(test.open_transfer("A-1", "B-1", 5).await.id);
    }
    test.wait_for_end(&ids).await;
    test.outbox_published().await;
    test.service.clock.forward(SETTLED);
    test.lose_bus().await;
    assert!(!test.has_gap());
    let resumed = test.service.execute_as("ada", "resume", AdminAction::Unpause(number)).await;
    resumed.expect("it is resumed");
    test.has_audited(&ids).await;
    test.holds("B-1", 20).await;
    test.in_order().await;
}

/// Turns red where a message that waits to be published, or that the group has yet to consume, is missed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_late_is_not_missed() {
    let test = AccountService::impatient(true).await.with_money().await;
    let refused = &test.service.pipeline_faults.refused;
    refused.lock().expect("no panic").insert("transfer-completed");
    let late = test.open_transfer("A-1", "B-1", 5).await.id;
    test.wait_for_end(&[late]).await;
    test.service.clock.forward(SETTLED);
    let looked = wait_until(Duration::from_secs(5), async || test.has_gap()).await;
    assert!(!looked, "{:?}", test.service.episodes());
    test.service.pipeline_faults.heal();
    test.has_audited(&[late]).await;
    assert!(!test.has_gap());
}
