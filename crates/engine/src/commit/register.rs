//! The register of transfers that recovery looks at: those that a unit whose outcome is not known may have moved or
//! given to this process, those that another worker moved while this one had them, and those whose message must be sent
//! again. What is done for one depends on where the journal has it then (`watch::register`).

use kernel::ids::Id;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How a transfer was seen last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sighting {
    /// The version in which it was seen, or that the unit was to write over.
    pub version: u32,
    /// Since when it has had that version, by the clock's ticks.
    pub since: u64,
}

/// The transfers that recovery looks at, until each is explained.
#[derive(Debug, Default)]
pub(crate) struct Register(Mutex<BTreeMap<Id, Sighting>>);

impl Register {
    pub(crate) fn all(&self) -> MutexGuard<'_, BTreeMap<Id, Sighting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has recovery look at a transfer.
    pub(crate) fn watch(&self, id: Id, version: u32, since: u64) {
        self.all().insert(id, Sighting { version, since });
    }

    /// Forgets a transfer of which this process knows where it stands.
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
            if all.get(&id).is_some_and(|sighting| long_ago(sighting.since)) {
                all.remove(&id);
            }
        }
    }
}
