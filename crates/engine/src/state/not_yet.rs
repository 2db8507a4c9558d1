//! Counts how often a rule said *not yet* to a transfer of this process.

use kernel::flow::table::S;
use kernel::ids::Id;
use kernel::record::Record;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The transfers of this process that a rule holds back, with their state and how often the rule said *not
/// yet* there.
#[derive(Debug, Default)]
pub(crate) struct NotYet {
    times: Mutex<BTreeMap<Id, (S, u32)>>,
    /// How many there are. Most flows have none, and then no lock is taken.
    all: AtomicUsize,
}

impl NotYet {
    fn times(&self) -> MutexGuard<'_, BTreeMap<Id, (S, u32)>> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more *not yet* in this state, and returns how many there were.
    pub(crate) fn count(&self, id: Id, state: S) -> u32 {
        let mut times = self.times();
        let (at, n) = times.entry(id).or_insert((state, 0));
        *n = if *at == state { n.saturating_add(1) } else { 1 };
        *at = state;
        let n = *n;
        self.all.store(times.len(), Ordering::SeqCst);
        n
    }

    /// Forgets a transfer that goes on, or that other workers have.
    pub(crate) fn forget(&self, id: Id) {
        if self.len() == 0 {
            return;
        }
        let mut times = self.times();
        times.remove(&id);
        self.all.store(times.len(), Ordering::SeqCst);
    }

    /// True where a rule holds this record back in its state.
    pub(crate) fn holds_back(&self, record: &Record) -> bool {
        let here = |times: &BTreeMap<Id, (S, u32)>| {
            times.get(&record.id).is_some_and(|(state, _)| *state == record.head.state)
        };
        record.head.due_at.is_some() && self.len() > 0 && here(&self.times())
    }

    /// How many a rule holds back.
    pub(crate) fn len(&self) -> usize {
        self.all.load(Ordering::SeqCst)
    }
}
