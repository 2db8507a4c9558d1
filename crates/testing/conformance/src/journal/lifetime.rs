//! Checks that a journal is durable over restarts, and that its time never goes back.

use super::checks;
use super::fixture::{
    COIN, JournalFixture, NOON, RICH, TODAY, id, known, op, pause, plain, receipt,
};
use kernel::flow::life::Leg::{Deposit, Withdraw};
use kernel::ids::LedgerId;
use kernel::limits::DailyCount;
use kernel::money::{Amount, Asset};
use kernel::operators::{Case, Severity, Subject};
use kernel::ports::ledger::Reply;
use kernel::unit::Hold::Free;
use kernel::unit::{Hold, Put, Wrote};

checks! {
    what_was_answered_is_there_after_a_crash,
    time_never_goes_back,
    time_goes_on_from_the_last_write_after_a_restart,
    a_clock_that_was_ahead_delays_nothing_beyond_twice_its_wait,
    writes_of_many_are_each_answered,
}

async fn what_was_answered_is_there_after_a_crash(b: &mut JournalFixture) {
    for n in 1..6 {
        let record = b.bound(b.record(n, RICH, 10), "s", &n.to_string());
        b.written("an opening", b.opening(&record)).await;
        let record = b.get(id(n)).await;
        let record = b.moved(&record, "SOURCE_PENDING").await;
        b.timed(&record, (n % 2 == 0).then_some(NOON + 7), Hold::Mine).await;
    }
    let known_funding = b.funding_known().await;
    let ops = [op(1, Withdraw, 10), op(2, Withdraw, 1 << 90)].into();
    let reply = b.on().funding.execute(known_funding, ops).await;
    b.holds(matches!(reply, Reply::Answered(..)), "operations", &reply);
    let adopt = Put::Adopt { ledger: LedgerId::SPOT, known: known(1, 0) };
    let puts = vec![adopt, receipt(3, op(3, Deposit, 10)), Put::Horizon(id(0))];
    b.written("the rest", plain(puts)).await;
    let (severity, facts) = (Severity::Warning, "x".into());
    let puts = vec![
        pause(b.flow, "x"),
        Put::Case(Case { kind: "CHECK", severity, subject: Subject::Service, facts }),
        Put::Asset(Asset { daily: Some(Amount(7)), ..Asset::plain(1, "BTC", 8) }),
        Put::Count(DailyCount { user: RICH, day: TODAY, asset: COIN, amount: Amount(1) }),
    ];
    b.written("what operators see", plain(puts)).await;
    for _ in 0..2 {
        let before = b.image().await;
        b.reopen().await;
        b.same("after a crash", &b.image().await, &before);
        b.written("and it goes on", plain(vec![Put::Raise { name: "x".into(), to: 1 }])).await;
    }
}

async fn time_never_goes_back(b: &mut JournalFixture) {
    b.clock.set(NOON + 60_000);
    let record = b.opened(1).await;
    let mut last = record.updated_at;
    for jump in [NOON, NOON - 30_000, NOON + 60_001, NOON + 59_000] {
        b.clock.set(jump);
        b.holds(b.on().journal.now() >= last, "its time went back", &(jump, last));
        let written = b.written("a write", plain(vec![])).await;
        b.holds(written.at >= last, "a write's time went back", &(jump, written.at, last));
        last = written.at;
    }
    let record = b.moved(&record, "FAILED").await;
    b.holds(record.updated_at >= last, "a row's time went back", &(record.updated_at, last));
    b.holds(record.created_at <= record.updated_at, "its times", &record);
    let later = NOON + 240_000;
    b.clock.set(later);
    b.same("with the clock", &b.on().journal.now(), &later);
    b.same("is not ahead of it", &b.on().journal.ahead(), &0);
}

async fn time_goes_on_from_the_last_write_after_a_restart(b: &mut JournalFixture) {
    b.clock.set(NOON + 60_000);
    let record = b.opened(1).await;
    b.clock.set(NOON - 60_000);
    b.reopen().await;
    b.holds(b.on().journal.now() >= record.updated_at, "its time", &b.on().journal.now());
    let record = b.moved(&record, "FAILED").await;
    b.holds(record.updated_at >= record.created_at, "its times", &record);
}

/// Turns red where the journal's time stands still until the clock has caught up (run: the release before; nothing was
/// due for as long as the clock had been ahead).
async fn a_clock_that_was_ahead_delays_nothing_beyond_twice_its_wait(b: &mut JournalFixture) {
    for (n, ahead) in [(1, 60_000), (2, 3_000_000), (3, 86_400_000)] {
        let record = b.opened(n).await;
        let (clock, wait) = (b.on().journal.clock(), 30_000);
        b.clock.set(b.on().journal.now() + ahead);
        b.written("by the clock that is ahead", plain(vec![])).await;
        b.clock.set(clock);
        let due = b.on().journal.now() + wait;
        b.timed(&record, Some(due), Free).await;
        if n > 1 {
            b.reopen().await;
        }
        b.same("too early", &b.due(100).await, &vec![]);
        b.holds(b.on().journal.ahead() > 10_000, "how far it is ahead", &b.on().journal.ahead());
        b.same("the clock's own time", &b.on().journal.clock(), &clock);
        b.clock.forward(2 * wait + 2);
        b.same("after twice its wait", &b.due(100).await, &vec![("transfer", id(n))]);
        let record = b.get(id(n)).await;
        b.moved(&record, "FAILED").await;
    }
}

async fn writes_of_many_are_each_answered(b: &mut JournalFixture) {
    let journal = &b.on().journal;
    let writes = (0..30).map(|n| {
        let units = (0..3).map(|k| b.opening(&b.record(1_000 + n * 3 + k, RICH, 1)));
        journal.write(units.collect())
    });
    let wrote = super::fixture::together(writes.collect()).await;
    let mut numbers = Vec::new();
    for wrote in wrote.into_iter().flatten() {
        match wrote {
            Wrote::Written(written) => numbers.extend(written.serial),
            Wrote::Lost(_) | Wrote::Full | Wrote::Refused(_) | Wrote::Unknown(_) => {
                b.holds(false, "one", &wrote)
            }
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    b.same("numbers, none twice", &numbers.len(), &90);
    b.same("all are open", &b.ok("counts", journal.counts().await).len(), &1);
}
