//! What comes between the proof of a verdict and the step that it leads to: a HALT, and the ledger's
//! own word against it. The wrong builds named at the tests were run, and each turned its test red.

use crate::fixture::defaults::{FUNDING, NEVER, SPOT};
use crate::fixture::faulty_ledger::{CallFault, Lie, ReplyLatch};
use crate::fixture::test_service::TestService;
use engine::Refused;
use engine::operators::{
    ActionResult, Actor, AdminAction, Objection, OutstandingCall, PerformedAction, StoredAnswer,
    Verdict,
};
use kernel::code::Code;
use kernel::flow::life::Leg;
use kernel::ids::Id;
use kernel::operation::Key;
use kernel::operators::Scope;
use kernel::ports::journal::OperatorQueries as _;
use kernel::ports::ledger::{Ledger as _, Reply, Stored};
use kernel::record::System;
use kernel::retry::Backoff;
use serde_json::json;
use std::sync::Arc;
use testkit::{MINUTE, wait_until};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

async fn service() -> TestService {
    TestService::open_with(true, NEVER, |s| s.backoff = Backoff { base: 600_000, cap: 600_000 })
        .await
}

fn says(id: Id, verdict: Verdict) -> AdminAction {
    AdminAction::Resolve { id, verdict, evidence: json!({}) }
}

/// Bob approves, beside the test.
#[expect(clippy::disallowed_methods, reason = "a person, not a task of the engine")]
fn approves(service: &TestService, approval: Id) -> JoinHandle<Result<PerformedAction, Objection>> {
    let engine = service.engine.clone();
    let bob =
        Actor { caller: "portage|bob".into(), key: "approve".into(), reason: "a test".into() };
    tokio::spawn(async move { engine.operators.execute(bob, AdminAction::Approve(approval)).await })
}

/// Bob approves; the ledger has answered the question, and its answer waits behind the latch.
async fn approves_behind_a_latch(
    service: &TestService,
    approval: Id,
) -> (Arc<ReplyLatch>, JoinHandle<Result<PerformedAction, Objection>>) {
    let latch = ReplyLatch::closed();
    service.faulty_spot.set_fault(CallFault::DelayProofs(latch.clone()));
    let bob = approves(service, approval);
    latch.wait_for_reply().await;
    (latch, bob)
}

async fn stored(service: &TestService, id: Id) -> Stored {
    let (spot, key) = (service.faulty_spot.spot(), Key { id, leg: Leg::Deposit });
    let Reply::Answered(_, stored) = spot.query(spot.known(), key).await else {
        panic!("no answer")
    };
    stored
}

async fn resumed(service: &TestService, key: &str) -> Result<ActionResult, Objection> {
    let approval = service.propose_as("ada", key, AdminAction::Resume { accept: Vec::new() }).await;
    let done = service.execute_as("eve", key, AdminAction::Approve(approval)).await;
    done.map(|done| done.outcome)
}

/// The question found nothing and HALT came: nothing is fenced, and the approval waits.
///
/// Red where `Controls::fence` does not look at HALT and the fence's intent has no guard against it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_after_the_question_keeps_the_fence() {
    let service = service().await;
    let id = service.open_retried(FUNDING, CallFault::LoseRequests).await;
    let approval = service.propose_as("ada", "1", says(id, Verdict::Rejected)).await;
    let (latch, bob) = approves_behind_a_latch(&service, approval).await;
    let halted = service.execute_as("eve", "halt", AdminAction::Halt).await.unwrap();
    assert!(
        matches!(&halted.outcome, ActionResult::Halted { calls: 0, quiet: true, .. }),
        "{halted:?}"
    );
    latch.release(9);
    assert_eq!(bob.await.unwrap(), Err(Objection::Code(Code::Halted)));
    assert_eq!(stored(&service, id).await, Stored::Nothing);
    service.faulty_spot.set_fault(CallFault::None);
    assert!(resumed(&service, "2").await.is_ok());
    let done = approves(&service, approval).await.unwrap().unwrap();
    assert!(
        matches!(done.outcome, ActionResult::Resolved { said: StoredAnswer::Fenced, .. }),
        "{done:?}"
    );
    service.wait_for_end(&[id]).await;
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"ROLLED_BACK"));
    service.assert_in_order().await;
}

/// The fence stands and HALT came before its answer: the answer is recorded, and the refund waits.
///
/// Red where the fence takes no ticket (HALT says that nothing is on the wire), where `ruled` goes on
/// to the refund (`FuseMode::Fused` without its guard), and where it leaves the answer out under HALT.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_after_the_fence_records_it_and_gives_nothing_back() {
    let service = TestService::open_with(true, NEVER, |s| {
        s.backoff = Backoff { base: 600_000, cap: 600_000 };
        s.open_timeout_ms = 300;
    })
    .await;
    let id = service.open_retried(FUNDING, CallFault::LoseRequests).await;
    let approval = service.propose_as("ada", "1", says(id, Verdict::Rejected)).await;
    let (latch, bob) = approves_behind_a_latch(&service, approval).await;
    latch.release(1);
    // the question was let go; now the fence
    latch.wait_for_reply().await;
    assert!(matches!(stored(&service, id).await, Stored::Found(_)));
    let halted = service.execute_as("eve", "halt", AdminAction::Halt).await.unwrap();
    let key = Key { id, leg: Leg::Deposit };
    let on_wire = vec![OutstandingCall { system: System::Ledger(SPOT), key }];
    let named =
        ActionResult::Halted { halt: Some(1), on_wire, calls: 1, quiet: false, stored: true };
    assert_eq!(halted.outcome, named);
    latch.release(1);
    let done = bob.await.unwrap().unwrap();
    let resolved = ActionResult::Resolved {
        verdict: Verdict::Rejected,
        said: StoredAnswer::Fenced,
        state: "COMPENSATING".into(),
    };
    assert_eq!(done.outcome, resolved);
    service.execute_as("ada", "look", AdminAction::Ask(id)).await.unwrap();
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"COMPENSATING"), "no refund under HALT");
    service.faulty_spot.set_fault(CallFault::None);
    assert!(resumed(&service, "2").await.is_ok());
    service.wait_for_end(&[id]).await;
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"ROLLED_BACK"));
    service.assert_in_order().await;
}

/// The ledger's DONE was on its way: it is recorded, with the settle that belongs to it.
///
/// Red where `ruled` leaves the answer out under HALT.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_after_the_question_takes_what_it_found() {
    let service = service().await;
    let id = service.open_retried(FUNDING, CallFault::LoseReplies).await;
    let approval = service.propose_as("ada", "1", says(id, Verdict::Done)).await;
    let (latch, bob) = approves_behind_a_latch(&service, approval).await;
    service.execute_as("eve", "halt", AdminAction::Halt).await.unwrap();
    latch.release(1);
    bob.await.unwrap().unwrap();
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"COMMITTED"));
    service.faulty_spot.set_fault(CallFault::None);
    let report = service.engine.reconciler.check_now().await.unwrap();
    assert!(report.ok, "{report:?}");
}

/// The books were proven for a resume, and another HALT came before it took effect.
///
/// Red where `lift` does not compare the halts that it saw.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_after_the_proof_of_a_resume_keeps_its_halt() {
    let mut service = service().await;
    service.execute_as("ada", "halt", AdminAction::Halt).await.unwrap();
    let approval = service.propose_as("ada", "1", AdminAction::Resume { accept: Vec::new() }).await;
    let (latch, bob) = approves_behind_a_latch(&service, approval).await;
    service.execute_as("eve", "again", AdminAction::Halt).await.unwrap();
    latch.release(9);
    let refused = bob.await.unwrap();
    assert!(matches!(&refused, Err(Objection::NotPossible(why)) if why.contains("again")));
    assert!(service.engine.halted().is_some());
    service.restart().await;
    assert!(service.engine.halted().is_some());
    service.faulty_spot.set_fault(CallFault::None);
    assert!(resumed(&service, "2").await.is_ok());
    service.work(1).await;
    service.assert_in_order().await;
}

/// A ledger that said FENCED, and says DONE when the lost reply comes after all.
///
/// Red where an answer that finds its transfer elsewhere is dropped (`too_late` does nothing): no
/// case, no pause, and the refund goes out as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_contradicts_a_verdict_stops_the_flow_before_the_refund() {
    let service = service().await;
    let held = Arc::new(Semaphore::new(0));
    service.faulty_spot.set_fault(CallFault::DelayReplies(held.clone()));
    let id = service.open_transfer(FUNDING, 1, 500).await;
    service.wait_for_state(id, "TARGET_PENDING").await;
    let executed = async || matches!(stored(&service, id).await, Stored::Found(_));
    assert!(wait_until(MINUTE, executed).await, "Spot did not execute it");
    service.hinder("NEW.available > OLD.available");
    service.faulty_spot.set_lie(Lie::Fences);
    let approval = service.propose_as("ada", "1", says(id, Verdict::Rejected)).await;
    let done = approves(&service, approval).await.unwrap().unwrap();
    assert!(
        matches!(done.outcome, ActionResult::Resolved { said: StoredAnswer::Fenced, .. }),
        "{done:?}"
    );
    service.wait_for_state(id, "COMPENSATING").await;
    service.faulty_spot.stop_lying();
    held.add_permits(9);
    service.wait_for_episodes(&[("CONTRADICTION", format!("transfer/{id}"), true)]).await;
    let cases = service.cases();
    assert!(cases.iter().all(|(severity, ..)| severity == "CRITICAL"), "{cases:?}");
    let paused = service.service_status().await.paused;
    let [pause] = paused.as_slice() else { panic!("{paused:?}") };
    assert_eq!((pause.scope, &*pause.caller), (Scope::Flow(kernel::ids::FlowId(0)), "engine"));

    service.unhinder();
    service.execute_as("ada", "2", AdminAction::Retry(id)).await.unwrap();
    let refused = service.create(FUNDING, 2, 5).await;
    assert!(matches!(refused, Err(Refused::Code(Code::Overloaded))), "{refused:?}");
    let report = service.engine.reconciler.check_now().await.unwrap();
    let keys: Vec<_> = report.breaks.iter().map(|found| found.key.as_str()).collect();
    assert!(
        keys.contains(&format!("{id}/SPOT/DEPOSIT").as_str()),
        "the books say so too: {keys:?}"
    );
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"COMPENSATING"), "one effect, not two");
    let refunds: i64 = service
        .tool()
        .query_row("SELECT count(*) FROM operations WHERE leg = 'REFUND'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(refunds, 0);
    assert!(service.store().approval(approval).await.unwrap().is_some());
}
