//! Checks the terms that a transfer agrees after its opening: a unit that moves the transfer stores them once, and
//! the hash of its event covers them.

use super::checks;
use super::fixture::{COIN, JournalFixture, RICH, id};
use kernel::agreed::Agreed;
use kernel::audit::{birth, link};
use kernel::ids::{AssetId, ChainId, UserId};
use kernel::money::Amount;
use kernel::ports::journal::Linked;
use kernel::record::{Account, Party, Record, System, Terms};
use kernel::unit::{Put, Unit};
use std::sync::Arc;

checks! {
    what_is_agreed_comes_back_as_it_was,
    what_is_agreed_stays,
    the_hash_of_its_event_covers_what_is_agreed,
    something_is_agreed_once,
    one_unit_agrees_one_thing,
    a_unit_that_moves_nothing_agrees_nothing,
    moves_of_one_write_agree_for_themselves,
    an_opening_agrees_by_its_event_alone,
}

fn agreed(amount: u128) -> Arc<Agreed> {
    let (system, account) = (System::Chain(ChainId(31)), Account::Named("8Ft…".into()));
    Arc::new(Agreed {
        target: Party { system, account, asset: AssetId(4), amount: Amount(amount) },
        fee: Amount(2),
        reference: Some("17".into()),
        terms_version: 3,
        deadline: Some(1_700_000_100_000),
    })
}

/// The n-th transfer, whose target account is agreed later.
async fn unnamed(b: &JournalFixture, n: u64) -> Record {
    let record = b.record(n, RICH, 10);
    let mut terms = Terms::clone(&record.terms);
    terms.target.account = Account::Unnamed;
    let record = Record { terms: Arc::new(terms), ..record };
    b.written("an opening", b.opening(&record)).await;
    b.get(record.id).await
}

/// A move that agrees this.
fn accepting(b: &JournalFixture, record: &Record, agreed: &Arc<Agreed>) -> Unit {
    let mut unit = b.moving(record, "SOURCE_PENDING", "ACCEPTED");
    for event in &mut unit.then.events {
        event.agreed = Some(agreed.clone());
    }
    unit
}

/// The record, its line and its history say this, and nothing else.
async fn stands(b: &JournalFixture, record: &Record, agreed: Option<&Arc<Agreed>>) {
    let stored = b.get(record.id).await;
    b.same("what was agreed", &stored.agreed.as_ref(), &agreed);
    b.same("the terms", &stored.terms, &record.terms);
    let target = agreed.map_or(&record.terms.target, |agreed| &agreed.target);
    let fee = agreed.map_or(record.terms.fee, |agreed| agreed.fee);
    b.same("the target side", &(stored.target(), stored.fee()), &(target, fee));
    let line = b.line(record.id).await.map(|line| (line.source, line.target));
    let should = (record.source().clone(), target.clone());
    b.same("its line", &line, &Some(should));
    let history = b.history(record.id).await;
    chained(b, record, &history);
    let said: Vec<_> = history.iter().filter_map(|linked| linked.entry.agreed).collect();
    let should: Vec<_> = agreed.iter().map(|agreed| agreed.hash()).collect();
    b.same("the hashes in its history", &said, &should);
}

fn chained(b: &JournalFixture, record: &Record, history: &[Linked]) {
    let mut prev = birth(record.id, b.flows.table(record.flow).flow, &record.terms);
    for linked in history {
        b.same("the hash before", &linked.prev, &prev);
        prev = link(prev, &linked.entry);
        b.same("the hash", &linked.hash, &prev);
    }
}

async fn what_is_agreed_comes_back_as_it_was(b: &mut JournalFixture) {
    let all = [
        agreed(9),
        agreed(0),
        Arc::new(Agreed { reference: None, deadline: None, ..Agreed::clone(&agreed(u128::MAX)) }),
    ];
    for (n, agreed) in (1..).zip(&all) {
        let record = unnamed(b, n).await;
        stands(b, &record, None).await;
        b.written("an acceptance", accepting(b, &record, agreed)).await;
        stands(b, &record, Some(agreed)).await;
    }
    b.reopen().await;
    for (n, agreed) in (1..).zip(&all) {
        let record = b.get(id(n)).await;
        stands(b, &record, Some(agreed)).await;
    }
}

/// Later moves, with and without an error, keep it.
async fn what_is_agreed_stays(b: &mut JournalFixture) {
    let record = unnamed(b, 1).await;
    b.written("an acceptance", accepting(b, &record, &agreed(9))).await;
    let record = b.moved(&b.get(id(1)).await, "SOURCE_DONE").await;
    stands(b, &record, Some(&agreed(9))).await;
    b.reopen().await;
    let mut unit = b.moving(&record, "TARGET_PENDING", "TARGET_CALL");
    for put in &mut unit.then.puts {
        if let Put::Head { head, error, .. } = put {
            head.retries = 7;
            *error = Some(kernel::answer::Evidence::code("TIMEOUT"));
        }
    }
    b.written("a move with trouble", unit).await;
    let record = b.moved(&b.get(id(1)).await, "COMMITTED").await;
    stands(b, &record, Some(&agreed(9))).await;
}

async fn the_hash_of_its_event_covers_what_is_agreed(b: &mut JournalFixture) {
    let record = unnamed(b, 1).await;
    b.written("an acceptance", accepting(b, &record, &agreed(9))).await;
    let history = b.history(id(1)).await;
    let Some(Linked { entry, prev, hash }) = history.last() else {
        b.holds(false, "a history", &history);
        return;
    };
    b.same("its hash", &entry.agreed, &Some(agreed(9).hash()));
    let other = kernel::audit::Entry { agreed: Some(agreed(8).hash()), ..entry.clone() };
    b.holds(link(*prev, &other) != *hash, "another amount has another hash", hash);
}

/// Neither another thing nor the same again, in this process and in the next.
async fn something_is_agreed_once(b: &mut JournalFixture) {
    let record = unnamed(b, 1).await;
    b.written("an acceptance", accepting(b, &record, &agreed(9))).await;
    for _ in 0..2 {
        let record = b.get(id(1)).await;
        for again in [agreed(8), agreed(9)] {
            let unit = accepting(b, &record, &again);
            b.unknown("a second acceptance", unit, "CONTRADICTION").await;
        }
        stands(b, &record, Some(&agreed(9))).await;
        b.reopen().await;
    }
    let record = b.moved(&b.get(id(1)).await, "SOURCE_DONE").await;
    b.unknown("later", accepting(b, &record, &agreed(8)), "CONTRADICTION").await;
}

async fn one_unit_agrees_one_thing(b: &mut JournalFixture) {
    let record = unnamed(b, 1).await;
    let twice = |other: &Arc<Agreed>| {
        let mut unit = accepting(b, &record, &agreed(9));
        let mut event = b.event(&record, "SOURCE_PENDING", "ACCEPTED");
        event.agreed = Some(other.clone());
        unit.then.events.push(event);
        unit
    };
    b.unknown("two things", twice(&agreed(8)), "CONTRADICTION").await;
    stands(b, &record, None).await;
    b.written("one thing, said twice", twice(&agreed(9))).await;
    stands(b, &record, Some(&agreed(9))).await;
}

async fn a_unit_that_moves_nothing_agrees_nothing(b: &mut JournalFixture) {
    let record = unnamed(b, 1).await;
    let mut unit = accepting(b, &record, &agreed(9));
    unit.then.puts.clear();
    b.unknown("an agreement without a move", unit, "AGREED_UNMOVED").await;
    let other = unnamed(b, 2).await;
    let mut unit = b.moving(&other, "SOURCE_PENDING", "SOURCE_CALL");
    unit.then.events.extend(accepting(b, &record, &agreed(9)).then.events);
    b.unknown("beside another's move", unit, "AGREED_UNMOVED").await;
    stands(b, &record, None).await;
}

/// In one group: some agree, some do not, one agrees again.
async fn moves_of_one_write_agree_for_themselves(b: &mut JournalFixture) {
    let mut records = Vec::new();
    for n in 1..=4 {
        records.push(unnamed(b, n).await);
    }
    let units = (1..).zip(&records).map(|(n, record)| match n % 2 {
        0 => accepting(b, record, &agreed(n)),
        _ => b.moving(record, "SOURCE_PENDING", "SOURCE_CALL"),
    });
    let wrote = b.all(units.collect()).await;
    let written = |wrote: &kernel::unit::Wrote| matches!(wrote, kernel::unit::Wrote::Written(_));
    b.holds(wrote.iter().all(written), "all are written", &wrote);
    for (n, record) in (1..).zip(&records) {
        let agreed = (n % 2 == 0).then(|| agreed(n));
        stands(b, record, agreed.as_ref()).await;
    }
}

/// A record says nothing of its own; the event of the opening may.
async fn an_opening_agrees_by_its_event_alone(b: &mut JournalFixture) {
    let silent = Record { agreed: Some(agreed(9)), ..b.record(1, RICH, 10) };
    b.written("an opening", b.opening(&silent)).await;
    stands(b, &b.record(1, RICH, 10), None).await;
    let record = b.record(2, RICH, 10);
    let mut unit = b.opening(&record);
    for event in &mut unit.then.events {
        event.agreed = Some(agreed(9));
    }
    let plain = b.opening(&b.record(3, RICH, 10));
    b.all(vec![unit, plain]).await;
    stands(b, &record, Some(&agreed(9))).await;
    stands(b, &b.record(3, RICH, 10), None).await;
    b.same("who owns it", &record.terms.owner.user(), &Some(UserId(1)));
    b.same("what it moves", &record.source().asset, &COIN);
}
