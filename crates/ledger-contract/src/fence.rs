//! Checks fences: a tombstone under a key, before and after the effect.
//!
//! A fence returns what is stored under the key once it is done: the operation that was there before it, or the
//! fence itself. A refund or settle cannot be fenced: a fence of it only queries.

use super::check_list;
use super::fixture::{COIN, LedgerFixture, RICH, START, UNKNOWN_USER, of, op, word};
use kernel::code::Code;
use kernel::flow::life::Leg::{Deposit, Refund, Settle, Withdraw};
use kernel::money::Amount;
use kernel::operation::StoredOutcome;
use kernel::ports::ledger::Stored;

check_list! {
    a_fence_before_keeps_the_effect_from_ever_happening,
    a_fence_after_says_what_happened,
    a_fence_repeats_itself,
    a_refund_is_never_fenced,
    a_fence_harms_no_neighbour,
}

async fn a_fence_before_keeps_the_effect_from_ever_happening(b: &LedgerFixture) {
    for (n, leg) in [(1, Withdraw), (2, Deposit)] {
        let ask = op(n, leg, 100);
        let before = (b.totals().await, b.accounts().await);
        let fenced = b.is_found("a fresh fence", b.fence(ask.key).await);
        let says = (fenced.op.key, fenced.op.amount, fenced.outcome);
        b.same(
            "a fence knows its key alone",
            &says,
            &(ask.key, Amount::ZERO, StoredOutcome::Fenced),
        );
        for _ in 0..2 {
            let answer = b.one(ask.clone()).await;
            b.is_refusal("an operation after its fence", &answer, "FENCED");
        }
        // whatever is asked: it never happens
        let other = of(UNKNOWN_USER, op(n, leg, 7));
        b.is_refusal("another after the fence", &b.one(other).await, "FENCED");
        b.same("what moved", &(b.totals().await, b.accounts().await), &before);
        let stored = b.found("after the fence", ask.key).await;
        b.same("what is stored", &word(&stored.outcome), &"FENCED");
    }
}

async fn a_fence_after_says_what_happened(b: &LedgerFixture) {
    let done = op(1, Withdraw, 100);
    b.done("a withdraw", done.clone()).await;
    let refused = op(2, Withdraw, START * 2);
    b.refused("too much", refused.clone(), Code::InsufficientBalance).await;
    let given = op(3, Deposit, 5);
    b.done("a deposit", given.clone()).await;
    for (ask, says) in
        [(done, "DONE"), (refused, Code::InsufficientBalance.name()), (given, "DONE")]
    {
        let stored = b.stored(ask.key).await;
        let said = b.fence(ask.key).await;
        b.same("a late fence", &said, &stored);
        let found = b.is_found("a late fence", said);
        b.same("what it says", &(word(&found.outcome), &found.op), &(says, &ask));
        b.same("what stands after it", &b.stored(ask.key).await, &stored);
    }
    b.done("the refund still", op(1, Refund, 100)).await;
    b.same("balance", &b.balance(RICH, COIN).await, &(START + 5, 0));
}

async fn a_fence_repeats_itself(b: &LedgerFixture) {
    let key = op(1, Withdraw, 1).key;
    let first = b.fence(key).await;
    b.same("again", &b.fence(key).await, &first);
    b.is_refusal("the operation", &b.one(op(1, Withdraw, 1)).await, "FENCED");
    b.same("and again", &b.fence(key).await, &first);
    b.same("a query", &b.stored(key).await, &first);
}

async fn a_refund_is_never_fenced(b: &LedgerFixture) {
    b.done("a withdraw", op(1, Withdraw, 100)).await;
    for leg in [Refund, Settle] {
        let key = op(1, leg, 100).key;
        b.same("a fence of a refund or settle", &b.fence(key).await, &Stored::Nothing);
        b.same("what it wrote", &b.stored(key).await, &Stored::Nothing);
    }
    let refund = op(1, Refund, 100);
    b.done("the refund", refund.clone()).await;
    let found = b.is_found("a late fence of a refund", b.fence(refund.key).await);
    b.same("what it says", &found.outcome, &StoredOutcome::Done);
    b.same("balance", &b.balance(RICH, COIN).await, &(START, 0));
}

async fn a_fence_harms_no_neighbour(b: &LedgerFixture) {
    b.fence(op(1, Withdraw, 1).key).await;
    b.done("the deposit of the same id", op(1, Deposit, 10)).await;
    b.done("another's withdraw", op(2, Withdraw, 10)).await;
    let words: Vec<_> = {
        let answers = b.all(vec![op(3, Withdraw, 1), op(1, Withdraw, 1), op(4, Withdraw, 1)]);
        answers.await.iter().map(kernel::answer::Answer::word).collect()
    };
    b.same("a batch with a fenced one", &words, &vec!["done", "rejected", "done"]);
}
