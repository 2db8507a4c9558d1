//! Accounts at the accounts ledger, as several operators look after them at once.
//!
//! Wrong builds that were run: see the line above each test.

use crate::fixture::defaults::{COIN, NEVER};
use crate::fixture::test_service::TestService;
use engine::operators::{
    ActionResult, AdminAction, NewNumberedAccount, Objection, PerformedAction,
};
use kernel::accounts::{AccountsOf, NumberedAccount, NumberedStatus};
use kernel::ids::UserId;
use kernel::ports::journal::OperatorQueries as _;
use kernel::ports::ledger::{Direction, External, Moved};
use std::collections::BTreeSet;
use testkit::deposit;

fn opens(owner: u64) -> AdminAction {
    let (number, currency) = ("ACC-1".into(), "USDT".to_owned());
    AdminAction::OpenAccount(NewNumberedAccount { number, owner: UserId(owner), currency })
}

fn sets(status: NumberedStatus) -> AdminAction {
    AdminAction::AccountStatus { number: "ACC-1".into(), status }
}

fn account(done: &PerformedAction) -> &NumberedAccount {
    let ActionResult::NumberedAccount { account } = &done.outcome else { panic!("{done:?}") };
    account
}

async fn stored(service: &TestService) -> NumberedAccount {
    let of = AccountsOf::Numbers(vec!["ACC-1".into()]);
    let found = service.store().numbered_accounts(of).await.expect("accounts");
    found.into_iter().next().expect("the account")
}

async fn moves(service: &TestService, direction: Direction, reference: String) -> Moved {
    let (number, caller) = (Some("ACC-1".into()), "portage|ada".into());
    let movement = External { direction, number, caller, ..deposit(&reference, 1, COIN, 5) };
    service.engine.operators.book(movement).await.expect("an answer")
}

/// Seen red where `open_account` writes without the guard of the version.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_operators_who_open_one_number_at_once_one_does() {
    for _ in 0..10 {
        let service = TestService::open(true, NEVER).await;
        let (ada, bob, eve) = tokio::join!(
            service.execute_as("ada", "k", opens(1)),
            service.execute_as("bob", "k", opens(1)),
            service.execute_as("eve", "k", opens(2)),
        );
        let (opened, refused): (Vec<_>, Vec<_>) =
            [ada, bob, eve].into_iter().partition(Result::is_ok);
        assert_eq!(opened.len(), 1, "{opened:?}");
        for refusal in refused {
            assert!(matches!(refusal, Err(Objection::NotPossible(_))), "{refusal:?}");
        }
        let done = opened.into_iter().flatten().next().expect("one");
        assert_eq!(*account(&done), stored(&service).await);
        service.assert_in_order().await;
    }
}

/// Each change is of the version that it read: no two have one version, and an operator who decided on a status
/// that is no longer so is refused. Seen red where `write_account` leaves out the guard, and where
/// `set_account_status` gives up at its first lost guard.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_operators_who_set_one_account_at_once_none_overwrites_another() {
    let service = TestService::open(true, NEVER).await;
    service.execute_as("ada", "open", opens(1)).await.expect("it opens");
    let (mut versions, mut refused) = (BTreeSet::new(), 0);
    for round in 0..20 {
        let set = async |who: &str, status| {
            service.execute_as(who, &format!("{round}"), sets(status)).await
        };
        let (active, frozen) = (NumberedStatus::Active, NumberedStatus::Frozen);
        let (a, b, c, d) = tokio::join!(
            set("ada", frozen),
            set("bob", active),
            set("eve", frozen),
            set("dan", active)
        );
        for done in [a, b, c, d] {
            match done {
                Ok(done) => {
                    let version = account(&done).version;
                    assert!(versions.insert(version), "two changes of version {version}");
                }
                Err(Objection::NotPossible(_)) => refused += 1,
                Err(other) => panic!("{other:?}"),
            }
        }
    }
    assert!(refused > 0, "nothing was ever done at once");
    assert_eq!(versions.last(), Some(&stored(&service).await.version));
}

/// Bob freezes and eve frees, and each asks again under the same key where money moved at each of the engine's
/// tries: movements that follow one another without a pause, each as slow as the disk, may win them all.
async fn set(service: &TestService, key: &str, status: NumberedStatus) -> PerformedAction {
    let who = if status == NumberedStatus::Active { "eve" } else { "bob" };
    loop {
        match service.execute_as(who, key, sets(status)).await {
            Ok(done) => return done,
            Err(Objection::Unknown(cause)) if cause.class == "MOVES" => {}
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// Money moves while the account is frozen and freed: the action is tried again, and the last movement
/// empties what is closed. Seen red where `set_account_status` gives up at its first lost guard.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_status_is_set_while_money_moves() {
    let service = TestService::open(true, NEVER).await;
    service.execute_as("ada", "open", opens(1)).await.expect("it opens");
    let money = async {
        for n in 0..40 {
            for direction in [Direction::In, Direction::Out] {
                moves(&service, direction, format!("m-{n}")).await;
            }
        }
    };
    let statuses = async {
        for n in 0..20 {
            for status in [NumberedStatus::Frozen, NumberedStatus::Active] {
                let done = set(&service, &format!("{n}-{}", status.name()), status).await;
                assert_eq!(account(&done).status, status);
            }
        }
    };
    tokio::join!(money, statuses);
    for n in 0..40 {
        let moved = moves(&service, Direction::Out, format!("m-{n}")).await;
        assert!(matches!(moved, Moved::Done { .. }), "{moved:?}");
    }
    let closed =
        service.execute_as("bob", "close", sets(NumberedStatus::Closed)).await.expect("it closes");
    assert_eq!(*account(&closed), stored(&service).await);
    service.assert_in_order().await;
}
