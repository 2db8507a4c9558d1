//! A process that dies in the middle of an action: before and after each of its writes. Nothing is half
//! done, and the same key gets the same result.
//!
//! Wrong builds that were run, each of which turns one of these red: the action's row in a unit of its
//! own after its effect; `act` without the look at the key.

use crate::fixture::crash_points::Side;
use crate::fixture::defaults::{FUNDING, NEVER, SPOT};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::test_service::TestService;
use engine::audit::prove;
use engine::operators::{
    ActionResult, AdminAction, AssetChange, NewAsset, NewNumberedAccount, Verdict,
};
use kernel::accounts::{AccountsOf, NumberedAccount, NumberedStatus};
use kernel::ids::{Id, UserId};
use kernel::money::{Amount, AssetStatus};
use kernel::operators::{ApprovalStatus, NoteText, Scope};
use kernel::ports::audit::Audit as _;
use kernel::ports::journal::OperatorQueries as _;
use kernel::ports::ledger::{AccountStatus, Ledger as _, Reply, Whose};
use kernel::retry::Backoff;
use serde_json::json;
use std::time::Duration;
use testkit::{seal_key, wait_until};

/// Every kind of action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Retry,
    Ask,
    PauseTransfer,
    ResumeTransfer,
    NoteTransfer,
    Resolve,
    Halt,
    Resume,
    Pause,
    Unpause,
    Status,
    OpenAccount,
    AccountStatus,
    AddAsset,
    ChangeAsset,
    /// Of a verdict that needs a fence.
    ApproveFence,
    /// Of a verdict that the ledger's stored answer bears out.
    ApproveDone,
    /// Of the resume from HALT.
    ApproveResume,
    Reject,
    Assign,
    Comment,
}

/// What an action is about.
struct Prepared {
    transfer: Id,
    approval: Option<Id>,
    action: AdminAction,
}

async fn service() -> TestService {
    TestService::open_with(true, NEVER, |s| {
        s.backoff = Backoff { base: 600_000, cap: 600_000 };
        s.alerts.after_retries = 1;
    })
    .await
}

async fn paused(service: &TestService, action: AdminAction) -> u64 {
    let done = service.execute_as("ada", "pause", action).await.expect("an answer");
    let ActionResult::Paused { number: Some(number) } = done.outcome else { panic!("{done:?}") };
    number
}

fn says(id: Id, verdict: Verdict) -> AdminAction {
    AdminAction::Resolve { id, verdict, evidence: json!({}) }
}

fn usdt() -> AssetChange {
    let status = Some(AssetStatus::Suspended);
    AssetChange { symbol: "USDT".to_owned(), status, ..AssetChange::default() }
}

fn gold() -> NewAsset {
    NewAsset {
        id: None,
        symbol: "GOLD".to_owned(),
        precision: 3,
        transferable: true,
        min: Amount(1),
        max: None,
        daily: None,
    }
}

fn opens() -> AdminAction {
    let (number, owner) = ("ACC-1".into(), UserId(1));
    AdminAction::OpenAccount(NewNumberedAccount { number, owner, currency: "USDT".to_owned() })
}

/// A service in which the action can be done.
async fn prepared(service: &TestService, kind: Kind) -> Prepared {
    let answered = matches!(kind, Kind::Ask | Kind::ApproveDone);
    let fault = if answered { CallFault::LoseReplies } else { CallFault::LoseRequests };
    let id = service.open_retried(FUNDING, fault).await;
    let mut approval = None;
    let action = match kind {
        Kind::Retry => AdminAction::Retry(id),
        Kind::Ask => AdminAction::Ask(id),
        Kind::PauseTransfer => AdminAction::PauseTransfer(id),
        Kind::ResumeTransfer => {
            paused(service, AdminAction::PauseTransfer(id)).await;
            AdminAction::ResumeTransfer(id)
        }
        Kind::NoteTransfer => {
            let text = NoteText::parse("call them").expect("a note");
            AdminAction::NoteTransfer { id, text }
        }
        Kind::Resolve => says(id, Verdict::Rejected),
        Kind::Halt => AdminAction::Halt,
        Kind::Resume => {
            service.execute_as("ada", "halt", AdminAction::Halt).await.expect("an answer");
            AdminAction::Resume { accept: Vec::new() }
        }
        Kind::Pause => AdminAction::Pause(Scope::Ledger(SPOT)),
        Kind::Unpause => {
            AdminAction::Unpause(paused(service, AdminAction::Pause(Scope::Ledger(SPOT))).await)
        }
        Kind::Status => {
            AdminAction::Status { ledger: FUNDING, user: UserId(2), status: AccountStatus::Frozen }
        }
        Kind::OpenAccount => opens(),
        Kind::AccountStatus => {
            service.execute_as("ada", "open", opens()).await.expect("an answer");
            AdminAction::AccountStatus { number: "ACC-1".into(), status: NumberedStatus::Frozen }
        }
        Kind::AddAsset => AdminAction::AddAsset(gold()),
        Kind::ChangeAsset => AdminAction::ChangeAsset(usdt()),
        Kind::ApproveFence | Kind::ApproveDone | Kind::Reject => {
            let verdict = if kind == Kind::ApproveDone { Verdict::Done } else { Verdict::Rejected };
            let made = service.propose_as("ada", "proposal", says(id, verdict)).await;
            approval = Some(made);
            if kind == Kind::Reject {
                AdminAction::Reject(made)
            } else {
                AdminAction::Approve(made)
            }
        }
        Kind::ApproveResume => {
            service.execute_as("ada", "halt", AdminAction::Halt).await.expect("an answer");
            let made = service
                .propose_as("ada", "proposal", AdminAction::Resume { accept: Vec::new() })
                .await;
            approval = Some(made);
            AdminAction::Approve(made)
        }
        Kind::Assign | Kind::Comment => {
            service.wait_for_episodes(&[("STUCK", format!("transfer/{id}"), true)]).await;
            if kind == Kind::Assign {
                AdminAction::Assign { case: 1, to: "portage|eve".into() }
            } else {
                AdminAction::Comment { case: 1, text: "look at it".into() }
            }
        }
    };
    Prepared { transfer: id, approval, action }
}

fn count(service: &TestService, sql: &str) -> i64 {
    service.tool().query_row(sql, [], |row| row.get(0)).expect("a number")
}

/// The rows of the audit under bob's key.
fn past_action(service: &TestService) -> i64 {
    count(service, "SELECT count(*) FROM operator_actions WHERE caller = 'portage|bob'")
}

/// Whether what the action is for stands in the journal, or at the ledger.
async fn effect(service: &TestService, kind: Kind, subject: &Prepared) -> bool {
    let status = service.service_status().await;
    match kind {
        // the line in its history is all that stays of them
        Kind::Retry | Kind::Ask => {
            service.history(subject.transfer).await.iter().any(|(what, ..)| what == "OPERATOR")
        }
        Kind::NoteTransfer => {
            count(service, "SELECT count(*) FROM operator_actions WHERE action = 'NOTE'") == 1
        }
        Kind::PauseTransfer | Kind::Pause => !status.paused.is_empty(),
        Kind::ResumeTransfer | Kind::Unpause => status.paused.is_empty(),
        Kind::Resolve | Kind::Resume => count(service, "SELECT count(*) FROM approvals") == 1,
        Kind::Halt => status.halted.is_some(),
        Kind::ApproveResume => status.halted.is_none(),
        Kind::Status => {
            let funding = service.store().funding();
            let Reply::Answered(_, all) = funding.accounts(Whose::User(UserId(2))).await else {
                panic!("no accounts")
            };
            all.iter().any(|holding| holding.status == AccountStatus::Frozen)
        }
        Kind::OpenAccount | Kind::AccountStatus => {
            let of = AccountsOf::Owner(UserId(1));
            let all = service.store().numbered_accounts(of).await.expect("accounts");
            let frozen = |one: &NumberedAccount| one.status == NumberedStatus::Frozen;
            if kind == Kind::OpenAccount { !all.is_empty() } else { all.iter().any(frozen) }
        }
        Kind::AddAsset => status.assets.iter().any(|asset| asset.symbol == "GOLD"),
        Kind::ChangeAsset => {
            status.assets.iter().any(|asset| asset.status == AssetStatus::Suspended)
        }
        Kind::ApproveFence | Kind::ApproveDone | Kind::Reject => {
            let id = subject.approval.expect("an approval");
            let approval =
                service.store().approval(id).await.expect("an answer").expect("an approval");
            approval.stand != ApprovalStatus::Pending
        }
        Kind::Assign | Kind::Comment => count(service, "SELECT count(*) FROM case_notes") == 1,
    }
}

/// Dies there, lives again, and does it again under the same key, twice.
async fn crash(kind: Kind, side: Side, write: usize) {
    let what = format!("{kind:?}, {side:?} write {write}");
    let mut service = service().await;
    let subject = prepared(&service, kind).await;
    assert!(!effect(&service, kind, &subject).await, "{what}: not yet");
    service.crash_point.set(side, write);
    tokio::select! {
        done = service.execute_as("bob", "k", subject.action.clone()) => panic!("{what}: it lived: {done:?}"),
        () = service.crash_point.fell() => {}
    }
    service.restart().await;
    if kind == Kind::Status {
        // its intent was written before: the next process carries it out by itself
        let carried = wait_until(Duration::from_secs(20), async || past_action(&service) == 1);
        assert!(carried.await, "{what}: it is left");
    }
    let written = past_action(&service) == 1;
    let stands = effect(&service, kind, &subject).await;
    assert_eq!(stands, written, "{what}");
    let done = service.execute_as("bob", "k", subject.action.clone()).await;
    let done = done.unwrap_or_else(|fault| panic!("{what}: {fault:?}"));
    assert_eq!(done.replayed, written, "{what}");
    assert!(effect(&service, kind, &subject).await, "{what}: done now");
    let again = service.execute_as("bob", "k", subject.action.clone()).await.expect("an answer");
    assert_eq!((again.replayed, again.at), (true, done.at), "{what}");
    assert_eq!(again.outcome, done.outcome, "{what}");
    assert_eq!(past_action(&service), 1, "{what}: one row");
    if matches!(kind, Kind::Retry | Kind::Ask | Kind::ApproveFence | Kind::ApproveDone) {
        service.wait_for_end(&[subject.transfer]).await;
        let wanted = if kind == Kind::ApproveFence { "ROLLED_BACK" } else { "COMMITTED" };
        let states = service.states(&[subject.transfer]).await;
        assert_eq!(states.get(&subject.transfer), Some(&wanted), "{what}");
    }
    let report = service.engine.reconciler.check_now().await.expect("an answer");
    assert!(report.ok, "{what}: {report:?}");
    tokio::time::timeout(Duration::from_secs(20), service.stop()).await.expect("it stops");
}

async fn both_sides(kinds: &[Kind]) {
    for kind in kinds {
        for side in [Side::Before, Side::After] {
            crash(*kind, side, 1).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_done_to_one_transfer() {
    both_sides(&[
        Kind::Retry,
        Kind::Ask,
        Kind::PauseTransfer,
        Kind::ResumeTransfer,
        Kind::NoteTransfer,
        Kind::Assign,
        Kind::Comment,
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_done_to_the_service() {
    both_sides(&[
        Kind::Halt,
        Kind::Pause,
        Kind::Unpause,
        Kind::Status,
        Kind::OpenAccount,
        Kind::AccountStatus,
        Kind::AddAsset,
        Kind::ChangeAsset,
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_two_persons_do() {
    both_sides(&[
        Kind::Resolve,
        Kind::Resume,
        Kind::Reject,
        Kind::ApproveResume,
        Kind::ApproveDone,
        Kind::ApproveFence,
    ])
    .await;
    // the fence's intent was the first; now it stands, and its answer is not written, or not heard
    for side in [Side::Before, Side::After] {
        crash(Kind::ApproveFence, side, 2).await;
    }
}

/// A process that dies between a change of a status at the ledger and its row in the audit, on either side of each:
/// the next process has both, though no person repeats the action, and the audit proves them.
///
/// Turns red where nothing but a repeat of the action carries on what a process left (run: the release before).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_a_status_is_carried_on_by_the_next_process() {
    for (approves, side) in [(false, Side::Before), (true, Side::Before), (true, Side::After)] {
        let what = format!("approves {approves}, {side:?}");
        let mut service = service().await;
        let (user, ledger) = (UserId(2), FUNDING);
        let set = |status| AdminAction::Status { ledger, user, status };
        let status = async |service: &TestService| {
            let funding = service.store().funding();
            let Reply::Answered(_, all) = funding.accounts(Whose::User(user)).await else {
                panic!("no accounts")
            };
            all.first().map(|holding| holding.status)
        };
        let (action, wanted) = if approves {
            service.execute_as("ada", "freeze", set(AccountStatus::Frozen)).await.expect("frozen");
            let id = service.propose_as("ada", "free", set(AccountStatus::Active)).await;
            (AdminAction::Approve(id), AccountStatus::Active)
        } else {
            (set(AccountStatus::Frozen), AccountStatus::Frozen)
        };
        service.crash_point.set(side, 1);
        tokio::select! {
            done = service.execute_as("bob", "k", action) => panic!("{what}: it lived: {done:?}"),
            () = service.crash_point.fell() => {}
        }
        let decided = !approves || side == Side::After;
        service.restart().await;
        let carried = async || {
            let done = status(&service).await == Some(wanted) && past_action(&service) == 1;
            done || (!decided && past_action(&service) == 0)
        };
        assert!(wait_until(Duration::from_secs(20), carried).await, "{what}: it is left");
        if !decided {
            assert_eq!(status(&service).await, Some(AccountStatus::Frozen), "{what}");
        }
        let mut trail = service.store().trail().await.expect("a trail");
        let found = prove(&mut *trail, seal_key(), None).await.expect("a proof");
        assert_eq!((found.faults, found.unproven), (vec![], vec![]), "{what}");
        tokio::time::timeout(Duration::from_secs(20), service.stop()).await.expect("it stops");
    }
}
