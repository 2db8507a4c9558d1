//! Checks the puts of a unit: transfers and their states, counters, messages; all of them are written or none.

use super::checks;
use super::fixture::{JournalFixture, NOON, RICH, TODAY, id, pause, plain};
use kernel::answer::{Cause, Evidence};
use kernel::attempt::AttemptId;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, LedgerId, Millis, Serial, UserId};
use kernel::limits::DailyCount;
use kernel::money::{Amount, Asset};
use kernel::operators::{Accepted, Action, Case, Proposal, Severity, Subject};
use kernel::ports::journal;
use kernel::record::Head;
use kernel::unit::{Guard, Hold, Put, Then, Unit, Wrote};
use std::sync::Arc;

checks! {
    an_opening_gives_a_number_and_times,
    what_was_agreed_comes_back_as_it_was,
    a_head_of_the_same_unit_changes_the_row_before_it_is_there,
    a_head_moves_a_transfer,
    a_move_is_guarded_and_its_version_grows_by_one,
    an_error_stays_until_another_comes,
    a_key_finds_its_transfer_for_ever,
    a_unit_is_all_or_nothing,
    a_group_answers_each_for_itself,
    a_unit_sees_the_earlier_ones_of_its_group,
    open_transfers_are_counted_and_listed,
    those_that_stay_open_come_by_age,
}

async fn an_opening_gives_a_number_and_times(b: &mut JournalFixture) {
    let mut last = Serial(0);
    for n in 1..4 {
        b.clock.set(NOON + n * 1_000);
        let written = b.written("an opening", b.opening(&b.record(n, RICH, 10))).await;
        let record = b.get(id(n)).await;
        let Some(serial) = written.serial else { continue };
        b.holds(serial > last, "a number that does not rise", &(last, serial));
        last = serial;
        b.same("its number", &record.serial, &Some(serial));
        b.same("its times", &(record.created_at, record.updated_at), &(written.at, written.at));
        b.holds(written.at >= NOON + n * 1_000, "a time before the clock's", &written.at);
        b.same("where it stands", &record.head, &Head::start(b.state("INIT")));
    }
    b.holds(last > Serial(0), "no number was given", &last);
    let none = b.written("a unit that opens nothing", plain(vec![])).await;
    b.same("its number", &none.serial, &None);
    b.same("an unknown id", &b.on().journal.get(vec![id(99)]).await.map(|r| r.len()), &Ok(0));
    let ids = vec![id(1), id(99), id(3)];
    let mut found = b.ok("get", b.on().journal.get(ids).await);
    found.sort_by_key(|record| record.id);
    let found: Vec<_> = found.iter().map(|record| record.id).collect();
    b.same("several", &found, &vec![id(1), id(3)]);
}

async fn what_was_agreed_comes_back_as_it_was(b: &mut JournalFixture) {
    let mut record = b.bound(b.record(1, RICH, 1 << 100), "iss|ü", "a key");
    let mut terms = (*record.terms).clone();
    terms.memo = Some("memo".to_owned());
    terms.deadline = Some(5);
    terms.day = Some(TODAY);
    terms.metadata.insert("é".to_owned(), "\u{1F6A3}".to_owned());
    record.terms = terms.into();
    b.written("an opening", b.opening(&record)).await;
    for _ in 0..2 {
        let found = b.get(id(1)).await;
        b.same("the terms", &*found.terms, &*record.terms);
        b.same("the flow and the error", &(found.flow, found.error), &(record.flow, None));
        b.reopen().await;
    }
}

async fn a_head_of_the_same_unit_changes_the_row_before_it_is_there(b: &mut JournalFixture) {
    let record = b.record(1, RICH, 10);
    let head = b.to(&record, "SOURCE_PENDING");
    let mut unit = b.opening(&record);
    unit.then.puts.push(b.head(id(1), head));
    unit.then.events.push(b.event(&record, "SOURCE_PENDING", "SOURCE_CALL"));
    b.written("an opening with a claim", unit).await;
    let found = b.get(id(1)).await;
    b.same("where it stands", &found.head, &head);
    b.same("its times", &found.created_at, &found.updated_at);
    b.same("its history", &b.history(id(1)).await.len(), &2);
    // one that ends before it is there was never open
    let record = b.record(2, RICH, 10);
    let head = b.to(&record, "FAILED");
    let error = Some(Evidence::code("INSUFFICIENT_BALANCE"));
    let mut unit = b.opening(&record);
    unit.then.puts.push(Put::Head { id: id(2), head, error: error.clone(), hold: Hold::Mine });
    b.written("an opening that fails", unit).await;
    let found = b.get(id(2)).await;
    b.same("where it stands", &(found.head, found.error), &(head, error));
    b.holds(!b.is_open(id(2)).await, "it is open", &());
}

async fn a_head_moves_a_transfer(b: &mut JournalFixture) {
    let record = b.opened(1).await;
    b.clock.set(NOON + 5_000);
    let head = Head {
        state: b.state("TARGET_PENDING"),
        version: record.head.version + 1,
        retries: 70_000,
        rejections: 3,
        alone: true,
        deaths: 2,
        due_at: Some(NOON + 9_000),
    };
    let unit = Unit::guarded(vec![b.stands(&record)], vec![b.head(id(1), head)]);
    let written = b.written("a move", unit).await;
    let found = b.get(id(1)).await;
    b.same("where it stands", &found.head, &head);
    let times = (found.created_at, found.updated_at);
    b.same("its times", &times, &(record.created_at, written.at));
    let ended = b.to(&found, "COMMITTED");
    let unit = Unit::guarded(vec![b.stands(&found)], vec![b.head(id(1), ended)]);
    b.written("its end", unit).await;
    b.same("its end", &b.get(id(1)).await.head, &ended);
    b.holds(!b.is_open(id(1)).await, "it is still open", &ended);
}

/// Two workers that believe in the same version must not both move it: a plan that forgets its guard, or counts the
/// version otherwise, writes nothing.
async fn a_move_is_guarded_and_its_version_grows_by_one(b: &mut JournalFixture) {
    let (record, other) = (b.opened(1).await, b.opened(2).await);
    let next = b.to(&record, "SOURCE_PENDING");
    let version = record.head.version;
    for (guards, version) in [
        (vec![], version + 1),
        (vec![b.stands(&other)], version + 1),
        (vec![b.stands(&record)], version),
        (vec![b.stands(&record)], version + 2),
    ] {
        let mut unit = b.moving(&record, "SOURCE_PENDING", "SOURCE_CALL");
        (unit.guards, unit.then.puts) = (guards, vec![b.head(id(1), Head { version, ..next })]);
        b.unknown("a move that it does not guard", unit, Cause::CONTRADICTION).await;
    }
    b.same("where it stands", &b.get(id(1)).await.head, &record.head);
    b.same("its history", &b.history(id(1)).await.len(), &1);
}

async fn an_error_stays_until_another_comes(b: &mut JournalFixture) {
    let mut record = b.opened(1).await;
    let doc = |code: &'static str| Some(Evidence { code: code.into(), doc: Some("why".into()) });
    for (put, then) in [
        (None, None),
        (doc("TIMEOUT"), doc("TIMEOUT")),
        (None, doc("TIMEOUT")),
        (doc("ACCOUNT_DISABLED"), doc("ACCOUNT_DISABLED")),
    ] {
        let head = b.to(&record, "SOURCE_PENDING");
        let put = Put::Head { id: id(1), head, error: put, hold: Hold::Mine };
        b.written("a head", Unit::guarded(vec![b.stands(&record)], vec![put])).await;
        record = b.get(id(1)).await;
        b.same("the error", &record.error, &then);
    }
}

async fn a_key_finds_its_transfer_for_ever(b: &mut JournalFixture) {
    let record = b.bound(b.record(1, RICH, 10), "s", "k");
    b.written("an opening", b.opening(&record)).await;
    let find = async |b: &JournalFixture, scope: &str, key: &str| {
        let found = b.on().journal.find_by_idempotency_key(b.flow, scope.into(), key.into()).await;
        b.ok("bound", found).map(|record| (record.id, record.head.state))
    };
    b.same("its key", &find(b, "s", "k").await, &Some((id(1), b.state("INIT"))));
    b.same("another scope", &find(b, "x", "k").await, &None);
    b.same("another key", &find(b, "s", "x").await, &None);
    let record = b.get(id(1)).await;
    b.moved(&record, "FAILED").await;
    b.same("after its end", &find(b, "s", "k").await, &Some((id(1), b.state("FAILED"))));
    b.reopen().await;
    b.same("after a restart", &find(b, "s", "k").await, &Some((id(1), b.state("FAILED"))));
}

/// An action and a proposal that are not to be.
fn no() -> (Action, Proposal) {
    let words: [Arc<str>; 5] = ["service", "{}", "no", "ops|1", "k"].map(Into::into);
    let [subject, value, reason, caller, key] = words.clone();
    let result = value.clone();
    let action = Action { caller, key, kind: "HALT", subject, value, reason, result };
    let [subject, value, reason, caller, _] = words;
    let proposal =
        Proposal { id: id(1), kind: "RESUME", subject, value, reason, caller, lasts: 1_000 };
    (action, proposal)
}

async fn a_unit_is_all_or_nothing(b: &mut JournalFixture) {
    let record = b.opened(1).await;
    let (action, proposal) = no();
    // everything that a unit may carry, and at its end something that cannot be written
    let mut unit = b.moving(&record, "SOURCE_PENDING", "SOURCE_CALL");
    unit.guards.push(Guard::AtMost { name: "n".into(), n: 1, limit: 1 });
    unit.guards.push(Guard::Inbox { consumer: "c", event: 1 });
    unit.then.puts.extend([
        Put::Resource { name: "r".into(), value: "v".into() },
        Put::Raise { name: "m".into(), to: 9 },
        Put::Adopt { ledger: LedgerId::SPOT, known: super::fixture::known(1, 3) },
        Put::Horizon(id(0)),
        Put::Open(b.record(2, RICH, 10)),
        super::fixture::receipt(4, super::fixture::op(1, Leg::Deposit, 10)),
        Put::Case(Case {
            kind: "CHECK",
            severity: Severity::Critical,
            subject: Subject::Service,
            facts: "no".into(),
        }),
        Put::Action(action.clone()),
        Put::Propose(proposal),
        Put::Asset(Asset::plain(1, "BTC", 9)),
        Put::Count(DailyCount { user: RICH, day: TODAY, asset: AssetId(3), amount: Amount(1) }),
        Put::Resume { accepted: vec![Accepted { key: "no".into(), amount: 1 }] },
        pause(b.flow, "no"),
        Put::Halt { reason: "no".into() },
    ]);
    unit.then.outbox.push(super::fixture::message(1, "t", "key", 0));
    let settle = super::fixture::op(1, Leg::Settle, 10);
    unit.then.ops = vec![(LedgerId::FUNDING, settle)];
    b.unknown("a settle without its withdraw", unit, "CONTRADICTION").await;
    b.wins("the counter", Guard::AtMost { name: "n".into(), n: 1, limit: 1 }).await;
    b.wins("the maximum", Guard::AtMost { name: "m".into(), n: 1, limit: 1 }).await;
    b.wins("the inbox", Guard::Inbox { consumer: "c", event: 1 }).await;
    b.wins("the resource", Guard::Resource { name: "r".into(), version: 0 }).await;
    b.wins("the ledger", Guard::Incarnation { ledger: LedgerId::SPOT, known: None }).await;
    b.wins("the horizon and the flag", Guard::NotHalted).await;
    b.wins("the transfer", b.stands(&record)).await;
    b.wins("the other transfer", Guard::Fresh(id(2))).await;
    b.wins("no attempt", Guard::Attempt { id: AttemptId(1), version: 0 }).await;
    let Action { caller, key, .. } = action;
    b.wins("no action", Guard::NoPastAction { caller, key }).await;
    b.same("no proposal", &b.on().journal.approval(id(1)).await, &Ok(None));
}

async fn a_group_answers_each_for_itself(b: &mut JournalFixture) {
    b.opened(1).await;
    let lost = Guard::Fresh(id(1));
    let settle = vec![(LedgerId::FUNDING, super::fixture::op(5, Leg::Settle, 10))];
    let unknown = Unit { guards: vec![], then: Then { ops: settle, ..Then::default() } };
    let group = vec![
        b.opening(&b.record(2, RICH, 10)),
        b.opening(&b.record(1, RICH, 10)),
        unknown,
        b.opening(&b.record(3, RICH, 10)),
    ];
    let wrote = b.all(group).await;
    let [first, second, third, fourth] = wrote.as_slice() else { return };
    b.holds(matches!(first, Wrote::Written(_)), "the first", first);
    b.same("the second", second, &Wrote::Lost(lost));
    b.holds(matches!(third, Wrote::Unknown(_)), "the third", third);
    b.holds(matches!(fourth, Wrote::Written(_)), "the fourth", fourth);
    b.get(id(2)).await;
    b.get(id(3)).await;
    b.same("an empty group", &b.all(vec![]).await, &vec![]);
}

async fn a_unit_sees_the_earlier_ones_of_its_group(b: &mut JournalFixture) {
    let record = b.record(1, RICH, 10);
    let (head, key) = (b.to(&record, "SOURCE_PENDING"), b.bound(b.record(2, RICH, 1), "s", "k"));
    let again = b.bound(b.record(3, RICH, 1), "s", "k");
    let limit = Guard::AtMost { name: "g".into(), n: 2, limit: 3 };
    let unit = |guards, puts| Unit { guards, then: Then { puts, ..Then::default() } };
    let group = vec![
        b.opening(&record),
        unit(vec![b.stands(&record)], vec![b.head(id(1), head)]),
        unit(vec![b.stands(&record)], vec![b.head(id(1), head)]),
        b.opening(&key),
        b.opening(&again),
        unit(vec![limit.clone()], vec![]),
        unit(vec![limit.clone()], vec![]),
    ];
    let wrote = b.all(group).await;
    let written = |w: &Wrote| matches!(w, Wrote::Written(_));
    let words: Vec<_> = wrote.iter().map(written).collect();
    b.same("those that were written", &words, &vec![true, true, false, true, false, true, false]);
    b.same("the third", &wrote.get(2), &Some(&Wrote::Lost(b.stands(&record))));
    b.same("the last", &wrote.get(6), &Some(&Wrote::Lost(limit)));
    b.same("where it stands", &b.get(id(1)).await.head, &head);
}

async fn open_transfers_are_counted_and_listed(b: &mut JournalFixture) {
    let other = UserId(2);
    for n in 1..4 {
        b.clock.set(NOON + n * 1_000);
        b.opened(n).await;
    }
    b.written("another user's", b.opening(&b.record(4, other, 1))).await;
    let record = b.get(id(2)).await;
    b.moved(&record, "SOURCE_PENDING").await;
    let record = b.get(id(3)).await;
    b.moved(&record, "FAILED").await;
    for _ in 0..2 {
        let mut counts = b.ok("counts", b.on().journal.counts().await);
        counts.sort_by_key(|count| count.state);
        let oldest = (b.get(id(1)).await.created_at, b.get(id(2)).await.created_at);
        let count = |state: &str, transfers, oldest| journal::Count {
            flow: b.flow,
            state: b.state(state),
            transfers,
            oldest,
        };
        let should = vec![count("INIT", 2, oldest.0), count("SOURCE_PENDING", 1, oldest.1)];
        b.same("counts", &counts, &should);
        let mut below = b.ok("open_below", b.on().journal.open_below(id(2)).await);
        below.sort_unstable();
        b.same("open at or below the second", &below, &vec![id(1), id(2)]);
        let mut of: Vec<_> = b.ok("open_of", b.on().journal.open_of(RICH).await);
        of.sort_by_key(|record| record.id);
        let of: Vec<_> = of.iter().map(|record| record.id).collect();
        b.same("user 1's open ones", &of, &vec![id(1), id(2)]);
        let of = b.ok("open_of", b.on().journal.open_of(other).await);
        b.same("user 2's", &of.iter().map(|r| r.id).collect::<Vec<_>>(), &vec![id(4)]);
        b.reopen().await;
    }
}

/// A time that comes after every other.
const EVER: Millis = 1 << 60;

async fn those_that_stay_open_come_by_age(b: &mut JournalFixture) {
    let older = async |b: &JournalFixture, opened, limit| -> Vec<Id> {
        let older = b.ok("older", b.on().journal.open_older_than(opened, limit).await);
        older.iter().map(|record| record.id).collect()
    };
    b.same("none", &older(b, EVER, 10).await, &vec![]);
    // ids and ages need not agree
    for (n, after) in [(3, 1_000), (1, 1_000), (4, 2_000), (2, 3_000), (5, 4_000)] {
        b.clock.set(NOON + after);
        b.opened(n).await;
    }
    let at = async |b: &JournalFixture, n| b.get(id(n)).await.created_at;
    let ended = b.get(id(4)).await;
    b.moved(&ended, "FAILED").await;
    let later = b.get(id(3)).await;
    b.clock.set(NOON + 9_000);
    b.moved(&later, "SOURCE_PENDING").await;
    for _ in 0..2 {
        let all = [id(3), id(1), id(2), id(5)];
        let first = |n| all.iter().take(n).copied().collect::<Vec<_>>();
        b.same("all", &older(b, EVER, 10).await, &first(4));
        b.same("at or before a time", &older(b, at(b, 2).await, 10).await, &first(3));
        b.same("before it", &older(b, at(b, 2).await - 1, 10).await, &first(2));
        b.same("the oldest", &older(b, at(b, 5).await, 1).await, &first(1));
        b.same("before the first", &older(b, at(b, 3).await - 1, 10).await, &vec![]);
        b.reopen().await;
    }
}
