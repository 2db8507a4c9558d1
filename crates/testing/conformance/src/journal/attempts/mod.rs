//! Checks attempts on chains: the journal returns them as written, takes a lock once for ever, and reassigns them
//! whole; also counters and resources.

mod due;
mod locks;
mod rows;
mod values;

use super::Fresh;
use super::fixture::{JournalFixture, id};
use kernel::attempt::{Attempt, AttemptId, Form, Lock, Purpose};
use kernel::ids::{ChainId, Millis};
use kernel::record::Record;
use kernel::unit::{Guard, Hold, Put, Unit};

pub(super) async fn run(fresh: &impl Fresh) {
    locks::run(fresh).await;
    rows::run(fresh).await;
    due::run(fresh).await;
    values::run(fresh).await;
}

/// The chain of the checks.
const CHAIN: ChainId = ChainId(31);
/// The lane of these attempts.
const LANE: &str = "key-1";
/// The state in which members stand while they are sent.
const SENT: &str = "SOURCE_PENDING";

/// A form that pays, with a name of this length in bytes.
fn form(name: u8, length: usize) -> Form {
    Form {
        purpose: Purpose::Pay,
        name: vec![name; length].into(),
        bytes: vec![name, 1, 2].into(),
        repeatable: true,
        expires: Some(100),
        anchor: Some(90),
        reference: None,
    }
}

/// The n-th attempt of these members under a lock, before it is made.
fn attempt(b: &JournalFixture, n: u128, lock: &str, members: &[Record]) -> Attempt {
    Attempt {
        id: AttemptId(n),
        chain: CHAIN,
        flow: b.flow,
        state: b.state(SENT),
        version: Attempt::FIRST,
        lane: LANE.into(),
        lock: Lock::from(lock),
        members: members.into(),
        forms: vec![form(1, 32)],
        sent: false,
        due_at: None,
        closed: None,
    }
}

/// Makes an attempt and claims its members in one unit.
fn claim(b: &JournalFixture, attempt: &Attempt) -> Unit {
    let mut unit = Unit::guarded(vec![Guard::NotHalted], vec![Put::Attempt(attempt.clone())]);
    for member in attempt.members.iter() {
        unit.guards.push(b.stands(member));
        unit.then.puts.push(b.head(member.id, b.to(member, SENT)));
        unit.then.events.push(b.event(member, SENT, "CLAIMED"));
    }
    unit
}

/// Opens transfers of these numbers and claims them for the n-th attempt.
async fn claimed(b: &JournalFixture, n: u128, lock: &str, transfers: &[u64]) -> Attempt {
    let mut members = Vec::new();
    for transfer in transfers {
        members.push(b.opened(*transfer).await);
    }
    let made = attempt(b, n, lock, &members);
    b.written("a claim", claim(b, &made)).await;
    made
}

/// Where an attempt is to stand next.
struct Next {
    version: u32,
    due_at: Option<Millis>,
    closed: Option<Millis>,
    hold: Hold,
}

impl Next {
    /// In its worker's hands.
    const fn carried(version: u32) -> Self {
        Self { version, due_at: None, closed: None, hold: Hold::Mine }
    }

    const fn put(self, id: AttemptId) -> Put {
        let Self { version, due_at, closed, hold } = self;
        Put::AttemptHead { id, version, sent: true, due_at, closed, hold }
    }
}

/// All members as they stand in the journal, in an attempt's order.
async fn as_they_stand(b: &JournalFixture, attempt: &Attempt) -> Vec<Record> {
    let mut members = Vec::new();
    for member in attempt.members.iter() {
        members.push(b.get(member.id).await);
    }
    members
}

/// What is compared of an attempt.
fn text(attempt: &Attempt) -> String {
    format!("{attempt:?}")
}

/// The n-th of some, from 0 on.
fn nth<T: Clone>(all: &[T], n: usize) -> T {
    all.get(n).cloned().unwrap_or_else(|| panic!("nothing in place {n}"))
}

/// The ids of transfers by their numbers.
fn ids(numbers: &[u64]) -> Vec<kernel::ids::Id> {
    numbers.iter().map(|n| id(*n)).collect()
}
