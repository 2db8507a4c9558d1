//! Checks when attempts are due: at their time or after their owner died, and never their members alone.

use super::super::checks;
use super::super::fixture::{JournalFixture, NOON, id, plain};
use super::{Next, SENT, attempt, claimed};
use kernel::attempt::Attempt;
use kernel::ids::Id;
use kernel::record::Head;
use kernel::unit::Hold::{Free, Mine};
use kernel::unit::Put;

checks! {
    a_dead_owners_attempt_comes_and_its_members_do_not,
    an_attempt_comes_when_its_time_has_come,
    an_attempt_that_a_clock_set_back_left_ahead_comes_within_its_wait,
    an_attempt_of_another_flow_stays_for_a_worker_that_asks_for_it,
    a_closed_attempt_gives_its_members_back,
}

const FAR: usize = 100;
const FIRST: (&str, Id) = ("attempt", Id(1));

async fn an_attempt_comes_when_its_time_has_come(b: &mut JournalFixture) {
    let made = claimed(b, 1, "1", &[1]).await;
    for later in [0, 60_000, 7_200_000] {
        b.clock.set(NOON + later);
        b.same("while its maker has it", &b.due(FAR).await, &vec![]);
    }
    let start = NOON + 7_200_000;
    let moved = |version, due, hold| {
        plain(vec![Next { due_at: Some(due), hold, ..Next::carried(version) }.put(made.id)])
    };
    b.written("a time", moved(2, start + 1_000, Free)).await;
    b.clock.set(start + 999);
    b.same("too early", &b.due(FAR).await, &vec![]);
    b.clock.set(start + 1_000);
    b.same("no more than asked for", &b.due(0).await, &vec![]);
    b.same("in time", &b.due(FAR).await, &vec![FIRST]);
    b.clock.set(start + 60_000);
    b.same("once", &b.due(FAR).await, &vec![]);
    b.written("kept", moved(3, start + 60_000, Mine)).await;
    b.clock.set(start + 64_000);
    b.same("while its keeper has it", &b.due(FAR).await, &vec![]);
    b.clock.set(start + 66_000);
    b.same("when its keeper forgot it", &b.due(FAR).await, &vec![FIRST]);
    let close = Next { closed: Some(start), due_at: Some(NOON), ..Next::carried(4) };
    b.written("closed", plain(vec![close.put(made.id)])).await;
    b.same("a closed one", &b.due(FAR).await, &vec![]);
}

async fn an_attempt_that_a_clock_set_back_left_ahead_comes_within_its_wait(b: &mut JournalFixture) {
    const WAIT: u64 = 20_000;
    let made = claimed(b, 1, "1", &[1]).await;
    b.clock.set(NOON + 59 * 60_000);
    let due_at = Some(b.on().journal.now() + WAIT);
    let put = Next { due_at, hold: Free, ..Next::carried(2) }.put(made.id);
    b.written("a time", plain(vec![put])).await;
    b.clock.set(NOON);
    b.reopen().await;
    b.clock.forward(2 * WAIT + 2);
    b.same("after its wait", &b.due(FAR).await, &vec![FIRST]);
    b.same("once", &b.due(FAR).await, &vec![]);
}

async fn an_attempt_of_another_flow_stays_for_a_worker_that_asks_for_it(b: &mut JournalFixture) {
    let other = b.flows.named("account").unwrap_or(b.flow);
    let state = b.flows.table(other).start;
    for (n, flow, state) in [(1, b.flow, b.state(SENT)), (2, other, state)] {
        let made =
            Attempt { flow, state, due_at: Some(NOON), ..attempt(b, n, &n.to_string(), &[]) };
        b.written("an attempt", plain(vec![Put::Attempt(made)])).await;
    }
    b.clock.set(NOON + 60_000);
    b.same("of no flow", &b.due_of(&[], FAR).await, &vec![]);
    b.same("of our flow", &b.due_of(&[b.flow], FAR).await, &vec![FIRST]);
    b.same("once", &b.due_of(&[b.flow], FAR).await, &vec![]);
    b.same("of the other", &b.due_of(&[other], FAR).await, &vec![("attempt", Id(2))]);
    b.reopen().await;
    b.same("of the other still", &b.due_of(&[other], FAR).await, &vec![("attempt", Id(2))]);
    b.same("of ours still", &b.due_of(&[b.flow], FAR).await, &vec![FIRST]);
}

async fn a_dead_owners_attempt_comes_and_its_members_do_not(b: &mut JournalFixture) {
    // one member waited before it was claimed: the scanner knows its row
    let waited = b.opened(3).await;
    b.timed(&waited, Some(NOON), Free).await;
    b.same("it was due", &b.due(FAR).await, &vec![("transfer", id(3))]);
    let waited = b.get(id(3)).await;
    let mut members = vec![b.opened(1).await, b.opened(2).await];
    members.push(waited);
    let made = attempt(b, 1, "1", &members);
    b.written("a claim", super::claim(b, &made)).await;
    let alone = b.opened(4).await;
    for _ in 0..2 {
        b.reopen().await;
        let mut due = b.due(FAR).await;
        due.sort_unstable();
        b.same("the attempt and who is no member", &due, &vec![FIRST, ("orphan", alone.id)]);
        b.clock.set(b.on().journal.now() + 60_000);
        b.same("once", &b.due(FAR).await, &vec![]);
    }
    let at = b.on().journal.now();
    let next = Next { due_at: Some(at + 9_000), ..Next::carried(2) };
    b.written("a time", plain(vec![next.put(made.id)])).await;
    b.reopen().await;
    b.same("before its time", &b.due(FAR).await, &vec![("orphan", alone.id)]);
    b.clock.set(at + 9_000);
    b.same("in its time", &b.due(FAR).await, &vec![FIRST]);
}

async fn a_closed_attempt_gives_its_members_back(b: &mut JournalFixture) {
    let made = claimed(b, 1, "1", &[1, 2, 3]).await;
    b.reopen().await;
    b.same("the attempt", &b.due(FAR).await, &vec![FIRST]);
    let mut close = plain(vec![Next { closed: Some(NOON), ..Next::carried(2) }.put(made.id)]);
    for (n, due_at, state, hold) in
        [(1, None, SENT, Mine), (2, Some(NOON), SENT, Free), (3, None, "FAILED", Mine)]
    {
        let member = b.get(id(n)).await;
        let head = Head { due_at, ..b.to(&member, state) };
        close.guards.push(b.stands(&member));
        close.then.puts.push(Put::Head { id: id(n), head, error: None, hold });
    }
    b.written("its close", close).await;
    b.same("what was put free", &b.due(FAR).await, &vec![("transfer", id(2))]);
    b.clock.set(NOON + 60_000);
    b.same("once", &b.due(FAR).await, &vec![]);
    let second = b.get(id(2)).await;
    b.timed(&second, None, Mine).await;
    b.reopen().await;
    let mut due = b.due(FAR).await;
    due.sort_unstable();
    b.same("members are orphans again", &due, &vec![("orphan", id(1)), ("orphan", id(2))]);
}
