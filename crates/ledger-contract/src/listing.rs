//! Checks the lists of a ledger: operations in order with none missing, accounts, and one instant for both.

use super::check_list;
use super::fixture::{
    BARE, COIN, LedgerFixture, RICH, START, UNKNOWN_USER, in_asset, of, op, word,
};
use kernel::flow::life::Leg::{Deposit, Refund, Settle, Withdraw};
use kernel::ids::UserId;
use kernel::operation::{Key, Operation};
use kernel::ports::ledger::{Stored, Whose};

check_list! {
    operations_are_listed_in_order_and_none_is_missing,
    what_stored_nothing_is_not_listed,
    a_number_is_never_given_twice,
    totals_are_of_one_instant,
    accounts_are_listed_by_user,
}

/// Every operation above a number, by pages of three.
async fn listed(b: &LedgerFixture, after: u64) -> Vec<Operation> {
    let (mut all, mut cursor) = (Vec::new(), after);
    loop {
        let (said, page) = b.said(b.ledger.operations(cursor, 3).await);
        b.holds(page.len() <= 3, "a page beyond its limit", &page);
        let Some(last) = page.last() else { return all };
        b.holds(last.seq <= said.highest, "a number above the highest", &(last, said));
        cursor = last.seq;
        all.extend(page);
    }
}

async fn operations_are_listed_in_order_and_none_is_missing(b: &LedgerFixture) {
    let base = b.known().await.highest;
    let mut ops = vec![
        op(1, Withdraw, 100),
        op(2, Withdraw, START * 2),
        op(3, Deposit, 5),
        op(1, Refund, 100),
        op(5, Withdraw, 7),
        op(6, Withdraw, 8),
    ];
    if b.profile.holds {
        ops.push(op(5, Settle, 7));
    }
    b.all(ops.clone()).await;
    b.fence(op(7, Deposit, 1).key).await;
    b.all(ops.clone()).await;
    let mut should: Vec<(Key, &str)> = ops.iter().map(|op| (op.key, "DONE")).collect();
    if let Some(refused) = should.get_mut(1) {
        refused.1 = "INSUFFICIENT_BALANCE";
    }
    should.push((op(7, Deposit, 1).key, "FENCED"));
    let found = listed(b, base).await;
    let seen: Vec<_> = found.iter().map(|o| (o.op.key, word(&o.outcome))).collect();
    b.same("the list", &seen, &should);
    let mut last = base;
    for operation in &found {
        b.holds(operation.seq > last, "a number that does not rise", &(last, operation));
        last = operation.seq;
        let stored = b.stored(operation.op.key).await;
        b.same("a listed operation", &stored, &Stored::Found(operation.clone()));
    }
    b.same("the highest", &b.known().await.highest, &last);
    let from = found.get(3).map_or(0, |operation| operation.seq);
    let rest: Vec<_> = found.iter().skip(4).cloned().collect();
    b.same("the list from its middle", &listed(b, from).await, &rest);
    b.same("above the highest", &listed(b, last).await, &vec![]);
}

async fn what_stored_nothing_is_not_listed(b: &LedgerFixture) {
    b.done("a withdraw", op(1, Withdraw, 5)).await;
    let before = listed(b, 0).await;
    let none = vec![op(1, Withdraw, 6), op(2, Withdraw, 0), op(3, Refund, 5), op(1, Refund, 4)];
    b.all(none).await;
    b.fence(op(1, Refund, 5).key).await;
    b.same("the list", &listed(b, 0).await, &before);
}

async fn a_number_is_never_given_twice(b: &LedgerFixture) {
    let mut numbers = Vec::new();
    for n in 0..20 {
        numbers.push(b.done("a withdraw", op(n, Withdraw, 1)).await);
        numbers.push(b.done("its refund", op(n, Refund, 1)).await);
    }
    b.holds(numbers.windows(2).all(|w| w.first() < w.last()), "numbers that do not rise", &numbers);
}

async fn totals_are_of_one_instant(b: &LedgerFixture) {
    for n in 0..5 {
        b.done("a withdraw", op(n, Withdraw, 3)).await;
        let (said, totals) = b.said(b.ledger.totals().await);
        b.same("their instant", &said.highest, &b.known().await.highest);
        let coin = totals.iter().find(|(asset, _)| *asset == COIN).map(|(_, t)| t.users + t.frozen);
        let (available, frozen) = b.balance(RICH, COIN).await;
        let has = i128::try_from(available + frozen).ok();
        b.same("the books against the accounts", &coin, &has);
    }
}

async fn accounts_are_listed_by_user(b: &LedgerFixture) {
    let mut users = vec![RICH];
    if b.profile.creates_on_deposit {
        for n in 2..8 {
            b.done("a deposit", of(UserId(n), op(n, Deposit, 10))).await;
            users.push(UserId(n));
        }
    }
    b.done("a third asset", in_asset(BARE, op(20, Deposit, 1))).await;
    let all = b.accounts().await;
    let keys: Vec<_> = all.iter().map(|h| (h.user, h.asset)).collect();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    sorted.dedup();
    b.same("all users, by user and asset", &keys, &sorted);
    let mut seen: Vec<_> = keys.iter().map(|(user, _)| *user).collect();
    seen.dedup();
    b.same("every user", &seen, &users);
    b.same("an unknown user's", &b.holdings(UNKNOWN_USER).await, &vec![]);
    for user in users {
        let own: Vec<_> = all.iter().filter(|h| h.user == user).cloned().collect();
        b.same("one user's", &b.holdings(user).await, &own);
        let (_, above) = b.said(b.ledger.accounts(Whose::After(user.0, 1_000)).await);
        let should: Vec<_> = all.iter().filter(|h| h.user > user).cloned().collect();
        b.same("those above a user", &above, &should);
    }
    let (_, first) = b.said(b.ledger.accounts(Whose::After(0, 3)).await);
    b.same("the first page", &first, &all.iter().take(3).cloned().collect::<Vec<_>>());
}
