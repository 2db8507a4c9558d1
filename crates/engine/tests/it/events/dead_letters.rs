//! Dead letters, their way back, and the audit of messages.
//!
//! Wrong builds that were run: a redrive gives messages new numbers (`a_redrive_keeps_numbers_and_ends`);
//! the offset goes on where no dead letter could be stored (`the_offset_waits_until_dead_letters_are_stored`).

use super::fixture::{AccountService, TOPICS};
use engine::operators::{ActionResult, AdminAction, Objection, Redrive, Reemission};
use kernel::ports::bus::{Bus as _, BusMessage, PartitionLag};
use kernel::ports::journal::{OperatorQueries as _, UnitWriter as _};
use std::sync::atomic::Ordering;
use std::time::Duration;
use testkit::{MINUTE, wait_for, wait_until};

const TOPIC: &str = "transfer-validation";
const DEAD: &str = "transfer-validation-dlt";

fn poison(number: u128, payload: &str) -> BusMessage {
    poison_on(TOPIC, number, payload)
}

fn poison_on(topic: &str, number: u128, payload: &str) -> BusMessage {
    BusMessage {
        topic: topic.into(),
        key: "A-1".into(),
        number,
        payload: payload.into(),
        headers: r#"{"ce_type":"x"}"#.into(),
    }
}

fn redrive(most: u64, replays: u32) -> AdminAction {
    AdminAction::Redrive(Redrive { topic: DEAD.into(), most, per_second: 100, replays })
}

impl AccountService {
    async fn with_accounts() -> Self {
        let test = Self::open(true).await;
        test.account("A-1", 1, 100).await;
        test.account("B-1", 2, 0).await;
        test
    }

    async fn publish(&self, messages: Vec<BusMessage>) {
        let said = self.bus().publish(messages).await;
        assert!(said.iter().all(Result::is_ok), "{said:?}");
    }

    /// Waits until the topic of dead letters has at least this number of messages, those that went back among them.
    async fn dead(&self, messages: usize) -> Vec<BusMessage> {
        let found = wait_for(MINUTE, async || {
            let found = self.messages(&[DEAD]).await;
            (found.len() >= messages).then_some(found)
        });
        found.await.unwrap_or_else(|| panic!("no {messages} dead letters"))
    }

    async fn behind(&self) -> u64 {
        let lag = self.bus().lag("validation-group".into(), vec![TOPIC.into()]).await;
        lag.expect("the lag").iter().map(PartitionLag::messages).sum()
    }

    async fn execute_as(&self, key: &str, action: AdminAction) -> Result<ActionResult, Objection> {
        self.service.execute_as("ada", key, action).await.map(|performed| performed.outcome)
    }
}

/// A topic of dead letters that takes nothing holds up nothing: the offset goes on, transfers end, the letters
/// wait in the journal across a restart, with their case, and are published in their order afterwards.
///
/// Turns red where the offset waits for the topic of dead letters (run: the release before).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_of_dead_letters_that_takes_nothing_holds_up_nothing() {
    let mut test = AccountService::with_accounts().await;
    test.service.pipeline_faults.refused.lock().expect("no panic").insert(DEAD);
    test.publish(vec![poison(1, "no JSON"), poison(2, "no\0text"), poison(3, "{}")]).await;
    assert!(wait_until(MINUTE, async || test.behind().await == 0).await, "its group is behind");
    let id = test.open_transfer("A-1", "B-1", 10).await.id;
    test.wait_for_end(&[id]).await;
    test.service.wait_for_open_case("DEAD_LETTER").await;
    test.service.restart().await;
    let status = async || {
        let status = test.service.engine.messaging.pipeline_status().await.expect("a status");
        let letters = status.expect("a bus").dead_letters.expect("the bus answers");
        let of = letters.into_iter().find(|letters| &*letters.topic == DEAD).expect("the topic");
        (of.messages, of.in_journal)
    };
    assert_eq!(status().await, (0, 3));
    test.service.pipeline_faults.heal();
    let dead = test.dead(3).await;
    let dead: Vec<_> = dead.iter().map(|one| (one.number, &*one.payload)).collect();
    assert_eq!(dead, [(1, "no JSON"), (2, "no\0text"), (3, "{}")]);
    assert!(wait_until(MINUTE, async || status().await == (3, 0)).await, "{:?}", status().await);
}

/// A topic of dead letters that gives no answer keeps those of no other topic waiting.
///
/// Turns red where one round publishes the dead letters of all topics, and waits for all (run: the release before).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_topic_of_dead_letters_keeps_no_other_waiting() {
    let test = AccountService::with_accounts().await;
    test.service.pipeline_faults.silent.lock().expect("no panic").insert("transfer-execution-dlt");
    test.publish(vec![poison_on("transfer-execution", 1, "no JSON")]).await;
    test.service.wait_for_open_case("DEAD_LETTER").await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    test.publish(vec![poison(2, "no JSON")]).await;
    let in_time = wait_until(Duration::from_secs(20), async || {
        test.messages(&[DEAD]).await.iter().any(|letter| letter.number == 2)
    });
    assert!(in_time.await, "it waits for the other topic");
    assert_eq!(test.messages(&["transfer-execution-dlt"]).await, []);
}

/// A message that cannot be consumed keeps its offset until it is stored as a dead letter.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_offset_waits_until_dead_letters_are_stored() {
    let test = AccountService::with_accounts().await;
    test.service.pipeline_faults.parks_nothing.store(true, Ordering::SeqCst);
    test.publish(vec![poison(1, "no JSON")]).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(test.behind().await, 1);
    test.service.pipeline_faults.heal();
    let dead = test.dead(1).await;
    assert_eq!((dead.len(), dead[0].number), (1, 1));
    assert!(wait_until(MINUTE, async || test.behind().await == 0).await, "its group is behind");
}

/// A redrive sends messages back under their numbers, each as often as it may; what stays dead is passed
/// over then, and its case ends. Each redrive is in the audit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redrive_keeps_numbers_and_ends() {
    let test = AccountService::with_accounts().await;
    test.publish(vec![poison(1, "no JSON"), poison(2, "{}")]).await;
    test.dead(2).await;
    test.service.wait_for_open_case("DEAD_LETTER").await;
    let asked = Redrive { topic: DEAD.into(), most: 10, per_second: 100, replays: 1 };
    let preview = test.service.engine.operators.redrive_preview(&asked).await;
    assert_eq!(preview, Ok(vec![("UNREADABLE".to_owned(), 2, 0)]));
    let sent = ActionResult::Redriven { messages: 2, passed_over: 0, left: 0 };
    assert_eq!(test.execute_as("one", redrive(10, 1)).await, Ok(sent.clone()));
    let dead = test.dead(4).await;
    let numbers: Vec<u128> = dead.iter().map(|message| message.number).collect();
    assert_eq!(numbers, [1, 2, 1, 2], "they come back under their numbers");
    assert!(dead[2].headers.contains(r#""dlt-replay-count":"1""#), "{}", dead[2].headers);
    assert!(dead[2].headers.contains(r#""ce_type":"x""#), "{}", dead[2].headers);
    assert_eq!(
        test.execute_as("one", redrive(10, 1)).await,
        Ok(sent),
        "the same key sends nothing"
    );
    let over = ActionResult::Redriven { messages: 0, passed_over: 2, left: 0 };
    assert_eq!(test.execute_as("two", redrive(10, 1)).await, Ok(over));
    test.service.wait_for_closed_case("DEAD_LETTER").await;
    assert_eq!(test.messages(&[DEAD]).await.len(), 4);
    let other = Redrive { topic: "other-dlt".into(), most: 1, per_second: 1, replays: 1 };
    let other = test.execute_as("three", AdminAction::Redrive(other)).await;
    assert_eq!(other, Err(Objection::NotFound("topic")));
    let many = test.execute_as("four", redrive(1_001, 1)).await;
    assert!(matches!(many, Err(Objection::Invalid(_))), "{many:?}");
    let past = test.service.store().past_action("portage|ada".into(), "two".into()).await;
    assert!(past.is_ok_and(|past| past.is_some_and(|past| &*past.kind == "REDRIVE")));
}

/// Published messages are sent again in a range of time of the past, once for each key.
///
/// Turns red where the range is not looked at, or the action is not kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn published_messages_are_sent_again_by_an_operator() {
    let test = AccountService::with_accounts().await;
    let id = test.open_transfer("A-1", "B-1", 10).await.id;
    test.wait_for_end(&[id]).await;
    let before = test.settled(3).await;
    test.service.clock.forward(1_000);
    let to = test.service.store().now();
    let again = AdminAction::Reemit(Reemission { from: 0, to });
    let preview = test.service.engine.operators.reemit_preview(Reemission { from: 0, to }).await;
    assert_eq!(preview, Ok(3));
    assert_eq!(
        test.execute_as("k", again.clone()).await,
        Ok(ActionResult::Reemitted { messages: 3 })
    );
    assert_eq!(test.settled(6).await, before, "no number is new");
    assert_eq!(test.execute_as("k", again).await, Ok(ActionResult::Reemitted { messages: 3 }));
    assert_eq!(test.settled(6).await, before);
    let future = AdminAction::Reemit(Reemission { from: 0, to: to + 3_600_000 });
    assert!(matches!(test.execute_as("f", future).await, Err(Objection::Invalid(_))));
    test.holds("A-1", 90).await;
    test.in_order().await;
}

/// The audit opens a case for a message that tells of what no history has; every other transfer ends without
/// one.
///
/// Turns red where the audit compares no hash.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_audit_meets_forged_messages() {
    let test = AccountService::impatient(true).await;
    test.account("A-1", 1, 100).await;
    test.account("B-1", 2, 0).await;
    let id = test.open_transfer("A-1", "B-1", 10).await.id;
    test.wait_for_end(&[id]).await;
    // on a slow machine one is sent again, under its number
    let sent = wait_until(MINUTE, async || test.messages(&TOPICS).await.len() >= 3);
    assert!(sent.await);
    let records = test.service.records(&[id]).await;
    let mut audited: Vec<Option<bool>> = Vec::new();
    let all = wait_until(MINUTE, async || {
        let rows = test.service.engine.messaging.audit_rows(&records).await.expect("rows");
        audited = rows.iter().filter_map(|row| row.message).map(|m| m.audited).collect();
        audited == [Some(true); 3]
    });
    assert!(all.await, "{audited:?}");
    assert!(!format!("{:?}", test.service.episodes()).contains("MESSAGE_"));
    let forged = format!(r#"{{"transfer":"{id}","sequence":1,"hash":"{}"}}"#, "0".repeat(64));
    let topic = "transfer-completed".into();
    test.publish(vec![BusMessage { topic, ..poison(9, &forged) }]).await;
    test.service.wait_for_open_case("MESSAGE_MISMATCH").await;
    test.in_order().await;
}
