//! Each transfer's history: numbered, timed, and chained by hashes that anybody can compute again.

use super::checks;
use super::fixture::{JournalFixture, NOON, RICH, id};
use kernel::audit::{birth, link};
use kernel::ports::journal::Linked;
use kernel::record::Record;

checks! {
    a_history_is_a_chain_from_its_transfer,
    an_entry_says_what_the_event_said,
    histories_of_one_unit_are_apart,
    a_history_goes_on_after_a_restart,
    an_unknown_transfer_has_none,
}

/// Numbers from 0, and every hash computed again from what was agreed.
fn chained(b: &JournalFixture, record: &Record, history: &[Linked]) {
    let mut prev = birth(record.id, b.flows.table(record.flow).flow, &record.terms);
    for (seq, linked) in (0..).zip(history) {
        b.same("an entry's number", &linked.entry.seq, &seq);
        b.same("the hash before", &linked.prev, &prev);
        prev = link(prev, &linked.entry);
        b.same("the hash", &linked.hash, &prev);
    }
}

async fn a_history_is_a_chain_from_its_transfer(b: &mut JournalFixture) {
    let mut record = b.opened(1).await;
    let mut times = vec![record.updated_at];
    for (n, state) in (1..).zip(["SOURCE_PENDING", "SOURCE_DONE", "TARGET_PENDING", "COMMITTED"]) {
        b.clock.set(NOON + n * 1_000);
        record = b.moved(&record, state).await;
        times.push(record.updated_at);
    }
    let history = b.history(id(1)).await;
    b.same("its entries", &history.len(), &5);
    chained(b, &record, &history);
    let at: Vec<_> = history.iter().map(|linked| linked.entry.at).collect();
    b.same("their times", &at, &times);
    let codes: Vec<_> = history.iter().map(|l| (l.entry.from, l.entry.to)).collect();
    let should = vec![(None, 0), (Some(0), 10), (Some(10), 20), (Some(20), 30), (Some(30), 40)];
    b.same("the stored numbers of its states", &codes, &should);
}

async fn an_entry_says_what_the_event_said(b: &mut JournalFixture) {
    let record = b.opened(1).await;
    let mut unit = b.moving(&record, "FAILED", "SOURCE_FAIL");
    for event in &mut unit.then.events {
        event.caller = Some("operator|7".into());
        event.detail = Some("ACCOUNT_FROZEN ü".into());
    }
    let written = b.written("a move", unit).await;
    let history = b.history(id(1)).await;
    chained(b, &record, &history);
    let [created, failed] = history.as_slice() else {
        b.holds(false, "two entries", &history);
        return;
    };
    let said = (created.entry.event.as_str(), created.entry.caller.as_deref());
    b.same("the first", &said, &("CREATED", Some("suite|1")));
    let said = (failed.entry.caller.as_deref(), failed.entry.detail.as_deref());
    b.same("the second", &said, &(Some("operator|7"), Some("ACCOUNT_FROZEN ü")));
    let said = (failed.entry.from, failed.entry.to, failed.entry.at);
    let should = (Some(b.code("INIT")), b.code("FAILED"), written.at);
    b.same("where it went", &said, &should);
}

async fn histories_of_one_unit_are_apart(b: &mut JournalFixture) {
    let (first, second) = (b.record(1, RICH, 1), b.record(2, RICH, 1));
    let mut unit = b.opening(&first);
    let other = b.opening(&second);
    unit.then.puts.extend(other.then.puts);
    unit.then.events.extend(other.then.events);
    unit.then.events.push(b.event(&first, "SOURCE_PENDING", "SOURCE_CALL"));
    unit.then.events.push(b.event(&second, "SOURCE_PENDING", "SOURCE_CALL"));
    unit.then.events.push(b.event(&first, "SOURCE_DONE", "SOURCE_OK"));
    b.written("two transfers", unit).await;
    for (record, entries) in [(first, 3), (second, 2)] {
        let history = b.history(record.id).await;
        b.same("its entries", &history.len(), &entries);
        chained(b, &record, &history);
    }
}

async fn a_history_goes_on_after_a_restart(b: &mut JournalFixture) {
    let record = b.opened(1).await;
    b.reopen().await;
    let record = b.moved(&record, "SOURCE_PENDING").await;
    b.reopen().await;
    b.moved(&record, "FAILED").await;
    let history = b.history(id(1)).await;
    b.same("its entries", &history.len(), &3);
    chained(b, &record, &history);
}

async fn an_unknown_transfer_has_none(b: &mut JournalFixture) {
    b.same("its history", &b.history(id(9)).await, &vec![]);
}
