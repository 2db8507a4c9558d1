//! An account has one status: also where another session changes it, or adds a row, at the same moment.

use super::fixture::{database, open, wait_for_sql};
use crate::fixture::{COIN, Fixture, word};
use crate::folder_store::{fund, give};
use kernel::code::Code;
use kernel::ids::{AssetId, UserId};
use kernel::money::Amount;
use kernel::ports::journal::UnitWriter as _;
use kernel::ports::ledger::{AccountStatus, External, Ledger, Moved, Reply, StatusChange, World};
use std::sync::Arc;
use std::thread::JoinHandle;
use store::postgres::Postgres;
use testbed::Database;
use testkit::deposit;

const USER: u64 = 1;
const OTHER: AssetId = AssetId(1);
const NEXT: AssetId = AssetId(2);

/// An account with one asset.
async fn account() -> (Fixture, Arc<Database>, Arc<Postgres>) {
    let (fixture, database) = (Fixture::new(), database());
    let store = open(database.url(), fixture.clock.clone(), fixture.flows.clone()).await;
    fund(&*store.funding(), USER, COIN, Amount(1_000)).await;
    (fixture, Arc::new(database), store)
}

fn statuses(database: &Database) -> String {
    let sql =
        "SELECT string_agg(asset_id || ' ' || status, ', ' ORDER BY asset_id) FROM balances_tb";
    database.sql(sql).expect("SQL").trim().to_owned()
}

/// Another session that has run the statement, and commits it a little later.
async fn session(database: &Arc<Database>, statement: &str) -> JoinHandle<()> {
    let (theirs, text) = (Arc::clone(database), statement.to_owned());
    let session = std::thread::spawn(move || {
        let sql = format!("BEGIN; {text}; SELECT pg_sleep(1.5); COMMIT");
        theirs.sql(&sql).expect("SQL");
    });
    let sleeps = "SELECT count(*) FROM pg_stat_activity \
                  WHERE datname = current_database() AND wait_event = 'PgSleep'";
    wait_for_sql(database, sleeps, "1").await;
    session
}

fn into(asset: AssetId) -> External {
    deposit(&format!("into {asset}"), USER, asset, 5)
}

/// Red where a status stays at the row that an operator's SQL named.
#[tokio::test(flavor = "multi_thread")]
async fn a_status_set_at_one_row_is_the_accounts() {
    let (fixture, database, store) = account().await;
    give(&*store.funding(), "gold", USER, OTHER, Amount(10)).await;
    for (n, status) in (1..).zip(["FROZEN", "DISABLED", "ACTIVE", "FROZEN"]) {
        let sql = format!("UPDATE balances_tb SET status = '{status}' WHERE asset_id = 1");
        database.sql(&sql).expect("SQL");
        assert_eq!(statuses(&database), format!("1 {status}, 3 {status}"));
        let said =
            word(&store.write(vec![fixture.opening(n, USER, 5)]).await.pop().expect("an answer"));
        let bars = if status == "ACTIVE" { "done".to_owned() } else { format!("ACCOUNT_{status}") };
        assert_eq!(said, bars);
    }
    give(&*store.funding(), "more", USER, NEXT, Amount(10)).await;
    assert_eq!(statuses(&database), "1 FROZEN, 2 FROZEN, 3 FROZEN");
}

/// Red where a new row takes the status that a plain read found (run: without `portage_row_added`): the
/// deposit was booked, and its row stayed ACTIVE in a DISABLED account.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_added_while_a_status_is_changed_has_the_new_one() {
    let (_fixture, database, store) = account().await;
    let theirs = session(&database, "UPDATE balances_tb SET status = 'DISABLED'").await;
    let mut moved = store.funding().external(into(OTHER)).await;
    theirs.join().expect("it ends");
    if moved.is_err() {
        moved = store.funding().external(into(OTHER)).await;
    }
    assert_eq!(moved, Ok(Moved::Refused(Code::AccountDisabled)));
    assert_eq!(statuses(&database), "3 DISABLED");
}

/// Red where a change looks at the rows that it sees (run: without `portage_status_changed`): the row
/// of another process that was not committed yet stayed ACTIVE.
#[tokio::test(flavor = "multi_thread")]
async fn a_status_that_is_changed_while_a_row_is_added_is_that_rows_too() {
    let (_fixture, database, store) = account().await;
    let row = "INSERT INTO balances_tb VALUES (1, 'FUNDING', 1, 0, 0, 'ACTIVE', 1)";
    let theirs = session(&database, row).await;
    let funding = store.funding();
    let Reply::Answered(known, ()) = funding.hello().await else { panic!("no hello") };
    let change = StatusChange {
        user: UserId(USER),
        status: AccountStatus::Disabled,
        reason: "a test".into(),
        caller: "a test".into(),
        key: "k".into(),
    };
    let mut reply = funding.status(known, change.clone()).await;
    theirs.join().expect("it ends");
    if matches!(reply, Reply::NoAnswer(_)) {
        reply = funding.status(known, change).await;
    }
    assert!(matches!(reply, Reply::Answered(_, true)), "{reply:?}");
    assert_eq!(statuses(&database), "1 DISABLED, 3 DISABLED");
}
