//! Clocks and processors, and what one run came to.

use std::ops::Sub;
use std::time::{Duration, Instant};

/// The time now. A benchmark is what clocks are for.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures with the real clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// What was used so far, or in between.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// By the server under load.
    pub own: Duration,
    /// By all processes of PostgreSQL.
    pub postgres: Duration,
    /// By the process of Apache Kafka.
    pub broker: Duration,
}

impl Sub for Cost {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            own: self.own.saturating_sub(before.own),
            postgres: self.postgres.saturating_sub(before.postgres),
            broker: self.broker.saturating_sub(before.broker),
        }
    }
}

/// What one run came to.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// Transfers that were acknowledged, all of which were COMPLETED.
    pub transfers: u64,
    /// From the first POST until the last of them was COMPLETED.
    pub took: Duration,
    /// From the moment of a POST until its client saw COMPLETED, in microseconds, sorted; of some.
    pub micros: Vec<u64>,
    pub cost: Cost,
}

#[expect(
    clippy::as_conversions,
    clippy::float_arithmetic,
    reason = "figures for readers; no money here"
)]
impl Run {
    /// Transfers that were COMPLETED in a second.
    pub(crate) fn rate(&self) -> f64 {
        self.transfers as f64 / self.took.as_secs_f64()
    }

    /// A quantile in milliseconds.
    pub(crate) fn quantile(&self, q: f64) -> f64 {
        let at = ((self.micros.len() as f64 * q) as usize).saturating_sub(1);
        self.micros.get(at).map_or(f64::NAN, |micros| *micros as f64 / 1_000.0)
    }

    /// Microseconds of a processor for a transfer.
    pub(crate) fn each(&self, cpu: Duration) -> f64 {
        cpu.as_secs_f64() * 1e6 / self.transfers as f64
    }

    /// How many cores it kept busy.
    pub(crate) fn cores(&self, cpu: Duration) -> f64 {
        cpu.as_secs_f64() / self.took.as_secs_f64()
    }
}
