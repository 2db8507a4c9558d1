//! Checks running sums: they equal the sum of the rows after every write, refusal, lost answer and repeat.

use super::checks;
use super::fixture::{COIN, JournalFixture, RICH, START, id, known, op, plain, receipt};
use kernel::answer::Evidence;
use kernel::flow::life::Leg::{Deposit, Refund, Settle, Withdraw};
use kernel::ids::LedgerId;
use kernel::operation::{Key, Op, Operation, StoredOutcome};
use kernel::ports::ledger::{Direction, External, Reply};
use kernel::unit::{Fork, Guard, Put, Then, Unit};
use testkit::deposit;

checks! {
    every_kind_of_operation_is_counted,
    what_is_not_stored_is_not_counted,
}

async fn execute(b: &JournalFixture, ops: Vec<Op>) {
    let known = b.funding_known().await;
    let reply = b.on().funding.execute(known, ops.into()).await;
    b.holds(matches!(reply, Reply::Answered(..)), "operations", &reply);
    b.counts().await;
}

async fn fence(b: &JournalFixture, n: u64, leg: kernel::flow::life::Leg) {
    let known = b.funding_known().await;
    let reply = b.on().funding.fence(known, Key { id: id(n), leg }).await;
    b.holds(matches!(reply, Reply::Answered(..)), "a fence", &reply);
    b.counts().await;
}

async fn external(b: &JournalFixture, direction: Direction, amount: u128) {
    let money = deposit(&format!("{direction:?} {amount}"), RICH.0, COIN, amount);
    let movement = External { direction, ..money };
    b.ok("external money", b.on().world.external(movement).await);
    b.counts().await;
}

/// A withdraw within the unit that opens its transfer.
fn fused(b: &JournalFixture, n: u64, amount: u128) -> Unit {
    let mut unit = b.opening(&b.record(n, RICH, amount));
    let (op, done, rejected) = (op(n, Withdraw, amount), Then::default(), Some(Then::default()));
    unit.then.fork = Some(Box::new(Fork { ledger: LedgerId::FUNDING, op, done, rejected }));
    unit
}

/// Number of rows of each ledger.
async fn rows(b: &JournalFixture) -> [u64; 2] {
    let mut snapshot = b.ok("snapshot", b.on().journal.snapshot().await);
    let all = b.ok("recount", snapshot.recount().await);
    [LedgerId::FUNDING, LedgerId::SPOT]
        .map(|at| all.iter().filter(|(of, ..)| *of == at).map(|(.., sums)| sums.count).sum())
}

async fn every_kind_of_operation_is_counted(b: &mut JournalFixture) {
    execute(b, vec![op(1, Withdraw, 100), op(2, Withdraw, 50), op(3, Withdraw, 7)]).await;
    execute(b, vec![op(2, Refund, 50)]).await;
    execute(b, vec![op(3, Settle, 7), op(4, Deposit, 20), op(5, Withdraw, START * 2)]).await;
    fence(b, 6, Withdraw).await;
    fence(b, 7, Deposit).await;
    external(b, Direction::In, 30).await;
    external(b, Direction::Out, 11).await;
    b.same("Funding's", &rows(b).await, &[9, 0]);
    for wrote in
        b.all((11..14).map(|n| fused(b, n, 5 + START * u128::from(n == 12))).collect()).await
    {
        b.holds(matches!(wrote, kernel::unit::Wrote::Written(_)), "not written", &wrote);
    }
    b.counts().await;
    let settle = Then { ops: vec![(LedgerId::FUNDING, op(11, Settle, 5))], ..Then::default() };
    b.written("a settle", Unit { guards: vec![], then: settle }).await;
    b.same("with those of units", &rows(b).await, &[13, 0]);
    let outcome = StoredOutcome::Rejected(Evidence::code("NO"));
    let refused = Operation { seq: 3, op: op(13, Deposit, 5), outcome };
    let fenced = Operation { seq: 4, op: op(12, Deposit, 5), outcome: StoredOutcome::Fenced };
    let puts = vec![
        Put::Adopt { ledger: LedgerId::SPOT, known: known(1, 0) },
        receipt(1, op(11, Deposit, 5)),
        Put::Receipt { ledger: LedgerId::SPOT, operation: refused },
        Put::Receipt { ledger: LedgerId::SPOT, operation: fenced },
    ];
    b.written("receipts", plain(puts)).await;
    b.counts().await;
    b.same("and receipts", &rows(b).await, &[13, 3]);
    b.reopen().await;
    execute(b, vec![op(13, Refund, 5)]).await;
    b.same("after a restart", &rows(b).await, &[14, 3]);
}

async fn what_is_not_stored_is_not_counted(b: &mut JournalFixture) {
    execute(b, vec![op(1, Withdraw, 100)]).await;
    fence(b, 2, Withdraw).await;
    external(b, Direction::In, 30).await;
    let before = rows(b).await;
    // asked again, or refused without a trace
    execute(b, vec![op(1, Withdraw, 100), op(2, Withdraw, 5), op(3, Settle, 5)]).await;
    fence(b, 1, Withdraw).await;
    fence(b, 2, Withdraw).await;
    external(b, Direction::In, 30).await;
    external(b, Direction::Out, START * 3).await;
    // a unit that is lost, or not written
    let mut lost = fused(b, 4, 5);
    lost.guards.push(Guard::Fresh(id(4)));
    b.written("an opening", fused(b, 4, 5)).await;
    b.counts().await;
    b.lost("an opening again", lost, Guard::Fresh(id(4))).await;
    let over = Then { ops: vec![(LedgerId::FUNDING, op(9, Settle, 5))], ..Then::default() };
    b.unknown("a settle of nothing", Unit { guards: vec![], then: over }, "CONTRADICTION").await;
    b.wins("nothing at all", Guard::NotHalted).await;
    b.counts().await;
    b.same("rows", &rows(b).await, &[before[0] + 1, before[1]]);
}
