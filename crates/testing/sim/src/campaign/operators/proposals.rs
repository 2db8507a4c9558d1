//! The list of the proposals that the simulated operators know.

use kernel::ids::Id;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A proposal that may still be decided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proposed {
    pub id: Id,
    /// The transfer, where it is a verdict.
    pub judged: Option<Id>,
}

/// The list, the oldest first. A handle: clones are the same one.
#[derive(Debug, Clone, Default)]
pub(super) struct Proposals(Arc<Mutex<Vec<Proposed>>>);

impl Proposals {
    fn list(&self) -> MutexGuard<'_, Vec<Proposed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, proposed: Proposed) {
        self.list().push(proposed);
    }

    /// The newest one, or any.
    pub(super) fn one(&self, newest: bool, drawn: u64) -> Option<Proposed> {
        let list = self.list();
        let many = u64::try_from(list.len()).unwrap_or(0);
        let at = usize::try_from(drawn.checked_rem(many)?).ok()?;
        if newest { list.last().copied() } else { list.get(at).copied() }
    }

    pub(super) fn remove(&self, id: Id) {
        self.list().retain(|proposed| proposed.id != id);
    }
}
