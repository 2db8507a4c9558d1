//! What one row came to.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

/// Requests by their kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requests(pub BTreeMap<String, u64>);

impl Requests {
    /// Those that came after the others.
    pub(crate) fn since(mut self, before: &Self) -> Self {
        for (kind, count) in &mut self.0 {
            *count = count.saturating_sub(before.0.get(kind).copied().unwrap_or_default());
        }
        self.0.retain(|_, count| *count > 0);
        self
    }
}

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
    pub requests: Requests,
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
        self.requests.0.values().sum::<u64>() as f64 / self.transfers as f64
    }

    /// Calls for a transfer by their kind, the most frequent first.
    pub(crate) fn calls_by_kind(&self) -> String {
        let mut kinds: Vec<(&String, &u64)> = self.requests.0.iter().collect();
        kinds.sort_by_key(|(_, count)| Reverse(**count));
        let each = |count: u64| count as f64 / self.transfers as f64;
        let line = |(kind, count): (&String, &u64)| format!("{kind} {:.3}", each(*count));
        kinds.into_iter().map(line).collect::<Vec<_>>().join(", ")
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
