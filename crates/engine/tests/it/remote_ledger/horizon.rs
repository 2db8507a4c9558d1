//! One open transfer against a million others: the core forgets those, never that one.

use crate::fixture::defaults::{FUNDING, NEVER, SPOT};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::folders::books;
use crate::fixture::test_service::TestService;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Known, Op};
use kernel::ports::clock::Clock;
use kernel::ports::ledger::{Ledger, Reply};
use kernel::record::Account;
use ledgers::spot::Spot;
use std::collections::BTreeSet;
use std::sync::Arc;
use testkit::{MINUTE, wait_until};

/// How many others there are between two raises of the horizon.
const OTHERS: u64 = 100_000;
/// How often the horizon is raised.
const TIMES: u64 = 10;
/// The number of requests at once.
const BATCH: u64 = 4_000;
const HOUR: u64 = 3_600_000;

/// Deposits of transfers that began and ended long ago.
async fn others(spot: &Arc<Spot>, at: u64) {
    for batch in 0..OTHERS / BATCH {
        let op = |n: u64| Op {
            key: Key { id: Id::new(at, u128::from(batch * BATCH + n) + 1), leg: Leg::Deposit },
            account: Account::User(UserId(n % 50 + 1)),
            other: None,
            asset: AssetId(4),
            amount: Amount(1),
        };
        let reply = spot.execute(spot.known(), (0..BATCH).map(op).collect()).await;
        assert!(matches!(reply, Reply::Answered(..)), "{reply:?}");
    }
}

async fn kept(spot: &Spot) -> u64 {
    let Reply::Answered(_, operations) = spot.operations(0, usize::MAX).await else {
        panic!("none")
    };
    u64::try_from(operations.len()).expect("it fits")
}

/// Turns red where `raise_horizon` names no open ids (they end BELOW_HORIZON for ever), and where
/// no process is told (the core keeps all).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_open_transfer_against_a_million_others() {
    let service = TestService::open(true, NEVER).await;
    // the others are no transfers of the journal, which conservation would ask for
    service.faulty_spot.hide_asset(AssetId(4));
    service.work(1).await;
    let spot = service.faulty_spot.spot();
    // two wait for a request that never arrives, one for a reply
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    let mut open =
        vec![service.open_transfer(FUNDING, 1, 7).await, service.open_transfer(SPOT, 2, 5).await];
    service.faulty_spot.set_fault(CallFault::LoseReplies);
    let before = books(&spot).await.0;
    open.push(service.open_transfer(FUNDING, 3, 9).await);
    service.faulty_spot.wait_for_operation(before + 1).await;
    service
        .faulty_spot
        .set_fault(CallFault::LoseRequestsOf(open.iter().copied().collect::<BTreeSet<_>>()));
    for _ in 0..TIMES {
        others(&spot, service.clock.now()).await;
        assert!(kept(&spot).await >= OTHERS);
        service.clock.forward(2 * HOUR);
        let few = wait_until(MINUTE, async || kept(&spot).await < 100).await;
        assert!(few, "the core keeps {}", kept(&spot).await);
        // the transfers of now go on
        service.wait_for_end(&[service.open_transfer(FUNDING, 4, 3).await]).await;
    }
    assert!(spot.known().highest > TIMES * OTHERS);
    assert!(service.states(&open).await.values().all(|state| state.ends_with("PENDING")));
    service.faulty_spot.set_fault(CallFault::None);
    service.wait_for_end(&open).await;
    assert!(service.states(&open).await.values().all(|state| *state == "COMMITTED"));
    // each leg once: a repeat is answered with what was stored, and a forgotten one not at all
    let Reply::Answered(_, holdings) =
        spot.accounts(kernel::ports::ledger::Whose::User(UserId(3))).await
    else {
        panic!("no accounts")
    };
    let coins = holdings.iter().find(|holding| holding.asset == AssetId(3)).expect("coins");
    assert_eq!(coins.available, Amount(100 - 30 + 9));
    assert_eq!(service.engine.halted(), None);
    let forgotten = Op {
        key: Key { id: Id::new(service.clock.now() - 2 * HOUR, 1), leg: Leg::Deposit },
        account: Account::User(UserId(1)),
        other: None,
        asset: AssetId(4),
        amount: Amount(1),
    };
    let known: Known = spot.known();
    let reply = spot.execute(known, [forgotten].into()).await;
    assert!(format!("{reply:?}").contains("BELOW_HORIZON"), "{reply:?}");
}
