//! The freeing of accounts: with four eyes, a person who barred an account does not free it alone.

use crate::fixture::defaults::{FUNDING, NEVER, SPOT};
use crate::fixture::test_service::TestService;
use engine::audit::prove;
use engine::operators::{ActionResult, AdminAction, NewNumberedAccount, Objection};
use kernel::accounts::{AccountsOf, NumberedStatus};
use kernel::ids::{LedgerId, UserId};
use kernel::operators::{ApprovalStatus, Scope};
use kernel::ports::audit::Audit as _;
use kernel::ports::journal::OperatorQueries as _;
use kernel::ports::ledger::{AccountStatus, Reply, Whose};
use testkit::seal_key;

const USER: UserId = UserId(1);
/// The state of a proposal that is about a former status.
const SET_AGAIN: &str = "SET_AGAIN";

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
            let late = came_to(&service, "bob", &format!("{id}"), AdminAction::Approve(id)).await;
            assert_eq!(late, Ok(ActionResult::Superseded { state: SET_AGAIN.into() }));
            let again = came_to(&service, "dan", &format!("{id}"), AdminAction::Approve(id)).await;
            assert_eq!(again, Err(Objection::Decided(ApprovalStatus::Superseded)));
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
        for who in ["ada", "bob"] {
            let free = barred.set(AccountStatus::Active);
            service.propose_as(who, &key("free all"), free).await;
        }
        sets(&service, "eve", &key("free all"), barred, AccountStatus::Active).await;
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
    came_to(&service, "ada", "pause again", pause()).await.expect("it stands");
    let late = came_to(&service, "bob", "late", AdminAction::Approve(second)).await;
    assert_eq!(late, Ok(ActionResult::Superseded { state: "RESUMED".into() }));
    let number = paused().await.expect("it stands");
    let other = came_to(&service, "bob", "lift", AdminAction::Unpause(number)).await;
    assert_eq!((other, paused().await), (Ok(ActionResult::Unpaused), None));
}
