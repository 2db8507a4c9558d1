//! Whether the store takes writes: a full disk, or a database that is read-only, refuses them.

use kernel::ids::Millis;
use kernel::ports::clock::{Clock, TICKS};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A write that the store refused counts for this time.
const REFUSAL_COUNTS: Millis = 30_000;

/// Knows whether the store took the last write.
pub(crate) struct StoreRoom {
    clock: Arc<dyn Clock>,
    /// When the store refused a write because it takes none, in ticks and above 0; 0 where it took the last one.
    refused: AtomicU64,
}

impl StoreRoom {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, refused: AtomicU64::new(0) }
    }

    /// True while the store takes no writes: the intake refuses everything. A refused write counts for a while only:
    /// where a balancer sends nothing to a process that is not ready, the next request finds out whether it is again.
    pub(crate) fn full(&self) -> bool {
        let at = self.refused.load(Ordering::Relaxed);
        at > 0 && self.clock.ticks().saturating_sub(at) / TICKS <= REFUSAL_COUNTS
    }

    /// Notes that the store took a write.
    pub(crate) fn found(&self) {
        if self.refused.swap(0, Ordering::Relaxed) > 0 {
            tracing::info!("the store takes writes again");
        }
    }

    /// Notes that the store refused a write.
    pub(crate) fn refused(&self) {
        if self.refused.swap(self.clock.ticks() | 1, Ordering::Relaxed) == 0 {
            tracing::error!("the store takes no writes: nothing is taken in until it does");
        }
    }
}
