//! `[engine]`: the engine's queues, workers, leases and backoff.

use super::section::{SettingRules, section};

section! {
    /// How transfers are carried.
    Engine {
        /// Places in the ring before each station.
        ring: usize = 10_000,
        /// Transfers are carried in this process. Off: it opens them for the workers of others.
        workers: bool = true,
        /// How often due rows are looked for.
        scan_interval_ms: u64 = 1_000,
        /// How long a worker's hold on a row outlives its last renewal, by the journal's clock.
        lease_seconds: u64 = 60,
        /// The first wait after an unknown answer.
        backoff_base_ms: u64 = 100,
        /// The longest wait after an unknown answer; waits double up to it.
        backoff_cap_ms: u64 = 30_000,
        /// The most that one batch carries.
        batch_max: usize = 1_024,
        /// Open, withdraw and next claim in one write where the ledger allows it.
        fuse: bool = true,
        /// Maximum number of open transfers; above it creates are refused.
        max_open: u64 = 1_000_000,
    }
}

impl Engine {
    pub(super) fn rules(&self, rules: &mut SettingRules) {
        rules.need("engine.ring", self.ring > 0, "above 0");
        rules.need("engine.batch_max", self.batch_max > 0, "above 0");
        rules.need("engine.scan_interval_ms", self.scan_interval_ms > 0, "above 0");
        rules.need("engine.lease_seconds", self.lease_seconds >= 3, "at least 3");
        rules.need("engine.max_open", self.max_open > 0, "above 0");
        rules.need(
            "engine.backoff_base_ms",
            self.backoff_base_ms > 0 && self.backoff_base_ms <= self.backoff_cap_ms,
            "above 0 and not above engine.backoff_cap_ms",
        );
    }
}
