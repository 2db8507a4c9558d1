//! Callers who wait for the end of a transfer.

use crate::Engine;
use kernel::ids::Id;
use kernel::record::Record;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot};

/// Where an end is told.
pub(crate) type Waiter = oneshot::Sender<Record>;

/// Those who wait for one transfer.
#[derive(Debug)]
struct TransferWaiters {
    /// When the first of them came, by the clock's ticks.
    since: u64,
    waiters: Vec<Waiter>,
}

/// KnownLedgers who waits, by transfer.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    waiters: Mutex<BTreeMap<Id, TransferWaiters>>,
    /// Rung when a waiter comes.
    bell: Notify,
}

impl Waiters {
    fn waiters(&self) -> MutexGuard<'_, BTreeMap<Id, TransferWaiters>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, id: Id, waiter: Waiter, ticks: u64) {
        {
            let mut waiters = self.waiters();
            let waiting =
                waiters.entry(id).or_insert(TransferWaiters { since: ticks, waiters: Vec::new() });
            waiting.waiters.retain(|waiter| !waiter.is_closed());
            waiting.waiters.push(waiter);
        }
        self.bell.notify_one();
    }

    /// Those whose transfer a caller has waited for since then or longer, or that is elsewhere, at
    /// most so many; nothing where no caller waits.
    fn asked(&self, since: u64, elsewhere: impl Fn(Id) -> bool, most: usize) -> Option<Vec<Id>> {
        let waiters = self.waiters();
        if waiters.is_empty() {
            return None;
        }
        let listens =
            |waiting: &TransferWaiters| waiting.waiters.iter().any(|waiter| !waiter.is_closed());
        let due = |id: Id, waiting: &TransferWaiters| waiting.since <= since || elsewhere(id);
        let asked = waiters.iter().filter(|(id, waiting)| due(**id, waiting) && listens(waiting));
        Some(asked.map(|(id, _)| *id).take(most).collect())
    }

    /// Waits until a waiter came since the last time.
    pub(crate) async fn come(&self) {
        self.bell.notified().await;
    }

    pub(crate) fn tell(&self, record: Record) {
        let Some(waiting) = self.waiters().remove(&record.id) else { return };
        for waiter in waiting.waiters {
            // the receiver is gone where the caller went away
            let _gone = waiter.send(record.clone());
        }
    }

    /// Forgets those who went away.
    pub(crate) fn sweep(&self) {
        self.waiters().retain(|_, waiting| {
            waiting.waiters.retain(|waiter| !waiter.is_closed());
            !waiting.waiters.is_empty()
        });
    }
}

/// A caller that has waited for so long for a transfer in our workers may wait for one that another worker
/// ended, in nanoseconds. For one that is in no workers of ours the journal is asked at once.
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
            let elsewhere = |id| !self.in_flight.has(id);
            let Some(ids) = self.waiters.asked(long, elsewhere, AT_ONCE) else {
                self.waiters.come().await;
                continue;
            };
            if !ids.is_empty() {
                // a journal that does not answer is asked again
                for record in self.parts.journal.get(ids).await.unwrap_or_default() {
                    if self.plan.table(record.flow).ends(record.head.state) {
                        self.waiters.tell(record);
                    }
                }
            }
            self.parts.clock.sleep(ASK).await;
        }
    }
}
