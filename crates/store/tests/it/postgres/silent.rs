//! Connections that swallow silently: nothing is reset and nothing closed, and no answer comes.
//!
//! Wrong builds that were run: see `no-answer-timeout` and `lease-beside-writers` in
//! `docs/proof/postgres.md`.

use super::fixture::{ANSWER, database, open_brief};
use crate::fixture::{COIN, Fixture};
use crate::folder_store::fund;
use kernel::ids::WorkerId;
use kernel::money::Amount;
use kernel::ports::journal::{TransferQueries as _, UnitWriter as _, WorkerLeases as _};
use kernel::unit::Wrote;
use std::time::Duration;
use testbed::{Direction, Healing, Proxy, Silence, Strike};

/// Everything that one call may take: the answer's limit for each of its statements, some of which run
/// one after the other, and a new connection.
const BOUND: Duration = ANSWER.saturating_mul(6);

/// Every connection of that name.
fn of(name: &str, later: bool) -> Silence {
    let directions = Direction::ALL.to_vec();
    Silence { name: Some(name.to_owned()), directions, later, closed: None }
}

/// Turns red where a write waits for ever on a connection that swallows, or does not come back on a new
/// one; or where a COMMIT whose answer was swallowed is anything but unknown.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_swallows_is_given_up() {
    let (fixture, database) = (Fixture::new(), database());
    let proxy = Proxy::start(&database.server().expect("an address")).expect("a proxy");
    let url = database.through(&proxy).expect("a URL");
    let store = open_brief(&url, fixture.clock.clone(), fixture.flows.clone()).await;
    fund(&*store.funding(), 1, COIN, Amount(1_000_000)).await;
    proxy.silence(&of("portage: writer", false));
    let wrote = tokio::time::timeout(BOUND, store.write(vec![fixture.opening(1, 1, 7)])).await;
    let wrote = wrote.expect("no answer: the connection swallows");
    assert!(matches!(wrote.as_slice(), [Wrote::Unknown(_)]), "{wrote:?}");
    let wrote = tokio::time::timeout(BOUND, async {
        // each of its connections is found out by itself
        loop {
            let wrote = store.write(vec![fixture.opening(1, 1, 7)]).await;
            if !matches!(wrote.as_slice(), [Wrote::Unknown(_)]) {
                break wrote;
            }
        }
    });
    let wrote = wrote.await.expect("no answer on a new connection");
    assert!(matches!(wrote.as_slice(), [Wrote::Written(_)]), "{wrote:?}");
    proxy.strike(&[Strike::ReplySwallowed]);
    let wrote = tokio::time::timeout(BOUND, store.write(vec![fixture.opening(2, 1, 7)])).await;
    let wrote = wrote.expect("no answer: the COMMIT's was swallowed");
    assert!(matches!(wrote.as_slice(), [Wrote::Unknown(_)]), "{wrote:?}");
    let flow = fixture.flows.named("internal").expect("the flow");
    proxy.silence(&of("portage: questions", false));
    let asked = tokio::time::timeout(BOUND, async {
        while store.find_by_idempotency_key(flow, "suite|1".into(), "key-2".into()).await.is_err() {
        }
    });
    asked.await.expect("no answer to a question");
}

/// Turns red where a worker whose writers hear nothing, on old connections and on new ones, renews its
/// lease all the same, or says that it can write; and where it does not once they hear again.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_cannot_write_does_not_renew() {
    let (fixture, database) = (Fixture::new(), database());
    let proxy = Proxy::start(&database.server().expect("an address")).expect("a proxy");
    let url = database.through(&proxy).expect("a URL");
    let store = open_brief(&url, fixture.clock.clone(), fixture.flows.clone()).await;
    fund(&*store.funding(), 1, COIN, Amount(1_000_000)).await;
    let renew = || store.renew_lease(WorkerId(1), 60_000, None);
    assert!(renew().await.is_ok());
    proxy.silence(&of("portage: writer", true));
    let refused = async {
        while renew().await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let refused = tokio::time::timeout(BOUND, refused).await;
    refused.expect("it renews its lease, and writes nothing");
    proxy.heal(Healing::Never);
    let renewed = async {
        while renew().await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(BOUND, renewed).await.expect("it does not come back");
    let wrote = store.write(vec![fixture.opening(3, 1, 7)]).await;
    assert!(matches!(wrote.as_slice(), [Wrote::Written(_)]), "{wrote:?}");
}
