//! Every halt has a number: a resume is of the halt that stood when it was proposed and when its proof
//! began, whichever process each of them met, and of none that was raised later.
//!
//! Each of these wrong builds was run and turns tests here red: a resume without a look at the halt's
//! number and without its guard; a halt that raises no number where one stands; proposals that stay open
//! when a halt is raised or lifted; a proposal without an end; a verdict that names a state and not the
//! stay in it; a repeated HALT that is called quiet without a look at the journal.

use crate::fixture::defaults::{FUNDING, NEVER};
use crate::fixture::faulty_ledger::{CallFault, ReplyLatch};
use crate::fixture::running::{create, execute_as, proposed};
use crate::fixture::test_service::TestService;
use engine::operators::{ActionResult, AdminAction, Objection, PerformedAction, Verdict};
use kernel::ids::Id;
use kernel::operators::ApprovalStatus;
use kernel::ports::journal::{OperatorQueries as _, UnitWriter as _};
use kernel::unit::{Event, Guard, Hold, Put, Then, Unit, Wrote};
use std::sync::Arc;
use testkit::{MINUTE, wait_until};

const RESUME: AdminAction = AdminAction::Resume { accept: Vec::new() };

fn refused(done: &Result<PerformedAction, Objection>) -> bool {
    matches!(done, Err(Objection::Decided(_) | Objection::NotPossible(_)))
}

/// How a proposal stands in the journal.
async fn stands(service: &TestService, proposal: Id) -> ApprovalStatus {
    let stored = service.store().approval(proposal).await.expect("the journal answers");
    stored.expect("it was proposed").stand
}

/// One person alone would lift a later HALT with an old, second proposal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_proposal_lifts_no_later_halt() {
    let service = TestService::open(true, NEVER).await;
    service.execute_as("ada", "1", AdminAction::Halt).await.unwrap();
    let first = service.propose_as("ada", "2", RESUME).await;
    let second = service.propose_as("ada", "3", RESUME).await;
    service.execute_as("bob", "1", AdminAction::Approve(first)).await.unwrap();
    service.work(1).await;
    service.execute_as("eve", "1", AdminAction::Halt).await.unwrap();
    assert_eq!(stands(&service, second).await, ApprovalStatus::Superseded);
    let late = service.execute_as("bob", "2", AdminAction::Approve(second)).await;
    assert!(refused(&late), "{late:?}");
    assert!(service.service_status().await.halted.is_some(), "it stands");
    assert!(service.engine.halted().is_some(), "it stands");
}

/// A halt that is raised where one stands is one of its own, with its reason.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_that_is_raised_after_a_proposal_does_not_fall_with_it() {
    let service = TestService::open(true, NEVER).await;
    service.execute_as("ada", "1", AdminAction::Halt).await.unwrap();
    let proposal = service.propose_as("ada", "2", RESUME).await;
    service.execute_as("eve", "1", AdminAction::Halt).await.unwrap();
    assert_eq!(service.service_status().await.halts, 2, "each has a number");
    assert_eq!(stands(&service, proposal).await, ApprovalStatus::Superseded);
    let late = service.execute_as("bob", "1", AdminAction::Approve(proposal)).await;
    assert!(refused(&late), "{late:?}");
    assert!(service.service_status().await.halted.is_some(), "it stands");
    let fresh = service.propose_as("ada", "3", RESUME).await;
    service.execute_as("bob", "2", AdminAction::Approve(fresh)).await.unwrap();
    service.work(1).await;
}

/// The proof runs at another process than the one that answered the HALT, and ends after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proof_that_began_before_a_halt_does_not_lift_it() {
    let service = TestService::open(true, NEVER).await;
    let rival = service.rival().await;
    service.execute_as("ada", "1", AdminAction::Halt).await.unwrap();
    let proposal = proposed(execute_as(&rival, "ada", "2", RESUME).await);
    let latch = ReplyLatch::closed();
    service.faulty_spot.set_fault(CallFault::DelayProofs(latch.clone()));
    let approving = execute_as(&rival, "bob", "1", AdminAction::Approve(proposal));
    let halting = async {
        latch.wait_for_reply().await;
        let halted = service.execute_as("eve", "1", AdminAction::Halt).await.unwrap();
        assert!(matches!(halted.outcome, ActionResult::Halted { quiet: true, .. }), "{halted:?}");
        service.faulty_spot.set_fault(CallFault::None);
        latch.release(100);
    };
    let (late, ()) = tokio::join!(approving, halting);
    assert!(refused(&late), "{late:?}");
    assert!(service.service_status().await.halted.is_some(), "it was answered, and stands");
}

/// Where one person is enough there is no proposal that a halt could close: the number alone holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_that_is_raised_during_the_proof_stands_without_four_eyes_too() {
    let service = TestService::open_with(true, NEVER, |settings| settings.four_eyes = false).await;
    let rival = service.rival().await;
    service.execute_as("ada", "1", AdminAction::Halt).await.unwrap();
    let latch = ReplyLatch::closed();
    service.faulty_spot.set_fault(CallFault::DelayProofs(latch.clone()));
    let resuming = execute_as(&rival, "ada", "2", RESUME);
    let halting = async {
        latch.wait_for_reply().await;
        service.execute_as("eve", "1", AdminAction::Halt).await.unwrap();
        service.faulty_spot.set_fault(CallFault::None);
        latch.release(100);
    };
    let (late, ()) = tokio::join!(resuming, halting);
    assert!(refused(&late), "{late:?}");
    assert!(service.service_status().await.halted.is_some(), "it was answered, and stands");
}

/// What was answered once is not what is true now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_halt_is_not_quiet_once_money_moves_again() {
    let service = TestService::open(true, NEVER).await;
    let halted = service.execute_as("ada", "1", AdminAction::Halt).await.unwrap();
    assert!(matches!(halted.outcome, ActionResult::Halted { quiet: true, .. }), "{halted:?}");
    let proposal = service.propose_as("ada", "2", RESUME).await;
    service.execute_as("bob", "1", AdminAction::Approve(proposal)).await.unwrap();
    let again = service.execute_as("ada", "1", AdminAction::Halt).await.unwrap();
    assert!(matches!(again.outcome, ActionResult::Halted { quiet: false, .. }), "{again:?}");
    assert!(again.replayed && service.engine.halted().is_none());
}

/// The engine that is asked again has not read of the HALT yet, and calls meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_that_is_repeated_elsewhere_waits_for_that_engine_too() {
    let mut service = TestService::open_with(false, NEVER, |s| s.open_timeout_ms = 300).await;
    service.settings.scan_interval_ms = NEVER;
    let rival = service.rival().await;
    let held = Arc::new(tokio::sync::Semaphore::new(0));
    let before = service.faulty_spot.spot().known().highest;
    service.faulty_spot.set_fault(CallFault::DelayReplies(held.clone()));
    let late = create(&rival, FUNDING, 1, 5).await.unwrap().record.id;
    service.wait_for_state(late, "TARGET_PENDING").await;
    service.faulty_spot.wait_for_operation(before + 1).await;
    service.execute_as("ada", "1", AdminAction::Halt).await.unwrap();
    let again = execute_as(&rival, "ada", "1", AdminAction::Halt).await.unwrap();
    assert!(matches!(again.outcome, ActionResult::Halted { quiet: false, .. }), "{again:?}");
    assert!(rival.halted().is_some(), "it stands there too");
    held.add_permits(100);
}

/// By the journal's time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proposal_lapses() {
    let service = TestService::open(true, NEVER).await;
    service.execute_as("ada", "1", AdminAction::Halt).await.unwrap();
    let hour = 3_600_000;
    let proposal = service.propose_as("ada", "2", RESUME).await;
    service.clock.forward(24 * hour + 1);
    let late = service.execute_as("bob", "1", AdminAction::Approve(proposal)).await;
    assert!(refused(&late), "{late:?}");
    assert!(service.service_status().await.halted.is_some(), "it stands");
    let fresh = service.propose_as("ada", "3", RESUME).await;
    service.clock.forward(23 * hour);
    service.execute_as("bob", "2", AdminAction::Approve(fresh)).await.unwrap();
}

/// A transfer that left the state and came back waits for another answer than the one that was proposed.
/// Turns red where its approval is an outcome that is not known, which its caller repeats for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proposal_of_another_form_is_refused_and_may_be_rejected() {
    let service = TestService::open(true, NEVER).await;
    service.execute_as("ada", "1", AdminAction::Halt).await.unwrap();
    let proposal = service.propose_as("ada", "2", RESUME).await;
    service.tool().execute("UPDATE approvals SET value = '{\"older\":1}'", []).unwrap();
    let refused = service.execute_as("bob", "1", AdminAction::Approve(proposal)).await;
    assert!(matches!(refused, Err(Objection::NotPossible(_))), "{refused:?}");
    service.execute_as("bob", "2", AdminAction::Reject(proposal)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verdict_is_of_one_stay_in_a_state() {
    let service = TestService::open(false, NEVER).await;
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    let id = service.open_transfer(FUNDING, 1, 5).await;
    service.wait_for_state(id, "TARGET_PENDING").await;
    let evidence = serde_json::json!({});
    let resolve = AdminAction::Resolve { id, verdict: Verdict::Rejected, evidence };
    let proposal = service.propose_as("ada", "1", resolve).await;
    // as a flow whose table leads back would have it
    for state in ["SOURCE_DONE", "TARGET_PENDING"] {
        put_in_state(&service, id, state).await;
    }
    let late = service.execute_as("bob", "1", AdminAction::Approve(proposal)).await;
    assert!(
        refused(&late)
            || matches!(&late, Ok(done) if matches!(done.outcome, ActionResult::Superseded { .. })),
        "{late:?}"
    );
    service.faulty_spot.set_fault(CallFault::None);
    service.wait_for_end(&[id]).await;
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"COMMITTED"), "no fence was called");
}

/// Moves a transfer to a state, whatever holds it.
async fn put_in_state(service: &TestService, id: Id, to: &str) {
    let written = wait_until(MINUTE, async || {
        let record = service.records(&[id]).await.pop().expect("the transfer");
        let flows = service.engine.flows();
        let table = flows.table(record.flow);
        let to =
            (0..=u8::MAX).find(|s| table.states.get(usize::from(*s)).is_some_and(|s| s.name == to));
        let (from, to) = (record.head.state, to.expect("a state"));
        let mut head = record.head;
        head.state = to;
        head.version += 1;
        head.due_at = None;
        let event = Event {
            id,
            from: Some(from),
            to,
            what: "TEST",
            caller: None,
            detail: None,
            agreed: None,
        };
        let guard = Guard::Transfer { id, state: from, version: record.head.version };
        let put = Put::Head { id, head, error: None, hold: Hold::Mine };
        let then = Then { puts: vec![put], events: vec![event], ..Then::default() };
        let wrote = service.store().write(vec![Unit { guards: vec![guard], then }]).await;
        matches!(wrote.first(), Some(Wrote::Written(_)))
    });
    assert!(written.await, "it moves on and on");
}
