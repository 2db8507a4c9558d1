//! Cases that were closed long ago go with their notes and webhooks, on both stores; what is open, young or the
//! newest stays.

use crate::fixture::{Fixture, NOON, id};
use crate::operator_actions::{case, close};
use crate::postgres::fixture::{database, open as open_postgres};
use kernel::operators::{Note, Subject};
use kernel::ports::admin_queries::AdminQueries;
use kernel::ports::journal::Journal;
use kernel::unit::{Put, Unit, Wrote};

/// The rows that belong to the case of a number, or to any that is gone.
const LEFT: &str = "SELECT count(*) FROM (SELECT case_id FROM case_notes UNION ALL \
    SELECT case_id FROM webhook_deliveries) t WHERE case_id NOT IN (SELECT case_id FROM cases)";

async fn write(journal: &dyn Journal, puts: Vec<Put>) {
    let wrote = journal.write(vec![Unit::puts(puts)]).await;
    assert!(matches!(wrote.as_slice(), [Wrote::Written(_)]), "{wrote:?}");
}

async fn numbers(store: &dyn AdminQueries) -> Vec<u64> {
    let found = store.cases(None, None, None, 100).await.expect("cases");
    found.iter().map(|case| case.opened.number).collect()
}

/// Turns red where an open or a young case goes, and where the newest number is given twice (no bound below the
/// newest case, on the embedded store).
async fn forgets(fixture: &Fixture, journal: &dyn Journal, store: &dyn AdminQueries) {
    let about = |n| Subject::Transfer(id(n));
    for n in 1..=4 {
        write(journal, vec![case("STUCK", about(n))]).await;
    }
    let note = Note::Comment("seen".into());
    write(journal, vec![Put::Note { case: 1, caller: "issuer|me".into(), note }]).await;
    write(journal, vec![close("STUCK", about(1))]).await;
    fixture.clock.set(NOON + 1_000);
    write(journal, vec![close("STUCK", about(3)), close("STUCK", about(4))]).await;
    for (before, left) in [
        (NOON, vec![4, 3, 2, 1]),
        (NOON + 1, vec![4, 3, 2]),
        (NOON + 1_000, vec![4, 3, 2]),
        (NOON + 1_001, vec![4, 2]),
    ] {
        write(journal, vec![Put::ForgetCases(before)]).await;
        assert_eq!(numbers(store).await, left, "{before}");
    }
    assert!(store.case(1).await.expect("a question").is_none());
    write(journal, vec![case("STUCK", about(5))]).await;
    write(journal, vec![Put::ForgetCases(u64::MAX)]).await;
    assert_eq!(numbers(store).await, [5, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_store_forgets_closed_cases() {
    let fixture = Fixture::new();
    let store = fixture.open();
    forgets(&fixture, &*store, &*store).await;
    let left: i64 = fixture.tool().query_row(LEFT, [], |row| row.get(0)).expect("a count");
    assert_eq!(left, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_forgets_closed_cases() {
    let (fixture, database) = (Fixture::new(), database());
    let store = open_postgres(database.url(), fixture.clock.clone(), fixture.flows.clone()).await;
    forgets(&fixture, &*store, &*store).await;
    assert_eq!(database.sql(LEFT).expect("SQL"), "0");
}
