//! Checks the postings of each leg, and that settle and refund need their withdraw and exclude each other.

use super::check_list;
use super::fixture::{COIN, GOLD, LedgerFixture, RICH, START, UNKNOWN_USER, in_asset, of, op};
use kernel::code::Code;
use kernel::flow::life::Leg::{Deposit, Refund, Settle, Withdraw};
use kernel::operation::Op;
use kernel::ports::ledger::{AccountStatus, Totals};

check_list! {
    each_leg_posts_double_entry,
    the_last_unit_may_be_taken_and_no_more,
    a_settle_is_only_where_withdraws_hold,
    settle_and_refund_exclude_each_other,
    a_refund_needs_its_done_withdraw,
    a_refund_needs_its_own_withdraw,
    a_hindered_refund_succeeds_later,
    many_transfers_keep_the_books,
}

/// What a leg did to the books of [`COIN`]: (users, frozen, clearing, world).
async fn moved(b: &LedgerFixture, ask: Op) -> (i128, i128, i128, i128) {
    let before = b.total(COIN).await;
    b.done("a leg", ask).await;
    let Totals { users, frozen, clearing, world } = b.total(COIN).await;
    (users - before.users, frozen - before.frozen, clearing - before.clearing, world - before.world)
}

async fn each_leg_posts_double_entry(b: &LedgerFixture) {
    let holds = b.profile.holds;
    let should = if holds { (-100, 100, 0, 0) } else { (-100, 0, 100, 0) };
    b.same("a withdraw's posting", &moved(b, op(1, Withdraw, 100)).await, &should);
    let balance = b.balance(RICH, COIN).await;
    b.same("balance", &balance, &(START - 100, if holds { 100 } else { 0 }));
    let should = if holds { (100, -100, 0, 0) } else { (100, 0, -100, 0) };
    b.same("a refund's posting", &moved(b, op(1, Refund, 100)).await, &should);
    b.same("a deposit's posting", &moved(b, op(2, Deposit, 40)).await, &(40, 0, -40, 0));
    b.same("balance", &b.balance(RICH, COIN).await, &(START + 40, 0));
    if holds {
        b.done("a withdraw", op(3, Withdraw, 70)).await;
        b.same("a settle's posting", &moved(b, op(3, Settle, 70)).await, &(0, -70, 70, 0));
        b.same("balance", &b.balance(RICH, COIN).await, &(START - 30, 0));
    }
    b.same("the other asset", &b.balance(RICH, GOLD).await, &(START, 0));
}

async fn the_last_unit_may_be_taken_and_no_more(b: &LedgerFixture) {
    b.done("all there is", op(1, Withdraw, START)).await;
    b.refused("one more", op(2, Withdraw, 1), Code::InsufficientBalance).await;
    // what is held is not available
    b.same("available", &b.balance(RICH, COIN).await.0, &0);
    b.done("all comes back", op(1, Refund, START)).await;
    b.done("and is taken again", op(3, Withdraw, START)).await;
}

async fn a_settle_is_only_where_withdraws_hold(b: &LedgerFixture) {
    b.done("a withdraw", op(1, Withdraw, 100)).await;
    if b.profile.holds {
        b.done("its settle", op(1, Settle, 100)).await;
    } else {
        b.hindered("a settle", op(1, Settle, 100), "BAD_OPERATION").await;
        b.done("the refund still", op(1, Refund, 100)).await;
    }
}

async fn settle_and_refund_exclude_each_other(b: &LedgerFixture) {
    if !b.profile.holds {
        return;
    }
    b.done("a withdraw", op(1, Withdraw, 100)).await;
    b.done("its settle", op(1, Settle, 100)).await;
    b.hindered("a refund after the settle", op(1, Refund, 100), "CONTRADICTION").await;
    b.done("the settle still", op(1, Settle, 100)).await;
    b.done("another withdraw", op(2, Withdraw, 100)).await;
    b.done("its refund", op(2, Refund, 100)).await;
    b.hindered("a settle after the refund", op(2, Settle, 100), "CONTRADICTION").await;
    b.done("the refund still", op(2, Refund, 100)).await;
    b.same("balance", &b.balance(RICH, COIN).await, &(START - 100, 0));
}

/// The legs that cannot be refused at this ledger.
fn unrefusable_legs(b: &LedgerFixture) -> Vec<kernel::flow::life::Leg> {
    if b.profile.holds { vec![Refund, Settle] } else { vec![Refund] }
}

async fn a_refund_needs_its_done_withdraw(b: &LedgerFixture) {
    b.refused("too much", op(2, Withdraw, START + 1), Code::InsufficientBalance).await;
    b.fence(op(3, Withdraw, 1).key).await;
    b.done("a deposit is no withdraw", op(4, Deposit, 100)).await;
    for leg in unrefusable_legs(b) {
        b.hindered("a refund or settle without a withdraw", op(1, leg, 100), "CONTRADICTION").await;
        let refused = op(2, leg, START + 1);
        b.hindered("a refund or settle after a refused withdraw", refused, "CONTRADICTION").await;
        b.hindered("a refund or settle after a fenced withdraw", op(3, leg, 100), "CONTRADICTION")
            .await;
        b.hindered("a refund or settle after a deposit", op(4, leg, 100), "CONTRADICTION").await;
    }
    b.same("balance", &b.balance(RICH, COIN).await, &(START + 100, 0));
}

async fn a_refund_needs_its_own_withdraw(b: &LedgerFixture) {
    b.done("a withdraw", op(1, Withdraw, 100)).await;
    b.done("another one", op(2, Withdraw, 50)).await;
    for leg in unrefusable_legs(b) {
        b.hindered("a refund or settle of more", op(1, leg, 101), "CONTRADICTION").await;
        b.hindered("a refund or settle of less", op(1, leg, 99), "CONTRADICTION").await;
        b.hindered("a refund or settle of another's", op(1, leg, 50), "CONTRADICTION").await;
        b.hindered(
            "a refund or settle to another",
            of(UNKNOWN_USER, op(1, leg, 100)),
            "CONTRADICTION",
        )
        .await;
        let gold = in_asset(GOLD, op(1, leg, 100));
        b.hindered("a refund or settle of another asset", gold, "CONTRADICTION").await;
    }
    b.done("its own refund", op(1, Refund, 100)).await;
}

async fn a_hindered_refund_succeeds_later(b: &LedgerFixture) {
    b.hindered("a refund too early", op(1, Refund, 100), "CONTRADICTION").await;
    b.done("the withdraw", op(1, Withdraw, 100)).await;
    b.set(RICH, AccountStatus::Disabled, "off").await;
    // whatever hindered it stored nothing, and a status does not hinder it
    b.done("the refund", op(1, Refund, 100)).await;
    b.same("balance", &b.balance(RICH, COIN).await, &(START, 0));
}

async fn many_transfers_keep_the_books(b: &LedgerFixture) {
    let mut ops = Vec::new();
    for n in 0..200 {
        ops.push(op(n, Withdraw, u128::from(1 + n % 7)));
        match n % 3 {
            0 => ops.push(op(n, Refund, u128::from(1 + n % 7))),
            1 if b.profile.holds => ops.push(op(n, Settle, u128::from(1 + n % 7))),
            1 => ops.push(op(n, Deposit, 2)),
            _ => {}
        }
    }
    for batch in ops.chunks(17) {
        b.all(batch.to_vec()).await;
    }
    let totals = b.total(COIN).await;
    let has = b.balance(RICH, COIN).await;
    let users = i128::try_from(has.0).unwrap_or(i128::MAX);
    let frozen = i128::try_from(has.1).unwrap_or(i128::MAX);
    b.same("the books against the accounts", &(totals.users, totals.frozen), &(users, frozen));
}
