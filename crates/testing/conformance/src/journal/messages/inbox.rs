//! Checks the inbox: it finds every message that a group consumed, and messages wait under their key in their order
//! until the last of them is consumed.

use super::super::checks;
use super::super::fixture::{JournalFixture, NOON, guarded};
use kernel::ids::Millis;
use kernel::ports::bus::{BusDelivery, BusMessage, Partition};
use kernel::ports::inbox::{NextTry, ParkedKey, ParkedName};
use kernel::unit::Guard;

checks! {
    what_a_group_had_is_found_again,
    messages_wait_under_their_key_in_their_order,
    a_message_that_waits_is_not_parked_twice,
    a_key_waits_until_its_last_message_was_consumed,
    a_message_that_is_parked_meanwhile_keeps_its_key_waiting,
    what_waits_anew_is_not_unparked_by_an_earlier_reading,
    keys_of_other_groups_and_topics_are_others,
}

const GROUP: &str = "group";
const TOPIC: &str = "topic";

fn name(key: &str) -> ParkedName {
    ParkedName { group: GROUP.into(), topic: TOPIC.into(), key: key.into() }
}

fn delivery(topic: &str, key: &str, number: u128) -> BusDelivery {
    let partition = Partition { topic: topic.into(), number: 3 };
    let payload = format!(r#"{{"of":"{number}","quote":"'\""}}"#).into();
    let (topic, key, headers) = (topic.into(), key.into(), r#"{"a":"b"}"#.into());
    let message = BusMessage { topic, key, number, payload, headers };
    BusDelivery { partition, offset: u64::try_from(number).unwrap_or(0) + 100, message }
}

fn next(failures: u32, cause: &str, due: Millis) -> NextTry {
    NextTry { failures, cause: cause.into(), due }
}

/// Parks messages of one key.
async fn park(b: &JournalFixture, key: &str, numbers: &[u128]) {
    let messages = numbers.iter().map(|number| delivery(TOPIC, key, *number)).collect();
    let parked = b.on().inbox.park(GROUP.into(), messages, next(5, "WHY", NOON + 7)).await;
    b.ok("a message is parked", parked);
}

async fn keys(b: &JournalFixture) -> Vec<ParkedKey> {
    b.ok("keys", b.on().inbox.parked_keys(Some(GROUP.into()), 100).await)
}

/// What waits under a key, in its order.
async fn waiting(b: &JournalFixture, key: &str) -> Vec<BusDelivery> {
    let found = b.ok("messages", b.on().inbox.parked(name(key), 100).await);
    let places: Vec<u64> = found.iter().map(|message| message.n).collect();
    b.holds(places.is_sorted_by(|one, other| one < other), "places rise", &places);
    found.into_iter().map(|message| message.delivery).collect()
}

fn numbers(waiting: &[BusDelivery]) -> Vec<u128> {
    waiting.iter().map(|delivery| delivery.message.number).collect()
}

/// Everything of a key that waits now was consumed, up to the n-th.
async fn unpark(b: &JournalFixture, key: &str, nth: usize) {
    let found = b.ok("messages", b.on().inbox.parked(name(key), 100).await);
    let upto = found.get(nth).map_or(0, |message| message.n);
    let consumed = found.iter().take(nth + 1).map(|one| one.delivery.message.number).collect();
    b.ok("unparked", b.on().inbox.unpark(name(key), consumed, upto).await);
}

async fn what_a_group_had_is_found_again(b: &mut JournalFixture) {
    for event in [7, u128::MAX] {
        b.written("a row of the inbox", guarded(Guard::Inbox { consumer: "x", event })).await;
    }
    for (group, should) in [("x", vec![7, u128::MAX]), ("y", vec![])] {
        let asked = vec![6, 7, u128::MAX];
        let mut had = b.ok("consumed", b.on().inbox.consumed(group, asked).await);
        had.sort_unstable();
        b.same(group, &had, &should);
    }
}

async fn messages_wait_under_their_key_in_their_order(b: &mut JournalFixture) {
    park(b, "a", &[9, 2]).await;
    park(b, "b", &[5]).await;
    park(b, "a", &[4]).await;
    for _ in 0..2 {
        let waits = waiting(b, "a").await;
        let should: Vec<_> = [9, 2, 4].iter().map(|n| delivery(TOPIC, "a", *n)).collect();
        b.same("what waits, as it was delivered", &waits, &should);
        let keys = keys(b).await;
        let shown: Vec<_> =
            keys.iter().map(|key| (&*key.name.key, key.partition, key.messages)).collect();
        b.same("keys", &shown, &vec![("a", 3, 3), ("b", 3, 1)]);
        let tries: Vec<_> = keys.into_iter().map(|key| key.next).collect();
        b.same("next tries", &tries, &vec![next(5, "WHY", NOON + 7); 2]);
        b.reopen().await;
    }
    b.ok("tried", b.on().inbox.try_again(name("a"), next(6, "STILL", NOON + 99)).await);
    b.ok("tried", b.on().inbox.try_again(name("none"), next(6, "STILL", 0)).await);
    park(b, "a", &[8]).await;
    let tries: Vec<_> = keys(b).await.into_iter().map(|key| key.next).collect();
    b.same("next tries", &tries, &vec![next(6, "STILL", NOON + 99), next(5, "WHY", NOON + 7)]);
    let one = b.ok("one", b.on().inbox.parked_keys(None, 1).await);
    b.same("at most one key", &one.len(), &1);
    let one = b.ok("one", b.on().inbox.parked(name("a"), 1).await);
    b.same("at most one message", &one.len(), &1);
}

async fn a_message_that_waits_is_not_parked_twice(b: &mut JournalFixture) {
    park(b, "a", &[1, 2]).await;
    park(b, "a", &[2, 1, 3]).await;
    b.same("what waits", &numbers(&waiting(b, "a").await), &vec![1, 2, 3]);
}

async fn a_key_waits_until_its_last_message_was_consumed(b: &mut JournalFixture) {
    park(b, "a", &[1, 2, 3]).await;
    unpark(b, "a", 1).await;
    b.same("what waits", &numbers(&waiting(b, "a").await), &vec![3]);
    b.same("it waits", &keys(b).await.len(), &1);
    unpark(b, "a", 0).await;
    b.same("what waits", &numbers(&waiting(b, "a").await), &vec![]);
    b.same("it waits no more", &keys(b).await.len(), &0);
    park(b, "a", &[1]).await;
    b.same("it waits anew", &numbers(&waiting(b, "a").await), &vec![1]);
}

async fn a_message_that_is_parked_meanwhile_keeps_its_key_waiting(b: &mut JournalFixture) {
    park(b, "a", &[1]).await;
    let last = keys(b).await.first().map_or(0, |key| key.last);
    park(b, "a", &[2]).await;
    b.ok("unparked", b.on().inbox.unpark(name("a"), vec![1], last).await);
    b.same("what waits", &numbers(&waiting(b, "a").await), &vec![2]);
    b.same("it waits", &keys(b).await.len(), &1);
    // one that is parked again has a place, and no row: the place of the last one frees its key
    park(b, "a", &[2]).await;
    let last = keys(b).await.first().map_or(0, |key| key.last);
    b.ok("unparked", b.on().inbox.unpark(name("a"), vec![2], last).await);
    b.same("it waits no more", &keys(b).await.len(), &0);
}

/// Another process, or another task, unparks what it read before the key was free and waits anew.
///
/// Wrong build that turns it red: messages that are unparked by their places, or a key that is freed by its last place
/// alone.
async fn what_waits_anew_is_not_unparked_by_an_earlier_reading(b: &mut JournalFixture) {
    park(b, "a", &[1, 2, 3]).await;
    let early = b.ok("messages", b.on().inbox.parked(name("a"), 100).await);
    let (read, last): (Vec<u128>, u64) = (
        early.iter().map(|one| one.delivery.message.number).collect(),
        early.last().map_or(0, |one| one.n),
    );
    unpark(b, "a", 2).await;
    for consumed in [read, vec![]] {
        park(b, "a", &[4]).await;
        b.ok("unparked late", b.on().inbox.unpark(name("a"), consumed, last).await);
        b.same("what waits", &numbers(&waiting(b, "a").await), &vec![4]);
        b.same("its key", &keys(b).await.len(), &1);
    }
}

async fn keys_of_other_groups_and_topics_are_others(b: &mut JournalFixture) {
    park(b, "a", &[1]).await;
    let other = vec![delivery("other", "a", 1)];
    b.ok("parked", b.on().inbox.park(GROUP.into(), other.clone(), next(1, "X", 1)).await);
    b.ok("parked", b.on().inbox.park("another".into(), other, next(1, "X", 1)).await);
    unpark(b, "a", 0).await;
    let names: Vec<_> = b.ok("keys", b.on().inbox.parked_keys(None, 100).await);
    let names: Vec<_> = names.iter().map(|key| (&*key.name.group, &*key.name.topic)).collect();
    b.same("keys", &names, &vec![("another", "other"), (GROUP, "other")]);
}
