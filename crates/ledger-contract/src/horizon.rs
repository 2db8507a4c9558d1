//! Checks the horizon: a ledger may forget results at or below a rising id, except those of open transfers.

use super::check_list;
use super::fixture::{COIN, LedgerFixture, RICH, START, class, id, op};
use kernel::answer::Answer;
use kernel::flow::life::Leg::{Deposit, Refund, Withdraw};
use kernel::ids::Id;
use kernel::operation::Op;
use kernel::ports::ledger::{Reply, Stored};

check_list! {
    open_keys_stay_alive_below_the_horizon,
    nothing_is_executed_afresh_below_the_horizon,
    the_horizon_only_rises,
    what_is_no_longer_open_is_forgotten,
    a_fence_below_the_horizon_proves_nothing,
    an_enlisted_ledger_forgets_nothing,
}

async fn raise(b: &LedgerFixture, to: u64, open: &[u64]) {
    let known = b.known().await;
    let open: Vec<Id> = open.iter().map(|n| id(*n)).collect();
    let before = (b.totals().await, b.accounts().await);
    b.said(b.ledger.horizon(known, id(to), open.into()).await);
    b.same("what a horizon moves", &(b.totals().await, b.accounts().await), &before);
}

/// The horizon's own answer, and nothing done.
async fn forgotten(b: &LedgerFixture, what: &str, ask: Op) {
    let before = (b.totals().await, b.accounts().await);
    let answer = b.one(ask).await;
    let fits = matches!(&answer, Answer::Unknown(cause) if cause.class == "BELOW_HORIZON");
    b.holds(fits, what, &answer);
    b.same(what, &(b.totals().await, b.accounts().await), &before);
}

async fn open_keys_stay_alive_below_the_horizon(b: &LedgerFixture) {
    let first = b.one(op(5, Withdraw, 100)).await;
    let refused = b.one(op(6, Withdraw, START * 2)).await;
    b.done("one that ends", op(4, Withdraw, 10)).await;
    raise(b, 10, &[5, 6, 7]).await;
    b.same("an open one's repeat", &b.one(op(5, Withdraw, 100)).await, &first);
    b.same("a refused one's repeat", &b.one(op(6, Withdraw, START * 2)).await, &refused);
    b.hindered("another request", op(5, Withdraw, 99), "CONTRADICTION").await;
    b.done("an open one's refund", op(5, Refund, 100)).await;
    b.done("an open one's first leg", op(7, Deposit, 3)).await;
    b.done("one above", op(11, Withdraw, 1)).await;
    b.found("a query of an open one", op(5, Withdraw, 100).key).await;
    b.same("balance", &b.balance(RICH, COIN).await.0, &(START - 10 + 3 - 1));
}

async fn nothing_is_executed_afresh_below_the_horizon(b: &LedgerFixture) {
    if b.profile.enlisted {
        return;
    }
    b.done("one that ends", op(4, Withdraw, 10)).await;
    b.done("another", op(9, Withdraw, 10)).await;
    raise(b, 10, &[9]).await;
    forgotten(b, "a repeat of one that ended", op(4, Withdraw, 10)).await;
    forgotten(b, "its refund", op(4, Refund, 10)).await;
    forgotten(b, "a late first one", op(3, Withdraw, 10)).await;
    forgotten(b, "a late deposit", op(3, Deposit, 10)).await;
    forgotten(b, "the horizon itself", op(10, Withdraw, 10)).await;
    let words: Vec<_> = {
        let answers = b.all(vec![op(2, Withdraw, 1), op(9, Withdraw, 10), op(12, Withdraw, 1)]);
        answers.await.iter().map(Answer::word).collect()
    };
    b.same("a batch across it", &words, &vec!["unknown", "done", "done"]);
}

async fn the_horizon_only_rises(b: &LedgerFixture) {
    if b.profile.enlisted {
        return;
    }
    raise(b, 10, &[]).await;
    raise(b, 5, &[7]).await;
    forgotten(b, "one between", op(7, Withdraw, 10)).await;
    raise(b, 20, &[]).await;
    forgotten(b, "one below the new", op(15, Withdraw, 10)).await;
    b.done("one above", op(21, Withdraw, 10)).await;
}

async fn what_is_no_longer_open_is_forgotten(b: &LedgerFixture) {
    if b.profile.enlisted {
        return;
    }
    b.done("a withdraw", op(5, Withdraw, 10)).await;
    raise(b, 10, &[5]).await;
    b.done("its refund", op(5, Refund, 10)).await;
    raise(b, 11, &[]).await;
    forgotten(b, "a repeat after its end", op(5, Withdraw, 10)).await;
}

async fn a_fence_below_the_horizon_proves_nothing(b: &LedgerFixture) {
    if b.profile.enlisted {
        return;
    }
    b.done("one that ends", op(4, Withdraw, 10)).await;
    raise(b, 10, &[]).await;
    for n in [3, 4] {
        let known = b.known().await;
        let reply = b.ledger.fence(known, op(n, Withdraw, 10).key).await;
        b.same("a fence of what may be forgotten", &class(&reply), &"BELOW_HORIZON");
        let reply = b.ledger.query(known, op(n, Withdraw, 10).key).await;
        let truthful = match &reply {
            Reply::NoAnswer(cause) => cause.class == "BELOW_HORIZON",
            Reply::Answered(_, Stored::Found(found)) => n == 4 && found.op == op(4, Withdraw, 10),
            Reply::Answered(_, Stored::Nothing) | Reply::OtherLedger(_) => false,
        };
        b.holds(truthful, "a query of what may be forgotten", &reply);
    }
}

async fn an_enlisted_ledger_forgets_nothing(b: &LedgerFixture) {
    if !b.profile.enlisted {
        return;
    }
    let first = b.one(op(4, Withdraw, 10)).await;
    raise(b, 10, &[]).await;
    b.same("a repeat", &b.one(op(4, Withdraw, 10)).await, &first);
    b.done("its refund", op(4, Refund, 10)).await;
    b.done("another below", op(3, Withdraw, 10)).await;
}
