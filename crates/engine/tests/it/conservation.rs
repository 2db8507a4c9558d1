//! Money that is not where the evidence says: each a HALT within two rounds, and for good.

use crate::house::{FUNDING, House, SPOT, copied};
use crate::tamper::{ALL, Tamper};
use engine::Refused;
use kernel::code::Code;
use kernel::ids::UserId;
use kernel::ports::ledger::{AccountStatus, StatusChange};
use std::time::Duration;
use tempfile::TempDir;

/// How often a house proves that it adds up.
const OFTEN: u64 = 25;

/// A folder with transfers of every end.
async fn lived_in() -> TempDir {
    let mut house = House::open(true, OFTEN).await;
    let mut ids = house.work(1).await;
    let change = StatusChange {
        user: UserId(5),
        status: AccountStatus::Disabled,
        reason: "a test".into(),
        caller: "a test".into(),
        key: "disable".into(),
    };
    assert_eq!(house.engine().set_status(SPOT, change).await, Ok(true));
    ids.push(house.opened(FUNDING, 5, 3).await);
    ids.push(house.opened(FUNDING, 6, 5_000_000).await);
    ids.push(house.opened(SPOT, 6, 5_000_000).await);
    house.ended(&ids).await;
    let ends = house.states(&ids).await;
    for end in ["COMMITTED", "ROLLED_BACK", "FAILED"] {
        assert!(ends.values().any(|state| *state == end), "{end}: {ends:?}");
    }
    house.adds_up().await;
    house.stop().await;
    house.way.lead(None);
    copied(house.dir.path())
}

/// The round that the last report is of.
fn round(house: &House) -> u64 {
    house.engine().report().map_or(0, |report| report.round)
}

/// Transfers of users that nobody tampers with, until they are refused.
async fn until_halted(house: &House) {
    let mut amount = 0;
    loop {
        amount += 1;
        match house.create(FUNDING, 7 + u64::from(amount % 2 == 0), amount).await {
            Ok(_) => {}
            Err(Refused::Code(Code::Halted)) => return,
            refused @ Err(_) => panic!("{refused:?}"),
        }
    }
}

/// The engine's checker finds it by itself while transfers run, and it stays found.
async fn found(dir: TempDir, name: &str, tamper: Tamper) {
    let mut house = House::over(dir, true, OFTEN).await;
    while round(&house) < 2 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(house.engine().halted(), None, "{name}: before");
    let (before, after) = tokio::join!(
        async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            tamper.with(&house).await;
            round(&house)
        },
        async {
            until_halted(&house).await;
            round(&house)
        }
    );
    let reason = house.halted().await;
    // one round was perhaps under way already
    assert!(after <= before + 3, "{name}: found in round {after}, done after {before}");
    assert!(reason.starts_with("conservation is broken: "), "{name}: {reason}");
    let kind = ("CRITICAL".to_owned(), "CONSERVATION".to_owned(), reason.to_string());
    assert_eq!(house.cases(), [kind], "{name}");
    house.restart().await;
    assert_eq!(house.engine().halted(), Some(reason), "{name}: after a restart");
    let refused = house.create(FUNDING, 7, 1).await;
    assert!(matches!(refused, Err(Refused::Code(Code::Halted))), "{name}: {refused:?}");
}

/// Turns red where `Checker::round` leaves out any of its parts: the books of a ledger inside
/// (`books`), those of one outside (`Outside::books`), the number of receipts (`Outside::count`),
/// or the transfers beside their operations (`Lines::walk`).
async fn every_nth(n: usize) {
    let folder = lived_in().await;
    for (name, tamper) in ALL.into_iter().skip(n).step_by(4) {
        found(copied(folder.path()), name, tamper).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_unit_or_one_row_is_found_1() {
    every_nth(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_unit_or_one_row_is_found_2() {
    every_nth(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_unit_or_one_row_is_found_3() {
    every_nth(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_unit_or_one_row_is_found_4() {
    every_nth(3).await;
}
