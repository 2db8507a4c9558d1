//! Callers who wait for the end of a transfer.

use kernel::ids::Id;
use kernel::record::Record;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Where an end is told.
pub(crate) type Ear = oneshot::Sender<Record>;

/// Everybody who waits, by transfer.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    ears: Mutex<BTreeMap<Id, Vec<Ear>>>,
}

impl Waiting {
    fn ears(&self) -> MutexGuard<'_, BTreeMap<Id, Vec<Ear>>> {
        self.ears.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more waits.
    pub(crate) fn add(&self, id: Id, ear: Ear) {
        let mut ears = self.ears();
        let waiting = ears.entry(id).or_default();
        waiting.retain(|ear| !ear.is_closed());
        waiting.push(ear);
    }

    /// The transfer ended.
    pub(crate) fn tell(&self, record: Record) {
        let Some(waiting) = self.ears().remove(&record.id) else { return };
        for ear in waiting {
            // nobody listens any more where the caller went away
            let _gone = ear.send(record.clone());
        }
    }

    /// Forgets those who went away.
    pub(crate) fn sweep(&self) {
        self.ears().retain(|_, waiting| {
            waiting.retain(|ear| !ear.is_closed());
            !waiting.is_empty()
        });
    }
}
