//! What a write has shown that another component acts on: a task of the engine takes it up.

use kernel::answer::Cause;
use kernel::ids::{Id, LedgerId};
use kernel::record::Record;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// A unit that contradicts what the journal has.
#[derive(Debug)]
pub(crate) struct Contradiction {
    pub transfer: Id,
    /// The transfer, where the unit would have opened it.
    pub opened: Option<Box<Record>>,
    pub cause: Cause,
}

/// What writes have shown since the task looked last.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub contradictions: Vec<Contradiction>,
    /// The ledgers of which the journal has another incarnation than this process knew.
    pub ledgers: BTreeSet<LedgerId>,
}

/// Keeps what writes have shown until the task takes it.
#[derive(Debug, Default)]
pub(crate) struct Consequences {
    found: Mutex<Found>,
    bell: Notify,
}

impl Consequences {
    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn contradicts(&self, contradiction: Contradiction) {
        self.found().contradictions.push(contradiction);
        self.bell.notify_one();
    }

    pub(super) fn has_new_incarnation(&self, ledger: LedgerId) {
        self.found().ledgers.insert(ledger);
        self.bell.notify_one();
    }

    /// Waits until there is something, and takes all of it.
    pub(crate) async fn taken(&self) -> Found {
        loop {
            let found = std::mem::take(&mut *self.found());
            if !found.contradictions.is_empty() || !found.ledgers.is_empty() {
                return found;
            }
            self.bell.notified().await;
        }
    }
}
