//! Money that is not where the evidence says: each a HALT within two rounds, and for good.

use crate::house::{FUNDING, House, NEVER, SPOT, copied};
use crate::tamper::{ALL, Tamper};
use engine::Refused;
use kernel::code::Code;
use kernel::ids::UserId;
use kernel::ports::ledger::{AccountStatus, StatusChange};
use store::embedded::FILE;
use tempfile::TempDir;

/// A folder with transfers of every end.
async fn lived_in() -> TempDir {
    let house = House::open(true, NEVER).await;
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
    let folder = copied(&house.spot_folder());
    let (spot, whole) = (folder.path(), tempfile::tempdir().expect("a folder"));
    std::fs::rename(spot, whole.path().join("spot")).expect("it is moved");
    let file = whole.path().join(FILE);
    let file = file.to_str().expect("a path that SQL can spell");
    house.tool().execute("VACUUM INTO ?", [file]).expect("a copy");
    whole
}

/// Transfers of users that nobody tampers with, until they are refused.
async fn until_halted(house: &House) {
    for amount in 1..10_000 {
        match house.create(FUNDING, 7 + u64::from(amount % 2 == 0), amount).await {
            Ok(_) => {}
            Err(Refused::Code(Code::Halted)) => return,
            refused @ Err(_) => panic!("{refused:?}"),
        }
    }
}

/// HALT, with one case that says why, also after a restart.
async fn for_good(mut house: House, name: &str) {
    let reason = house.halted().await;
    assert!(reason.starts_with("conservation is broken: "), "{name}: {reason}");
    let kind = ("CRITICAL".to_owned(), "CONSERVATION".to_owned(), reason.to_string());
    assert_eq!(house.cases(), [kind], "{name}");
    house.restart().await;
    assert_eq!(house.engine().halted(), Some(reason), "{name}: after a restart");
    let refused = house.create(FUNDING, 7, 1).await;
    assert!(matches!(refused, Err(Refused::Code(Code::Halted))), "{name}: {refused:?}");
}

/// It is found in the first two rounds after it, while transfers run.
async fn found(dir: TempDir, name: &str, tamper: Tamper) {
    let house = House::over(dir, true, NEVER).await;
    let rounds = async {
        // the second one begins to look at everything again
        for _ in 0..2 {
            assert!(house.engine().check_now().await.expect("a round").ok, "{name}: before");
        }
        tamper.with(&house).await;
        for _ in 0..2 {
            let report = house.engine().check_now().await.expect("a round");
            if !report.ok {
                return;
            }
        }
        panic!("{name}: two rounds did not find it")
    };
    tokio::join!(rounds, until_halted(&house));
    for_good(house, name).await;
}

/// Turns red where the checker's task is not started, or where a break does not halt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_engine_looks_by_itself() {
    let house = House::open(true, 20).await;
    house.work(1).await;
    Tamper::Pair.with(&house).await;
    until_halted(&house).await;
    for_good(house, "by itself").await;
}

/// Turns red where `Checker::round` leaves out any of its parts: the books of a ledger inside
/// (`books`), those of one outside (`Outside::books`), the number of receipts (`Outside::count`),
/// the operations beside their transfers (`Outside::carry`), or the transfers beside their
/// operations (`Lines::walk`).
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
