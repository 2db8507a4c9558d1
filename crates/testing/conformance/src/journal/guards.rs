//! Checks that each guard holds and fails as it must, and that a unit with a failed guard writes nothing.

use super::checks;
use super::fixture::{JournalFixture, NOON, RICH, guarded, id, known, plain};
use kernel::attempt::{Attempt, AttemptId};
use kernel::ids::{ChainId, Id, LedgerId};
use kernel::operation::{Identity, Known};
use kernel::unit::{Guard, Put, Then, Unit, Wrote};
use std::sync::Arc;

checks! {
    fresh_means_an_id_that_never_was,
    unbound_means_a_key_that_never_was,
    a_transfer_stands_exactly_there,
    an_incarnation_is_the_current_one,
    at_most_counts_up_to_its_limit,
    at_most_counts_nothing_for_a_lost_unit,
    an_event_is_consumed_once,
    a_resource_has_a_version,
    an_attempt_has_a_version,
    the_first_failing_guard_is_named,
    concurrent_units_pass_a_limit_one_by_one,
    guards_of_one_unit_count_together,
}

async fn fresh_means_an_id_that_never_was(b: &mut JournalFixture) {
    b.wins("an id that never was", Guard::Fresh(id(1))).await;
    b.opened(1).await;
    b.loses("an id that is open", Guard::Fresh(id(1))).await;
    b.lost("opening it again", b.opening(&b.record(1, RICH, 10)), Guard::Fresh(id(1))).await;
    let record = b.opened(2).await;
    b.moved(&record, "FAILED").await;
    b.loses("an id that ended", Guard::Fresh(id(2))).await;
    b.written("a horizon", plain(vec![Put::Horizon(id(10))])).await;
    b.loses("an id below the horizon", Guard::Fresh(id(9))).await;
    b.loses("the horizon itself", Guard::Fresh(id(10))).await;
    b.wins("an id above the horizon", Guard::Fresh(id(11))).await;
}

async fn unbound_means_a_key_that_never_was(b: &mut JournalFixture) {
    let guard = |scope: &str, key: &str| Guard::Unbound {
        flow: b.flow,
        scope: scope.into(),
        key: key.into(),
    };
    b.wins("a key that never was", guard("s", "k")).await;
    let record = b.bound(b.record(1, RICH, 10), "s", "k");
    let mut unit = b.opening(&record);
    unit.guards.push(guard("s", "k"));
    b.written("its opening", unit).await;
    b.loses("a bound key", guard("s", "k")).await;
    b.wins("the key in another scope", guard("t", "k")).await;
    b.wins("another key", guard("s", "K")).await;
    b.wins("the scope as a key", guard("k", "s")).await;
    // the binding itself is unique, whether a guard looks or not
    let again = b.bound(b.record(2, RICH, 10), "s", "k");
    b.lost("a second binding without a guard", b.opening(&again), guard("s", "k")).await;
    let record = b.get(id(1)).await;
    b.moved(&record, "FAILED").await;
    b.loses("a key whose transfer ended", guard("s", "k")).await;
}

async fn a_transfer_stands_exactly_there(b: &mut JournalFixture) {
    let record = b.opened(1).await;
    let at = |state: &str, version| Guard::Transfer { id: id(1), state: b.state(state), version };
    b.wins("where it is", at("INIT", 0)).await;
    b.loses("another version", at("INIT", 1)).await;
    b.loses("another state", at("SOURCE_PENDING", 0)).await;
    let none = Guard::Transfer { id: id(2), state: b.state("INIT"), version: 0 };
    b.loses("a transfer that is not there", none).await;
    let moved = b.moved(&record, "SOURCE_PENDING").await;
    b.wins("where it went", at("SOURCE_PENDING", 1)).await;
    b.loses("where it was", at("INIT", 0)).await;
    b.lost("a move that another made", b.moving(&record, "FAILED", "X"), at("INIT", 0)).await;
    // the state alone is not enough: nor is the version
    b.timed(&moved, None, kernel::unit::Hold::Mine).await;
    b.loses("the state with an old version", at("SOURCE_PENDING", 1)).await;
    b.loses("the version with an old state", at("INIT", 2)).await;
}

async fn an_incarnation_is_the_current_one(b: &mut JournalFixture) {
    let spot = LedgerId::SPOT;
    let guard = |known| Guard::Incarnation { ledger: spot, known };
    b.wins("a ledger that was never met", guard(None)).await;
    b.loses("one that was never met, as something", guard(Some(known(1, 0)))).await;
    let adopt = |known| Put::Adopt { ledger: spot, known };
    b.written("its adoption", plain(vec![adopt(known(1, 5))])).await;
    b.wins("the current one", guard(Some(known(1, 5)))).await;
    b.wins("the current one, whatever its highest", guard(Some(known(1, 77)))).await;
    b.loses("as never met", guard(None)).await;
    b.loses("another incarnation", guard(Some(known(2, 5)))).await;
    let stranger = Known { identity: Identity(1), ..known(1, 5) };
    b.loses("another identity", guard(Some(stranger))).await;
    let other = Guard::Incarnation { ledger: LedgerId::FUTURE, known: None };
    b.wins("another ledger", other).await;
    b.written("the next", plain(vec![adopt(known(2, 5))])).await;
    b.loses("the former one", guard(Some(known(1, 5)))).await;
    b.wins("the next one", guard(Some(known(2, 0)))).await;
}

fn at_most(name: &str, n: u128, limit: u128) -> Guard {
    Guard::AtMost { name: name.into(), n, limit }
}

async fn at_most_counts_up_to_its_limit(b: &mut JournalFixture) {
    b.loses("more than the limit at once", at_most("a", 11, 10)).await;
    b.wins("up to the limit", at_most("a", 7, 10)).await;
    b.wins("the rest", at_most("a", 3, 10)).await;
    b.loses("one more", at_most("a", 1, 10)).await;
    b.wins("nothing more", at_most("a", 0, 10)).await;
    b.wins("another counter", at_most("b", 10, 10)).await;
    b.wins("a higher limit", at_most("a", 1, 11)).await;
    let big = u128::MAX;
    b.loses("more than can be counted", at_most("a", big, big)).await;
    let raise = |to| Put::Raise { name: "a".into(), to };
    b.written("raised", plain(vec![raise(50)])).await;
    b.loses("one above what it was raised to", at_most("a", 1, 50)).await;
    b.written("raised to less", plain(vec![raise(20)])).await;
    b.loses("it stays at the highest", at_most("a", 1, 50)).await;
    b.wins("up to a new limit", at_most("a", 10, 60)).await;
}

async fn at_most_counts_nothing_for_a_lost_unit(b: &mut JournalFixture) {
    let missing = Guard::Transfer { id: id(9), state: b.state("INIT"), version: 0 };
    for guards in
        [vec![at_most("a", 4, 5), missing.clone()], vec![missing.clone(), at_most("a", 4, 5)]]
    {
        let unit = Unit { guards, then: Then::default() };
        b.lost("a unit with two guards", unit, missing.clone()).await;
    }
    b.wins("all of it is left", at_most("a", 5, 5)).await;
}

async fn an_event_is_consumed_once(b: &mut JournalFixture) {
    let inbox = |consumer, event| Guard::Inbox { consumer, event };
    b.wins("an event", inbox("x", 7)).await;
    b.loses("again", inbox("x", 7)).await;
    b.wins("another consumer", inbox("y", 7)).await;
    b.wins("another event", inbox("x", u128::MAX)).await;
    let missing = Guard::Transfer { id: id(9), state: b.state("INIT"), version: 0 };
    let unit = Unit { guards: vec![inbox("x", 8), missing.clone()], then: Then::default() };
    b.lost("a unit that is lost", unit, missing).await;
    b.wins("its event was not consumed", inbox("x", 8)).await;
    b.reopen().await;
    b.loses("for ever", inbox("x", 8)).await;
    let take = |consumer| Unit { guards: vec![inbox(consumer, 9)], then: Then::default() };
    let wrote = b.all(vec![take("x"), take("x"), take("y")]).await;
    let taken: Vec<_> = wrote.iter().map(|wrote| matches!(wrote, Wrote::Written(_))).collect();
    b.same("one of a group takes an event", &taken, &vec![true, false, true]);
    b.same("the other is lost", &wrote.get(1), &Some(&Wrote::Lost(inbox("x", 9))));
}

async fn a_resource_has_a_version(b: &mut JournalFixture) {
    let guard = |version| Guard::Resource { name: "key-1".into(), version };
    let put = |value: &str| Put::Resource { name: "key-1".into(), value: value.into() };
    b.wins("one that is not there", guard(0)).await;
    b.loses("one that is not there, with a version", guard(1)).await;
    for version in 0..3 {
        let unit = Unit { guards: vec![guard(version)], then: plain(vec![put("value")]).then };
        b.written("a new value", unit.clone()).await;
        b.lost("the same again", unit, guard(version)).await;
    }
    b.wins("its version", guard(3)).await;
    b.wins("another one", Guard::Resource { name: "key-2".into(), version: 0 }).await;
    b.reopen().await;
    b.wins("its version still", guard(3)).await;
}

async fn an_attempt_has_a_version(b: &mut JournalFixture) {
    let guard = |version| Guard::Attempt { id: AttemptId(5), version };
    let attempt = Attempt {
        id: AttemptId(5),
        chain: ChainId(20),
        flow: b.flow,
        state: b.state("INIT"),
        version: Attempt::FIRST,
        lane: "key-1".into(),
        lock: "3".into(),
        members: Arc::new([]),
        forms: vec![],
        sent: false,
        due_at: None,
        closed: None,
    };
    let head = |version| Put::AttemptHead {
        id: AttemptId(5),
        version,
        sent: true,
        due_at: None,
        closed: None,
        hold: kernel::unit::Hold::Mine,
    };
    b.wins("one that is not there", guard(0)).await;
    b.loses("one that is not there, with a version", guard(1)).await;
    for (version, put) in (0..).zip([Put::Attempt(attempt), head(2)]) {
        let unit = Unit { guards: vec![guard(version)], then: plain(vec![put]).then };
        b.written("a put of it", unit.clone()).await;
        b.lost("the same again", unit, guard(version)).await;
    }
    b.wins("its version", guard(2)).await;
}

async fn the_first_failing_guard_is_named(b: &mut JournalFixture) {
    b.opened(1).await;
    let fresh = Guard::Fresh(id(1));
    let missing = Guard::Transfer { id: id(9), state: b.state("INIT"), version: 0 };
    for guards in [
        vec![fresh.clone(), missing.clone()],
        vec![missing.clone(), fresh.clone()],
        vec![Guard::NotHalted, missing, fresh],
    ] {
        let first = guards.iter().find(|guard| **guard != Guard::NotHalted).cloned();
        let unit = Unit { guards, then: Then::default() };
        let Some(first) = first else { continue };
        b.lost("two that fail", unit, first).await;
    }
}

async fn concurrent_units_pass_a_limit_one_by_one(b: &mut JournalFixture) {
    let journal = &b.on().journal;
    let writes = (0..40).map(|n| {
        let mut unit = guarded(at_most("clients", 1, 10));
        unit.then.puts = vec![Put::Horizon(Id::new(NOON - 9_000_000 + n, 0))];
        journal.write(vec![unit])
    });
    let wrote = super::fixture::together(writes.collect()).await;
    let written = wrote.iter().flatten().filter(|w| matches!(w, Wrote::Written(_))).count();
    b.same("those that passed", &(wrote.len(), written), &(40, 10));
    b.loses("one more", at_most("clients", 1, 10)).await;
}

async fn guards_of_one_unit_count_together(b: &mut JournalFixture) {
    let twice = |guard: Guard| Unit { guards: vec![guard.clone(), guard], then: Then::default() };
    let six = at_most("a", 6, 10);
    b.lost("two that pass the limit together", twice(six.clone()), six).await;
    b.written("two within it", twice(at_most("a", 4, 10))).await;
    b.loses("more than they left", at_most("a", 3, 10)).await;
    b.wins("what they left", at_most("a", 2, 10)).await;
    let event = Guard::Inbox { consumer: "x", event: 7 };
    b.lost("an event twice", twice(event.clone()), event.clone()).await;
    b.wins("it was not consumed", event).await;
}
