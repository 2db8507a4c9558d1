//! Checks operations of the enlisted ledger inside a unit: settles, and the fork whose answer chooses the branch.

use super::checks;
use super::fixture::{COIN, JournalFixture, RICH, START, id, op};
use kernel::answer::{Answer, Evidence};
use kernel::code::Code;
use kernel::flow::life::Leg::{Refund, Settle, Withdraw};
use kernel::ids::LedgerId;
use kernel::operation::StoredOutcome;
use kernel::ports::ledger::{AccountStatus, Reply};
use kernel::record::Record;
use kernel::unit::{Guard, Put, Then, Unit};
use std::collections::BTreeSet;

checks! {
    a_done_fork_writes_one_way,
    a_refused_fork_writes_the_other_and_completes_it,
    what_a_plan_said_itself_is_not_overwritten,
    a_stored_answer_chooses,
    a_fence_counts_as_a_refusal,
    an_unknown_fork_writes_nothing,
    a_push_has_one_way,
    a_settle_goes_with_the_unit,
    a_hindered_settle_keeps_the_unit_from_being_written,
    a_way_may_settle_too,
    a_fork_after_a_lost_guard_is_not_decided,
    forks_of_one_group_share_the_balance,
    one_opening_one_write,
    each_operation_has_a_number_of_its_own,
}

/// The branch to a state, from the state before the fork.
fn way(b: &JournalFixture, record: &Record, to: &str, what: &'static str) -> Then {
    let head = b.to(record, to);
    Then {
        puts: vec![b.head(record.id, head)],
        events: vec![b.event(record, to, what)],
        ..Then::default()
    }
}

/// The withdraw of the n-th transfer as a fork with both branches.
fn withdraw(b: &JournalFixture, record: &Record, n: u64, amount: u128) -> Unit {
    let done = way(b, record, "SOURCE_DONE", "SOURCE_OK");
    let rejected = way(b, record, "FAILED", "SOURCE_FAIL");
    let mut unit = b.fork(op(n, Withdraw, amount), done, Some(rejected));
    unit.guards.push(b.stands(record));
    unit
}

async fn pending(b: &JournalFixture, n: u64) -> Record {
    let record = b.opened(n).await;
    b.moved(&record, "SOURCE_PENDING").await
}

async fn a_done_fork_writes_one_way(b: &mut JournalFixture) {
    let record = pending(b, 1).await;
    let written = b.written("a withdraw", withdraw(b, &record, 1, 100)).await;
    b.holds(matches!(written.fork, Some(Answer::Done(_))), "its answer", &written);
    let found = b.get(id(1)).await;
    b.same("where it stands", &found.head, &b.to(&record, "SOURCE_DONE"));
    b.same("its error", &found.error, &None);
    b.same("the balance", &b.balance().await, &(START - 100, 100));
    let last =
        b.history(id(1)).await.last().map(|l| (l.entry.event.clone(), l.entry.detail.clone()));
    b.same("its last event", &last, &Some(("SOURCE_OK".to_owned(), None)));
    let line = b.line(id(1)).await.map(|line| line.operations);
    let stored = line.as_deref().map(|operations| {
        let of = |(ledger, o): &(LedgerId, kernel::operation::Operation)| {
            (*ledger, o.op.clone(), o.outcome.clone())
        };
        operations.iter().map(of).collect::<Vec<_>>()
    });
    let should = vec![(LedgerId::FUNDING, op(1, Withdraw, 100), StoredOutcome::Done)];
    b.same("its operation", &stored, &Some(should));
}

async fn a_refused_fork_writes_the_other_and_completes_it(b: &mut JournalFixture) {
    let record = pending(b, 1).await;
    let written = b.written("a withdraw", withdraw(b, &record, 1, START + 1)).await;
    let why = Evidence::code(Code::InsufficientBalance.name());
    let fits = matches!(&written.fork, Some(Answer::Rejected(said, _)) if said.code == why.code);
    b.holds(fits, "its answer", &written);
    let found = b.get(id(1)).await;
    b.same("where it stands", &found.head, &b.to(&record, "FAILED"));
    b.same("its error", &found.error.map(|error| error.code), &Some(why.code.clone()));
    b.same("the balance", &b.balance().await, &(START, 0));
    b.holds(!b.is_open(id(1)).await, "it is still open", &());
    let last =
        b.history(id(1)).await.last().map(|l| (l.entry.event.clone(), l.entry.detail.clone()));
    let should = ("SOURCE_FAIL".to_owned(), Some(why.code.into_owned()));
    b.same("its last event", &last, &Some(should));
    // the refusal is stored with the unit
    let line = b.line(id(1)).await;
    let outcome = line.and_then(|line| line.operations.first().map(|(_, o)| o.outcome.clone()));
    b.holds(matches!(outcome, Some(StoredOutcome::Rejected(_))), "its operation", &outcome);
}

async fn what_a_plan_said_itself_is_not_overwritten(b: &mut JournalFixture) {
    let record = pending(b, 1).await;
    let own = Evidence::code("OF_OUR_OWN");
    let mut unit = withdraw(b, &record, 1, START + 1);
    let Some(rejected) = unit.then.fork.as_mut().and_then(|fork| fork.rejected.as_mut()) else {
        return;
    };
    for put in &mut rejected.puts {
        if let Put::Head { error, .. } = put {
            *error = Some(own.clone());
        }
    }
    let mut first = b.event(&record, "FAILED", "SOURCE_FAIL");
    first.detail = Some("said".into());
    rejected.events = vec![first, b.event(&record, "FAILED", "A"), b.event(&record, "FAILED", "B")];
    b.written("a refusal", unit).await;
    b.same("its error", &b.get(id(1)).await.error, &Some(own));
    let said: Vec<_> =
        b.history(id(1)).await.iter().skip(2).map(|l| l.entry.detail.clone()).collect();
    let code = Code::InsufficientBalance.name().to_owned();
    b.same("the details", &said, &vec![Some("said".to_owned()), Some(code), None]);
}

async fn a_stored_answer_chooses(b: &mut JournalFixture) {
    let known = b.funding_known().await;
    for (n, amount, state) in [(1, 100, "SOURCE_DONE"), (2, START * 9, "FAILED")] {
        let record = pending(b, n).await;
        let ops = [op(n, Withdraw, amount)].into();
        let reply = b.on().funding.execute(known, ops).await;
        let Reply::Answered(_, answers) = reply else {
            b.holds(false, "a withdraw", &reply);
            return;
        };
        b.give(&format!("later {n}"), RICH, START * 7).await;
        let balance = b.balance().await;
        let written = b.written("the same in a unit", withdraw(b, &record, n, amount)).await;
        b.same("the stored answer", &written.fork.as_ref(), &answers.first());
        b.same("where it stands", &b.get(id(n)).await.head.state, &b.state(state));
        b.same("no second effect", &b.balance().await, &balance);
    }
}

async fn a_fence_counts_as_a_refusal(b: &mut JournalFixture) {
    let record = pending(b, 1).await;
    let known = b.funding_known().await;
    b.on().funding.fence(known, op(1, Withdraw, 1).key).await;
    let written = b.written("a fenced withdraw", withdraw(b, &record, 1, 100)).await;
    let fits = matches!(&written.fork, Some(Answer::Rejected(why, _)) if why.code == "FENCED");
    b.holds(fits, "its answer", &written);
    b.same("where it stands", &b.get(id(1)).await.head.state, &b.state("FAILED"));
    b.same("the balance", &b.balance().await, &(START, 0));
}

async fn an_unknown_fork_writes_nothing(b: &mut JournalFixture) {
    let record = pending(b, 1).await;
    b.written("a withdraw", withdraw(b, &record, 1, 100)).await;
    let record = b.get(id(1)).await;
    let other = withdraw(b, &record, 1, 101);
    b.unknown("another amount under its key", other, "CONTRADICTION").await;
    let nothing = withdraw(b, &record, 2, 0);
    b.unknown("a bad operation", nothing, "BAD_OPERATION").await;
    let way_back = way(b, &record, "ROLLED_BACK", "ROLLBACK_OK");
    let early =
        Unit { guards: vec![b.stands(&record)], ..b.fork(op(3, Refund, 5), way_back, None) };
    b.unknown("a refund without its withdraw", early, "CONTRADICTION").await;
}

async fn a_push_has_one_way(b: &mut JournalFixture) {
    let record = pending(b, 1).await;
    b.written("a withdraw", withdraw(b, &record, 1, 100)).await;
    let record = b.moved(&b.get(id(1)).await, "COMPENSATING").await;
    let done = way(b, &record, "ROLLED_BACK", "ROLLBACK_OK");
    let refund = Unit { guards: vec![b.stands(&record)], ..b.fork(op(1, Refund, 100), done, None) };
    let written = b.written("a refund", refund).await;
    b.holds(matches!(written.fork, Some(Answer::Done(_))), "its answer", &written);
    b.same("where it stands", &b.get(id(1)).await.head.state, &b.state("ROLLED_BACK"));
    b.same("the balance", &b.balance().await, &(START, 0));
    // a refusal that no way was planned for is no answer
    let before = b.image().await;
    let refused = b.fork(op(2, Withdraw, START * 9), Then::default(), None);
    let wrote = b.one(refused).await;
    b.holds(matches!(wrote, kernel::unit::Wrote::Unknown(_)), "a refusal without a way", &wrote);
    b.same("what it wrote", &b.image().await, &before);
}

async fn settled(b: &JournalFixture, n: u64, amount: u128) -> Unit {
    let record = b.get(id(n)).await;
    let mut unit = b.moving(&record, "COMMITTED", "TARGET_OK");
    unit.then.ops = vec![(LedgerId::FUNDING, op(n, Settle, amount))];
    unit
}

async fn a_settle_goes_with_the_unit(b: &mut JournalFixture) {
    let record = pending(b, 1).await;
    b.written("a withdraw", withdraw(b, &record, 1, 100)).await;
    b.written("a settle", settled(b, 1, 100).await).await;
    b.same("where it stands", &b.get(id(1)).await.head.state, &b.state("COMMITTED"));
    b.same("the balance", &b.balance().await, &(START - 100, 0));
    let mut snapshot = b.ok("snapshot", b.on().journal.snapshot().await);
    let books = b.ok("books", snapshot.books(LedgerId::FUNDING).await);
    let clearing = books.iter().find(|(asset, _)| *asset == COIN).map(|(_, t)| t.clearing);
    b.same("clearing", &clearing, &Some(100));
}

async fn a_hindered_settle_keeps_the_unit_from_being_written(b: &mut JournalFixture) {
    let record = pending(b, 1).await;
    b.unknown("a settle too early", settled(b, 1, 100).await, "CONTRADICTION").await;
    b.written("a withdraw", withdraw(b, &record, 1, 100)).await;
    b.unknown("a settle of less", settled(b, 1, 99).await, "CONTRADICTION").await;
    // one of two is hindered: neither is done
    let mut two = settled(b, 1, 100).await;
    two.then.ops.push((LedgerId::FUNDING, op(2, Settle, 5)));
    b.unknown("one of two", two, "CONTRADICTION").await;
    b.written("the settle", settled(b, 1, 100).await).await;
    b.same("the balance", &b.balance().await, &(START - 100, 0));
}

async fn a_way_may_settle_too(b: &mut JournalFixture) {
    let record = pending(b, 1).await;
    let mut unit = withdraw(b, &record, 1, 100);
    if let Some(fork) = &mut unit.then.fork {
        fork.done.ops = vec![(LedgerId::FUNDING, op(1, Settle, 99))];
    }
    b.unknown("a way whose settle is hindered", unit.clone(), "CONTRADICTION").await;
    if let Some(fork) = &mut unit.then.fork {
        fork.done.ops = vec![(LedgerId::FUNDING, op(1, Settle, 100))];
    }
    b.written("a withdraw that settles at once", unit).await;
    b.same("the balance", &b.balance().await, &(START - 100, 0));
    let count = b.line(id(1)).await.map(|line| line.operations.len());
    b.same("its operations", &count, &Some(2));
}

async fn a_fork_after_a_lost_guard_is_not_decided(b: &mut JournalFixture) {
    let record = pending(b, 1).await;
    let stale = Record { head: b.to(&record, "SOURCE_PENDING"), ..record.clone() };
    let guard = b.stands(&stale);
    b.lost("a stale withdraw", withdraw(b, &stale, 1, 100), guard).await;
    b.written("a halt", super::fixture::plain(vec![Put::Halt { reason: "stop".into() }])).await;
    let mut unit = withdraw(b, &record, 1, 100);
    unit.guards.push(Guard::NotHalted);
    b.lost("a withdraw under HALT", unit, Guard::NotHalted).await;
    b.same("the balance", &b.balance().await, &(START, 0));
}

async fn forks_of_one_group_share_the_balance(b: &mut JournalFixture) {
    let mut group = Vec::new();
    for n in 1..6 {
        let record = pending(b, n).await;
        group.push(withdraw(b, &record, n, START / 2));
    }
    let wrote = b.all(group).await;
    let mut done = 0;
    for wrote in &wrote {
        match wrote {
            kernel::unit::Wrote::Written(w) if matches!(w.fork, Some(Answer::Done(_))) => done += 1,
            kernel::unit::Wrote::Written(_) => {}
            kernel::unit::Wrote::Lost(_)
            | kernel::unit::Wrote::Full
            | kernel::unit::Wrote::Refused(_)
            | kernel::unit::Wrote::Unknown(_) => b.holds(false, "one of a group", wrote),
        }
    }
    b.same("withdraws that had enough", &done, &2);
    b.same("the balance", &b.balance().await, &(0, START));
}

async fn one_opening_one_write(b: &mut JournalFixture) {
    b.set_status(AccountStatus::Frozen, "freeze").await;
    for (n, state) in [(1, "FAILED"), (2, "SOURCE_DONE")] {
        // the fused path: the row, the claim, the withdraw and what it leads to
        let mut record = b.bound(b.record(n, RICH, 10), "s", &n.to_string());
        record.head = b.to(&record, "SOURCE_PENDING");
        let mut unit = b.opening(&record);
        unit.then.fork = withdraw(b, &record, n, 10).then.fork;
        let written = b.written("a fused opening", unit).await;
        let found = b.get(id(n)).await;
        b.same("its number", &found.serial, &written.serial);
        let stands = (found.head.state, found.head.version, found.created_at);
        b.same("where it stands", &stands, &(b.state(state), 2, found.updated_at));
        let numbers: Vec<_> = b.history(id(n)).await.iter().map(|l| l.entry.seq).collect();
        b.same("its history", &numbers, &vec![0, 1]);
        b.set_status(AccountStatus::Active, "thaw").await;
    }
    b.same("the balance", &b.balance().await, &(START - 10, 10));
}

/// Also where a journal knows without a look that the transfers had no operations before.
async fn each_operation_has_a_number_of_its_own(b: &mut JournalFixture) {
    for n in 1..=3 {
        let record = pending(b, n).await;
        b.written("a withdraw", withdraw(b, &record, n, 100)).await;
    }
    let Reply::Answered(_, listed) = b.on().funding.operations(0, 100).await else {
        return b.holds(false, "Funding answers", &());
    };
    let numbers: BTreeSet<u64> = listed.iter().map(|operation| operation.seq).collect();
    b.same("operations above 0, each number once", &(listed.len(), numbers.len()), &(3, 3));
}
