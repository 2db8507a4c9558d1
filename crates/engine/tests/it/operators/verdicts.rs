//! Verdicts: an answer to the open call that the ledger bears out, when another person approves.
//!
//! Wrong builds that were run, each of which turns one of these red: a fence at the proposal;
//! `rejected` without a fence; `done` on anybody's word; a fence under HALT; a verdict for a state that
//! has passed; a fence of unknown outcome taken for a refusal; a refusal of what cannot be given back,
//! or would strand the money; the action told twice in the history.

use crate::fixture::defaults::{FUNDING, GIVEN, NEVER, SPOT};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::test_service::TestService;
use engine::operators::{ActionResult, AdminAction, Objection, StoredAnswer, Verdict};
use kernel::code::Code;
use kernel::flow::life::Leg;
use kernel::ids::{Id, LedgerId, UserId};
use kernel::money::Amount;
use kernel::operation::Key;
use kernel::operators::ApprovalStatus;
use kernel::ports::journal::OperatorQueries as _;
use kernel::ports::ledger::{Ledger as _, LedgerForm, Reply, Stored, Whose};
use kernel::retry::Backoff;
use serde_json::json;

async fn service() -> TestService {
    TestService::open_with(true, NEVER, |s| s.backoff = Backoff { base: 600_000, cap: 600_000 })
        .await
}

fn says(id: Id, verdict: Verdict) -> AdminAction {
    AdminAction::Resolve { id, verdict, evidence: json!({ "ticket": 7 }) }
}

async fn stored(service: &TestService, key: Key) -> Stored {
    let spot = service.faulty_spot.spot();
    let Reply::Answered(_, stored) = spot.query(spot.known(), key).await else {
        panic!("no answer")
    };
    stored
}

async fn has(service: &TestService, ledger: LedgerId) -> Amount {
    let port = service.engine.ledger(ledger).expect("a ledger");
    let Reply::Answered(_, all) = port.accounts(Whose::User(UserId(1))).await else { panic!() };
    all.first().map_or(Amount::ZERO, |holding| holding.available)
}

fn resolved(verdict: Verdict, said: StoredAnswer, state: &str) -> ActionResult {
    ActionResult::Resolved { verdict, said, state: state.into() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_fenced_when_another_person_approves_and_the_money_goes_back() {
    let mut service = service().await;
    let id = service.open_retried(FUNDING, CallFault::LoseRequests).await;
    let key = Key { id, leg: Leg::Deposit };
    let approval = service.propose_as("ada", "1", says(id, Verdict::Rejected)).await;
    assert_eq!(stored(&service, key).await, Stored::Nothing, "nothing is fenced before");
    let again = service.execute_as("ada", "1", says(id, Verdict::Rejected)).await.unwrap();
    assert_eq!((again.replayed, again.outcome), (true, ActionResult::Proposed { approval }));
    let same = service.execute_as("ada", "2", AdminAction::Approve(approval)).await;
    assert_eq!(same, Err(Objection::SamePerson));
    assert_eq!(stored(&service, key).await, Stored::Nothing);
    service.restart().await;
    let done = service.execute_as("bob", "1", AdminAction::Approve(approval)).await.unwrap();
    assert_eq!(done.outcome, resolved(Verdict::Rejected, StoredAnswer::Fenced, "COMPENSATING"));
    service.wait_for_end(&[id]).await;
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"ROLLED_BACK"));
    assert_eq!(has(&service, FUNDING).await, Amount(GIVEN));
    let told = service.history(id).await;
    let operators: Vec<_> = told
        .iter()
        .filter(|(what, ..)| what == "OPERATOR")
        .filter_map(|(_, caller, _)| caller.as_deref())
        .collect();
    // the proposal, and the approval as the intent of its fence
    assert_eq!(operators, ["portage|ada", "portage|bob"], "{told:?}");
    assert!(
        told.iter().any(|(what, _, detail)| {
            what == "TARGET_FAIL" && detail.as_deref() == Some("FENCED")
        })
    );
    let late = service.execute_as("eve", "1", AdminAction::Approve(approval)).await;
    assert_eq!(late, Err(Objection::Decided(ApprovalStatus::Approved)));
    let replay = service.execute_as("bob", "1", AdminAction::Approve(approval)).await.unwrap();
    assert_eq!((replay.replayed, replay.outcome), (true, done.outcome));
    service.assert_in_order().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_withdraw_at_the_source_that_is_fenced_fails() {
    let service = service().await;
    let first = service.open_transfer(FUNDING, 1, 900).await;
    service.wait_for_end(&[first]).await;
    let id = service.open_retried(SPOT, CallFault::LoseRequests).await;
    let approval = service.propose_as("ada", "1", says(id, Verdict::Rejected)).await;
    let done = service.execute_as("bob", "1", AdminAction::Approve(approval)).await.unwrap();
    assert_eq!(done.outcome, resolved(Verdict::Rejected, StoredAnswer::Fenced, "FAILED"));
    assert_eq!(has(&service, SPOT).await, Amount(900));
    service.assert_in_order().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_says_done_turns_a_refusal_into_done() {
    let service = service().await;
    for verdict in [Verdict::Rejected, Verdict::Done] {
        let id = service.open_retried(FUNDING, CallFault::LoseReplies).await;
        let approval = service.propose_as("ada", &id.to_string(), says(id, verdict)).await;
        let done = service
            .execute_as("bob", &id.to_string(), AdminAction::Approve(approval))
            .await
            .unwrap();
        let ActionResult::Resolved {
            verdict: Verdict::Done,
            said: StoredAnswer::Done { .. },
            state,
        } = done.outcome
        else {
            panic!("{verdict:?}: {done:?}")
        };
        assert_eq!(&*state, "COMMITTED");
        service.wait_for_end(&[id]).await;
    }
    service.assert_in_order().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn done_needs_the_ledgers_own_word() {
    let service = service().await;
    let id = service.open_retried(FUNDING, CallFault::LoseRequests).await;
    let approval = service.propose_as("ada", "1", says(id, Verdict::Done)).await;
    let refused = service.execute_as("bob", "1", AdminAction::Approve(approval)).await;
    assert!(matches!(refused, Err(Objection::NotPossible(_))), "{refused:?}");
    service.faulty_spot.set_fault(CallFault::Silent);
    let refused = service.execute_as("bob", "1", AdminAction::Approve(approval)).await;
    assert!(matches!(refused, Err(Objection::Unknown(_))), "{refused:?}");
    let stands = service.store().approval(approval).await.unwrap().unwrap().stand;
    assert_eq!(stands, ApprovalStatus::Pending);
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"TARGET_PENDING"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fence_of_unknown_outcome_leaves_the_approval_pending() {
    let service = service().await;
    let id = service.open_retried(FUNDING, CallFault::LoseRequests).await;
    let approval = service.propose_as("ada", "1", says(id, Verdict::Rejected)).await;
    service.faulty_spot.set_fault(CallFault::LoseFences);
    let unknown = service.execute_as("bob", "1", AdminAction::Approve(approval)).await;
    assert!(matches!(unknown, Err(Objection::Unknown(_))), "{unknown:?}");
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"TARGET_PENDING"));
    let stands = service.store().approval(approval).await.unwrap().unwrap().stand;
    assert_eq!(stands, ApprovalStatus::Pending);
    service.faulty_spot.set_fault(CallFault::None);
    let done = service.execute_as("bob", "1", AdminAction::Approve(approval)).await.unwrap();
    assert_eq!(done.outcome, resolved(Verdict::Rejected, StoredAnswer::Fenced, "COMPENSATING"));
    service.wait_for_end(&[id]).await;
    service.assert_in_order().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_halt_nothing_is_fenced_and_what_is_stored_is_taken() {
    let service = service().await;
    let lost = service.open_retried(FUNDING, CallFault::LoseRequests).await;
    let done = service.open_retried(FUNDING, CallFault::LoseReplies).await;
    let fence = service.propose_as("ada", "1", says(lost, Verdict::Rejected)).await;
    let take = service.propose_as("ada", "2", says(done, Verdict::Done)).await;
    service.execute_as("ada", "3", AdminAction::Halt).await.unwrap();
    let refused = service.execute_as("bob", "1", AdminAction::Approve(fence)).await;
    assert_eq!(refused, Err(Objection::Code(Code::Halted)));
    let key = Key { id: lost, leg: Leg::Deposit };
    assert_eq!(stored(&service, key).await, Stored::Nothing);
    service.execute_as("bob", "2", AdminAction::Approve(take)).await.unwrap();
    assert_eq!(service.states(&[done]).await.get(&done), Some(&"COMMITTED"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verdict_that_comes_too_late_changes_nothing() {
    let service = service().await;
    let id = service.open_retried(FUNDING, CallFault::LoseRequests).await;
    let approval = service.propose_as("ada", "1", says(id, Verdict::Rejected)).await;
    service.execute_as("ada", "2", AdminAction::Retry(id)).await.unwrap();
    service.wait_for_end(&[id]).await;
    service.is_superseded(approval).await;
    let ended = service.execute_as("ada", "3", says(id, Verdict::Done)).await;
    assert!(matches!(ended, Err(Objection::NotPossible(_))), "{ended:?}");
    service.assert_in_order().await;
}

/// A verdict on the withdraw is none on the deposit, which is open when it is approved.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verdict_answers_the_call_that_it_was_given_for() {
    let service = service().await;
    let first = service.open_transfer(FUNDING, 1, 900).await;
    service.wait_for_end(&[first]).await;
    let id = service.open_retried(SPOT, CallFault::LoseRequests).await;
    let approval = service.propose_as("ada", "1", says(id, Verdict::Rejected)).await;
    let refused = service.propose_as("ada", "2", says(id, Verdict::Done)).await;
    service.hinder("NEW.available > OLD.available");
    service.execute_as("ada", "3", AdminAction::Retry(id)).await.unwrap();
    service.wait_for_state(id, "TARGET_PENDING").await;
    for approval in [approval, refused] {
        service.is_superseded(approval).await;
    }
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"TARGET_PENDING"));
    service.unhinder();
    service.execute_as("ada", "4", AdminAction::Retry(id)).await.unwrap();
    service.wait_for_end(&[id]).await;
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"COMMITTED"));
    service.assert_in_order().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_ledger_can_bear_out_is_refused_at_once() {
    let mut service = service().await;
    let id = service.open_retried(FUNDING, CallFault::LoseRequests).await;
    let dead = service.execute_as("ada", "1", says(id, Verdict::Dead)).await;
    assert!(matches!(dead, Err(Objection::Invalid(_))), "{dead:?}");
    service.stop().await;
    service.settings.irreversible = vec![FUNDING];
    service.start().await;
    let stranded = service.execute_as("ada", "2", says(id, Verdict::Rejected)).await;
    assert!(matches!(stranded, Err(Objection::NotPossible(_))), "{stranded:?}");
    service.stop().await;
    service.settings.irreversible = Vec::new();
    service.start().await;

    // a ledger of the simple form can only be asked
    service.faulty_spot.set_form(LedgerForm::Simple);
    let approval = service.propose_as("ada", "3", says(id, Verdict::Rejected)).await;
    let wait = service.execute_as("bob", "3", AdminAction::Approve(approval)).await;
    assert!(matches!(wait, Err(Objection::NotPossible(_))), "{wait:?}");
    assert_eq!(stored(&service, Key { id, leg: Leg::Deposit }).await, Stored::Nothing);
    service.faulty_spot.set_form(LedgerForm::Full);

    // a refund cannot be refused
    service.hinder("NEW.available > OLD.available");
    service.execute_as("bob", "4", AdminAction::Approve(approval)).await.unwrap();
    service.wait_for_state(id, "COMPENSATING").await;
    let push = service.execute_as("ada", "4", says(id, Verdict::Rejected)).await;
    assert!(matches!(push, Err(Objection::Invalid(_))), "{push:?}");
    service.unhinder();
    // unless it was only now that it was tried
    service.execute_as("ada", "5", AdminAction::Retry(id)).await.ok();
    service.wait_for_end(&[id]).await;
    service.assert_in_order().await;
}
