//! Many rounds of the proof while transfers run, replies are lost and the engine is killed: no
//! alarm.

use crate::house::{FUNDING, House, SPOT, create};
use crate::machine::Chance;
use crate::way::Mood;
use engine::Refused;
use kernel::code::Code;
use kernel::ids::Id;
use kernel::ports::clock::Rng as _;
use std::time::Duration;

/// The round that the last report is of.
fn round(house: &House) -> u64 {
    house.engine().report().map_or(0, |report| report.round)
}

/// Creates transfers of all users for so many rounds, as many at once as there are users.
async fn busy(house: &House, rounds: u64) {
    let mut users = tokio::task::JoinSet::new();
    for user in 1..10_u64 {
        let engine = house.engine().clone();
        users.spawn(async move {
            for _ in 0..50_000 {
                let from = if Chance.next().is_multiple_of(3) { SPOT } else { FUNDING };
                // now and then more than there is
                let amount = u128::from(Chance.next() % 2_000) + 1;
                match create(&engine, from, user, amount).await {
                    Ok(_) => {}
                    Err(Refused::Code(Code::Halted)) => return,
                    refused @ Err(_) => panic!("{refused:?}"),
                }
            }
        });
    }
    for _ in 0..2_000 {
        if round(house) >= rounds || house.engine().halted().is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // callers go away in the middle; what they opened goes on
    users.shutdown().await;
    assert_eq!(house.engine().halted(), None);
    assert!(round(house) >= rounds, "only {} rounds", round(house));
}

async fn no_alarm(fuse: bool) {
    let mut house = House::open(fuse, 5).await;
    house.way.mood(Mood::Rough);
    for _ in 0..4 {
        let engine = house.engine().clone();
        let mut checks = tokio::task::JoinSet::new();
        // the engine's own rounds rest for long: here one follows the other
        checks.spawn(async move {
            while engine.check_now().await.is_ok() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        busy(&house, 10).await;
        checks.shutdown().await;
        house.restart().await;
    }
    house.way.mood(Mood::Fair);
    let open = house.engine().journal().open_below(Id(u128::MAX)).await.expect("the journal");
    house.ended(&open).await;
    house.adds_up().await;
}

/// Turns red where a round reads the journal before the ledgers: what happens in between then
/// looks like an operation that nobody asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_alarm_under_load_with_faults_fused() {
    no_alarm(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_alarm_under_load_with_faults_plain() {
    no_alarm(false).await;
}
