//! Checks each transfer's history: it is numbered, timed and chained by hashes that anyone can compute again from
//! the terms, and the terms come back as they were agreed, in whichever write they were opened.

use super::checks;
use super::fixture::{COIN, JournalFixture, NOON, RICH, id};
use kernel::audit::{birth, link};
use kernel::ids::{AssetId, ChainId, UserId};
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::ports::journal::Linked;
use kernel::record::{Account, Origin, Party, Record, System, Terms, TermsVersion};
use std::sync::Arc;

checks! {
    a_history_is_a_chain_from_its_transfer,
    an_entry_says_what_the_event_said,
    histories_of_one_unit_are_apart,
    a_history_goes_on_after_a_restart,
    an_unknown_transfer_has_none,
    terms_come_back_as_they_were_agreed,
    terms_of_every_kind_are_opened_by_one_write,
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

/// The changes of terms that a column of their own stands for, and some at once.
fn changes() -> Vec<fn(&mut Terms)> {
    vec![
        |_| (),
        |terms| terms.version = TermsVersion::V1,
        |terms| terms.version = TermsVersion::V2,
        |terms| terms.owner = TransferOwner::Principal("https://issuer|auth0|5f".into()),
        |terms| {
            terms.owner = TransferOwner::ChainAccount { chain: ChainId(30), account: "a:b".into() }
        },
        |terms| terms.target.asset = AssetId(4),
        |terms| terms.target.amount = Amount(9),
        |terms| terms.target.amount = Amount::ZERO,
        |terms| terms.fee = Amount(1),
        |terms| terms.refund_fee = Amount(1),
        |terms| (terms.fee, terms.refund_fee) = (Amount(1), Amount(1 << 100)),
        |terms| (terms.fee, terms.target.amount) = (Amount(1), Amount(9)),
        |terms| (terms.fee, terms.target.amount) = (Amount(11), Amount(1 << 100)),
        |terms| terms.target.account = Account::Unnamed,
        |terms| terms.target.account = Account::Named("".into()),
        |terms| terms.origin = Some(Origin { chain: ChainId(30), key: "5Vn…/2".into() }),
        |terms| terms.origin = Some(Origin { chain: ChainId(20), key: "".into() }),
        |terms| {
            let (system, account) = (System::Chain(ChainId(30)), Account::Named("payer".into()));
            terms.source = Party { system, account, asset: COIN, amount: Amount(1 << 90) };
            terms.owner =
                TransferOwner::ChainAccount { chain: ChainId(30), account: "payer".into() };
            terms.target.system = System::Chain(ChainId(31));
            terms.target.account = Account::Unnamed;
            terms.memo = Some("nexus:…".to_owned());
            terms.deadline = Some(1);
        },
    ]
}

/// The n-th transfer with the n-th change.
fn changed(b: &JournalFixture, n: u64, change: fn(&mut Terms)) -> Record {
    let record = b.record(n, RICH, 10);
    let mut terms = Terms::clone(&record.terms);
    change(&mut terms);
    Record { terms: Arc::new(terms), ..record }
}

/// The record, the line beside its operations and the hash of its history say what was agreed.
async fn as_agreed(b: &JournalFixture, record: &Record) {
    let stored = b.get(record.id).await;
    b.same("the terms", &stored.terms, &record.terms);
    let line = b.line(record.id).await;
    let line = line.map(|line| (line.source, line.target, line.refund_fee));
    let refund_fee = record.terms.refund_fee;
    let should = (record.source().clone(), record.target().clone(), refund_fee);
    b.same("its line", &line, &Some(should));
    let flow = b.flows.table(record.flow).flow;
    let history = b.history(record.id).await;
    let first = history.first().map(|linked| linked.prev);
    b.same("the hash before its history", &first, &Some(birth(record.id, flow, &record.terms)));
}

async fn terms_come_back_as_they_were_agreed(b: &mut JournalFixture) {
    for (n, change) in (1..).zip(changes()) {
        let record = changed(b, n, change);
        b.written("an opening", b.opening(&record)).await;
        as_agreed(b, &record).await;
    }
    b.reopen().await;
    for (n, change) in (1..).zip(changes()) {
        as_agreed(b, &changed(b, n, change)).await;
    }
}

async fn terms_of_every_kind_are_opened_by_one_write(b: &mut JournalFixture) {
    let records: Vec<_> = (1..).zip(changes()).map(|(n, change)| changed(b, n, change)).collect();
    b.all(records.iter().map(|record| b.opening(record)).collect()).await;
    for record in &records {
        as_agreed(b, record).await;
    }
    let open = b.ok("open", b.on().journal.open_of(RICH).await);
    let mine = |record: &&Record| record.terms.owner == TransferOwner::User(RICH);
    let should: Vec<_> = records.iter().filter(mine).map(|record| record.id).collect();
    b.same("those of a user", &open.iter().map(|record| record.id).collect(), &should);
    let none = b.ok("open", b.on().journal.open_of(UserId(0)).await);
    b.same("those of user 0", &none.iter().map(|record| record.id).collect(), &Vec::new());
    b.holds(b.is_open(id(1)).await, "the first is open", &());
}
