//! A clock that jumps: the store's own time never goes back, not even over a restart.

use crate::fixture::{COIN, Fixture, NOON, id, written};
use crate::folder_store::fund;
use kernel::ids::WorkerId;
use kernel::money::Amount;
use kernel::ports::journal::{TransferQueries as _, UnitWriter as _, WorkerLeases as _};
use kernel::record::Head;
use kernel::unit::{Guard, Hold, Put, Unit};

/// A put of the n-th transfer's time, without a word of history.
fn timed(fixture: &Fixture, n: u64, version: u32, due_at: Option<u64>) -> Unit {
    let state = fixture.state("TARGET_PENDING");
    let guard = Guard::Transfer { id: id(n), state, version: version - 1 };
    let head = Head { version, due_at, ..Head::start(state) };
    let puts = vec![Put::Head { id: id(n), head, error: None, hold: Hold::Free }];
    Unit::guarded(vec![guard], puts)
}

#[tokio::test(flavor = "multi_thread")]
async fn time_goes_on_from_the_last_write_whatever_was_written_last() {
    let fixture = Fixture::new();
    let store = fixture.open();
    fund(&*store.funding(), 1, COIN, Amount(1_000)).await;
    written(&store, fixture.opening(1, 1, 10)).await;
    written(&store, fixture.opening(2, 1, 10)).await;
    // the first is written long after the second was opened
    fixture.clock.set(NOON + 60_000);
    assert_eq!(written(&store, timed(&fixture, 1, 2, Some(NOON + 60_000))).await.at, NOON + 60_000);
    drop(store);
    fixture.clock.set(NOON);
    let store = fixture.open();
    assert!(store.now() >= NOON + 60_000, "{}", store.now());
    assert!(written(&store, fixture.opening(3, 1, 10)).await.at >= NOON + 60_000);
    // and money from outside is a write too
    fixture.clock.set(NOON + 90_000);
    fund(&*store.funding(), 2, COIN, Amount(1)).await;
    drop(store);
    fixture.clock.set(NOON);
    assert!(fixture.open().now() >= NOON + 90_000);
}

/// A release before held a transfer back until the clock came to where it had been.
#[tokio::test(flavor = "multi_thread")]
async fn a_jump_of_the_clock_delays_a_transfer_by_its_own_wait() {
    let fixture = Fixture::new();
    let store = fixture.open();
    fund(&*store.funding(), 1, COIN, Amount(1_000)).await;
    written(&store, fixture.opening(1, 1, 10)).await;
    // written by a clock that is a year ahead
    fixture.clock.set(NOON + 31_536_000_000);
    let far = NOON + 31_536_000_000 + 100;
    written(&store, timed(&fixture, 1, 2, Some(far))).await;
    assert_eq!(store.due(WorkerId(1), fixture.every_flow(10)).await.expect("due").len(), 0);
    drop(store);
    // back to the right time: the store's own goes on from where it was
    fixture.clock.set(NOON + 1_000);
    let store = fixture.open();
    assert!(store.ahead() > 31_000_000_000, "{}", store.ahead());
    fixture.clock.forward(202);
    assert_eq!(store.due(WorkerId(1), fixture.every_flow(10)).await.expect("due").len(), 1);
    written(&store, fixture.opening(2, 1, 10)).await;
    let history = store.history(id(1)).await.expect("history");
    assert!(history.windows(2).all(|pair| pair[0].entry.at <= pair[1].entry.at));
}
