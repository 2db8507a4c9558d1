//! Says how far a round has come, to callers that wait for it.

use kernel::ids::Serial;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far a round has come with the transfers that it looks at for the first time. Clones share the
/// numbers.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<Numbers>);

#[derive(Debug, Default)]
struct Numbers {
    at: AtomicU64,
    of: AtomicU64,
}

impl Progress {
    pub(super) fn at(&self, at: Serial) {
        self.0.at.store(at.0, Ordering::Relaxed);
    }

    pub(super) fn of(&self, of: Serial) {
        self.0.of.fetch_max(of.0, Ordering::Relaxed);
    }

    /// The number of the transfer to which the round has come, and that of the last one when it began.
    pub fn position(&self) -> (u64, u64) {
        (self.0.at.load(Ordering::Relaxed), self.0.of.load(Ordering::Relaxed))
    }
}
