//! A flow that events drive, over the embedded store and the bus of the process: `account`.

mod crashes;
mod dead_letters;
pub(crate) mod fixture;
mod foreign_messages;
mod forged_messages;
mod forgotten_messages;
mod messages;
mod missing_messages;
mod parking;

use fixture::{AccountService, Expected};
use kernel::accounts::NumberedStatus;
use kernel::code::Code;
use std::collections::BTreeSet;

/// The caller is answered when the opening is durable, and messages do the rest: two units and their
/// events where units are fused, four where they are not.
///
/// Turns red where stations carry the flow, where a claim is written without its message, and where the
/// caller waits for the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_carry_a_transfer_from_one_account_to_the_other() {
    for fuse in [true, false] {
        let test = AccountService::open(fuse).await;
        test.account("A-1", 1, 500).await;
        test.account("B-1", 2, 0).await;
        let opened = test.open_transfer("A-1", "B-1", 120).await;
        assert_eq!(test.state_of(&opened), "PENDING", "it is answered when the opening is durable");
        test.wait_for_end(&[opened.id]).await;
        let words =
            ["CREATED", "VALIDATION_CALL", "VALIDATION_OK", "EXECUTION_CALL", "EXECUTION_OK"];
        assert_eq!(test.event_names(opened.id).await, words, "fuse {fuse}");
        test.holds("A-1", 380).await;
        test.holds("B-1", 120).await;
        test.published(
            opened.id,
            &["transfer-validation", "transfer-execution", "transfer-completed"],
        )
        .await;
        test.in_order().await;
        assert_eq!(test.service.engine.open_transfers(), 0);
    }
}

/// Each refusal ends a transfer, moves nothing and is told to those who listen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_ends_a_transfer_and_moves_nothing() {
    let test = AccountService::open(true).await;
    for (number, owner) in [("A-1", 1), ("B-1", 2), ("F-1", 1), ("C-1", 2), ("C-2", 1)] {
        test.account(number, owner, 100).await;
    }
    test.status("F-1", NumberedStatus::Frozen).await;
    for closed in ["C-1", "C-2"] {
        test.out(closed, 100).await;
        test.status(closed, NumberedStatus::Closed).await;
    }
    for (from, to, amount, code) in [
        ("A-1", "B-1", 101, Code::InsufficientBalance),
        ("X-1", "B-1", 1, Code::SourceAccountNotFound),
        ("A-1", "X-1", 1, Code::TargetAccountNotFound),
        ("B-1", "A-1", 1, Code::TransferNotAllowed),
        ("F-1", "B-1", 1, Code::AccountFrozen),
        ("A-1", "C-1", 1, Code::TargetAccountNotFound),
        ("A-1", "C-2", 1, Code::AccountClosed),
    ] {
        let id = test.open_transfer(from, to, amount).await.id;
        test.wait_for_end(&[id]).await;
        let record = test.service.records(&[id]).await.remove(0);
        assert_eq!(test.state_of(&record), "FAILED", "{from} to {to}");
        assert_eq!(
            record.error.map(|error| error.code),
            Some(code.name().into()),
            "{from} to {to}"
        );
        test.published(id, &["transfer-validation", "transfer-failed"]).await;
    }
    test.holds("A-1", 100).await;
    test.in_order().await;
}

/// The balance is looked at again under the lock: of two transfers that were both checked while the money
/// was there, one moves it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_that_is_gone_by_the_time_of_the_move_moves_once() {
    let test = AccountService::open(true).await;
    test.account("A-1", 1, 100).await;
    test.account("B-1", 2, 0).await;
    let mut ids = BTreeSet::new();
    for _ in 0..20 {
        ids.insert(test.open_transfer("A-1", "B-1", 60).await.id);
    }
    let ids: Vec<_> = ids.into_iter().collect();
    test.wait_for_end(&ids).await;
    let states = test.service.states(&ids).await;
    assert_eq!(states.values().filter(|state| **state == "COMPLETED").count(), 1, "{states:?}");
    test.holds("A-1", 40).await;
    test.holds("B-1", 60).await;
    test.in_order().await;
}

/// Two workers over one journal and one bus, and money that goes both ways between two accounts at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_ways_at_once_by_two_workers() {
    let test = AccountService::open(true).await;
    test.account("A-1", 1, 10_000).await;
    test.account("B-1", 1, 10_000).await;
    let _rival = test.service.rival().await;
    let mut ids = Vec::new();
    for n in 0..200 {
        let (from, to) = if n % 2 == 0 { ("A-1", "B-1") } else { ("B-1", "A-1") };
        ids.push(test.open_transfer(from, to, 1 + n % 7).await.id);
    }
    test.wait_for_end(&ids).await;
    let there: u128 = (0..200).step_by(2).map(|n| 1 + n % 7).sum();
    let back: u128 = (1..200).step_by(2).map(|n| 1 + n % 7).sum();
    test.expect(&Expected { ids, state: "COMPLETED" }).await;
    test.holds("A-1", 10_000 + back - there).await;
    test.holds("B-1", 10_000 + there - back).await;
    test.in_order().await;
}
