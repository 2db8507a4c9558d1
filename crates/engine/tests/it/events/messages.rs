//! Messages that are lost, come again, come late, or are none of ours.

use super::fixture::AccountService;
use crate::fixture::crash_points::Side;
use engine::operators::{ActionResult, AdminAction};
use kernel::ports::bus::{Bus as _, BusMessage};
use kernel::ports::journal::UnitWriter as _;
use kernel::ports::outbox::{Outbox as _, PublishedRange};
use std::collections::BTreeSet;
use std::time::Duration;
use testkit::{MINUTE, wait_until};

/// The broker lost what it had acknowledged, offsets and all: the scanner sends again what moves a transfer.
///
/// Turns red where the scanner executes, or sends nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_message_is_sent_again() {
    let mut test = AccountService::impatient(true).await;
    test.account("A-1", 1, 100).await;
    test.account("B-1", 2, 0).await;
    test.cut_at(Side::Before, "VALIDATION_CALL").await;
    test.lose_bus().await;
    let open = test.open_now().await;
    assert_eq!(open.len(), 1);
    test.wait_for_end(&open).await;
    test.holds("B-1", 10).await;
    test.in_order().await;
}

/// The whole outbox is sent again, twice: nothing has a second effect, and every number is the one it had.
///
/// Turns red in a build that consumes without an inbox row and without looking where a transfer stands, and
/// in one that sends again under new numbers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sent_again_has_no_second_effect() {
    let test = AccountService::open(true).await;
    test.account("A-1", 1, 1_000).await;
    test.account("B-1", 2, 0).await;
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(test.open_transfer("A-1", "B-1", 10).await.id);
    }
    test.wait_for_end(&ids).await;
    let before = test.settled(60).await;
    let (mut messages, mut after) = (60, BTreeSet::new());
    for _ in 0..2 {
        test.service.clock.forward(1_000);
        let range = PublishedRange { from: 0, to: test.service.store().now() };
        assert_eq!(test.service.store().emit_again(range, 1_000).await, Ok(60));
        messages += 60;
        after = test.settled(messages).await;
    }
    assert_eq!(after, before, "no number is new");
    test.holds("A-1", 800).await;
    test.holds("B-1", 200).await;
    test.in_order().await;
}

/// What cannot be read, and what is about no transfer of ours, goes to the topic of dead letters with its
/// reason; a case is opened, and what follows it is consumed.
///
/// Turns red where such a message is dropped, or holds up its partition.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn poison_goes_to_its_topic_and_holds_up_nothing() {
    let test = AccountService::open(true).await;
    test.account("A-1", 1, 100).await;
    test.account("B-1", 2, 0).await;
    let poison = |number, payload: &str| BusMessage {
        topic: "transfer-validation".into(),
        key: "A-1".into(),
        number,
        payload: payload.into(),
        headers: "{}".into(),
    };
    let foreign = r#"{"transfer":"00000000000000000000000009"}"#;
    let said = test.bus().publish(vec![poison(1, "no JSON"), poison(2, foreign)]).await;
    assert!(said.iter().all(Result::is_ok), "{said:?}");
    let id = test.open_transfer("A-1", "B-1", 10).await.id;
    test.wait_for_end(&[id]).await;
    let mut dead = Vec::new();
    let two = wait_until(MINUTE, async || {
        dead = test.messages(&["transfer-validation-dlt"]).await;
        dead.len() == 2
    });
    assert!(two.await, "{dead:?}");
    let reasons: Vec<bool> = ["UNREADABLE", "UNKNOWN_TRANSFER"]
        .iter()
        .zip(&dead)
        .map(|(why, message)| message.headers.contains(why))
        .collect();
    assert_eq!(reasons, [true, true], "{dead:?}");
    let cases = test.service.cases();
    assert!(cases.iter().any(|case| format!("{case:?}").contains("DEAD_LETTER")), "{cases:?}");
    test.in_order().await;
}

/// Under HALT nothing is consumed, and nothing is lost by it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_halt_messages_wait() {
    let mut test = AccountService::open(true).await;
    test.account("A-1", 1, 100).await;
    test.account("B-1", 2, 0).await;
    test.cut_at(Side::Before, "VALIDATION_CALL").await;
    test.service.execute_as("ada", "halt", AdminAction::Halt).await.expect("it is halted");
    test.service.restart().await;
    let open = test.open_now().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let states = test.service.states(&open).await;
    assert_eq!(states.values().copied().collect::<Vec<_>>(), ["PENDING"]);
    let resume = AdminAction::Resume { accept: Vec::new() };
    let proposed = test.service.execute_as("ada", "resume", resume).await.expect("it is proposed");
    let ActionResult::Proposed { approval } = proposed.outcome else { panic!("{proposed:?}") };
    let approve = AdminAction::Approve(approval);
    test.service.execute_as("bob", "resume", approve).await.expect("it is resumed");
    test.wait_for_end(&open).await;
    test.holds("B-1", 10).await;
    test.in_order().await;
}
