//! What was agreed after the opening, as operators find it and as readers of the views see it, on both stores.
//!
//! Wrong builds that were seen red here, on both: `target-of-the-terms`, `agreed-of-the-source` and
//! `every-event-agrees` of `docs/proof/postgres.md`.

use crate::fixture::{COIN, Fixture, id};
use crate::folder_store::fund;
use crate::postgres::fixture::{database, open};
use kernel::agreed::Agreed;
use kernel::ids::{Id, LedgerId};
use kernel::money::Amount;
use kernel::ports::admin_queries::{AdminQueries, Search};
use kernel::ports::journal::Journal;
use kernel::record::{Account, Party, System};
use kernel::unit::{Unit, Wrote};
use std::sync::Arc;

fn agreed() -> Arc<Agreed> {
    let system = System::Ledger(LedgerId::FUTURE);
    let account = Account::Named("agreed-1".into());
    Arc::new(Agreed {
        target: Party { system, account, asset: COIN, amount: Amount(9) },
        fee: Amount(1),
        reference: Some("17".into()),
        terms_version: 1,
        deadline: None,
    })
}

/// Two transfers to Spot; the last event of the first one agrees another target.
async fn accepted(fixture: &Fixture, journal: &dyn Journal) {
    let mut ending = fixture.ending(1, 1, 10);
    for event in &mut ending.then.events {
        event.agreed = Some(agreed());
    }
    for unit in [fixture.opening(1, 1, 10), fixture.opening(2, 1, 10), ending] {
        written(journal, unit).await;
    }
}

async fn written(journal: &dyn Journal, unit: Unit) {
    let wrote = journal.write(vec![unit]).await;
    assert!(matches!(wrote.as_slice(), [Wrote::Written(_)]), "{wrote:?}");
}

async fn to(queries: &dyn AdminQueries, target: LedgerId) -> Vec<Id> {
    let search = Search { target: Some(target), limit: 10, ..Search::default() };
    let found = queries.transfers(search).await.expect("a list");
    found.into_iter().map(|record| record.id).collect()
}

/// Turns red where a search by the target, or by who is paid, reads the terms alone; and where a user's number is
/// taken for a name.
async fn found_by_its_agreed_target(queries: &dyn AdminQueries) {
    for (receiver, found) in [("agreed-1", vec![id(1)]), ("1", vec![]), ("agreed-1' --", vec![])] {
        let receiver = Some(receiver.into());
        let search = Search { receiver, limit: 10, ..Search::default() };
        let records = queries.transfers(search).await.expect("a list");
        assert_eq!(records.iter().map(|record| record.id).collect::<Vec<_>>(), found);
    }
    assert_eq!(to(queries, LedgerId::FUTURE).await, [id(1)]);
    assert_eq!(to(queries, LedgerId::SPOT).await, [id(2)]);
}

/// The number of events of each transfer that agree nothing: it is opened, its money taken, its target called.
const OTHERS: i64 = 4;

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_store_finds_and_shows_what_was_agreed() {
    let fixture = Fixture::new();
    let store = fixture.open();
    fund(&*store.funding(), 1, COIN, Amount(1_000)).await;
    accepted(&fixture, &*store).await;
    found_by_its_agreed_target(&*store).await;
    let tool = fixture.tool();
    let sql = "SELECT event, agreed FROM transfer_events WHERE agreed IS NOT NULL";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let shown: (String, String) = tool.query_row(sql, [], row).expect("one event agrees");
    assert_eq!(shown, ("TARGET_OK".to_owned(), agreed().document()));
    let others = "SELECT count(*) FROM transfer_events WHERE agreed IS NULL";
    let others: i64 = tool.query_row(others, [], |row| row.get(0)).expect("a count");
    assert_eq!(others, 2 * OTHERS);
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_finds_and_shows_what_was_agreed() {
    let (fixture, database) = (Fixture::new(), database());
    let store = open(database.url(), fixture.clock.clone(), fixture.flows.clone()).await;
    fund(&*store.funding(), 1, COIN, Amount(1_000)).await;
    accepted(&fixture, &*store).await;
    found_by_its_agreed_target(&*store).await;
    let sql = "SELECT event, agreed->>'account', agreed->>'reference' FROM transfer_events \
               WHERE agreed IS NOT NULL";
    assert_eq!(database.sql(sql).expect("SQL"), "TARGET_OK|@agreed-1|17");
    let others = "SELECT count(*) FROM transfer_events WHERE agreed IS NULL";
    assert_eq!(database.sql(others).expect("SQL"), (2 * OTHERS).to_string());
}
