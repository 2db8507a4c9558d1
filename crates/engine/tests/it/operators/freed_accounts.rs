//! The freeing of accounts: with four eyes, a person who barred an account does not free it alone.

use crate::fixture::defaults::{FUNDING, NEVER, SPOT};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::test_service::TestService;
use engine::audit::prove;
use engine::operators::{ActionResult, AdminAction, NewNumberedAccount, Objection};
use kernel::accounts::{AccountsOf, NumberedStatus};
use kernel::ids::{LedgerId, UserId};
use kernel::operators::{ApprovalStatus, Scope};
use kernel::ports::audit::Audit as _;
use kernel::ports::journal::OperatorQueries as _;
use kernel::ports::ledger::{AccountStatus, Reply, Whose};
use std::sync::Arc;
use testkit::{MINUTE, seal_key, wait_until};
use tokio::sync::Semaphore;

const USER: UserId = UserId(1);
/// One kind of account that a person bars and frees.
#[derive(Debug, Clone, Copy)]
enum Barred {
    /// A user's account at a ledger.
    At(LedgerId),
    /// An account with a number.
    Numbered,
}

impl Barred {
    const ALL: [Self; 3] = [Self::At(FUNDING), Self::At(SPOT), Self::Numbered];

    fn set(self, status: AccountStatus) -> AdminAction {
        match self {
            Self::At(ledger) => AdminAction::Status { ledger, user: USER, status },
            Self::Numbered => {
                let status = NumberedStatus::parse(status.name()).expect("both have it");
                AdminAction::AccountStatus { number: "ACC-1".into(), status }
            }
        }
    }

    async fn status(self, service: &TestService) -> &'static str {
        match self {
            Self::At(ledger) => {
                let port = service.engine.ledger(ledger).expect("a ledger");
                let Reply::Answered(_, all) = port.accounts(Whose::User(USER)).await else {
                    panic!("no answer")
                };
                all.first().expect("an account").status.name()
            }
            Self::Numbered => {
                let of = AccountsOf::Numbers(vec!["ACC-1".into()]);
                let all = service.store().numbered_accounts(of).await.expect("accounts");
                all.first().expect("the account").status.name()
            }
        }
    }
}

/// A service with an account of each kind.
async fn opened(four_eyes: bool) -> TestService {
    let service =
        TestService::open_with(true, NEVER, |settings| settings.four_eyes = four_eyes).await;
    let id = service.open_transfer(FUNDING, USER.0, 5).await;
    service.wait_for_end(&[id]).await;
    let (number, currency) = ("ACC-1".into(), "USDT".to_owned());
    let new = NewNumberedAccount { number, owner: USER, currency };
    service.execute_as("eve", "open", AdminAction::OpenAccount(new)).await.expect("it opens");
    service
}

async fn came_to(
    service: &TestService,
    who: &str,
    key: &str,
    action: AdminAction,
) -> Result<ActionResult, Objection> {
    service.execute_as(who, key, action).await.map(|done| done.outcome)
}

/// The action takes effect at once.
async fn sets(service: &TestService, who: &str, key: &str, barred: Barred, status: AccountStatus) {
    let done = came_to(service, who, key, barred.set(status)).await.expect("it is set");
    assert!(
        !matches!(done, ActionResult::Proposed { .. }),
        "{who} {barred:?} {status:?}: {done:?}"
    );
    assert_eq!(barred.status(service).await, status.name(), "{who} {barred:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_froze_an_account_frees_it_with_another_person() {
    let mut service = opened(true).await;
    for barred in Barred::ALL {
        let key = |what: &str| format!("{barred:?} {what}");
        sets(&service, "ada", &key("freeze"), barred, AccountStatus::Frozen).await;
        let free = || barred.set(AccountStatus::Active);
        let first = service.propose_as("ada", &key("free"), free()).await;
        // in another spelling, once more, and after a start too
        let second = service.propose_as("ADA", &key("free"), free()).await;
        service.restart().await;
        let third = service.propose_as("ada", &key("free again"), free()).await;
        assert_eq!(barred.status(&service).await, "FROZEN", "{barred:?}: one person was enough");
        for id in [first, second, third] {
            let own = came_to(&service, "ada", &key("approve"), AdminAction::Approve(id)).await;
            assert_eq!(own, Err(Objection::SamePerson), "{barred:?}");
        }
        let approved = came_to(&service, "bob", &key("approve"), AdminAction::Approve(first)).await;
        assert!(approved.is_ok(), "{barred:?}: {approved:?}");
        assert_eq!(barred.status(&service).await, "ACTIVE", "{barred:?}");
        // what the other proposals were about is over, also where the account is frozen anew
        sets(&service, "eve", &key("freeze"), barred, AccountStatus::Frozen).await;
        for id in [second, third] {
            service.is_superseded(id).await;
        }
        assert_eq!(barred.status(&service).await, "FROZEN", "{barred:?}: an old proposal freed it");
        // the person whose freeze is over frees what another one froze
        sets(&service, "ada", &key("free eve's"), barred, AccountStatus::Active).await;
    }
    service.assert_in_order().await;
    // what two persons did is what the audit replays
    let mut trail = service.store().trail().await.expect("a trail");
    let found = prove(&mut *trail, seal_key(), None).await.expect("a proof");
    assert_eq!((found.faults, found.unproven), (vec![], vec![]));
}

/// A proposal that another person rejects while it is being approved either frees the account and is approved, or
/// frees nothing.
///
/// Turns red where the ledger is told before the decision is written (run: the release before).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proposal_that_is_rejected_meanwhile_frees_nothing() {
    let service = opened(true).await;
    let barred = Barred::At(SPOT);
    sets(&service, "ada", "freeze", barred, AccountStatus::Frozen).await;
    let id = service.propose_as("ada", "free", barred.set(AccountStatus::Active)).await;
    let replies = Arc::new(Semaphore::new(0));
    service.faulty_spot.set_fault(CallFault::DelayReplies(replies.clone()));
    let rejects = async {
        let freed = async || barred.status(&service).await == "ACTIVE";
        assert!(wait_until(MINUTE, freed).await, "the ledger is not told");
        let rejected = came_to(&service, "dan", "reject", AdminAction::Reject(id)).await;
        replies.add_permits(100);
        rejected
    };
    let approves = came_to(&service, "bob", "approve", AdminAction::Approve(id));
    let (approved, rejected) = tokio::join!(approves, rejects);
    service.faulty_spot.set_fault(CallFault::None);
    assert_eq!(approved, Ok(ActionResult::StatusSet));
    assert_eq!(rejected, Err(Objection::Decided(ApprovalStatus::Approved)));
    assert_eq!(barred.status(&service).await, "ACTIVE");
}

/// Turns red where a proposal waits on although another person did what it is about.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_person_frees_an_account_alone() {
    let service = opened(true).await;
    for barred in Barred::ALL {
        let key = |what: &str| format!("{barred:?} {what}");
        sets(&service, "ada", &key("freeze"), barred, AccountStatus::Frozen).await;
        sets(&service, "bob", &key("free"), barred, AccountStatus::Active).await;
        // of two persons who froze it, neither frees it alone; a third one does
        sets(&service, "ada", &key("freeze again"), barred, AccountStatus::Frozen).await;
        sets(&service, "bob", &key("freeze too"), barred, AccountStatus::Frozen).await;
        let mut proposed = Vec::new();
        for who in ["ada", "bob"] {
            let free = barred.set(AccountStatus::Active);
            proposed.push(service.propose_as(who, &key("free all"), free).await);
        }
        sets(&service, "eve", &key("free all"), barred, AccountStatus::Active).await;
        for id in proposed {
            service.is_superseded(id).await;
        }
    }
    service.assert_in_order().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_freed_in_part_is_freed_by_another_person_too() {
    let service = opened(true).await;
    let barred = Barred::At(FUNDING);
    sets(&service, "ada", "freeze", barred, AccountStatus::Frozen).await;
    sets(&service, "ada", "disable", barred, AccountStatus::Disabled).await;
    for (key, status) in [("1", AccountStatus::Frozen), ("2", AccountStatus::Active)] {
        service.propose_as("ada", key, barred.set(status)).await;
        assert_eq!(barred.status(&service).await, "DISABLED");
    }
    // it stays frozen, as ada wanted it before bob disabled it
    sets(&service, "eve", "free", barred, AccountStatus::Active).await;
    sets(&service, "ada", "freeze again", barred, AccountStatus::Frozen).await;
    sets(&service, "bob", "disable", barred, AccountStatus::Disabled).await;
    sets(&service, "ada", "as before", barred, AccountStatus::Frozen).await;
    service.propose_as("ada", "and no more", barred.set(AccountStatus::Active)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_four_eyes_one_person_frees_and_lifts() {
    let service = opened(false).await;
    for barred in Barred::ALL {
        let key = |what: &str| format!("{barred:?} {what}");
        sets(&service, "ada", &key("freeze"), barred, AccountStatus::Frozen).await;
        sets(&service, "ada", &key("free"), barred, AccountStatus::Active).await;
    }
    let pause = AdminAction::Pause(Scope::Account(USER, SPOT));
    came_to(&service, "ada", "pause", pause).await.expect("it stands");
    let number = service.service_status().await.paused.first().map(|paused| paused.number);
    let lift = AdminAction::Unpause(number.expect("a pause"));
    assert_eq!(came_to(&service, "ada", "lift", lift).await, Ok(ActionResult::Unpaused));
}

/// The pause of an account, which one person sets against one user, ends as a freeze does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_paused_an_account_lifts_that_with_another_person() {
    let service = opened(true).await;
    let paused = async || service.service_status().await.paused.first().map(|paused| paused.number);
    let pause = || AdminAction::Pause(Scope::Account(USER, SPOT));
    came_to(&service, "ada", "pause", pause()).await.expect("it stands");
    let number = paused().await.expect("a pause");
    let first = service.propose_as("ada", "lift", AdminAction::Unpause(number)).await;
    let second = service.propose_as("Ada", "lift", AdminAction::Unpause(number)).await;
    assert_eq!(paused().await, Some(number), "one person was enough");
    let own = came_to(&service, "ada", "approve", AdminAction::Approve(first)).await;
    assert_eq!(own, Err(Objection::SamePerson));
    let done = came_to(&service, "bob", "approve", AdminAction::Approve(first)).await;
    assert_eq!((done, paused().await), (Ok(ActionResult::Unpaused), None));
    // a pause that was set since is not the one that was proposed
    service.is_superseded(second).await;
    came_to(&service, "ada", "pause again", pause()).await.expect("it stands");
    let number = paused().await.expect("it stands");
    let third = service.propose_as("ada", "lift again", AdminAction::Unpause(number)).await;
    let other = came_to(&service, "bob", "lift", AdminAction::Unpause(number)).await;
    assert_eq!((other, paused().await), (Ok(ActionResult::Unpaused), None));
    service.is_superseded(third).await;
}

/// The ledger is silent: one change of an account waits for it.
///
/// Wrong builds that turn it red: a bar that is dropped because an earlier change waits (as it was), and a proposal that is
/// compared with the last change before one that is on its way is carried out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bar_is_stored_behind_a_change_that_waits_and_no_proposal_overtakes_it() {
    let service = opened(true).await;
    let barred = Barred::At(SPOT);
    let set =
        async |who: &str, key: &str, status| came_to(&service, who, key, barred.set(status)).await;
    sets(&service, "ada", "freeze", barred, AccountStatus::Frozen).await;
    let proposed = service.propose_as("ada", "free", barred.set(AccountStatus::Active)).await;
    service.faulty_spot.set_fault(CallFault::Silent);
    for (who, status) in [("bob", AccountStatus::Active), ("eve", AccountStatus::Disabled)] {
        let waits = set(who, "a change", status).await;
        assert!(matches!(waits, Err(Objection::Unknown(_))), "{who}: {waits:?}");
    }
    let approved = came_to(&service, "kim", "approve", AdminAction::Approve(proposed)).await;
    assert!(matches!(approved, Err(Objection::Unknown(_) | Objection::Decided(_))), "{approved:?}");
    service.faulty_spot.set_fault(CallFault::None);
    let done = wait_until(MINUTE, async || barred.status(&service).await == "DISABLED");
    assert!(done.await, "{}", barred.status(&service).await);
    // in the moment in which the engine supersedes it, another request has just decided
    let outdated = wait_until(MINUTE, async || {
        let approved = came_to(&service, "kim", "approve", AdminAction::Approve(proposed)).await;
        matches!(approved, Ok(ActionResult::Superseded { .. }) | Err(Objection::Decided(_)))
    });
    assert!(outdated.await, "the proposal stands");
    assert_eq!(barred.status(&service).await, "DISABLED");
    service.assert_in_order().await;
}
