//! Checks the numbers of HALTs: a ledger that keeps them does nothing for a request with a lower one. One that keeps
//! none passes.

use super::check_list;
use super::fixture::{COIN, LedgerFixture, RICH, START, class, op};
use kernel::answer::Cause;
use kernel::flow::life::Leg::{Deposit, Withdraw};
use kernel::ids::Id;
use kernel::operation::{Identity, Known, Op};
use kernel::ports::ledger::{Reply, Stored};
use kernel::ports::sending::SendPermission;
use kernel::record::System;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

check_list! {
    who_does_not_know_of_a_halt_moves_nothing,
    the_halt_number_of_another_ledger_does_not_count,
}

/// A sender that follows the HALT of this number as the last one, and may send everything.
#[derive(Default)]
struct Follows(AtomicU64);

impl SendPermission for Follows {
    fn may_send(&self, _: System, _: &[Id]) -> bool {
        true
    }

    fn last_halt(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Has the ledger ask a sender, which is returned; `None`: the ledger keeps no numbers.
async fn sender(b: &LedgerFixture, told: u64) -> Option<Arc<Follows>> {
    let known = b.known().await;
    let highest = b.said(b.ledger.note_halt(known, told).await).1?;
    b.same("the number that it keeps", &highest, &told);
    let follows = Arc::new(Follows::default());
    let permission: Arc<dyn SendPermission> = follows.clone();
    b.ledger.ask_before_sending(&permission);
    Some(follows)
}

/// Neither done nor refused nor stored.
async fn is_stale(b: &LedgerFixture, what: &str, op: Op) {
    let known = b.known().await;
    let before = (b.totals().await, b.stored(op.key).await, known.highest);
    let reply = b.ledger.execute(known, [op.clone()].into()).await;
    b.same(what, &class(&reply), &Cause::HALTED);
    let after = (b.totals().await, b.stored(op.key).await, b.known().await.highest);
    b.same(&format!("{what}: books and what is stored after it"), &after, &before);
}

async fn who_does_not_know_of_a_halt_moves_nothing(b: &LedgerFixture) {
    let Some(follows) = sender(b, 5).await else { return };
    let set = |number| follows.0.store(number, Ordering::SeqCst);
    set(4);
    is_stale(b, "a lower number", op(1, Withdraw, 10)).await;
    set(0);
    is_stale(b, "no HALT at all", op(1, Withdraw, 10)).await;
    set(5);
    b.done("the same number", op(1, Withdraw, 10)).await;
    set(6);
    b.done("a higher one, of which it was not told", op(2, Deposit, 3)).await;
    set(5);
    b.done("what it was told is still the highest", op(3, Deposit, 4)).await;
    let known = b.known().await;
    let (_, highest) = b.said(b.ledger.note_halt(known, 3).await);
    b.same("a lower number that it is told", &highest, &Some(5));
    set(4);
    is_stale(b, "after a lower number was told", op(4, Withdraw, 1)).await;
    is_stale(b, "a repeat", op(1, Withdraw, 10)).await;
    // a question, and what only forbids, is answered to everyone
    b.found("the operation that was repeated", op(1, Withdraw, 10).key).await;
    b.is_found("a fence", b.fence(op(4, Withdraw, 1).key).await);
    set(5);
    b.same("balance", &b.balance(RICH, COIN).await, &(START - 3, 0));
}

async fn the_halt_number_of_another_ledger_does_not_count(b: &LedgerFixture) {
    let Some(follows) = sender(b, 1).await else { return };
    let is = b.known().await;
    let other = Known { identity: Identity(is.identity.0 ^ 1), ..is };
    let reply = b.ledger.note_halt(other, 9).await;
    b.same("another ledger's HALT", &reply, &Reply::OtherLedger(is));
    follows.0.store(1, Ordering::SeqCst);
    b.same("before", &b.stored(op(1, Withdraw, 10).key).await, &Stored::Nothing);
    b.done("it was not told of that number", op(1, Withdraw, 10)).await;
}
