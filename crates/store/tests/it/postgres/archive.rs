//! Archiving beside replays: a key is never forgotten, nor an operation, and an archived transfer
//! answers as before.

use super::fixture::{database, open, wait_for_sql};
use crate::fixture::{COIN, Fixture, NOON, id};
use crate::folder_store::fund;
use kernel::ids::Id;
use kernel::money::Amount;
use kernel::ports::journal::{TransferQueries as _, UnitWriter as _};
use kernel::record::Binding;
use kernel::unit::{Guard, Put, Unit, Wrote};
use std::sync::Arc;
use store::postgres::Postgres;

/// Transfers, and how often their keys are asked for again.
const TRANSFERS: u64 = 1_000;
const REPLAYS: u64 = 100_000;

/// The n-th transfer's key once more, under another id, as a client's repeat makes it.
fn replay(fixture: &Fixture, n: u64, try_: u64) -> Unit {
    let mut unit = fixture.opening(TRANSFERS + try_, 1, 1);
    let mut key: Arc<str> = Arc::from("");
    for put in &mut unit.then.puts {
        let Put::Open(record) = put else { continue };
        let mut terms = (*record.terms).clone();
        let binding = terms.binding.take().expect("a key");
        key = Arc::from(format!("key-{n}"));
        terms.binding = Some(Binding { key: key.clone(), ..binding });
        record.terms = Arc::new(terms);
    }
    for guard in &mut unit.guards {
        if let Guard::Unbound { key: asked, .. } = guard {
            *asked = key.clone();
        }
    }
    unit
}

async fn bound(store: &Postgres, fixture: &Fixture, n: u64) -> Option<Id> {
    let flow = fixture.flows.named("internal").expect("the flow");
    let found =
        store.find_by_idempotency_key(flow, "suite|1".into(), format!("key-{n}").into()).await;
    found.expect("an answer").map(|record| record.id)
}

/// Turns red where the archiver takes a key or an operation along, or where a repeat reads only what
/// is not archived.
#[tokio::test(flavor = "multi_thread")]
async fn an_archived_transfer_is_never_made_again() {
    let (fixture, database) = (Arc::new(Fixture::new()), database());
    let store = open(database.url(), fixture.clock.clone(), fixture.flows.clone()).await;
    fund(&*store.funding(), 1, COIN, Amount(1_000_000)).await;
    for n in 0..TRANSFERS {
        if n % 50 == 0 {
            fixture.clock.set(NOON + n);
        }
        let opened = store.write(vec![fixture.opening(n, 1, 1)]).await;
        assert!(matches!(opened.as_slice(), [Wrote::Written(_)]), "{opened:?}");
        let ended = store.write(vec![fixture.ending(n, 1, 1)]).await;
        assert!(matches!(ended.as_slice(), [Wrote::Written(_)]), "{ended:?}");
    }
    let operations = || database.sql("SELECT count(*) FROM operations").expect("a count");
    let before = operations();
    let archiver = async {
        let mut moved = 0;
        for n in (0..=TRANSFERS).step_by(50) {
            moved += store.archive(NOON + n).await.expect("it archives");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        moved
    };
    let repeats = async {
        let mut asked = 0;
        while asked < REPLAYS {
            let units =
                (0..1_000).map(|k| replay(&fixture, (asked + k * 7) % TRANSFERS, asked + k));
            for wrote in store.write(units.collect()).await {
                assert!(matches!(&wrote, Wrote::Lost(Guard::Unbound { .. })), "{wrote:?}");
            }
            let one = (asked / 3) % TRANSFERS;
            assert_eq!(bound(&store, &fixture, one).await, Some(id(one)));
            asked += 1_000;
        }
    };
    let (moved, ()) = tokio::join!(archiver, repeats);
    assert!(moved >= TRANSFERS - 50, "only {moved} were archived");
    let left = database.sql("SELECT count(*) FROM transfers").expect("a count");
    assert_eq!(left.trim().parse::<u64>().ok(), Some(TRANSFERS - moved));
    assert_eq!(operations(), before);
    for n in [0, 1, TRANSFERS / 2, TRANSFERS - 1] {
        let found = store.get(vec![id(n)]).await.expect("an answer");
        assert_eq!(found.iter().map(|record| record.id).collect::<Vec<_>>(), [id(n)]);
        assert_eq!(store.history(id(n)).await.expect("an answer").len(), 5);
    }
}

/// Turns red where a month's first archiving waits for a session that reads the archive, and lets every
/// reader that comes later wait behind it (`CREATE TABLE … PARTITION OF`).
#[tokio::test(flavor = "multi_thread")]
async fn a_new_month_waits_for_no_reader() {
    let (fixture, database) = (Fixture::new(), Arc::new(database()));
    let store = open(database.url(), fixture.clock.clone(), fixture.flows.clone()).await;
    fund(&*store.funding(), 1, COIN, Amount(1_000)).await;
    drop(store.write(vec![fixture.opening(1, 1, 1)]).await);
    drop(store.write(vec![fixture.ending(1, 1, 1)]).await);
    let there = database.clone();
    let reads = "BEGIN; SELECT count(*) FROM every_transfer; SELECT pg_sleep(600)";
    let reader = std::thread::spawn(move || drop(there.sql(reads)));
    let sleeps = "FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND state = 'active' \
        AND datname = current_database() AND pid <> pg_backend_pid()";
    wait_for_sql(&database, &format!("SELECT count(*) {sleeps}"), "1").await;
    let archived = store.archive(NOON + 1_000).await;
    // its session is ended from outside
    let end = format!("SELECT count(pg_terminate_backend(pid)) {sleeps}");
    database.sql(&end).expect("SQL");
    reader.join().expect("it ends");
    assert_eq!(archived, Ok(1), "it waits for a reader");
    let partition = "SELECT pg_get_expr(relpartbound, oid) FROM pg_class \
        WHERE relname = 'transfers_archive_2023_11'";
    assert!(database.sql(partition).expect("SQL").starts_with("FOR VALUES FROM"));
    assert_eq!(store.archive(NOON + 1_000).await, Ok(0));
}
