//! Renews this worker's lease where several workers share the journal, and tells them of HALT.
//!
//! A lease only saves work: every write is a compare-and-swap. But a worker that cannot renew its lease
//! cannot read the flags either, so it makes no call until it can.

use crate::chains::Chains;
use crate::drive::status_sync::StatusSync;
use crate::state::select::{First, race};
use crate::state::shared::SharedState;
use kernel::answer::Cause;
use kernel::ids::{Millis, WorkerId};
use kernel::ports::clock::TICKS;
use kernel::ports::journal::OtherLease;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// How often the journal is asked which workers still move money under HALT.
const ASK: Millis = 50;

/// Renews the lease of this worker, and tells the journal when this worker obeys a HALT.
pub(crate) struct LeaseKeeper {
    shared: Arc<SharedState>,
    chains: Arc<Chains>,
    status: Arc<StatusSync>,
    /// The last renewal of each other worker that this process saw.
    seen: Mutex<BTreeMap<WorkerId, SeenRenewal>>,
}

/// A renewal of another worker's lease, and since when this process has seen it, by its own clock's ticks.
#[derive(Debug, Clone, Copy)]
struct SeenRenewal {
    renewal: u64,
    since: u64,
    /// The lease might still run at the last look.
    alive: bool,
}

impl LeaseKeeper {
    pub(crate) fn new(
        shared: &Arc<SharedState>,
        chains: &Arc<Chains>,
        status: &Arc<StatusSync>,
    ) -> Arc<Self> {
        Arc::new(Self {
            shared: shared.clone(),
            chains: chains.clone(),
            status: status.clone(),
            seen: Mutex::default(),
        })
    }

    /// Notes that the lease was granted that was asked for at this tick.
    pub(crate) fn leased(&self, asked: u64) {
        let length = self.shared.parts.settings.lease_ms.saturating_mul(TICKS);
        self.shared.controls.leased(asked.saturating_add(length));
    }

    /// Renews the lease three times before it can run out.
    pub(crate) async fn run_lease(self: Arc<Self>) {
        let every = self.shared.parts.settings.lease_ms / 3;
        let mut wait = every;
        loop {
            match race(self.obeys(), self.shared.parts.clock.sleep(wait)).await {
                First::Left(()) | First::Right(()) => {}
            }
            let asked = self.shared.parts.clock.ticks();
            let (worker, length) = (self.shared.parts.worker, self.shared.parts.settings.lease_ms);
            let stopped = self.shared.lease.stopped();
            match self.shared.parts.journal.renew_lease(worker, length, stopped).await {
                Ok(lease) => {
                    if lease.lost || self.shared.controls.stale() {
                        tracing::warn!(
                            "the lease had run out: others may have gone on with what was held here"
                        );
                        let pools = self.chains.pools();
                        pools.for_each(|pool| pool.carried.invalidate_all());
                        // a HALT that did not wait for this worker is read before its next call
                        self.catch_up().await;
                    }
                    self.shared.lease.reported.fetch_max(stopped.unwrap_or(0), Ordering::SeqCst);
                    self.leased(asked);
                    self.notice_others().await;
                    wait = every;
                }
                Err(cause) => {
                    tracing::error!(%cause, "the lease could not be renewed");
                    let soon = self.shared.parts.settings.scan_interval_ms;
                    wait = if soon < every { soon } else { every };
                    self.shared.parts.clock.sleep(self.shared.parts.settings.backoff.base).await;
                }
            }
        }
    }

    /// Notes which leases were not renewed, so that a HALT need not wait for workers that died long before.
    async fn notice_others(&self) {
        if self.shared.lease.ends()
            && let Err(cause) = self.watch_others().await
        {
            tracing::warn!(%cause, "the leases of other workers cannot be read");
        }
    }

    /// Reads the flags, until the journal answers.
    async fn catch_up(&self) {
        while let Err(cause) = self.status.refresh().await {
            tracing::error!(%cause, "the flags cannot be read");
            self.shared.parts.clock.sleep(self.shared.parts.settings.backoff.base).await;
        }
    }

    /// Waits until there is a HALT of which the journal does not know that this worker obeys it, and until
    /// everything has ended that began before it.
    async fn obeys(&self) {
        loop {
            let rung = self.shared.lease.bell.notified();
            let last_halt = self.shared.lease.last_halt.load(Ordering::SeqCst);
            if last_halt > self.shared.lease.reported.load(Ordering::SeqCst) {
                // a worker takes a ticket before it asks the controls, which allow nothing now
                self.shared.calls.quiet(self.shared.calls.mark()).await;
                self.shared.lease.obeyed.fetch_max(last_halt, Ordering::SeqCst);
                return;
            }
            rung.await;
        }
    }

    /// Waits until no other worker moves money under this HALT: each said so, or lost its lease.
    pub(crate) async fn others_obey(&self, halt: u64) {
        loop {
            match self.watch_others().await {
                Ok(alive) if alive.iter().all(|lease| lease.obeys >= halt) => return,
                Ok(_) => {}
                Err(cause) => tracing::warn!(%cause, "who obeys the HALT cannot be read"),
            }
            self.shared.parts.clock.sleep(ASK).await;
        }
    }

    /// The leases of other workers that may still run. One has run out where it was not renewed for its
    /// whole length by the clock of this process: the journal's may have jumped.
    async fn watch_others(&self) -> Result<Vec<OtherLease>, Cause> {
        // the answer is of some instant between the two
        let asked = self.shared.parts.clock.ticks();
        let mut leases = self.shared.parts.journal.other_leases(self.shared.parts.worker).await?;
        let now = self.shared.parts.clock.ticks();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *seen);
        leases.retain(|lease| {
            let first = before
                .get(&lease.worker)
                .filter(|seen| seen.renewal == lease.renewal)
                .map_or(now, |seen| seen.since);
            let alive = asked.saturating_sub(first) < lease.length.saturating_mul(TICKS);
            let renewal = SeenRenewal { renewal: lease.renewal, since: first, alive };
            seen.insert(lease.worker, renewal);
            alive
        });
        before.retain(|_, renewal| renewal.alive);
        let gone = |worker: &WorkerId| !leases.iter().any(|lease| lease.worker == *worker);
        if leases.is_empty() || before.keys().any(gone) {
            self.shared.lease.other_is_gone(self.shared.parts.journal.now());
        }
        Ok(leases)
    }

    /// Stops this worker cleanly: it begins no call any more, and others may go on with its transfers at
    /// once.
    pub(crate) async fn leave(&self) {
        if !self.shared.lease.ends() {
            return;
        }
        self.shared.controls.retire();
        if let Err(cause) = self.shared.parts.journal.end_lease(self.shared.parts.worker).await {
            tracing::warn!(%cause, "the lease could not be given back; it runs out");
        }
    }
}
