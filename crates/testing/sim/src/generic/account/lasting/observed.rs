//! Looks at a run from outside, once a second of real time: when each transfer ended, which cases were open since
//! when, and which alarm did not come at its time.

use super::stranger::StrangersMessage;
use crate::journal::Place;
use crate::service::SimProcess;
use crate::world::Sim;
use kernel::answer::Cause;
use kernel::ids::{Id, Millis};
use kernel::operators::Subject;
use kernel::ports::bus::BusMessage;
use kernel::ports::clock::Clock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The interval of the looks.
const EVERY: Millis = 1_000;
/// The longest time from when an alarm is due until it is stored.
const SOON: Millis = 20_000;
/// The age in seconds at which an open transfer is reported as stuck.
pub(super) const STUCK_SECONDS: u64 = 300;
/// After this time an unpublished message is reported.
const UNPUBLISHED: Millis = 60_000;
/// The largest lead of the journal's time over its clock without a report.
const AHEAD: Millis = 10_000;
/// A message of a stranger is reported within this time: the audit looks again at what waits before it.
const REPORTED: Millis = 60_000;

/// A transfer as its client saw it, in milliseconds of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub id: Id,
    pub opened: Millis,
    pub ended: Option<Millis>,
}

/// Since when a fact stands that must be reported, and what it is.
#[derive(Debug, Clone, Copy)]
struct LastingFact<T> {
    fact: T,
    since: Millis,
}

/// What was seen of a run.
#[derive(Debug, Default)]
pub(super) struct Observed {
    pub transfers: BTreeMap<usize, Seen>,
    pub strangers: Vec<StrangersMessage>,
    /// When each case was seen first.
    cases: BTreeMap<(&'static str, Subject), Millis>,
    /// The oldest message of the outbox.
    unpublished: Option<LastingFact<Millis>>,
    ahead: Option<LastingFact<()>>,
    /// Alarms that did not come, each once.
    missing: BTreeMap<String, Millis>,
}

/// The observer of a run. A handle: clones are the same one.
#[derive(Clone)]
pub(super) struct Observer {
    observed: Arc<Mutex<Observed>>,
    pub process: SimProcess,
    pub place: Place,
    pub sim: Sim,
    /// The clock of the journal.
    pub clock: Sim,
    /// When the run began.
    pub begun: Millis,
}

impl Observer {
    pub(super) fn new(process: SimProcess, place: Place, sim: Sim, clock: Sim) -> Self {
        let begun = sim.time();
        Self { observed: Arc::default(), process, place, sim, clock, begun }
    }

    pub(super) fn observed(&self) -> MutexGuard<'_, Observed> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds of the run, whatever was done to any clock.
    pub(super) fn now(&self) -> Millis {
        self.sim.time().saturating_sub(self.begun)
    }

    /// Looks for as long as the process lives.
    pub(super) async fn run(self) {
        loop {
            if let Err(cause) = self.look().await {
                self.observed().missing.insert(format!("the journal does not answer: {cause}"), 0);
            }
            self.sim.sleep(EVERY).await;
        }
    }

    async fn look(&self) -> Result<(), Cause> {
        let open = self.process.opened.journal.open_cases().await?;
        let backlog = self.process.opened.outbox.backlog().await?;
        let ahead = self.process.opened.journal.now().saturating_sub(self.clock.now()) > AHEAD;
        let now = self.now();
        let mut observed = self.observed();
        let seen: Vec<(Arc<str>, Subject)> =
            open.into_iter().map(|case| (case.kind, case.subject)).collect();
        for case in self.place.episodes() {
            observed.cases.entry(case).or_insert(now);
        }
        let oldest = backlog.oldest.filter(|_| backlog.messages > 0);
        observed.unpublished = lasting_since(observed.unpublished, oldest, now);
        observed.ahead = lasting_since(observed.ahead, ahead.then_some(()), now);
        let mut due = Vec::new();
        // the journal's time goes on at half its speed at least
        if observed.unpublished.is_some_and(|one| one.since + 2 * UNPUBLISHED + SOON < now) {
            due.push(("OUTBOX_AGE", Subject::Service));
        }
        if observed.ahead.is_some_and(|one| one.since + SOON < now) {
            due.push(("CLOCK", Subject::Service));
        }
        // its client may not have seen yet that it ended, with which the case is closed
        let stuck = |one: &&Seen| {
            let subject = Subject::Transfer(one.id);
            let old = one.opened + 2 * STUCK_SECONDS * 1_000 + SOON < now;
            one.ended.is_none() && old && !observed.cases.contains_key(&("STUCK", subject))
        };
        let stuck = observed.transfers.values().filter(stuck);
        due.extend(stuck.map(|one| ("STUCK", Subject::Transfer(one.id))));
        for (kind, subject) in due {
            if !seen.contains(&(kind.into(), subject)) {
                observed.missing.entry(format!("no {kind} of {subject} is open")).or_insert(now);
            }
        }
        Ok(())
    }
}

/// The fact that stands now, with the time since when it is the same.
fn lasting_since<T: PartialEq>(
    before: Option<LastingFact<T>>,
    fact: Option<T>,
    now: Millis,
) -> Option<LastingFact<T>> {
    let fact = fact?;
    let since = before.filter(|before| before.fact == fact).map_or(now, |before| before.since);
    Some(LastingFact { fact, since })
}

impl Observed {
    /// The alarms that did not come at their time, as of now.
    pub(super) fn missing_alarms(&self, now: Millis) -> Vec<String> {
        let missing = self.missing.iter().map(|(what, at)| format!("{what} at {at}"));
        let late = self.strangers.iter().filter(|one| match self.reported(one) {
            Some(reported) => reported > one.at + REPORTED,
            None => now > one.at + REPORTED,
        });
        missing.chain(late.map(|one| format!("not reported: {one:?}"))).collect()
    }

    /// Whether the report of each message of a stranger was seen.
    pub(super) fn all_reported(&self) -> bool {
        self.strangers.iter().all(|one| self.reported(one).is_some())
    }

    /// When the report of a message was seen.
    fn reported(&self, one: &StrangersMessage) -> Option<Millis> {
        let subject = one.about.map_or(Subject::Service, Subject::Transfer);
        self.cases.get(&("MESSAGE_MISMATCH", subject)).copied()
    }

    /// The messages of strangers that no consumer refused.
    pub(super) fn not_dead(&self, messages: &[BusMessage]) -> Vec<String> {
        let died = |one: &StrangersMessage| messages.iter().any(|letter| one.died_as(letter));
        let alive = self.strangers.iter().filter(|one| one.must_die() && !died(one));
        alive.map(|one| format!("no dead letter: {one:?}")).collect()
    }

    /// Whether a message on the bus is of a stranger, or its dead letter.
    pub(super) fn is_strange(&self, message: &BusMessage) -> bool {
        self.strangers.iter().any(|one| one.message == *message || one.died_as(message))
    }
}
