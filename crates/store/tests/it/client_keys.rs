//! The table of clients' keys as reconciliation reads it: rows that another program removed, changed or added.

use crate::fixture::{COIN, Fixture, NOON, id};
use crate::folder_store::fund;
use crate::postgres::fixture::{database, open};
use kernel::flow::life::Leg;
use kernel::ids::Serial;
use kernel::money::Amount;
use kernel::operation::Key;
use kernel::ports::journal::{Journal, KeyRow, UnmatchedKey};
use kernel::record::Head;
use kernel::unit::{Event, Guard, Put, Then, Unit};

/// One row is gone, one names another transfer, and two belong to none.
const CHANGES: [&str; 4] = [
    "DELETE FROM keys WHERE cid = 'key-1'",
    "UPDATE keys SET transfer_id = 2 WHERE cid = 'key-3'",
    "INSERT INTO keys SELECT flow, scope, 'other', 4 FROM keys WHERE cid = 'key-4'",
    "INSERT INTO keys SELECT flow, scope, 'gone', 99 FROM keys WHERE cid = 'key-4'",
];

/// Opens four transfers in one write, which numbers them 1 to 4, and ends two of them.
async fn transfers(fixture: &Fixture, journal: &dyn Journal) {
    drop(journal.write((1..5).map(|n| fixture.opening(n, 1, 1)).collect()).await);
    drop(journal.write((1..3).map(|n| fixture.ending(n, 1, 1)).collect()).await);
}

/// Opens a transfer of a flow under the key of the first one: each flow has keys of its own.
fn opening_of(fixture: &Fixture, flow: &str, n: u64) -> Unit {
    let opening = fixture.opening(1, 1, 1);
    let mut opened = opening.then.puts.into_iter().filter_map(|put| {
        let Put::Open(record) = put else { return None };
        Some(record)
    });
    let mut record = opened.next().expect("an opening");
    let (flow, first) = (fixture.flows.named(flow).expect("the flow"), 0);
    (record.id, record.flow, record.head) = (id(n), flow, Head::start(first));
    let (caller, detail) = (Some(record.terms.principal.clone()), None);
    let what = "CREATED";
    let created = Event { id: id(n), from: None, to: first, what, caller, detail, agreed: None };
    let then = Then { puts: vec![Put::Open(record)], events: vec![created], ..Then::default() };
    Unit { guards: vec![Guard::NotHalted, Guard::Fresh(id(n))], then }
}

/// Of each other flow one transfer has a row, one lost it, one's names another transfer, and one has a row too many.
async fn of_other_flows(fixture: &Fixture, journal: &dyn Journal, change: impl Fn(&str)) {
    for (n, flow) in [(5, "account"), (6, "relay")] {
        drop(journal.write(vec![opening_of(fixture, flow, n)]).await);
        let (serial, _) = *key_rows(journal).await.last().expect("it is opened");
        let row = |rows: Vec<(u64, KeyRow)>| rows.into_iter().find(|(n, _)| *n == serial);
        let named = |n| Some((serial, KeyRow::Names(Serial(n))));
        assert_eq!(row(key_rows(journal).await), named(serial), "{flow}");
        let before = unmatched(journal, 10).await;
        change(&format!(
            "INSERT INTO keys SELECT flow, scope, 'more', {serial} FROM keys WHERE flow = '{flow}'"
        ));
        let found = unmatched(journal, 10).await;
        assert!(found.iter().any(|one| one.flow == flow && one.key == "more"), "{found:?}");
        assert_eq!(found.len(), before.len() + 1, "{flow}");
        change(&format!("DELETE FROM keys WHERE flow = '{flow}' AND cid = 'more'"));
        change(&format!("UPDATE keys SET transfer_id = 2 WHERE flow = '{flow}'"));
        assert_eq!(row(key_rows(journal).await), named(2), "{flow}");
        assert_eq!(unmatched(journal, 10).await.len(), before.len() + 1, "{flow}");
        change(&format!("DELETE FROM keys WHERE flow = '{flow}'"));
        assert_eq!(row(key_rows(journal).await), Some((serial, KeyRow::Missing)), "{flow}");
        change(&format!(
            "INSERT INTO keys SELECT '{flow}', scope, 'key-1', {serial} FROM keys WHERE cid = 'key-4'"
        ));
        assert_eq!(row(key_rows(journal).await), named(serial), "{flow}");
    }
}

async fn key_rows(journal: &dyn Journal) -> Vec<(u64, KeyRow)> {
    let mut snapshot = journal.snapshot().await.expect("a snapshot");
    let lines = snapshot.lines(Serial(0), 10).await.expect("lines");
    let keys = lines.iter().map(|line| Key { id: line.id, leg: Leg::Withdraw });
    let by_id = snapshot.lines_of(keys.collect()).await.expect("lines");
    for line in &by_id {
        assert!(lines.iter().any(|one| (one.id, one.key_row) == (line.id, line.key_row)));
    }
    assert_eq!(by_id.len(), lines.len());
    lines.iter().map(|line| (line.serial.0, line.key_row)).collect()
}

async fn unmatched(journal: &dyn Journal, limit: usize) -> Vec<UnmatchedKey> {
    let mut snapshot = journal.snapshot().await.expect("a snapshot");
    let mut found = snapshot.unmatched_keys(limit).await.expect("an answer");
    found.sort_by(|one, other| one.key.cmp(&other.key));
    found
}

/// Reads the table before and after the changes.
async fn compares(fixture: &Fixture, journal: &dyn Journal, change: impl Fn(&str)) {
    let named = |serial| KeyRow::Names(Serial(serial));
    assert_eq!(key_rows(journal).await, [1, 2, 3, 4].map(|n| (n, named(n))));
    assert_eq!(unmatched(journal, 10).await, []);
    CHANGES.into_iter().for_each(change);
    let rows = [(1, KeyRow::Missing), (2, named(2)), (3, named(2)), (4, named(4))];
    assert_eq!(key_rows(journal).await, rows);
    let flow = &fixture.flows.table(fixture.flows.named("internal").expect("the flow")).flow;
    let row = |(key, serial): (&str, u64)| UnmatchedKey {
        flow: (*flow).to_owned(),
        scope: "suite|1".to_owned(),
        key: key.to_owned(),
        serial: Serial(serial),
    };
    assert_eq!(unmatched(journal, 10).await, [("gone", 99), ("key-3", 2), ("other", 4)].map(row));
    assert_eq!(unmatched(journal, 2).await.len(), 2, "beyond the limit");
}

/// Turns red where a row counts as its transfer's whatever number it has, or where the rows without a transfer are
/// those whose number is not there.
#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_store_compares_keys_with_transfers() {
    let fixture = Fixture::new();
    let store = fixture.open();
    fund(&*store.funding(), 1, COIN, Amount(1_000)).await;
    transfers(&fixture, &*store).await;
    let change = |sql: &str| assert_eq!(fixture.tool().execute(sql, []).expect("SQL"), 1, "{sql}");
    compares(&fixture, &*store, change).await;
    of_other_flows(&fixture, &*store, change).await;
}

/// Two of the transfers are in the archive.
///
/// Turns red where only those beside it are compared: the rows of the others belong to none.
#[tokio::test(flavor = "multi_thread")]
async fn postgresql_compares_keys_with_transfers_in_the_archive_too() {
    let (fixture, database) = (Fixture::new(), database());
    let store = open(database.url(), fixture.clock.clone(), fixture.flows.clone()).await;
    fund(&*store.funding(), 1, COIN, Amount(1_000)).await;
    transfers(&fixture, &*store).await;
    assert_eq!(store.archive(NOON + 1_000).await, Ok(2));
    let change = |sql: &str| drop(database.sql(sql).expect("SQL"));
    compares(&fixture, &*store, change).await;
    of_other_flows(&fixture, &*store, change).await;
}
