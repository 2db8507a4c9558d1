//! Checks what the journal stores of ledgers outside its database: receipts, incarnations, the horizon.

use super::checks;
use super::fixture::{JournalFixture, NOON, RICH, id, known, op, plain, receipt};
use kernel::answer::Evidence;
use kernel::flow::life::Leg::{Deposit, Withdraw};
use kernel::ids::{LedgerId, WorkerId};
use kernel::money::Amount;
use kernel::operation::{Identity, Known, Op, Operation, StoredOutcome};
use kernel::ports::journal::Owner;
use kernel::unit::{Guard, Put, Unit, Wrote};
use std::collections::BTreeSet;

checks! {
    a_receipt_is_kept_with_its_transfer,
    a_receipt_raises_the_highest,
    a_receipt_that_contradicts_is_not_written,
    an_adoption_is_the_current_one,
    an_adoption_after_a_loss_lowers_the_highest,
    receipts_are_listed_by_number,
    a_superseded_incarnation_never_comes_back,
    the_horizon_only_rises,
    a_core_is_taken_over_only_at_its_epoch,
    an_owner_lives_while_its_worker_does,
    workers_whose_lease_ends_are_listed,
    a_former_owners_lease_is_over,
    other_leases_are_listed_whatever_the_clock_says,
}

fn adopt(known: Known) -> Put {
    Put::Adopt { ledger: LedgerId::SPOT, known }
}

async fn spot(b: &JournalFixture) -> Option<Known> {
    b.ok("status", b.on().journal.service_status().await).ledger(LedgerId::SPOT)
}

async fn a_receipt_is_kept_with_its_transfer(b: &mut JournalFixture) {
    b.opened(1).await;
    b.opened(2).await;
    b.written("an adoption", plain(vec![adopt(known(1, 0))])).await;
    let refused = Operation {
        seq: 8,
        op: op(2, Deposit, 10),
        outcome: StoredOutcome::Rejected(Evidence::code("ACCOUNT_DISABLED")),
    };
    let put = Put::Receipt { ledger: LedgerId::SPOT, operation: refused.clone() };
    b.written("receipts", plain(vec![receipt(7, op(1, Deposit, 10)), put])).await;
    for _ in 0..2 {
        let kept = b.line(id(1)).await.map(|line| line.operations);
        let done = Operation { seq: 7, op: op(1, Deposit, 10), outcome: StoredOutcome::Done };
        b.same("the first", &kept, &Some(vec![(LedgerId::SPOT, done)]));
        let kept = b.line(id(2)).await.map(|line| line.operations);
        b.same("the second", &kept, &Some(vec![(LedgerId::SPOT, refused.clone())]));
        b.reopen().await;
    }
}

async fn a_receipt_raises_the_highest(b: &mut JournalFixture) {
    for n in 1..4 {
        b.opened(n).await;
    }
    b.written("an adoption", plain(vec![adopt(known(1, 5))])).await;
    for (n, seq, highest) in [(1, 9, 9), (2, 7, 9), (3, 10, 10)] {
        b.written("a receipt", plain(vec![receipt(seq, op(n, Deposit, 10))])).await;
        b.same("the highest", &spot(b).await, &Some(known(1, highest)));
    }
    b.reopen().await;
    b.same("after a restart", &spot(b).await, &Some(known(1, 10)));
}

async fn a_receipt_that_contradicts_is_not_written(b: &mut JournalFixture) {
    let record = b.opened(1).await;
    let first = op(1, Deposit, 10);
    b.written("an adoption", plain(vec![adopt(known(1, 0))])).await;
    b.written("a receipt", plain(vec![receipt(7, first.clone())])).await;
    b.written("the same again", plain(vec![receipt(7, first.clone())])).await;
    let other = |operation| Put::Receipt { ledger: LedgerId::SPOT, operation };
    let refused = StoredOutcome::Rejected(Evidence::code("ACCOUNT_DISABLED"));
    let odd = [
        receipt(8, first.clone()),
        receipt(7, Op { amount: Amount(11), ..first.clone() }),
        other(Operation { seq: 7, op: first.clone(), outcome: refused }),
        other(Operation { seq: 7, op: first, outcome: StoredOutcome::Fenced }),
    ];
    for put in odd {
        let what = format!("{put:?}");
        let mut unit = b.moving(&record, "FAILED", "X");
        unit.then.puts.push(put);
        b.unknown(&what, unit, "CONTRADICTION").await;
    }
    // another leg and another ledger are other keys
    b.written("another leg", plain(vec![receipt(8, op(1, Withdraw, 10))])).await;
    b.wins("the transfer did not move", b.stands(&record)).await;
}

async fn an_adoption_is_the_current_one(b: &mut JournalFixture) {
    b.same("before any", &spot(b).await, &None);
    b.written("the first", plain(vec![adopt(known(1, 5))])).await;
    b.same("the first", &spot(b).await, &Some(known(1, 5)));
    b.written("the second", plain(vec![adopt(known(2, 3))])).await;
    b.same("its highest never falls", &spot(b).await, &Some(known(2, 5)));
    b.written("the same again", plain(vec![adopt(known(2, 9))])).await;
    b.same("its highest rises", &spot(b).await, &Some(known(2, 9)));
    b.reopen().await;
    b.same("after a restart", &spot(b).await, &Some(known(2, 9)));
}

async fn an_adoption_after_a_loss_lowers_the_highest(b: &mut JournalFixture) {
    let after_loss = |known| Put::AdoptAfterLoss { ledger: LedgerId::SPOT, known };
    b.written("the first", plain(vec![adopt(known(1, 5))])).await;
    for (n, seq) in [(1, 7), (2, 9)] {
        b.opened(n).await;
        b.written("a receipt", plain(vec![receipt(seq, op(n, Deposit, 10))])).await;
    }
    b.written("what lost them", plain(vec![after_loss(known(2, 6))])).await;
    for _ in 0..2 {
        b.same("its highest", &spot(b).await, &Some(known(2, 6)));
        b.reopen().await;
    }
    // neither a number of an earlier incarnation nor a stored receipt raises the next one's
    b.written("the next", plain(vec![adopt(known(3, 6))])).await;
    b.same("the next one's highest", &spot(b).await, &Some(known(3, 6)));
    b.opened(3).await;
    b.written("a number that is given again", plain(vec![receipt(7, op(3, Deposit, 10))])).await;
    b.same("it rises", &spot(b).await, &Some(known(3, 7)));
    let mut unit = plain(vec![after_loss(known(2, 6))]);
    unit.then.puts.push(adopt(known(9, 9)));
    b.unknown("a former incarnation", unit, "SUPERSEDED").await;
    b.reopen().await;
    b.same("after a restart", &spot(b).await, &Some(known(3, 7)));
}

async fn receipts_are_listed_by_number(b: &mut JournalFixture) {
    b.written("an adoption", plain(vec![adopt(known(1, 0))])).await;
    for (n, seq) in [(1, 9), (2, 3), (3, 7)] {
        b.opened(n).await;
        b.written("a receipt", plain(vec![receipt(seq, op(n, Deposit, 10))])).await;
    }
    for _ in 0..2 {
        let mut snapshot = b.ok("a snapshot", b.on().journal.snapshot().await);
        for (after, limit, wanted) in [(0, 9, [3, 7, 9].as_slice()), (3, 9, &[7, 9]), (3, 1, &[7])]
        {
            let found = b.ok("receipts", snapshot.receipts(LedgerId::SPOT, after, limit).await);
            let numbers: Vec<u64> = found.iter().map(|operation| operation.seq).collect();
            b.same("the numbers", &numbers.as_slice(), &wanted);
        }
        let other = b.ok("receipts", snapshot.receipts(LedgerId::FUTURE, 0, 9).await);
        b.same("another ledger's", &other, &vec![]);
        drop(snapshot);
        b.reopen().await;
    }
}

async fn a_superseded_incarnation_never_comes_back(b: &mut JournalFixture) {
    for n in 1..4 {
        b.written("an incarnation", plain(vec![adopt(known(n, 5))])).await;
    }
    let record = b.opened(1).await;
    b.reopen().await;
    for n in 1..3 {
        let mut unit = b.moving(&record, "FAILED", "X");
        unit.then.puts.push(adopt(known(n, 50)));
        b.unknown("a former incarnation", unit, "SUPERSEDED").await;
    }
    let elsewhere = Put::Adopt { ledger: LedgerId::FUTURE, known: known(1, 0) };
    b.written("it may be another ledger's", plain(vec![elsewhere])).await;
    let stranger = Known { identity: Identity(5), ..known(7, 5) };
    b.written("who it may be is the guard's business", plain(vec![adopt(stranger)])).await;
    b.same("the current one", &spot(b).await, &Some(stranger));
}

async fn the_horizon_only_rises(b: &mut JournalFixture) {
    let horizon =
        async |b: &JournalFixture| b.ok("status", b.on().journal.service_status().await).horizon;
    b.same("before any", &horizon(b).await, &None);
    for (put, stands) in [(10, 10), (5, 10), (20, 20)] {
        b.written("a horizon", plain(vec![Put::Horizon(id(put))])).await;
        b.same("where it stands", &horizon(b).await, &Some(id(stands)));
    }
    let guard = Guard::Fresh(id(15));
    b.lost("an opening below it", b.opening(&b.record(15, RICH, 1)), guard).await;
    b.reopen().await;
    b.same("after a restart", &horizon(b).await, &Some(id(20)));
}

fn own(worker: u64, identity: u128) -> Put {
    let (worker, identity) = (WorkerId(worker), Identity(identity));
    Put::Own { ledger: LedgerId::SPOT, worker, identity }
}

async fn a_core_is_taken_over_only_at_its_epoch(b: &mut JournalFixture) {
    let guard = |epoch| Guard::Owner { ledger: LedgerId::SPOT, epoch };
    b.wins("it has no owner", guard(0)).await;
    b.loses("an epoch that never was", guard(1)).await;
    for (epoch, worker, identity) in [(0, 1, 7), (1, u64::MAX, u128::MAX), (2, 1, 0)] {
        let takes = || Unit::guarded(vec![guard(epoch)], vec![own(worker, identity)]);
        let wrote = b.all(vec![takes(), takes()]).await;
        let lost: Vec<_> = wrote.iter().map(|w| *w == Wrote::Lost(guard(epoch))).collect();
        b.same("one of two", &lost, &vec![false, true]);
        for _ in 0..2 {
            b.loses("the former owner's units", guard(epoch)).await;
            b.wins("the new one's", guard(epoch + 1)).await;
            let (ledger, worker) = (LedgerId::SPOT, WorkerId(worker));
            let (identity, epoch) = (Identity(identity), epoch + 1);
            let owner = Owner { ledger, epoch, worker, identity, lives: false };
            b.same("who has it", &b.status().await.owners, &vec![owner]);
            b.reopen().await;
        }
    }
    b.wins("another's", Guard::Owner { ledger: LedgerId::FUTURE, epoch: 0 }).await;
}

async fn an_owner_lives_while_its_worker_does(b: &mut JournalFixture) {
    let lives = async |b: &JournalFixture| b.status().await.owners.iter().any(|owner| owner.lives);
    let worker = WorkerId(5);
    b.written("it takes the core over", plain(vec![own(5, 7)])).await;
    b.same("without a lease", &lives(b).await, &false);
    b.ok("a lease", b.on().journal.renew_lease(worker, 60_000, None).await);
    b.same("with a lease", &lives(b).await, &true);
    b.ok("it stops", b.on().journal.end_lease(worker).await);
    b.same("when it has left", &lives(b).await, &false);
}

async fn workers_whose_lease_ends_are_listed(b: &mut JournalFixture) {
    let workers = async |b: &JournalFixture| b.status().await.workers;
    b.same("before", &workers(b).await, &vec![]);
    let mut leases = Vec::new();
    for worker in [WorkerId(7), WorkerId(u64::MAX)] {
        leases.push(b.ok("a lease", b.on().journal.renew_lease(worker, 60_000, None).await).ends);
    }
    // where one process has the journal for itself no worker's lease ends
    let both = if leases.contains(&true) { vec![WorkerId(7), WorkerId(u64::MAX)] } else { vec![] };
    b.same("with a lease", &workers(b).await, &both);
    b.ok("one stops", b.on().journal.end_lease(WorkerId(7)).await);
    let other: Vec<_> = both.into_iter().skip(1).collect();
    b.same("when it has left", &workers(b).await, &other);
    b.clock.set(b.on().journal.now() + 60_001);
    b.same("when the other's is over", &workers(b).await, &vec![]);
}

/// It is dead: the process that takes the core over has its folder's lock. No process waits for its lease.
async fn a_former_owners_lease_is_over(b: &mut JournalFixture) {
    let (former, bystander) = (WorkerId(5), WorkerId(6));
    b.written("it takes the core over", plain(vec![own(5, 7)])).await;
    b.ok("a lease", b.on().journal.renew_lease(former, 60_000, None).await);
    let ends = b.ok("another's", b.on().journal.renew_lease(bystander, 60_000, None).await).ends;
    b.written("it does so once more", plain(vec![own(5, 7)])).await;
    let both = if ends { vec![former, bystander] } else { vec![] };
    b.same("whose leases stand", &b.status().await.workers, &both);
    b.written("the next one takes it over", plain(vec![own(8, 7)])).await;
    let other: Vec<_> = both.into_iter().skip(1).collect();
    b.same("the former one's is over", &b.status().await.workers, &other);
}

async fn other_leases_are_listed_whatever_the_clock_says(b: &mut JournalFixture) {
    let (own, other) = (WorkerId(5), WorkerId(u64::MAX));
    let others = async |b: &JournalFixture| b.ok("leases", b.on().journal.other_leases(own).await);
    b.same("before", &others(b).await, &vec![]);
    let ends = b.ok("a lease", b.on().journal.renew_lease(own, 60_000, None).await).ends;
    b.ok("another's", b.on().journal.renew_lease(other, 60_000, None).await);
    if !ends {
        // one process has the journal for itself: no worker's lease ends
        b.same("others of one", &others(b).await, &vec![]);
        return;
    }
    let mut renewals = BTreeSet::new();
    for jump in [0, 0, 3_600_000, -3_600_000] {
        b.clock.set(NOON.saturating_add_signed(jump));
        let found = others(b).await;
        let same: Vec<_> = found.iter().map(|l| (l.worker, l.length, l.obeys)).collect();
        b.same("the other one's", &same, &vec![(other, 60_000, 0)]);
        b.same("without a renewal", &others(b).await, &found);
        renewals.extend(found.iter().map(|lease| lease.renewal));
        b.ok("a renewal", b.on().journal.renew_lease(other, 60_000, None).await);
    }
    b.same("each renewal has its own number", &renewals.len(), &4);
    b.ok("it obeys", b.on().journal.renew_lease(other, 60_000, Some(3)).await);
    let obeys: Vec<_> = others(b).await.iter().map(|lease| lease.obeys).collect();
    b.same("the HALT that it obeys", &obeys, &vec![3]);
    b.ok("it stops", b.on().journal.end_lease(other).await);
    b.same("when it has left", &others(b).await, &vec![]);
}
