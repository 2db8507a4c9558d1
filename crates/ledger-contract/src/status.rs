//! Checks the account statuses that each leg accepts (`ledgers.md` §1), and an account that does not exist.

use super::check_list;
use super::fixture::{BARE, COIN, LedgerFixture, RICH, START, UNKNOWN_USER, in_asset, of, op};
use kernel::code::Code;
use kernel::flow::life::Leg::{Deposit, Refund, Settle, Withdraw};
use kernel::ids::UserId;
use kernel::ports::ledger::AccountStatus::{Active, Disabled, Frozen};
use kernel::ports::ledger::Stored;

check_list! {
    each_status_bars_what_it_bars,
    a_withdraw_needs_an_account,
    a_deposit_creates_an_account_or_is_refused,
    an_asset_row_takes_the_accounts_status,
    a_status_is_idempotent_by_its_key,
    a_missing_account_has_no_status,
    a_status_is_shown,
}

async fn each_status_bars_what_it_bars(b: &LedgerFixture) {
    let table = [(Active, None, None), (Frozen, Some(Code::AccountFrozen), None), {
        (Disabled, Some(Code::AccountDisabled), Some(Code::AccountDisabled))
    }];
    for (n, (status, withdraw, deposit)) in (10..).step_by(10).zip(table) {
        b.set(RICH, Active, &format!("on {n}")).await;
        b.done("before", op(n, Withdraw, 5)).await;
        b.done("before", op(n + 1, Withdraw, 5)).await;
        b.holds(b.set(RICH, status, &format!("set {n}")).await, "no account", &status);
        for (what, ask, code) in [
            ("a withdraw", op(n + 2, Withdraw, 5), withdraw),
            ("a deposit", op(n + 3, Deposit, 5), deposit),
        ] {
            match code {
                Some(code) => {
                    b.refused(&format!("{what} while {}", status.name()), ask, code).await
                }
                None => {
                    b.done(&format!("{what} while {}", status.name()), ask).await;
                }
            }
        }
        b.done(&format!("a refund while {}", status.name()), op(n, Refund, 5)).await;
        if b.profile.holds {
            b.done(&format!("a settle while {}", status.name()), op(n + 1, Settle, 5)).await;
        }
        // what was done before is answered as before
        b.done(&format!("a repeat while {}", status.name()), op(n, Withdraw, 5)).await;
    }
}

async fn a_withdraw_needs_an_account(b: &LedgerFixture) {
    let ask = of(UNKNOWN_USER, op(1, Withdraw, 5));
    b.refused("an unknown user's withdraw", ask.clone(), Code::SourceAccountNotFound).await;
    b.same("an unknown user's holdings", &b.holdings(UNKNOWN_USER).await, &vec![]);
    if b.profile.creates_on_deposit {
        b.done("a deposit", of(UNKNOWN_USER, op(2, Deposit, 50))).await;
        b.refused("the same withdraw still", ask, Code::SourceAccountNotFound).await;
        b.done("another withdraw", of(UNKNOWN_USER, op(3, Withdraw, 50))).await;
    }
}

async fn a_deposit_creates_an_account_or_is_refused(b: &LedgerFixture) {
    let ask = of(UNKNOWN_USER, op(1, Deposit, 50));
    if b.profile.creates_on_deposit {
        b.done("a deposit to an unknown user", ask).await;
        b.same("what they have", &b.balance(UNKNOWN_USER, COIN).await, &(50, 0));
        let status = b.holdings(UNKNOWN_USER).await.first().map(|h| h.status);
        b.same("their status", &status, &Some(Active));
    } else {
        b.refused("a deposit to an unknown user", ask.clone(), Code::TargetAccountNotFound).await;
        b.refused("the same again", ask, Code::TargetAccountNotFound).await;
        b.same("their holdings", &b.holdings(UNKNOWN_USER).await, &vec![]);
    }
}

async fn an_asset_row_takes_the_accounts_status(b: &LedgerFixture) {
    b.set(RICH, Frozen, "freeze").await;
    b.done("a deposit of a new asset", in_asset(BARE, op(1, Deposit, 30))).await;
    b.same("it arrived", &b.balance(RICH, BARE).await, &(30, 0));
    let take = in_asset(BARE, op(2, Withdraw, 10));
    b.refused("a withdraw of it", take, Code::AccountFrozen).await;
    // status comes before balance
    b.refused("more than there is", op(3, Withdraw, START * 9), Code::AccountFrozen).await;
    for holding in b.holdings(RICH).await {
        b.same("every row's status", &holding.status, &Frozen);
    }
    b.set(RICH, Active, "thaw").await;
    b.done("a withdraw of it", in_asset(BARE, op(4, Withdraw, 10))).await;
}

async fn a_status_is_idempotent_by_its_key(b: &LedgerFixture) {
    b.holds(b.set(RICH, Frozen, "first").await, "no account", &());
    b.holds(b.set(RICH, Active, "second").await, "no account", &());
    b.holds(b.set(RICH, Frozen, "first").await, "a repeat says otherwise", &());
    b.done("a repeat changes nothing", op(1, Withdraw, 1)).await;
    b.set(RICH, Frozen, "third").await;
    b.refused("a new key does", op(2, Withdraw, 1), Code::AccountFrozen).await;
}

async fn a_missing_account_has_no_status(b: &LedgerFixture) {
    b.holds(!b.set(UNKNOWN_USER, Disabled, "x").await, "there was no account", &());
    b.same("an unknown user's holdings", &b.holdings(UNKNOWN_USER).await, &vec![]);
    if let Some(user) = b.second_user(1).await {
        b.holds(b.set(user, Disabled, "y").await, "no account", &user);
        b.refused("a disabled account", of(user, op(2, Deposit, 1)), Code::AccountDisabled).await;
        b.done("its neighbour", op(3, Withdraw, 1)).await;
        b.same("nothing stored", &b.stored(op(4, Withdraw, 1).key).await, &Stored::Nothing);
    }
}

async fn a_status_is_shown(b: &LedgerFixture) {
    for (n, status) in [Frozen, Disabled, Active].into_iter().enumerate() {
        b.set(RICH, status, &format!("k{n}")).await;
        let shown: Vec<_> = b.holdings(RICH).await.iter().map(|h| (h.user, h.status)).collect();
        b.same("what is shown", &shown, &vec![(UserId(1), status); shown.len()]);
        b.holds(shown.len() >= 2, "rows of user 1", &shown);
    }
}
