//! Keeps the transfers that another worker moved while this one had them, and those that a unit whose outcome is not
//! known may have given to this process.

use kernel::ids::Id;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The version in which each was seen, and since when, by the clock's ticks.
#[derive(Debug, Default)]
pub(crate) struct SupersededTransfers(Mutex<BTreeMap<Id, (u32, u64)>>);

impl SupersededTransfers {
    pub(crate) fn all(&self) -> MutexGuard<'_, BTreeMap<Id, (u32, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a transfer that is in this worker's workers again.
    pub(crate) fn forget(&self, id: Id) {
        self.all().remove(&id);
    }

    /// Forgets the transfers that the journal does not know and that were looked for long enough.
    pub(crate) fn never_came(
        &self,
        unknown: impl Iterator<Item = Id>,
        long_ago: impl Fn(u64) -> bool,
    ) {
        let mut all = self.all();
        for id in unknown {
            if all.get(&id).is_some_and(|(_, since)| long_ago(*since)) {
                all.remove(&id);
            }
        }
    }
}
