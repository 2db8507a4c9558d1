//! Callers who wait for the end of a transfer.

use crate::Engine;
use kernel::ids::Id;
use kernel::record::Record;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot};

/// Where an end is told.
pub(crate) type Ear = oneshot::Sender<Record>;

/// Those who wait for one transfer.
#[derive(Debug)]
struct Ears {
    /// When the first of them came, by the clock's ticks.
    since: u64,
    ears: Vec<Ear>,
}

/// Everybody who waits, by transfer.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    ears: Mutex<BTreeMap<Id, Ears>>,
    /// Rung when somebody comes.
    bell: Notify,
}

impl Waiting {
    fn ears(&self) -> MutexGuard<'_, BTreeMap<Id, Ears>> {
        self.ears.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more waits.
    pub(crate) fn add(&self, id: Id, ear: Ear, ticks: u64) {
        {
            let mut ears = self.ears();
            let waiting = ears.entry(id).or_insert(Ears { since: ticks, ears: Vec::new() });
            waiting.ears.retain(|ear| !ear.is_closed());
            waiting.ears.push(ear);
        }
        self.bell.notify_one();
    }

    /// Those whose transfer somebody has waited for since then or longer, or that is elsewhere, at
    /// most so many; nothing where nobody waits at all.
    fn asked(&self, since: u64, elsewhere: impl Fn(Id) -> bool, most: usize) -> Option<Vec<Id>> {
        let ears = self.ears();
        if ears.is_empty() {
            return None;
        }
        let listens = |waiting: &Ears| waiting.ears.iter().any(|ear| !ear.is_closed());
        let due = |id: Id, waiting: &Ears| waiting.since <= since || elsewhere(id);
        let asked = ears.iter().filter(|(id, waiting)| due(**id, waiting) && listens(waiting));
        Some(asked.map(|(id, _)| *id).take(most).collect())
    }

    /// Waits until somebody came since the last time.
    pub(crate) async fn come(&self) {
        self.bell.notified().await;
    }

    /// The transfer ended.
    pub(crate) fn tell(&self, record: Record) {
        let Some(waiting) = self.ears().remove(&record.id) else { return };
        for ear in waiting.ears {
            // nobody listens any more where the caller went away
            let _gone = ear.send(record.clone());
        }
    }

    /// Forgets those who went away.
    pub(crate) fn sweep(&self) {
        self.ears().retain(|_, waiting| {
            waiting.ears.retain(|ear| !ear.is_closed());
            !waiting.ears.is_empty()
        });
    }
}

/// Whoever has waited for so long for a transfer in our hands may wait for one that another worker
/// ended, in nanoseconds. For one that is in no hands of ours the journal is asked at once.
const LONG: u64 = 100_000_000;
/// How often the journal is asked for all of those, in milliseconds (`design.md` §4).
const ASK: u64 = 20;
/// So many transfers are asked for in one statement.
const AT_ONCE: usize = 10_000;

impl Engine {
    /// Tells callers of the ends that this process did not see.
    pub(crate) async fn run_waker(self: Arc<Self>) {
        loop {
            let long = self.parts.clock.ticks().saturating_sub(LONG);
            let elsewhere = |id| !self.held.has(id);
            let Some(ids) = self.waiting.asked(long, elsewhere, AT_ONCE) else {
                self.waiting.come().await;
                continue;
            };
            if !ids.is_empty() {
                // a journal that does not answer is asked again
                for record in self.parts.journal.get(ids).await.unwrap_or_default() {
                    if self.plan.table(record.flow).ends(record.head.state) {
                        self.waiting.tell(record);
                    }
                }
            }
            self.parts.clock.sleep(ASK).await;
        }
    }
}
