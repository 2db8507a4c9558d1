//! A process that dies in the middle of a deed: before and after each of its writes. Nothing is half
//! done, and the same key comes to the same result.
//!
//! Wrong builds that were run, each of which turns one of these red: the deed's row in a unit of its
//! own after its effect; `act` without the look at the key.

use crate::cut::Side;
use crate::house::{FUNDING, House, NEVER, SPOT};
use crate::way::Mood;
use engine::deeds::{AssetChange, Deed, NewAsset, Outcome, Verdict};
use kernel::ids::{Id, UserId};
use kernel::money::{Amount, AssetStatus};
use kernel::people::{Scope, Stand};
use kernel::ports::journal::Journal as _;
use kernel::ports::ledger::{AccountStatus, Heard, Ledger as _, Whose};
use kernel::retry::Backoff;
use serde_json::json;
use std::time::Duration;

/// Every kind of deed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Retry,
    Ask,
    PauseTransfer,
    ResumeTransfer,
    Resolve,
    Halt,
    Resume,
    Pause,
    Unpause,
    Status,
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

/// What a deed is about.
struct About {
    transfer: Id,
    approval: Option<Id>,
    deed: Deed,
}

async fn house() -> House {
    House::tuned(true, NEVER, |s| {
        s.backoff = Backoff { base: 600_000, cap: 600_000 };
        s.alerts.after_retries = 1;
    })
    .await
}

async fn stuck(house: &House, mood: Mood) -> Id {
    house.way.mood(mood);
    let id = house.opened(FUNDING, 1, 500).await;
    while house.stand(&[id]).await.iter().any(|record| record.head.retries == 0) {
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    house.way.mood(Mood::Fair);
    id
}

async fn proposed(house: &House, deed: Deed) -> Id {
    let done = house.does("ada", "proposal", deed).await;
    let Ok(Outcome::Proposed { approval }) = done.map(|done| done.outcome) else {
        panic!("nothing is proposed")
    };
    approval
}

async fn paused(house: &House, deed: Deed) -> u64 {
    let done = house.does("ada", "pause", deed).await.expect("an answer");
    let Outcome::Paused(Some(number)) = done.outcome else { panic!("{done:?}") };
    number
}

fn says(id: Id, verdict: Verdict) -> Deed {
    Deed::Resolve { id, verdict, evidence: json!({}) }
}

fn usdt() -> AssetChange {
    let status = Some(AssetStatus::Suspended);
    AssetChange { symbol: "USDT".to_owned(), status, ..AssetChange::default() }
}

/// A house in which the deed can be done.
async fn prepared(house: &House, kind: Kind) -> About {
    let answered = matches!(kind, Kind::Ask | Kind::ApproveDone);
    let id = stuck(house, if answered { Mood::LoseReplies } else { Mood::LoseRequests }).await;
    let mut approval = None;
    let deed = match kind {
        Kind::Retry => Deed::Retry(id),
        Kind::Ask => Deed::Ask(id),
        Kind::PauseTransfer => Deed::PauseTransfer(id),
        Kind::ResumeTransfer => {
            paused(house, Deed::PauseTransfer(id)).await;
            Deed::ResumeTransfer(id)
        }
        Kind::Resolve => says(id, Verdict::Rejected),
        Kind::Halt => Deed::Halt,
        Kind::Resume => {
            house.does("ada", "halt", Deed::Halt).await.expect("an answer");
            Deed::Resume { accept: Vec::new() }
        }
        Kind::Pause => Deed::Pause(Scope::Ledger(SPOT)),
        Kind::Unpause => Deed::Unpause(paused(house, Deed::Pause(Scope::Ledger(SPOT))).await),
        Kind::Status => {
            Deed::Status { ledger: FUNDING, user: UserId(2), status: AccountStatus::Frozen }
        }
        Kind::AddAsset => Deed::AddAsset(NewAsset {
            id: None,
            symbol: "GOLD".to_owned(),
            precision: 3,
            transferable: true,
            min: Amount(1),
            max: None,
            daily: None,
        }),
        Kind::ChangeAsset => Deed::ChangeAsset(usdt()),
        Kind::ApproveFence | Kind::ApproveDone | Kind::Reject => {
            let verdict = if kind == Kind::ApproveDone { Verdict::Done } else { Verdict::Rejected };
            let made = proposed(house, says(id, verdict)).await;
            approval = Some(made);
            if kind == Kind::Reject { Deed::Reject(made) } else { Deed::Approve(made) }
        }
        Kind::ApproveResume => {
            house.does("ada", "halt", Deed::Halt).await.expect("an answer");
            let made = proposed(house, Deed::Resume { accept: Vec::new() }).await;
            approval = Some(made);
            Deed::Approve(made)
        }
        Kind::Assign | Kind::Comment => {
            house.shows(&[("STUCK", format!("transfer/{id}"), true)]).await;
            if kind == Kind::Assign {
                Deed::Assign { case: 1, to: "portage|eve".into() }
            } else {
                Deed::Comment { case: 1, text: "look at it".into() }
            }
        }
    };
    About { transfer: id, approval, deed }
}

fn count(house: &House, sql: &str) -> i64 {
    house.tool().query_row(sql, [], |row| row.get(0)).expect("a number")
}

/// The rows of the audit under bob's key.
fn acted(house: &House) -> i64 {
    count(house, "SELECT count(*) FROM operator_actions WHERE caller = 'portage|bob'")
}

/// Whether what the deed is for stands in the journal, or at the ledger.
async fn effect(house: &House, kind: Kind, about: &About) -> bool {
    let standing = house.standing().await;
    match kind {
        // the line in its history is all that stays of them
        Kind::Retry | Kind::Ask => {
            house.told(about.transfer).await.iter().any(|(what, ..)| what == "OPERATOR")
        }
        Kind::PauseTransfer | Kind::Pause => !standing.paused.is_empty(),
        Kind::ResumeTransfer | Kind::Unpause => standing.paused.is_empty(),
        Kind::Resolve | Kind::Resume => count(house, "SELECT count(*) FROM approvals") == 1,
        Kind::Halt => standing.halted.is_some(),
        Kind::ApproveResume => standing.halted.is_none(),
        Kind::Status => {
            let funding = house.store().funding();
            let Heard::Said(_, all) = funding.accounts(Whose::User(UserId(2))).await else {
                panic!("no accounts")
            };
            all.iter().any(|holding| holding.status == AccountStatus::Frozen)
        }
        Kind::AddAsset => standing.assets.iter().any(|asset| asset.symbol == "GOLD"),
        Kind::ChangeAsset => {
            standing.assets.iter().any(|asset| asset.status == AssetStatus::Suspended)
        }
        Kind::ApproveFence | Kind::ApproveDone | Kind::Reject => {
            let id = about.approval.expect("an approval");
            let approval =
                house.store().approval(id).await.expect("an answer").expect("an approval");
            approval.stand != Stand::Pending
        }
        Kind::Assign | Kind::Comment => count(house, "SELECT count(*) FROM case_notes") == 1,
    }
}

/// Dies there, lives again, and does it again under the same key, twice.
async fn crash(kind: Kind, side: Side, write: usize) {
    let what = format!("{kind:?}, {side:?} write {write}");
    let mut house = house().await;
    let about = prepared(&house, kind).await;
    assert!(!effect(&house, kind, &about).await, "{what}: not yet");
    house.cut.set(side, write);
    tokio::select! {
        done = house.does("bob", "k", about.deed.clone()) => panic!("{what}: it lived: {done:?}"),
        () = house.cut.fell() => {}
    }
    house.restart().await;
    let written = acted(&house) == 1;
    let stands = effect(&house, kind, &about).await;
    // the ledger is told of a status first, and remembers the key by itself
    assert!(stands == written || (stands && kind == Kind::Status), "{what}: {stands}, {written}");
    let done = house.does("bob", "k", about.deed.clone()).await;
    let done = done.unwrap_or_else(|fault| panic!("{what}: {fault:?}"));
    assert_eq!(done.replayed, written, "{what}");
    assert!(effect(&house, kind, &about).await, "{what}: done now");
    let again = house.does("bob", "k", about.deed.clone()).await.expect("an answer");
    assert_eq!((again.replayed, again.at), (true, done.at), "{what}");
    assert_eq!(again.outcome, done.outcome, "{what}");
    assert_eq!(acted(&house), 1, "{what}: one row");
    if matches!(kind, Kind::Retry | Kind::Ask | Kind::ApproveFence | Kind::ApproveDone) {
        house.ended(&[about.transfer]).await;
        let wanted = if kind == Kind::ApproveFence { "ROLLED_BACK" } else { "COMMITTED" };
        let states = house.states(&[about.transfer]).await;
        assert_eq!(states.get(&about.transfer), Some(&wanted), "{what}");
    }
    let report = house.engine().check_now().await.expect("an answer");
    assert!(report.ok, "{what}: {report:?}");
    tokio::time::timeout(Duration::from_secs(20), house.stop()).await.expect("it stops");
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
