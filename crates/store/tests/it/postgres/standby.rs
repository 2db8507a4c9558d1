//! A COMMIT that waits for its synchronous standby, and whose wait is cancelled or ended: the database
//! acknowledges it with a warning and shows its rows, though no standby has them.
//!
//! Wrong builds that were run: see `notice-ignored`, `answer-behind-a-read` and `replay-behind-nothing`
//! in `docs/proof/postgres.md`.
#![expect(
    clippy::disallowed_methods,
    reason = "callers that wait beside each other, not tasks of the store"
)]

use super::fixture::open_brief;
use crate::fixture::{COIN, Fixture, id};
use crate::folder_store::{fund, give};
use kernel::answer::Cause;
use kernel::ids::Id;
use kernel::money::Amount;
use kernel::ports::journal::{TransferQueries as _, UnitWriter as _};
use kernel::ports::ledger::{Moved, World as _};
use kernel::unit::Wrote;
use std::sync::Arc;
use std::time::Duration;
use store::postgres::Postgres;
use testbed::{Database, Server};
use testkit::deposit;
use tokio::task::JoinHandle;

/// A primary whose every COMMIT waits for a standby, and a store on it.
struct Pair {
    fixture: Fixture,
    primary: Server,
    standby: Server,
    database: Database,
    store: Arc<Postgres>,
}

impl Pair {
    async fn new() -> Self {
        let fixture = Fixture::new();
        let mut primary = Server::start().expect("a PostgreSQL");
        let database = primary.database().expect("a database");
        let standby = primary.standby("second").expect("a standby");
        primary.require_standby("second").expect("it is required");
        let store = open_brief(database.url(), fixture.clock.clone(), fixture.flows.clone()).await;
        fund(&*store.funding(), 1, COIN, Amount(1_000_000)).await;
        Self { fixture, primary, standby, database, store }
    }

    /// Writes the opening of a transfer beside the test.
    fn opens(&self, n: u64) -> JoinHandle<Vec<Wrote>> {
        let (store, unit) = (self.store.clone(), self.fixture.opening(n, 1, 7));
        tokio::spawn(async move { store.write(vec![unit]).await })
    }

    /// What is stored under the n-th key, as a client that repeats it is answered.
    fn bound(&self, n: u64) -> JoinHandle<Result<Option<Id>, Cause>> {
        let (store, flow) = (self.store.clone(), self.fixture.flows.named("internal").expect("it"));
        tokio::spawn(async move {
            let found = store
                .find_by_idempotency_key(flow, "suite|1".into(), format!("key-{n}").into())
                .await;
            found.map(|record| record.map(|record| record.id))
        })
    }

    /// What the standby has of transfers, once it takes writes.
    fn promoted(&self) -> String {
        self.standby.promote().expect("it is promoted");
        let there = self.database.at(&self.standby).expect("an address");
        there.sql("SELECT count(*) FROM transfers").expect("a count")
    }
}

/// Turns red where a COMMIT whose wait was cancelled, or whose session was ended, is answered as
/// written: the promoted standby does not know it.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_wait_is_unknown() {
    let pair = Pair::new().await;
    pair.standby.detach().expect("it is cut off");
    let wrote = pair.opens(1);
    pair.primary.until_waits(1).expect("it waits");
    pair.primary.cancel_waits().expect("it is cancelled");
    let wrote = wrote.await.expect("an answer");
    assert!(matches!(wrote.as_slice(), [Wrote::Unknown(_)]), "acknowledged: {wrote:?}");
    let funding = pair.store.funding();
    let moved =
        tokio::spawn(async move { funding.external(deposit("cancelled", 1, COIN, 5)).await });
    pair.primary.until_waits(1).expect("it waits");
    pair.primary.cancel_waits().expect("it is cancelled");
    let moved = moved.await.expect("an answer");
    assert!(moved.is_err(), "acknowledged: {moved:?}");
    let wrote = pair.opens(2);
    pair.primary.until_waits(1).expect("it waits");
    pair.primary.terminate_waits().expect("it is ended");
    let wrote = wrote.await.expect("an answer");
    assert!(matches!(wrote.as_slice(), [Wrote::Unknown(_)]), "acknowledged: {wrote:?}");
    let seen = pair.database.sql("SELECT count(*) FROM transfers").expect("a count");
    assert_eq!((seen.as_str(), pair.promoted().as_str()), ("2", "0"));
}

/// Turns red where a row that no standby has is answered from: to the caller whose COMMIT was unknown,
/// to one who repeats the key, the deposit or the unit. Each has its answer once the standby follows.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_answered_from_a_row_that_no_standby_has() {
    let pair = Pair::new().await;
    pair.standby.detach().expect("it is cut off");
    let wrote = pair.opens(1);
    pair.primary.until_waits(1).expect("it waits");
    pair.primary.cancel_waits().expect("it is cancelled");
    let wrote = wrote.await.expect("an answer");
    assert!(!matches!(wrote.as_slice(), [Wrote::Lost(_)]), "{wrote:?}");
    let funding = pair.store.funding();
    let moved = tokio::spawn(async move { funding.external(deposit("once", 1, COIN, 5)).await });
    pair.primary.until_waits(1).expect("it waits");
    pair.primary.cancel_waits().expect("it is cancelled");
    drop(moved.await.expect("an answer"));
    let (store, funding) = (pair.store.clone(), pair.store.funding());
    let bound = pair.bound(1);
    let got = tokio::spawn(async move { store.get(vec![id(1)]).await });
    let again = tokio::spawn(async move { funding.external(deposit("once", 1, COIN, 5)).await });
    let repeated = pair.opens(1);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let answered =
        [bound.is_finished(), got.is_finished(), again.is_finished(), repeated.is_finished()];
    let early = (bound, got, again, repeated);
    if answered.iter().any(|answered| *answered) {
        // an error says nothing of the row
        for (n, finished) in answered.into_iter().enumerate() {
            assert!(!finished, "answered from a row that no standby has: {n}");
        }
    }
    pair.standby.attach().expect("it follows");
    let (bound, got, again, repeated) = early;
    assert_eq!(bound.await.expect("an answer"), Ok(Some(id(1))));
    assert_eq!(got.await.expect("an answer").map(|found| found.len()), Ok(1));
    let again = again.await.expect("an answer");
    assert!(matches!(again, Ok(Moved::Done { replayed: true, .. })), "{again:?}");
    let repeated = repeated.await.expect("an answer");
    assert!(matches!(repeated.as_slice(), [Wrote::Lost(_)]), "{repeated:?}");
    give(&*pair.store.funding(), "after", 1, COIN, Amount(5)).await;
    assert_eq!(pair.promoted(), "1");
}
