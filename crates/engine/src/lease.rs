//! This worker's lease, where others share the journal, and what it tells them of HALT.
//!
//! A lease only saves work: every write is a compare-and-swap. But a worker that cannot renew it
//! cannot read the flags either, so it makes no call before it did.

use crate::Engine;
use crate::race::{First, race};
use kernel::ids::Millis;
use kernel::ports::clock::TICKS;
use kernel::ports::journal::Standing;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;

/// How often the journal is asked who still moves money under HALT.
const ASK: Millis = 50;

/// What is known of the lease, and which HALT was obeyed, by their numbers.
#[derive(Debug)]
pub(crate) struct Lease {
    /// It runs out where it is not renewed: others share the journal.
    ends: bool,
    /// The last HALT that was heard of.
    heard: AtomicU64,
    /// The last one since which nothing goes on here.
    obeyed: AtomicU64,
    /// The last one of which the journal knows that.
    told: AtomicU64,
    bell: Notify,
}

impl Lease {
    pub(crate) fn new(ends: bool) -> Self {
        let none = AtomicU64::default;
        Self { ends, heard: none(), obeyed: none(), told: none(), bell: Notify::new() }
    }

    /// Others share the journal.
    pub(crate) const fn ends(&self) -> bool {
        self.ends
    }

    /// Takes note of the HALT that stands, where one does. The gate was closed before.
    pub(crate) fn hear(&self, standing: &Standing) {
        let number = standing.halts;
        if standing.halted.is_some() && self.heard.fetch_max(number, Ordering::SeqCst) < number {
            self.bell.notify_one();
        }
    }

    /// The HALT to tell of; `None` before the first one.
    fn stopped(&self) -> Option<u64> {
        Some(self.obeyed.load(Ordering::SeqCst)).filter(|number| *number > 0)
    }
}

impl Engine {
    /// The lease that was asked for at this tick was granted.
    pub(crate) fn leased(&self, asked: u64) {
        let length = self.parts.settings.lease_ms.saturating_mul(TICKS);
        self.gate.leased(asked.saturating_add(length));
    }

    /// Renews it three times before it can run out.
    pub(crate) async fn run_lease(self: Arc<Self>) {
        let every = self.parts.settings.lease_ms / 3;
        let mut wait = every;
        loop {
            match race(self.obeys(), self.parts.clock.sleep(wait)).await {
                First::Left(()) | First::Right(()) => {}
            }
            let asked = self.parts.clock.ticks();
            let (worker, length) = (self.parts.worker, self.parts.settings.lease_ms);
            let stopped = self.lease.stopped();
            match self.parts.journal.alive(worker, length, stopped).await {
                Ok(lease) => {
                    if lease.lost || self.gate.stale() {
                        tracing::warn!(
                            "the lease had run out: others may have gone on with what was held here"
                        );
                        // a HALT that did not wait for this worker is heard of before its next call
                        self.catch_up().await;
                    }
                    self.lease.told.fetch_max(stopped.unwrap_or(0), Ordering::SeqCst);
                    self.leased(asked);
                    wait = every;
                }
                Err(cause) => {
                    tracing::error!(%cause, "the lease could not be renewed");
                    let soon = self.parts.settings.scan_interval_ms;
                    wait = if soon < every { soon } else { every };
                    self.parts.clock.sleep(self.parts.settings.backoff.base).await;
                }
            }
        }
    }

    /// Reads the flags, until the journal answers.
    async fn catch_up(self: &Arc<Self>) {
        while let Err(cause) = self.refresh().await {
            tracing::error!(%cause, "the flags cannot be read");
            self.parts.clock.sleep(self.parts.settings.backoff.base).await;
        }
    }

    /// Waits until a HALT was heard of that nobody was told is obeyed here, and everything has ended
    /// that had begun before.
    async fn obeys(&self) {
        loop {
            let rung = self.lease.bell.notified();
            let heard = self.lease.heard.load(Ordering::SeqCst);
            if heard > self.lease.told.load(Ordering::SeqCst) {
                // whoever begins takes a ticket before it asks the gate, which is closed
                self.wire.quiet(self.wire.mark()).await;
                self.lease.obeyed.fetch_max(heard, Ordering::SeqCst);
                return;
            }
            rung.await;
        }
    }

    /// Waits until no other worker moves money under the HALT that stands: each said so, or lost its
    /// lease.
    pub(crate) async fn others_obey(&self) {
        loop {
            match self.parts.journal.moving(self.parts.worker).await {
                Ok(moving) if moving.is_empty() => return,
                Ok(_) => {}
                Err(cause) => tracing::warn!(%cause, "who obeys the HALT cannot be read"),
            }
            self.parts.clock.sleep(ASK).await;
        }
    }

    /// A clean stop: no call is begun any more, and others may go on with what is left at once.
    pub(crate) async fn leave(&self) {
        if !self.lease.ends {
            return;
        }
        self.gate.retire();
        if let Err(cause) = self.parts.journal.leave(self.parts.worker).await {
            tracing::warn!(%cause, "the lease could not be given back; it runs out");
        }
    }
}
