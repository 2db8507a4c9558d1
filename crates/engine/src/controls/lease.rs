//! The lease of this worker where several workers share the journal, and the HALTs that it obeys.

use kernel::ids::Millis;
use kernel::ports::journal::ServiceStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;

/// The lease of this worker, and the numbers of the HALTs that it has read and obeyed.
#[derive(Debug)]
pub(crate) struct Lease {
    /// The lease runs out where it is not renewed, since others share the journal.
    ends: bool,
    /// The last HALT that this worker has read of.
    pub last_halt: AtomicU64,
    /// The last HALT that this worker obeys: everything that began before it has ended here.
    pub obeyed: AtomicU64,
    /// The last HALT of which the journal knows that this worker obeys it.
    pub reported: AtomicU64,
    pub bell: Notify,
    /// When this worker last noticed that another one was gone, by the journal's time; 0 before the first.
    gone_at: AtomicU64,
}

impl Lease {
    pub(crate) fn new(ends: bool) -> Self {
        let none = AtomicU64::default;
        Self {
            ends,
            last_halt: none(),
            obeyed: none(),
            reported: none(),
            bell: Notify::new(),
            gone_at: none(),
        }
    }

    /// Others share the journal.
    pub(crate) const fn ends(&self) -> bool {
        self.ends
    }

    /// Notes that another worker is gone, or that there is none.
    pub(crate) fn other_is_gone(&self, now: Millis) {
        self.gone_at.fetch_max(now, Ordering::SeqCst);
    }

    /// True where a worker that was at work at that time may be gone since.
    pub(crate) fn lost_one_since(&self, at: Millis) -> bool {
        self.gone_at.load(Ordering::SeqCst) >= at
    }

    /// Notes the HALT that is in force, where one is. The controls follow it already.
    pub(crate) fn hear(&self, status: &ServiceStatus) {
        let number = status.halts;
        if status.halted.is_some() && self.last_halt.fetch_max(number, Ordering::SeqCst) < number {
            self.bell.notify_one();
        }
    }

    /// The HALT that this worker tells the journal it obeys; `None` before the first one.
    pub(crate) fn stopped(&self) -> Option<u64> {
        Some(self.obeyed.load(Ordering::SeqCst)).filter(|number| *number > 0)
    }
}
