//! The way out of each kind of HALT, as the runbook has it: two persons resume, and money moves from
//! then on.

use crate::house::{FUNDING, House, NEVER, SPOT, copied, spot_at};
use crate::tamper::Tamper;
use engine::deeds::{Deed, Objection, Outcome, Performed};
use kernel::conserve;
use kernel::ids::{AssetId, Id, UserId};
use kernel::life::Leg;
use kernel::money::Amount;
use kernel::people::Accepted;
use kernel::ports::ledger::{Heard, Ledger};
use kernel::record::Account;
use kernel::unit::{Key, Op};

/// Two persons resume, with these breaks accepted; `n` tells their keys from those of other times.
async fn resumes(house: &House, n: &str, accept: &[Accepted]) -> Result<Performed, Objection> {
    let resume = Deed::Resume { accept: accept.to_vec() };
    let proposed = house.does("ada", n, resume).await?;
    let Outcome::Proposed { approval } = proposed.outcome else { panic!("{proposed:?}") };
    house.does("bob", n, Deed::Approve(approval)).await
}

/// Money moves, and nothing halts it again: in this life, and in the next.
async fn moves(house: &mut House) {
    for again in [false, true] {
        assert_eq!(house.engine().halted(), None, "again: {again}");
        house.work(1).await;
        for _ in 0..2 {
            let report = house.engine().check_now().await.expect("a round");
            assert!(report.ok, "{:?}", report.breaks);
        }
        assert_eq!(house.engine().halted(), None, "again: {again}");
        if !again {
            house.restart().await;
        }
    }
}

/// A deposit at Spot that no transfer asked for, and the break that it is.
async fn unasked(house: &House, n: u128) -> Accepted {
    let spot = house.way.spot();
    let key = Key { id: Id::new(house.engine().journal().now(), n), leg: Leg::Deposit };
    let (account, asset, amount) = (Account::User(UserId(1)), AssetId(3), Amount(10));
    let op = Op { key, account, other: None, asset, amount };
    let Heard::Said(..) = spot.execute(spot.known(), [op.clone()].into()).await else {
        panic!("Spot does not take it")
    };
    let Heard::Said(_, listed) = spot.operations(0, usize::MAX).await else { panic!("no list") };
    let operation = listed.into_iter().find(|o| o.op.key == key).expect("it is listed");
    let (key, amount) = conserve::unclaimed(SPOT, &operation);
    Accepted { key: key.into(), amount }
}

/// Turns red where the adoption of a ledger does not look at accepted breaks: RESUMED is answered, and
/// HALT is back at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operation_that_no_transfer_claimed_is_accepted() {
    let mut house = House::open(true, NEVER).await;
    house.work(1).await;
    house.stop().await;
    house.start().await;
    let one = unasked(&house, 1).await;
    let other = unasked(&house, 2).await;
    house.restart().await;
    let reason = house.halted().await;
    assert!(reason.contains("what no transfer asked for"), "{reason}");
    assert!(reason.contains(&format!("{}={}", one.key, one.amount)), "the key is named: {reason}");
    // one of them alone, or another amount, is not enough: it stays halted, and says so
    let refused = resumes(&house, "1", std::slice::from_ref(&one)).await;
    assert!(matches!(refused, Err(Objection::Breaks(_))), "{refused:?}");
    assert_eq!(house.engine().halted(), Some(reason));
    let resumed = resumes(&house, "2", &[one, other]).await.expect("it is resumed");
    assert!(matches!(resumed.outcome, Outcome::Resumed { .. }), "{resumed:?}");
    moves(&mut house).await;
}

/// Turns red where RESUMED is answered while a ledger that halts again stands behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_ledger_is_brought_back_before_money_moves() {
    let mut house = House::open(true, NEVER).await;
    house.work(1).await;
    let (right, older) = (house.way.spot(), copied(&house.spot_folder()));
    house.work(1).await;
    house.stop().await;
    house.way.lead(Some(spot_at(older.path()).await));
    house.start().await;
    let reason = house.halted().await;
    assert!(reason.contains("forgot"), "{reason}");
    let refused = resumes(&house, "1", &[]).await.expect_err("it is still the wrong one");
    assert!(!matches!(refused, Objection::Unknown(_)), "{refused:?}");
    assert_eq!(house.engine().halted(), Some(reason));
    house.way.lead(Some(right));
    resumes(&house, "2", &[]).await.expect("the right one is back");
    moves(&mut house).await;
}

/// What was broken is mended where it arose, or accepted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_break_of_conservation_is_mended_or_accepted() {
    let mut house = House::open(true, NEVER).await;
    house.work(1).await;
    Tamper::Users.with(&house).await;
    house.engine().doubt().await;
    let report = house.engine().check_now().await.expect("a round");
    let accept = |b: &conserve::Break| Accepted { key: b.key.as_str().into(), amount: b.amount };
    let breaks: Vec<_> = report.breaks.iter().map(accept).collect();
    assert_eq!(breaks.len(), 2, "{breaks:?}");
    let refused = resumes(&house, "1", &[]).await;
    assert!(matches!(refused, Err(Objection::Breaks(found)) if found.len() == 2), "not refused");
    Tamper::Back.with(&house).await;
    resumes(&house, "2", &[]).await.expect("it is mended");
    moves(&mut house).await;
    Tamper::Users.with(&house).await;
    house.engine().doubt().await;
    assert!(!house.engine().check_now().await.expect("a round").ok);
    resumes(&house, "3", &breaks).await.expect("it is accepted");
    moves(&mut house).await;
}

/// A HALT by hand.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_by_hand_is_lifted() {
    let mut house = House::open(true, NEVER).await;
    house.work(1).await;
    house.does("ada", "halt", Deed::Halt).await.expect("it is halted");
    assert!(house.create(FUNDING, 7, 1).await.is_err());
    resumes(&house, "1", &[]).await.expect("it is lifted");
    moves(&mut house).await;
}
