//! What a process has cached of accounts, while another process and an operator's SQL change them.

use super::fixture::{database, open};
use crate::fixture::{COIN, Fixture, word};
use crate::folder_store::{fund, give};
use kernel::money::Amount;
use kernel::ports::journal::UnitWriter as _;
use kernel::unit::Unit;
use std::sync::Arc;
use store::postgres::Postgres;
use testbed::Database;

const USER: u64 = 1;
const HELD: &str = "SELECT available || ' ' || frozen FROM balances_tb \
    WHERE user_id = 1 AND asset_id = 3";

/// Two processes on one database, and an account with 1000 that the first one believes to know.
async fn fleet() -> (Fixture, Database, [Arc<Postgres>; 2]) {
    let (fixture, database) = (Fixture::new(), database());
    let stores = [
        open(database.url(), fixture.clock.clone(), fixture.flows.clone()).await,
        open(database.url(), fixture.clock.clone(), fixture.flows.clone()).await,
    ];
    let [one, _] = &stores;
    fund(&*one.funding(), USER, COIN, Amount(1_000)).await;
    assert_eq!(said(one, fixture.opening(0, USER, 100)).await, "done");
    (fixture, database, stores)
}

async fn said(store: &Postgres, unit: Unit) -> String {
    word(&store.write(vec![unit]).await.pop().expect("an answer"))
}

fn held(database: &Database) -> String {
    database.sql(HELD).expect("SQL").trim().to_owned()
}

/// Turns red where a balance is written over what another process wrote (run: `balances.sql` without
/// its comparisons).
#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_an_account() {
    let (fixture, database, stores) = fleet().await;
    let [one, _] = &stores;
    for (n, store) in (1..9).zip(stores.iter().rev().cycle()) {
        assert_eq!(said(store, fixture.opening(n, USER, 100)).await, "done");
    }
    assert_eq!(held(&database), "100 900");
    for (n, store) in (0..9).zip(stores.iter().cycle()) {
        assert_eq!(said(store, fixture.ending(n, USER, 100)).await, "written");
    }
    assert_eq!(held(&database), "100 0");
    assert_eq!(said(one, fixture.opening(9, USER, 101)).await, "INSUFFICIENT_BALANCE");
    assert_eq!(said(one, fixture.opening(10, USER, 100)).await, "done");
}

/// Turns red where a balance is written over what an operator's own SQL made of it (run: the same).
#[tokio::test(flavor = "multi_thread")]
async fn an_operator_changes_an_account_by_hand() {
    let (fixture, database, [one, _]) = fleet().await;
    database.sql("UPDATE balances_tb SET available = 150 WHERE user_id = 1").expect("SQL");
    assert_eq!(said(&one, fixture.opening(1, USER, 100)).await, "done");
    assert_eq!(held(&database), "50 200");
    database.sql("UPDATE balances_tb SET status = 'FROZEN' WHERE user_id = 1").expect("SQL");
    let refused = said(&one, fixture.opening(2, USER, 10)).await;
    assert!(refused.contains("FROZEN"), "{refused}");
    assert_eq!(held(&database), "50 200");
}

/// Turns red where a refusal rests on what is only believed (run: `unmoved.sql` not sent).
#[tokio::test(flavor = "multi_thread")]
async fn no_leg_is_refused_on_a_cached_balance() {
    let (fixture, database, [one, two]) = fleet().await;
    assert_eq!(said(&one, fixture.opening(1, USER, 850)).await, "done");
    give(&*two.funding(), "more", USER, COIN, Amount(500)).await;
    assert_eq!(held(&database), "550 950");
    assert_eq!(said(&one, fixture.opening(2, USER, 400)).await, "done");
    assert_eq!(held(&database), "150 1350");
}
