//! What one row came to.

use std::time::Duration;

#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    /// Transfers that were acknowledged, all of which were COMPLETED.
    pub transfers: u64,
    /// Until the last of them was acknowledged.
    pub accepted_in: Duration,
    /// Until the last of them was COMPLETED.
    pub completed_in: Duration,
    /// Of each POST, in microseconds, sorted.
    pub posts: Vec<u64>,
    /// From opening to COMPLETED as the journal has them, in microseconds, sorted.
    pub ends: Vec<u64>,
    /// Requests that the chain's endpoints had.
    pub requests: u64,
    /// Processor time of the server under load.
    pub cpu: Duration,
}

#[expect(
    clippy::as_conversions,
    clippy::float_arithmetic,
    reason = "figures for readers; no money here"
)]
impl Run {
    /// How many a second.
    pub(crate) fn rate(&self, time: Duration) -> f64 {
        self.transfers as f64 / time.as_secs_f64()
    }

    pub(crate) fn calls(&self) -> f64 {
        self.requests as f64 / self.transfers as f64
    }

    /// Microseconds of a processor for a transfer.
    pub(crate) fn each(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.transfers as f64
    }
}

/// A quantile in milliseconds.
#[expect(
    clippy::as_conversions,
    clippy::float_arithmetic,
    reason = "figures for readers; no money here"
)]
pub(crate) fn quantile(micros: &[u64], q: f64) -> f64 {
    let at = ((micros.len() as f64 * q) as usize).saturating_sub(1);
    micros.get(at).map_or(f64::NAN, |micros| *micros as f64 / 1_000.0)
}
