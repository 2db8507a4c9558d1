//! Checks which transfers are due: those whose time has come, and those without an owner.

use super::checks;
use super::fixture::{JournalFixture, NOON, RICH, id};
use kernel::record::{Head, Record};
use kernel::unit::Hold::{Free, Mine};
use kernel::unit::{Put, Unit};

checks! {
    what_this_process_opened_is_its_own,
    a_free_one_comes_when_its_time_has_come,
    one_that_is_handed_out_comes_once,
    a_kept_one_comes_only_when_its_keeper_forgot_it,
    a_long_wait_is_a_wait,
    a_time_that_a_clock_set_back_left_ahead_comes_within_its_wait,
    one_that_ended_never_comes,
    a_time_is_taken_back,
    no_more_than_asked_for,
    an_orphan_comes_after_a_restart,
    orphans_with_the_fewest_deaths_come_first,
    one_with_a_time_is_no_orphan,
    one_opened_for_the_scanner_comes,
    what_is_of_another_flow_stays_for_a_worker_that_asks_for_it,
    an_orphan_comes_before_what_is_due,
}

const FAR: usize = 100;

async fn what_this_process_opened_is_its_own(b: &mut JournalFixture) {
    let record = b.opened(1).await;
    b.moved(&record, "SOURCE_PENDING").await;
    for later in [0, 10_000, 7_200_000] {
        b.clock.set(NOON + later);
        b.same("what is due", &b.due(FAR).await, &vec![]);
    }
}

async fn a_free_one_comes_when_its_time_has_come(b: &mut JournalFixture) {
    let record = b.opened(1).await;
    b.timed(&record, Some(NOON + 1_000), Free).await;
    b.same("too early", &b.due(FAR).await, &vec![]);
    b.clock.set(NOON + 999);
    b.same("still too early", &b.due(FAR).await, &vec![]);
    b.clock.set(NOON + 1_000);
    b.same("in time", &b.due(FAR).await, &vec![("transfer", id(1))]);
}

async fn one_that_is_handed_out_comes_once(b: &mut JournalFixture) {
    let record = b.opened(1).await;
    let record = b.timed(&record, Some(NOON), Free).await;
    b.same("the first time", &b.due(FAR).await, &vec![("transfer", id(1))]);
    for later in [0, 10_000, 3_000_000] {
        b.clock.set(NOON + later);
        b.same("while it is held", &b.due(FAR).await, &vec![]);
    }
    // a move without a time is a move of its holder
    let record = b.moved(&record, "SOURCE_PENDING").await;
    b.same("while it is moved", &b.due(FAR).await, &vec![]);
    let record = b.timed(&record, Some(NOON + 3_000_100), Free).await;
    b.same("before its new time", &b.due(FAR).await, &vec![]);
    b.clock.set(NOON + 3_000_100);
    b.same("at its new time", &b.due(FAR).await, &vec![("transfer", id(1))]);
    let record = b.timed(&record, Some(NOON), Free).await;
    b.same("given back", &b.due(FAR).await, &vec![("transfer", id(1))]);
    b.timed(&record, None, Mine).await;
    b.same("carried on", &b.due(FAR).await, &vec![]);
}

async fn a_kept_one_comes_only_when_its_keeper_forgot_it(b: &mut JournalFixture) {
    let record = b.opened(1).await;
    b.timed(&record, Some(NOON + 1_000), Mine).await;
    for later in [1_000, 5_900] {
        b.clock.set(NOON + later);
        b.same("while its keeper has it", &b.due(FAR).await, &vec![]);
    }
    b.clock.set(NOON + 6_100);
    b.same("when its keeper forgot it", &b.due(FAR).await, &vec![("transfer", id(1))]);
    b.same("once", &b.due(FAR).await, &vec![]);
}

/// The settings bound no wait: one of hours is not taken for a mistake and tried at each look.
async fn a_long_wait_is_a_wait(b: &mut JournalFixture) {
    const WAIT: u64 = 3 * 3_600_000;
    let record = b.opened(1).await;
    b.timed(&record, Some(NOON + WAIT), Free).await;
    for later in [0, 10_000, WAIT - 1] {
        b.clock.set(NOON + later);
        b.same("before its time", &b.due(FAR).await, &vec![]);
    }
    b.clock.set(NOON + WAIT);
    b.same("in its time", &b.due(FAR).await, &vec![("transfer", id(1))]);
}

/// The wait is counted from when it was written, whatever that clock showed.
async fn a_time_that_a_clock_set_back_left_ahead_comes_within_its_wait(b: &mut JournalFixture) {
    const WAIT: u64 = 20_000;
    for (n, ahead) in [(1, 59 * 60_000), (2, 366 * 86_400_000)] {
        let record = b.opened(n).await;
        b.clock.set(NOON + ahead);
        let record = b.timed(&record, Some(b.on().journal.now() + WAIT), Free).await;
        b.clock.set(NOON);
        // another process, which saw nothing of the jump
        b.reopen().await;
        b.clock.forward(2 * WAIT + 2);
        b.same("after its wait", &b.due(FAR).await, &vec![("transfer", id(n))]);
        b.same("once", &b.due(FAR).await, &vec![]);
        b.moved(&record, "FAILED").await;
    }
}

async fn one_that_ended_never_comes(b: &mut JournalFixture) {
    let record = b.opened(1).await;
    let record = b.timed(&record, Some(NOON), Free).await;
    b.moved(&record, "FAILED").await;
    b.same("after its end", &b.due(FAR).await, &vec![]);
    // not even where its last put names a time
    let record = b.opened(2).await;
    let head = Head { due_at: Some(NOON), ..b.to(&record, "FAILED") };
    let unit = Unit::guarded(vec![b.stands(&record)], vec![b.head(id(2), head)]);
    b.written("an end with a time", unit).await;
    b.same("after its end", &b.due(FAR).await, &vec![]);
    b.reopen().await;
    b.clock.set(NOON + 60_000);
    b.same("after a restart", &b.due(FAR).await, &vec![]);
}

async fn a_time_is_taken_back(b: &mut JournalFixture) {
    let record = b.opened(1).await;
    let record = b.timed(&record, Some(NOON + 1_000), Free).await;
    b.timed(&record, None, Mine).await;
    b.clock.set(NOON + 60_000);
    b.same("what is due", &b.due(FAR).await, &vec![]);
}

async fn no_more_than_asked_for(b: &mut JournalFixture) {
    for n in 1..8 {
        let record = b.opened(n).await;
        b.timed(&record, Some(NOON), Free).await;
    }
    let mut all = Vec::new();
    for _ in 0..7 {
        let due = b.due(3).await;
        b.holds(due.len() <= 3, "more than asked for", &due);
        all.extend(due);
    }
    all.sort_unstable();
    let should: Vec<_> = (1..8).map(|n| ("transfer", id(n))).collect();
    b.same("all of them, once each", &all, &should);
}

async fn an_orphan_comes_after_a_restart(b: &mut JournalFixture) {
    let record = b.opened(1).await;
    b.moved(&record, "SOURCE_PENDING").await;
    let ended = b.opened(2).await;
    b.moved(&ended, "FAILED").await;
    for n in 3..5 {
        b.reopen().await;
        b.same("what is left without an owner", &b.due(FAR).await, &vec![("orphan", id(1))]);
        b.same("once", &b.due(FAR).await, &vec![]);
        let record = b.get(id(1)).await;
        b.timed(&record, None, Mine).await;
        b.same("while it is held", &b.due(FAR).await, &vec![]);
        let record = b.opened(n).await;
        b.same("new ones are no orphans", &b.due(FAR).await, &vec![]);
        b.moved(&record, "FAILED").await;
    }
}

async fn orphans_with_the_fewest_deaths_come_first(b: &mut JournalFixture) {
    for (n, deaths) in [(1, 3), (2, 0), (3, 7), (4, 1)] {
        let record = b.opened(n).await;
        let head = Head { deaths, alone: deaths > 0, ..b.to(&record, "SOURCE_PENDING") };
        let unit = Unit::guarded(vec![b.stands(&record)], vec![b.head(id(n), head)]);
        b.written("a trial", unit).await;
    }
    b.reopen().await;
    let mut order = Vec::new();
    for _ in 0..4 {
        order.extend(b.due(1).await.into_iter().map(|(_, id)| id));
    }
    b.same("the fewest deaths first", &order, &vec![id(2), id(4), id(1), id(3)]);
}

async fn one_with_a_time_is_no_orphan(b: &mut JournalFixture) {
    for (n, due, hold) in [(1, 1_000, Free), (2, 1_000, Mine), (3, 50_000, Mine)] {
        let record = b.opened(n).await;
        b.timed(&record, Some(NOON + due), hold).await;
    }
    b.reopen().await;
    b.same("before their time", &b.due(FAR).await, &vec![]);
    b.clock.set(NOON + 10_000);
    let mut due = b.due(FAR).await;
    due.sort_unstable();
    // whoever kept the second is gone
    b.same("in their time", &due, &vec![("transfer", id(1)), ("transfer", id(2))]);
    b.clock.set(NOON + 60_000);
    b.same("and the last", &b.due(FAR).await, &vec![("transfer", id(3))]);
}

async fn one_opened_for_the_scanner_comes(b: &mut JournalFixture) {
    let record = b.record(1, RICH, 10);
    let mut unit = b.opening(&record);
    let head = Head { due_at: Some(NOON), ..record.head };
    unit.then.puts.push(Put::Head { id: id(1), head, error: None, hold: Free });
    b.written("an opening", unit).await;
    b.same("what is due", &b.due(FAR).await, &vec![("transfer", id(1))]);
    b.same("once", &b.due(FAR).await, &vec![]);
}

/// Red in a journal that looks at the time alone: the flow's rows come to a worker that does not carry
/// it, take the places of others, or are gone for the worker that does.
async fn what_is_of_another_flow_stays_for_a_worker_that_asks_for_it(b: &mut JournalFixture) {
    let other = b.flows.named("account").unwrap_or(b.flow);
    let head = Head::start(b.flows.table(other).start);
    for (n, due_at) in [(1, Some(NOON)), (2, None)] {
        let mut unit = b.opening(&Record { flow: other, head, ..b.record(n, RICH, 10) });
        if due_at.is_some() {
            let head = Head { due_at, ..head };
            unit.then.puts.push(Put::Head { id: id(n), head, error: None, hold: Free });
        }
        b.written("an opening", unit).await;
    }
    let ours = b.opened(3).await;
    b.timed(&ours, Some(NOON), Free).await;
    b.clock.set(NOON + 10);
    let due = b.due_of(&[b.flow], 1).await;
    b.same("the one place is for what was asked for", &due, &vec![("transfer", id(3))]);
    let image = b.image().await;
    for later in [0, 10_000, 20_000] {
        b.clock.set(NOON + later);
        b.same("of our flow", &b.due_of(&[b.flow], FAR).await, &vec![]);
        b.same("of no flow", &b.due_of(&[], FAR).await, &vec![]);
    }
    b.same("what every reader sees", &b.image().await, &image);
    b.same("of the other flow", &b.due_of(&[other], FAR).await, &vec![("transfer", id(1))]);
    b.reopen().await;
    for _ in 0..2 {
        b.same("of no flow", &b.due_of(&[], FAR).await, &vec![]);
    }
    b.same("after a restart", &b.due_of(&[b.flow], FAR).await, &vec![("transfer", id(3))]);
    let mut due = b.due_of(&[other], FAR).await;
    due.sort_unstable();
    b.same("an orphan too", &due, &vec![("orphan", id(2)), ("transfer", id(1))]);
}

/// Where what is due fills a small worker's room again and again, an orphan would never come.
async fn an_orphan_comes_before_what_is_due(b: &mut JournalFixture) {
    for n in [1, 2] {
        let waits = b.opened(n).await;
        b.timed(&waits, Some(NOON), Free).await;
    }
    let orphan = b.opened(3).await;
    b.moved(&orphan, "SOURCE_PENDING").await;
    b.reopen().await;
    b.clock.set(NOON + 10_000);
    for should in [("orphan", id(3)), ("transfer", id(1)), ("transfer", id(2))] {
        b.same("the one that comes", &b.due(1).await, &vec![should]);
    }
}
