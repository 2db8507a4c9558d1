//! Checks idempotency, one key, one effect, one answer: repeats, other requests under a key, batches.

use super::check_list;
use super::fixture::{
    BARE, COIN, GOLD, LedgerFixture, RICH, START, UNKNOWN_USER, in_asset, of, op, word,
};
use futures_util::future::join_all;
use kernel::answer::Answer;
use kernel::code::Code;
use kernel::flow::life::Leg::{Deposit, Move, Quarantine, Refund, Settle, Withdraw};
use kernel::ids::{AssetId, UserId};
use kernel::money::Amount;
use kernel::operation::{Op, StoredOutcome};
use kernel::ports::ledger::{AccountStatus, Stored};
use kernel::record::Account;

check_list! {
    done_is_sticky,
    rejected_is_sticky,
    a_refused_deposit_is_sticky,
    another_request_under_a_key_contradicts,
    another_request_under_a_refused_key_contradicts,
    legs_of_one_transfer_are_apart,
    repeats_inside_a_batch_are_one_effect,
    repeats_at_the_same_time_are_one_effect,
    withdraws_at_the_same_time_take_no_more_than_there_is,
    a_batch_sees_itself,
    neighbours_are_independent,
    an_empty_batch_is_answered,
    bad_operations_store_nothing,
}

async fn done_is_sticky(b: &LedgerFixture) {
    for ask in [op(1, Withdraw, 300), op(2, Deposit, 200)] {
        let first = b.one(ask.clone()).await;
        b.holds(matches!(first, Answer::Done(_)), "not done", &first);
        let after = (b.totals().await, b.accounts().await);
        for _ in 0..3 {
            b.same("a repeat's answer", &b.one(ask.clone()).await, &first);
        }
        b.same("a repeat's effect", &(b.totals().await, b.accounts().await), &after);
        let stored = b.found("after done", ask.key).await;
        let Answer::Done(receipt) = first else { continue };
        b.same("what is stored", &(stored.op, stored.outcome), &(ask, StoredOutcome::Done));
        b.same("its number", &stored.seq, &receipt.seq);
    }
}

async fn rejected_is_sticky(b: &LedgerFixture) {
    let ask = op(1, Withdraw, START + 1);
    let first = b.one(ask.clone()).await;
    b.is_refusal("more than there is", &first, Code::InsufficientBalance.name());
    b.same("balance after a refusal", &b.balance(RICH, COIN).await, &(START, 0));
    b.done("more money comes", op(2, Deposit, 10)).await;
    for _ in 0..3 {
        b.same("a repeat, now that there is enough", &b.one(ask.clone()).await, &first);
    }
    b.same("balance", &b.balance(RICH, COIN).await, &(START + 10, 0));
    let stored = b.found("after a refusal", ask.key).await;
    b.same("what is stored", &word(&stored.outcome), &Code::InsufficientBalance.name());
    b.same("its request", &stored.op, &ask);
}

async fn a_refused_deposit_is_sticky(b: &LedgerFixture) {
    b.holds(b.set(RICH, AccountStatus::Disabled, "off").await, "user 1 has no account", &());
    let ask = op(1, Deposit, 5);
    let first = b.one(ask.clone()).await;
    b.is_refusal("a disabled account", &first, Code::AccountDisabled.name());
    b.set(RICH, AccountStatus::Active, "on").await;
    b.same("a repeat, now that it is active", &b.one(ask).await, &first);
    b.same("balance", &b.balance(RICH, COIN).await, &(START, 0));
    b.done("another transfer", op(2, Deposit, 5)).await;
}

/// The same key with each field changed in turn.
fn others(ask: &Op) -> Vec<(&'static str, Op)> {
    vec![
        ("another amount", Op { amount: Amount(ask.amount.0 + 1), ..ask.clone() }),
        ("a smaller amount", Op { amount: Amount(ask.amount.0 - 1), ..ask.clone() }),
        ("another account", of(UNKNOWN_USER, ask.clone())),
        ("another asset", in_asset(GOLD, ask.clone())),
    ]
}

async fn another_request_under_a_key_contradicts(b: &LedgerFixture) {
    let mut asks = vec![op(1, Withdraw, 300), op(2, Deposit, 200), op(3, Withdraw, 50)];
    for ask in &asks {
        b.done("the first request", ask.clone()).await;
    }
    b.done("a refund", op(3, Refund, 50)).await;
    asks.push(op(3, Refund, 50));
    if b.profile.holds {
        b.done("a settle", op(1, Settle, 300)).await;
        asks.push(op(1, Settle, 300));
    }
    for ask in asks {
        for (what, other) in others(&ask) {
            let what = format!("{what} under a done {}", ask.key.leg.name());
            b.hindered(&what, other, "CONTRADICTION").await;
        }
        b.done("the first request still", ask).await;
    }
}

async fn another_request_under_a_refused_key_contradicts(b: &LedgerFixture) {
    let ask = op(1, Withdraw, START + 5);
    let first = b.one(ask.clone()).await;
    for (what, other) in others(&ask) {
        b.hindered(&format!("{what} under a refused key"), other, "CONTRADICTION").await;
    }
    b.same("the first request still", &b.one(ask).await, &first);
}

async fn legs_of_one_transfer_are_apart(b: &LedgerFixture) {
    let withdraw = b.done("a withdraw", op(1, Withdraw, 100)).await;
    let deposit = b.done("the deposit of the same id", op(1, Deposit, 100)).await;
    b.holds(withdraw != deposit, "two effects under one number", &(withdraw, deposit));
    let (available, _) = b.balance(RICH, COIN).await;
    b.same("balance after both", &available, &START);
}

async fn repeats_inside_a_batch_are_one_effect(b: &LedgerFixture) {
    let (take, refused) = (op(1, Withdraw, 400), op(2, Withdraw, START * 2));
    let batch = vec![take.clone(), refused.clone(), take.clone(), take, refused];
    let answers = b.all(batch).await;
    let [a, r, b2, c, s] = answers.as_slice() else { return };
    b.holds(matches!(a, Answer::Done(_)), "not done", a);
    b.is_refusal("too much", r, Code::InsufficientBalance.name());
    b.same("its repeats", &(b2, c), &(a, a));
    b.same("the refusal's repeat", s, r);
    b.same("balance", &b.balance(RICH, COIN).await.0, &(START - 400));
}

/// What becomes of operations that are asked for at the same moment, each in a request of its own.
async fn at_the_same_time(b: &LedgerFixture, ops: Vec<Op>) -> Vec<Answer> {
    let known = b.known().await;
    let asked = ops.into_iter().map(|op| b.ledger.execute(known, [op].into()));
    let replies = join_all(asked).await;
    b.balanced().await;
    replies.into_iter().flat_map(|reply| b.said(reply).1).collect()
}

async fn repeats_at_the_same_time_are_one_effect(b: &LedgerFixture) {
    for ask in [op(1, Withdraw, 300), op(2, Deposit, 200)] {
        let answers = at_the_same_time(b, vec![ask.clone(); 16]).await;
        let last = b.one(ask).await;
        b.holds(matches!(last, Answer::Done(_)), "not done", &last);
        // one that the ledger could not answer comes again
        let differ = |one: &&Answer| **one != last && !matches!(one, Answer::Unknown(_));
        b.same("answers that differ", &answers.iter().find(differ), &None);
    }
    b.same("what is available", &b.balance(RICH, COIN).await.0, &(START - 100));
}

async fn withdraws_at_the_same_time_take_no_more_than_there_is(b: &LedgerFixture) {
    let ops: Vec<Op> = (1..=16).map(|n| op(n, Withdraw, START / 4)).collect();
    at_the_same_time(b, ops.clone()).await;
    let answers = b.all(ops).await;
    let done = answers.iter().filter(|answer| matches!(answer, Answer::Done(_))).count();
    let refused = answers.iter().filter(|answer| matches!(answer, Answer::Rejected(..))).count();
    b.same("how many were done, and how many refused", &(done, refused), &(4, 12));
    b.same("balance", &b.balance(RICH, COIN).await.0, &0);
}

async fn a_batch_sees_itself(b: &LedgerFixture) {
    let ops = vec![
        op(1, Withdraw, START),
        op(2, Withdraw, 1),
        op(3, Deposit, 5),
        op(4, Withdraw, 5),
        op(1, Refund, START),
        op(5, Withdraw, START),
    ];
    let words: Vec<_> = b.all(ops).await.iter().map(Answer::word).collect();
    let should = ["done", "rejected", "done", "done", "done", "done"];
    b.same("a batch in its order", &words, &should.to_vec());
    b.same("balance", &b.balance(RICH, COIN).await.0, &0);
}

async fn neighbours_are_independent(b: &LedgerFixture) {
    let ops = vec![
        op(1, Withdraw, 10),
        op(2, Withdraw, 0),
        op(3, Refund, 10),
        of(UNKNOWN_USER, op(4, Withdraw, 10)),
        in_asset(AssetId(999), op(5, Withdraw, 10)),
        op(6, Withdraw, START * 2),
        op(1, Withdraw, 11),
        op(7, Withdraw, 20),
    ];
    let words: Vec<_> = b.all(ops).await.iter().map(Answer::word).collect();
    let should =
        ["done", "unknown", "unknown", "rejected", "unknown", "rejected", "unknown", "done"];
    b.same("each as if it were alone", &words, &should.to_vec());
    b.same("balance", &b.balance(RICH, COIN).await.0, &(START - 30));
}

async fn an_empty_batch_is_answered(b: &LedgerFixture) {
    b.same("answers", &b.all(vec![]).await, &vec![]);
}

async fn bad_operations_store_nothing(b: &LedgerFixture) {
    let named = Account::Named("x".into());
    for leg in [Withdraw, Deposit] {
        let bad = [
            ("nothing", op(1, leg, 0)),
            ("an unknown asset", in_asset(AssetId(999), op(2, leg, 5))),
            ("user 0", of(UserId(0), op(3, leg, 5))),
            ("a named account", Op { account: named.clone(), ..op(4, leg, 5) }),
        ];
        for (what, ask) in bad {
            b.hindered(&format!("{} of {what}", leg.name()), ask, "BAD_OPERATION").await;
        }
    }
    for leg in [Move, Quarantine] {
        b.hindered("a leg of other systems", op(5, leg, 5), "BAD_OPERATION").await;
    }
    b.same("what is stored", &b.stored(op(1, Withdraw, 1).key).await, &Stored::Nothing);
    // the keys are not spent
    b.done("the same key, well made", op(1, Withdraw, 5)).await;
    b.refused("an asset of which there is none", in_asset(BARE, op(2, Withdraw, 5)), {
        Code::InsufficientBalance
    })
    .await;
}
