//! Says whether this process may claim on a chain: only once it saw that no lane is ahead.

use crate::plan::chain_stop::stops_name;
use kernel::ids::ChainId;
use kernel::unit::Guard;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// Whether this process may claim: it saw that no lane is ahead.
#[derive(Debug, Default)]
pub(crate) struct LaneCheck {
    checked: AtomicBool,
    /// How often the engine had stopped the chain when the lanes were found level: a claim is guarded by it.
    stops: AtomicU32,
    changed: Notify,
    /// A look is wanted.
    pub bell: Notify,
    /// What the last look could not explain, as text.
    open: Mutex<Arc<[Arc<str>]>>,
}

impl LaneCheck {
    /// Closes claims in this process until every lane was looked at: the chain may be ahead of one.
    pub(crate) fn close(&self) {
        self.forget();
        self.request_look();
    }

    /// Closes claims in this process; the watch looks at the lanes now.
    pub(crate) fn forget(&self) {
        self.checked.store(false, Ordering::SeqCst);
    }

    /// Has the watch look at the lanes soon; claims go on meanwhile.
    pub(crate) fn request_look(&self) {
        self.bell.notify_one();
    }

    pub(crate) fn is_open(&self) -> bool {
        self.checked.load(Ordering::SeqCst)
    }

    /// The guard of a claim: no stop was stored since the lanes were found level.
    pub(crate) fn guard(&self, chain: ChainId) -> Guard {
        Guard::Resource { name: stops_name(chain), version: self.stops.load(Ordering::SeqCst) }
    }

    pub(crate) fn open(&self, stops: u32) {
        self.stops.store(stops, Ordering::SeqCst);
        self.checked.store(true, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    /// Waits until no lane is ahead.
    pub(crate) async fn passed(&self) {
        loop {
            let changed = self.changed.notified();
            if self.is_open() {
                return;
            }
            changed.await;
        }
    }

    /// What the last look could not explain.
    pub(crate) fn unexplained(&self) -> Arc<[Arc<str>]> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn leaves(&self, open: Vec<Arc<str>>) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = open.into();
    }
}
