//! The next crash point for several processes: the first that reaches it dies.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The point at which the first process to reach it dies. A handle: clones are the same one.
#[derive(Debug)]
pub struct NextDeath<P>(Arc<Mutex<Option<P>>>);

impl<P> Default for NextDeath<P> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<P> Clone for NextDeath<P> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<P> NextDeath<P> {
    fn point(&self) -> MutexGuard<'_, Option<P>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on the first process that comes to this point dies.
    pub fn set(&self, point: P) {
        *self.point() = Some(point);
    }

    /// No process dies any more. True where one waited for its point still.
    pub fn take_back(&self) -> bool {
        self.point().take().is_some()
    }

    /// Whether a process came to the point.
    pub fn struck(&self) -> bool {
        self.point().is_none()
    }

    /// Whether the process dies here; at most one does.
    pub(super) fn strikes(&self, here: impl Fn(&P) -> bool) -> bool {
        self.point().take_if(|point| here(point)).is_some()
    }
}
