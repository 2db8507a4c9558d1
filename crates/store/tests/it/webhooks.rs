//! The queue and the log of webhooks, in both stores.

use crate::fixture::Fixture;
use crate::operator_actions::{case, close};
use kernel::ids::Id;
use kernel::operators::Subject;
use kernel::ports::admin_queries::{AdminQueries, Tells};
use kernel::ports::journal::Journal;
use kernel::ports::webhooks::{
    BacklogQuery, ClaimQuery, MessageBatch, NewMessage, ProgressMove, TriedMessage, WebhookMessage,
    WebhookOutbox,
};
use kernel::unit::{Guard, Put, Unit, Wrote};
use testkit::ManualClock;

const ONE: Id = Id(0x0194_0000_0000_0000_0000_0000_0000_0001);
const TWO: Id = Id(0x0194_0000_0000_0000_0000_0000_0000_0002);
const THREE: Id = Id(0x0194_0000_0000_0000_0000_0000_0000_0003);
/// How long a claim holds, in milliseconds.
const HOLD: u64 = 10_000;

fn message(endpoint: Id, name: &str, again: bool) -> NewMessage {
    NewMessage {
        endpoint,
        id: name.into(),
        kind: "transfer.completed".into(),
        subject: "a test".into(),
        body: format!("{{\"id\":\"{name}\"}}").into(),
        again,
    }
}

fn batch(moves: &[(&str, u64, u64)], messages: Vec<NewMessage>) -> MessageBatch {
    let step = |(name, version, value): &(&str, u64, u64)| ProgressMove {
        name: (*name).into(),
        version: *version,
        value: *value,
    };
    let moves = moves.iter().map(step).collect();
    MessageBatch { moves, messages, ..MessageBatch::default() }
}

fn query(endpoint: Id, limit: usize) -> ClaimQuery {
    ClaimQuery { endpoint, hold: HOLD, longest: 1_000_000, limit }
}

fn ids(messages: &[WebhookMessage]) -> Vec<&str> {
    messages.iter().map(|one| &*one.id).collect()
}

fn tried(message: &WebhookMessage, wait: Option<u64>, error: Option<&str>) -> TriedMessage {
    let WebhookMessage { endpoint, number, .. } = *message;
    TriedMessage { endpoint, number, wait, status: Some(500), error: error.map(Into::into) }
}

/// A batch is whole or nothing, and an event is one message however often it is found. Turns red with a
/// store that writes the messages of a batch whose cursor was moved, and with one that asks for the first
/// of several versions alone.
async fn a_batch_is_lost_where_its_cursor_was_moved(store: &dyn WebhookOutbox) {
    let queue = async |moves: &[(&str, u64, u64)], name: &str| {
        store.queue(batch(moves, vec![message(ONE, name, false)])).await.expect("an answer")
    };
    assert!(queue(&[("c", 0, 5)], "a").await);
    assert!(!queue(&[("c", 0, 6)], "b").await, "it is there already");
    assert!(!queue(&[("c", 2, 6)], "b").await, "another version");
    assert!(!queue(&[("c", 1, 6), ("d", 4, 1)], "b").await, "one of two");
    assert!(queue(&[("c", 1, 7), ("d", 0, 1)], "a").await, "the same event again");
    let found = store.progress().await.expect("progress");
    let found: Vec<_> = found.iter().map(|one| (&*one.name, one.value, one.version)).collect();
    assert_eq!(found, [("c", 7, 2), ("d", 1, 1)]);
    let log = store.messages(ONE, None, 10).await.expect("a log");
    assert_eq!(ids(&log), ["a"]);
    assert!(store.messages(TWO, None, 10).await.expect("a log").is_empty());
}

/// Turns red with a store that gives a claimed message again at once, and with one whose claim has no
/// end.
async fn a_claim_holds_for_its_time(store: &dyn WebhookOutbox, clock: &ManualClock) {
    let names: Vec<NewMessage> =
        ["b", "c", "d"].into_iter().map(|name| message(ONE, name, false)).collect();
    assert!(store.queue(batch(&[], names)).await.expect("an answer"));
    let claim = async |limit| store.claim(query(ONE, limit)).await.expect("a claim");
    let first = claim(2).await;
    assert_eq!(ids(&first), ["a", "b"]);
    assert_eq!(ids(&claim(10).await), ["c", "d"]);
    assert!(claim(10).await.is_empty());
    clock.forward(HOLD - 1);
    assert!(claim(10).await.is_empty());
    clock.forward(1);
    assert_eq!(claim(10).await.len(), 4, "the process that had them is gone");
    // taken, to be tried again, given up
    let [a, b] = &first[..] else { panic!("{first:?}") };
    let d = store.messages(ONE, None, 1).await.expect("a log").remove(0);
    let all =
        vec![tried(a, None, None), tried(b, Some(5_000), Some("no")), tried(&d, None, Some("no"))];
    store.tried(all).await.expect("noted");
    let log = store.messages(ONE, None, 10).await.expect("a log");
    let shown: Vec<_> = log
        .iter()
        .map(|one| (&*one.id, one.attempts, one.due_at.is_some(), one.delivered_at.is_some()))
        .collect();
    let should = [
        ("d", 1, false, false),
        ("c", 0, true, false),
        ("b", 1, true, false),
        ("a", 1, false, true),
    ];
    assert_eq!(shown, should);
    assert_eq!(
        ids(&store.messages(ONE, log.get(1).map(|second| second.number), 1).await.expect("a log")),
        ["b"]
    );
    let waiting = async |since| {
        let of = [ONE, TWO].map(|endpoint| BacklogQuery { endpoint, since }).to_vec();
        let found = store.waiting(of).await.expect("a count");
        found.iter().map(|of| (of.messages, of.queued_since)).collect::<Vec<_>>()
    };
    assert_eq!(waiting(b.at).await, [(2, 2), (0, 0)]);
    assert_eq!(waiting(b.at + 1).await, [(2, 0), (0, 0)], "none was queued since");
    // one was taken: nothing is failing, though others failed beside it
    assert!(store.progress().await.expect("progress").iter().all(|one| one.name.len() == 1));
    store.tried(vec![tried(b, Some(5_000), Some("no"))]).await.expect("noted");
    let failing = store.progress().await.expect("progress");
    assert!(failing.iter().any(|one| *one.name == *format!("failing/{ONE}")), "{failing:?}");
    // an answer that comes after another try was taken changes nothing
    store.tried(vec![tried(a, Some(1), Some("late"))]).await.expect("noted");
    // again: what was taken and what was given up
    let resend = vec![(ONE, d.number)];
    let again = vec![message(ONE, "a", true), message(ONE, "a", true)];
    let batch = MessageBatch { resend, ..batch(&[], again) };
    assert!(store.queue(batch).await.expect("an answer"));
    let queued = waiting(b.at + 1).await.first().map(|(_, queued)| *queued);
    assert_eq!(queued, Some(1), "what is queued again is queued since then");
    let due = claim(10).await;
    assert_eq!(ids(&due), ["a", "d"], "and no more rows");
    let shown = due.iter().map(|one| (one.attempts, one.delivered_at));
    let first = log.iter().find(|one| *one.id == *"a").and_then(|one| one.delivered_at);
    assert_eq!(shown.collect::<Vec<_>>(), [(0, first), (0, None)], "the first delivery stays");
    clock.forward(1);
    let a = due.first().expect("the first");
    store.tried(vec![tried(a, None, None)]).await.expect("noted");
    let taken = store.messages(ONE, None, 10).await.expect("a log");
    let again = taken.iter().find(|one| *one.id == *"a").expect("it is there");
    assert_eq!((again.delivered_at, again.due_at), (first, None));
    assert!(again.tried_at > first, "when it was taken again");
}

/// Turns red with a store that waits for a time which is further away than the longest wait: a clock that was set back
/// since gave it (`due_at <= now` alone, on both stores).
async fn a_time_that_cannot_be_has_come<S: WebhookOutbox + Journal + AdminQueries>(store: &S) {
    const LONGEST: u64 = 1_000_000;
    assert!(store.queue(batch(&[], vec![message(THREE, "far", false)])).await.expect("an answer"));
    let claim = async || store.claim(query(THREE, 10)).await.expect("a claim");
    let far = claim().await;
    let wrote = store.write(vec![Unit::puts(vec![case("FAR", Subject::Webhook(ONE))])]).await;
    assert!(matches!(wrote[..], [Wrote::Written(_)]), "{wrote:?}");
    let due = async || {
        let mut all = store.deliveries(LONGEST, 10).await.expect("deliveries");
        all.retain(|one| &*one.case.opened.kind == "FAR");
        all
    };
    let told = due().await;
    let ([message], [delivery]) = (&far[..], &told[..]) else { panic!("{far:?}, {told:?}") };
    let (number, half) = (delivery.case.opened.number, delivery.tells);
    for (wait, comes) in [(LONGEST, 0), (LONGEST + 1, 1), (1 << 45, 1)] {
        store.tried(vec![tried(message, Some(wait), Some("no"))]).await.expect("noted");
        assert_eq!(claim().await.len(), comes, "a message after {wait}");
        let at = Some(store.now() + wait);
        store.delivered(number, half, at, None).await.expect("noted");
        assert_eq!(due().await.len(), comes, "a case after {wait}");
    }
}

/// Turns red with a store that tells a case to every look.
async fn each_half_of_a_case_is_passed_on_once<S: WebhookOutbox + Journal>(store: &S) {
    let about = Subject::Webhook(TWO);
    for put in [case("WEBHOOK_DISABLED", about), close("WEBHOOK_DISABLED", about)] {
        let wrote = store.write(vec![Unit::puts(vec![put])]).await;
        assert!(matches!(wrote[..], [Wrote::Written(_)]), "{wrote:?}");
    }
    let events = store.case_events(10).await.expect("cases");
    let halves: Vec<_> = events.iter().map(|one| one.tells).collect();
    assert_eq!(halves.len(), 2);
    assert!(events.iter().all(|one| one.case.opened.subject == about));
    let told: Vec<(u64, Tells)> =
        events.iter().map(|one| (one.case.opened.number, one.tells)).collect();
    let batch = MessageBatch { told, ..MessageBatch::default() };
    assert!(store.queue(batch).await.expect("an answer"));
    assert!(store.case_events(10).await.expect("cases").is_empty());
    assert_eq!(store.case_events_since(0, 10).await.expect("cases").len(), 2);
    assert!(store.case_events_since(u64::MAX, 10).await.expect("cases").is_empty());
}

/// Turns red with a store that finds a resource under a name that only begins alike.
async fn resources_are_found_by_how_they_begin<S: Journal>(store: &S) {
    for name in ["webhook/1", "webhook/2", "webhool", "webhook"] {
        let guards = vec![Guard::Resource { name: name.into(), version: 0 }];
        let puts = vec![Put::Resource { name: name.into(), value: format!("of {name}").into() }];
        let wrote = store.write(vec![Unit::guarded(guards, puts)]).await;
        assert!(matches!(wrote[..], [Wrote::Written(_)]), "{wrote:?}");
    }
    let found = store.resources("webhook/".into()).await.expect("resources");
    let found: Vec<_> = found.iter().map(|one| (&*one.name, &*one.value, one.version)).collect();
    assert_eq!(found, [("webhook/1", "of webhook/1", 1), ("webhook/2", "of webhook/2", 1)]);
}

/// Turns red with a store that forgets by the time of the last try.
async fn old_messages_are_forgotten(store: &dyn WebhookOutbox, clock: &ManualClock, now: u64) {
    clock.forward(60_000);
    assert!(store.queue(batch(&[], vec![message(TWO, "new", false)])).await.expect("an answer"));
    let gone = store.forget(now + 1, 2).await.expect("an answer");
    assert_eq!(gone, 2);
    while store.forget(now + 1, 2).await.expect("an answer") > 0 {}
    assert!(store.messages(ONE, None, 10).await.expect("a log").is_empty());
    assert_eq!(ids(&store.messages(TWO, None, 10).await.expect("a log")), ["new"]);
}

async fn run<S: WebhookOutbox + Journal + AdminQueries>(store: &S, clock: &ManualClock) {
    a_batch_is_lost_where_its_cursor_was_moved(store).await;
    a_claim_holds_for_its_time(store, clock).await;
    each_half_of_a_case_is_passed_on_once(store).await;
    resources_are_found_by_how_they_begin(store).await;
    old_messages_are_forgotten(store, clock, store.now()).await;
    a_time_that_cannot_be_has_come(store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_store_keeps_webhooks() {
    let fixture = Fixture::new();
    let store = fixture.open();
    run(&*store, &fixture.clock).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_keeps_webhooks() {
    let database = crate::postgres::fixture::database();
    let clock = ManualClock::at(crate::fixture::NOON);
    let flows = std::sync::Arc::new(flows::registry());
    let store = crate::postgres::fixture::open(database.url(), clock.clone(), flows).await;
    run(&*store, &clock).await;
}
