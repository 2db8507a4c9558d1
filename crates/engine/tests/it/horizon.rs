//! One open transfer against a million others: the core forgets those, never that one.

use crate::house::{FUNDING, House, NEVER, SPOT, books};
use crate::way::Mood;
use kernel::ids::{AssetId, Id, UserId};
use kernel::life::Leg;
use kernel::money::Amount;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::{Heard, Known, Ledger};
use kernel::record::Account;
use kernel::unit::{Key, Op};
use ledgers::spot::Spot;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How many others there are between two raises of the horizon.
const OTHERS: u64 = 100_000;
/// How often.
const TIMES: u64 = 10;
/// So many requests at once.
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
        let heard = spot.execute(spot.known(), (0..BATCH).map(op).collect()).await;
        assert!(matches!(heard, Heard::Said(..)), "{heard:?}");
    }
}

async fn kept(spot: &Spot) -> u64 {
    let Heard::Said(_, operations) = spot.operations(0, usize::MAX).await else { panic!("none") };
    u64::try_from(operations.len()).expect("so many")
}

/// Turns red where `raise_horizon` names no open ids (they end BELOW_HORIZON for ever), and where
/// it tells nobody (the core keeps all).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_open_transfer_against_a_million_others() {
    let house = House::open(true, NEVER).await;
    // the others are no transfers of the journal, which conservation would ask for
    house.way.hide(AssetId(4));
    house.work(1).await;
    let spot = house.way.spot();
    // two wait for a request that never arrives, one for a reply
    house.way.mood(Mood::LoseRequests);
    let mut open = vec![house.opened(FUNDING, 1, 7).await, house.opened(SPOT, 2, 5).await];
    house.way.mood(Mood::LoseReplies);
    let before = books(&spot).await.0;
    open.push(house.opened(FUNDING, 3, 9).await);
    while spot.known().highest == before {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    house.way.mood(Mood::Bars(open.iter().copied().collect::<BTreeSet<_>>()));
    for _ in 0..TIMES {
        others(&spot, house.clock.now()).await;
        assert!(kept(&spot).await >= OTHERS);
        house.clock.forward(2 * HOUR);
        for _ in 0..1_000 {
            if kept(&spot).await < 100 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(kept(&spot).await < 100, "the core keeps {}", kept(&spot).await);
        // the transfers of now go on
        house.ended(&[house.opened(FUNDING, 4, 3).await]).await;
    }
    assert!(spot.known().highest > TIMES * OTHERS);
    assert!(house.states(&open).await.values().all(|state| state.ends_with("PENDING")));
    house.way.mood(Mood::Fair);
    house.ended(&open).await;
    assert!(house.states(&open).await.values().all(|state| *state == "COMMITTED"));
    // each leg once: a repeat is answered with what was stored, and a forgotten one not at all
    let Heard::Said(_, holdings) =
        spot.accounts(kernel::ports::ledger::Whose::User(UserId(3))).await
    else {
        panic!("no accounts")
    };
    let coins = holdings.iter().find(|holding| holding.asset == AssetId(3)).expect("coins");
    assert_eq!(coins.available, Amount(100 - 30 + 9));
    assert_eq!(house.engine().halted(), None);
    let forgotten = Op {
        key: Key { id: Id::new(house.clock.now() - 2 * HOUR, 1), leg: Leg::Deposit },
        account: Account::User(UserId(1)),
        other: None,
        asset: AssetId(4),
        amount: Amount(1),
    };
    let known: Known = spot.known();
    let heard = spot.execute(known, [forgotten].into()).await;
    assert!(format!("{heard:?}").contains("BELOW_HORIZON"), "{heard:?}");
}
