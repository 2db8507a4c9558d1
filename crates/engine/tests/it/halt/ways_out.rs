//! The way out of each kind of HALT, as the runbook has it: two persons resume, and money moves from
//! then on.

use crate::fixture::defaults::{FUNDING, NEVER, SPOT};
use crate::fixture::folders::{copied, spot_at};
use crate::fixture::tamper::Tamper;
use crate::fixture::test_service::TestService;
use engine::operators::{ActionResult, AdminAction, Objection};
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Op};
use kernel::operators::Accepted;
use kernel::ports::ledger::{Ledger, Reply};
use kernel::reconcile;
use kernel::record::Account;

/// Money moves, and nothing halts it again: in this life, and in the next.
async fn moves(service: &mut TestService) {
    for again in [false, true] {
        assert_eq!(service.engine.halted(), None, "again: {again}");
        service.work(1).await;
        for _ in 0..2 {
            let report = service.engine.reconciler.check_now().await.expect("a round");
            assert!(report.ok, "{:?}", report.breaks);
        }
        assert_eq!(service.engine.halted(), None, "again: {again}");
        if !again {
            service.restart().await;
        }
    }
}

/// A deposit at Spot that no transfer asked for, and the break that it is.
async fn unasked(service: &TestService, n: u128) -> Accepted {
    let spot = service.faulty_spot.spot();
    let key = Key { id: Id::new(service.engine.journal().now(), n), leg: Leg::Deposit };
    let (account, asset, amount) = (Account::User(UserId(1)), AssetId(3), Amount(10));
    let op = Op { key, account, other: None, asset, amount };
    let Reply::Answered(..) = spot.execute(spot.known(), [op.clone()].into()).await else {
        panic!("Spot does not take it")
    };
    let Reply::Answered(_, listed) = spot.operations(0, usize::MAX).await else {
        panic!("no list")
    };
    let operation = listed.into_iter().find(|o| o.op.key == key).expect("it is listed");
    let (key, amount) = reconcile::unclaimed(SPOT, &operation);
    Accepted { key: key.into(), amount }
}

/// Turns red where the adoption of a ledger does not look at accepted breaks: RESUMED is answered, and
/// HALT is back at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operation_that_no_transfer_claimed_is_accepted() {
    let mut service = TestService::open(true, NEVER).await;
    service.work(1).await;
    service.stop().await;
    service.start().await;
    let one = unasked(&service, 1).await;
    let other = unasked(&service, 2).await;
    service.restart().await;
    let reason = service.wait_for_stored_halt().await;
    assert!(reason.contains("what no transfer asked for"), "{reason}");
    assert!(reason.contains(&format!("{}={}", one.key, one.amount)), "the key is named: {reason}");
    // the first round halts for the same breaks: not between a proposal and its approval
    assert!(!service.engine.reconciler.check_now().await.expect("a round").ok);
    // one of them alone, or another amount, is not enough: it stays halted, and says so
    let refused = service.resume_with_approval("1", std::slice::from_ref(&one)).await;
    assert!(matches!(refused, Err(Objection::Breaks(_))), "{refused:?}");
    assert_eq!(service.engine.halted(), Some(reason));
    let resumed = service.resume_with_approval("2", &[one, other]).await.expect("it is resumed");
    assert!(matches!(resumed.outcome, ActionResult::Resumed { .. }), "{resumed:?}");
    moves(&mut service).await;
}

/// Turns red where RESUMED is answered while a ledger that halts again stands behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_ledger_is_brought_back_before_money_moves() {
    let mut service = TestService::open(true, NEVER).await;
    service.work(1).await;
    let (right, older) = (service.faulty_spot.spot(), copied(&service.spot_folder()));
    service.work(1).await;
    service.stop().await;
    service.faulty_spot.route_to(Some(spot_at(older.path()).await));
    service.start().await;
    let reason = service.wait_for_stored_halt().await;
    assert!(reason.contains("forgot"), "{reason}");
    let refused =
        service.resume_with_approval("1", &[]).await.expect_err("it is still the wrong one");
    assert!(!matches!(refused, Objection::Unknown(_)), "{refused:?}");
    assert_eq!(service.engine.halted(), Some(reason));
    service.faulty_spot.route_to(Some(right));
    service.resume_with_approval("2", &[]).await.expect("the right one is back");
    moves(&mut service).await;
}

/// What was broken is mended where it arose, or accepted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_break_of_conservation_is_mended_or_accepted() {
    let mut service = TestService::open(true, NEVER).await;
    service.work(1).await;
    Tamper::Users.with(&service).await;
    service.engine.reconciler.count_all().await;
    let report = service.engine.reconciler.check_now().await.expect("a round");
    let accept = |b: &reconcile::Break| Accepted { key: b.key.as_str().into(), amount: b.amount };
    let breaks: Vec<_> = report.breaks.iter().map(accept).collect();
    assert_eq!(breaks.len(), 2, "{breaks:?}");
    let refused = service.resume_with_approval("1", &[]).await;
    assert!(matches!(refused, Err(Objection::Breaks(found)) if found.len() == 2), "not refused");
    Tamper::Back.with(&service).await;
    service.resume_with_approval("2", &[]).await.expect("it is mended");
    moves(&mut service).await;
    Tamper::Users.with(&service).await;
    service.engine.reconciler.count_all().await;
    assert!(!service.engine.reconciler.check_now().await.expect("a round").ok);
    service.resume_with_approval("3", &breaks).await.expect("it is accepted");
    moves(&mut service).await;
}

/// A HALT by hand.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_by_hand_ends() {
    let mut service = TestService::open(true, NEVER).await;
    service.work(1).await;
    service.execute_as("ada", "halt", AdminAction::Halt).await.expect("it is halted");
    assert!(service.create(FUNDING, 7, 1).await.is_err());
    service.resume_with_approval("1", &[]).await.expect("it ends");
    moves(&mut service).await;
}
