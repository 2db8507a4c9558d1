//! Knows which transfers the workers of this process carry, so that each has one worker.

use crate::state::not_yet::NotYet;
use crate::state::shared::SharedState;
use kernel::ids::Id;
use kernel::ports::meter::Seen;
use kernel::record::Record;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How long, in nanoseconds, a caller waits for a transfer in our workers before the journal is asked
/// whether another worker ended it. For a transfer in no workers of ours the journal is asked at once.
const LONG: u64 = 100_000_000;
/// How often the journal is asked about those transfers, in milliseconds (`design.md` §4).
const ASK: u64 = 20;
/// How many transfers one statement asks for.
const AT_ONCE: usize = 10_000;

/// The most transfers at which recovery looks for this reason. Above it, a transfer goes on here as if no other
/// worker had moved it.
const MOST: usize = 100_000;

/// The transfers that this process carries: each waits in one queue, is parked, or is being worked on.
pub(crate) struct InFlight {
    shared: Arc<SharedState>,
    /// Each transfer, with the newer record that waits for the worker that has an older one.
    held: Mutex<BTreeMap<Id, Option<Box<Record>>>>,
    /// How many newer records wait.
    left: AtomicUsize,
    /// The transfers that a rule holds back.
    pub not_yet: NotYet,
    /// How many transfers are open, as far as this process saw.
    open: AtomicU64,
}

impl InFlight {
    /// Begins without transfers; `open` are open in the journal.
    pub(crate) fn new(shared: &Arc<SharedState>, open: u64) -> Arc<Self> {
        Arc::new(Self {
            shared: shared.clone(),
            held: Mutex::default(),
            left: AtomicUsize::default(),
            not_yet: NotYet::default(),
            open: AtomicU64::new(open),
        })
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<Id, Option<Box<Record>>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a newer record for the worker that has an older one. False: no worker has one.
    pub(crate) fn leave(&self, record: &Record) -> bool {
        let mut held = self.held();
        let Some(slot) = held.get_mut(&record.id) else { return false };
        if slot.replace(Box::new(record.clone())).is_none() {
            self.left.fetch_add(1, Ordering::SeqCst);
        }
        true
    }

    /// True where this process's workers have the transfer.
    pub(crate) fn has(&self, id: Id) -> bool {
        self.held().contains_key(&id)
    }

    /// True where a newer record waits for the worker that has this one.
    pub(crate) fn has_left(&self, id: Id) -> bool {
        self.held().get(&id).is_some_and(Option::is_some)
    }

    /// Takes a newer record back that waits.
    pub(crate) fn take_back(&self, id: Id) {
        let mut held = self.held();
        if held.get_mut(&id).and_then(Option::take).is_some() {
            self.left.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// The record that waits for the worker of this one, where it is newer. Each is given once.
    pub(crate) fn newest(&self, record: Record) -> Record {
        if self.left.load(Ordering::SeqCst) == 0 {
            return record;
        }
        let left = self.held().get_mut(&record.id).and_then(Option::take);
        let Some(left) = left else { return record };
        self.left.fetch_sub(1, Ordering::SeqCst);
        if left.head.version > record.head.version { *left } else { record }
    }

    /// Gives a transfer to this process's workers. False: they have it already.
    pub(crate) fn hold(&self, id: Id) -> bool {
        let mut held = self.held();
        if held.contains_key(&id) {
            return false;
        }
        held.insert(id, None);
        drop(held);
        self.shared.writer.register.forget(id);
        true
    }

    /// Gives a transfer up: the journal knows where it stands. False: it was not here.
    pub(crate) fn release(&self, id: Id) -> bool {
        let mut held = self.held();
        let Some(left) = held.remove(&id) else { return false };
        self.not_yet.forget(id);
        if left.is_some() {
            self.left.fetch_sub(1, Ordering::SeqCst);
        }
        true
    }

    /// Gives up a record as it was written, unless the journal gave it to this process again in the
    /// meantime: the journal does that once, so then the record goes on here.
    pub(crate) fn give_up(&self, record: Record) -> Option<Record> {
        let mut held = self.held();
        if let Some(left) = held.get_mut(&record.id).and_then(Option::take) {
            self.left.fetch_sub(1, Ordering::SeqCst);
            if left.head.version >= record.head.version {
                return Some(*left);
            }
        }
        held.remove(&record.id);
        self.not_yet.forget(record.id);
        None
    }

    /// How many transfers this process's workers have, except those that a rule holds back.
    pub(crate) fn carried(&self) -> usize {
        self.held().len().saturating_sub(self.not_yet.len())
    }

    /// How many transfers are open, as far as this process saw.
    pub(crate) fn open_transfers(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// True where as many transfers are open as may be.
    pub(crate) fn crowded(&self) -> bool {
        self.open_transfers() >= self.shared.parts.settings.max_open
    }

    /// Counts one more open transfer.
    pub(crate) fn counted(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one fewer, which leaves our workers.
    pub(crate) fn closed(&self, id: Id) {
        // where another copy of it ended before, it was counted then
        if self.release(id) {
            self.one_fewer();
        }
    }

    /// Takes over the journal's count: others open and end transfers too.
    pub(crate) fn open_are(&self, open: u64) {
        self.open.store(open, Ordering::Relaxed);
    }

    pub(crate) fn one_fewer(&self) {
        let fewer = |open: u64| Some(open.saturating_sub(1));
        let _before = self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
    }

    /// Ends a transfer here: counts it, and answers the callers that wait for it.
    pub(crate) fn ended(&self, record: Record) {
        let table = self.shared.plan.table(record.flow);
        self.shared.parts.meter.see(Seen::Ended {
            flow: table.flow,
            state: table.state(record.head.state).name,
            took: record.updated_at.saturating_sub(record.created_at),
        });
        self.closed(record.id);
        self.shared.waiters.tell(record);
    }

    /// Answers callers whose transfers ended without this process.
    pub(crate) async fn run_waker(self: Arc<Self>) {
        loop {
            let long = self.shared.parts.clock.ticks().saturating_sub(LONG);
            let elsewhere = |id| !self.has(id);
            let Some(ids) = self.shared.waiters.asked(long, elsewhere, AT_ONCE) else {
                self.shared.waiters.come().await;
                continue;
            };
            if !ids.is_empty() {
                // a journal that does not answer is asked again
                for record in self.shared.parts.journal.get(ids).await.unwrap_or_default() {
                    if self.shared.plan.table(record.flow).ends(record.head.state) {
                        self.shared.waiters.tell(record);
                    }
                }
            }
            self.shared.parts.clock.sleep(ASK).await;
        }
    }

    /// Lets go of a transfer that another worker, or a person, moved, by what the journal has; `Some` where it goes on
    /// here as it stands now.
    pub(crate) fn release_moved(&self, id: Id, stored: Option<Record>) -> Option<Record> {
        match stored {
            Some(now) => self.release_all(now),
            None => {
                self.release(id);
                None
            }
        }
    }

    /// Releases a record that another worker may have moved; `Some` where it goes on here as it stands now.
    pub(crate) fn release_all(&self, record: Record) -> Option<Record> {
        let left = self.has_left(record.id);
        if !self.shared.lease.ends() || left || self.shared.writer.register.all().len() >= MOST {
            return Some(record);
        }
        if self.shared.plan.table(record.flow).ends(record.head.state) {
            // the worker that moved it there has counted its end
            self.closed(record.id);
            self.shared.waiters.tell(record);
            return None;
        }
        self.shared.watch(record.id, record.head.version);
        self.release(record.id);
        None
    }
}
