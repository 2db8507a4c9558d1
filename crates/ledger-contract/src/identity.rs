//! Checks identity (`ledgers.md` §2): a request that means another ledger executes nothing.

use super::check_list;
use super::fixture::{COIN, LedgerFixture, RICH, START, class, op};
use kernel::flow::life::Leg::{Deposit, Withdraw};
use kernel::operation::{Identity, Incarnation, Known};
use kernel::ports::ledger::{AccountStatus, Reply, StatusChange, Stored};

check_list! {
    a_ledger_says_who_it_is,
    a_request_for_another_ledger_executes_nothing,
    a_sender_that_knows_less_is_served,
}

async fn a_ledger_says_who_it_is(b: &LedgerFixture) {
    let first = b.known().await;
    b.same("again", &b.known().await, &first);
    let number = b.done("an operation", op(1, Withdraw, 1)).await;
    let then = b.known().await;
    let who = (then.identity, then.incarnation);
    b.same("the same ledger", &who, &(first.identity, first.incarnation));
    b.holds(then.highest >= number, "its highest lags behind", &(then, number));
    b.holds(number > first.highest, "a number that was given before", &(first, number));
}

/// Every request, each with this knowledge; what came of each.
async fn asked(b: &LedgerFixture, known: Known) -> Vec<(&'static str, Reply<()>)> {
    fn bare<T>(reply: Reply<T>) -> Reply<()> {
        match reply {
            Reply::Answered(known, _) => Reply::Answered(known, ()),
            Reply::OtherLedger(known) => Reply::OtherLedger(known),
            Reply::NoAnswer(cause) => Reply::NoAnswer(cause),
        }
    }
    let change = StatusChange {
        user: RICH,
        status: AccountStatus::Disabled,
        reason: "".into(),
        caller: "".into(),
        key: "wrong".into(),
    };
    let ops = [op(50, Withdraw, 5), op(51, Deposit, 5)];
    let l = &b.ledger;
    let horizon = op(1_000_000, Withdraw, 1).key.id;
    vec![
        ("execute", bare(l.execute(known, ops.into()).await)),
        ("query", bare(l.query(known, op(1, Withdraw, 1).key).await)),
        ("fence", bare(l.fence(known, op(52, Withdraw, 1).key).await)),
        ("status", bare(l.status(known, change).await)),
        ("horizon", bare(l.horizon(known, horizon, [].into()).await)),
    ]
}

async fn a_request_for_another_ledger_executes_nothing(b: &LedgerFixture) {
    if b.profile.enlisted {
        return;
    }
    b.done("before", op(1, Withdraw, 10)).await;
    let is = b.known().await;
    let wrong = [
        ("identity", Known { identity: Identity(is.identity.0 ^ 1), ..is }),
        ("incarnation", Known { incarnation: Incarnation(is.incarnation.0 ^ 1), ..is }),
        ("highest", Known { highest: is.highest + 1, ..is }),
        ("highest by far", Known { highest: u64::MAX, ..is }),
    ];
    let before = (b.totals().await, b.accounts().await);
    for (what, known) in wrong {
        for (call, reply) in asked(b, known).await {
            let what = format!("{call} with another {what}");
            b.same(&what, &class(&reply), &"WRONG_LEDGER");
            b.same(&format!("{what}: who it says it is"), &reply, &Reply::OtherLedger(is));
        }
    }
    b.same("what it moved", &(b.totals().await, b.accounts().await), &before);
    b.same("what it numbered", &b.known().await, &is);
    for n in 50..53 {
        b.same("what it stored", &b.stored(op(n, Withdraw, 5).key).await, &Stored::Nothing);
    }
    b.done("nothing is fenced, barred or forgotten", op(52, Withdraw, 1)).await;
    b.same("balance", &b.balance(RICH, COIN).await, &(START - 11, 0));
}

async fn a_sender_that_knows_less_is_served(b: &LedgerFixture) {
    for n in 0..5 {
        b.done("an operation", op(n, Withdraw, 1)).await;
    }
    let is = b.known().await;
    let less = Known { highest: 0, ..is };
    let (said, answers) = b.said(b.ledger.execute(less, [op(9, Withdraw, 1)].into()).await);
    b.same("answers", &answers.len(), &1);
    b.holds(said.highest >= is.highest, "a highest that fell", &(is, said));
    b.said(b.ledger.query(less, op(9, Withdraw, 1).key).await);
    b.said(b.ledger.fence(less, op(10, Withdraw, 1).key).await);
}
