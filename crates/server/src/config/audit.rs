//! `[audit]`: the interval and the key of the audit's seals.

use super::secret::Secret;
use super::section::{SettingRules, section};

section! {
    /// The record that may not be changed afterwards.
    Audit {
        /// The time between two seals, while something new is written.
        seal_interval_ms: u64 = 10_000,
        /// The key of the seals, at least 32 bytes; empty takes the generated one in `data.dir`, which every process that may change the folder can read.
        mac_secret: Secret = Secret::default(),
    }
}

impl Audit {
    pub(super) fn rules(&self, rules: &mut SettingRules) {
        rules.need("audit.seal_interval_ms", self.seal_interval_ms > 0, "above 0");
        let secret = self.mac_secret.reveal().len();
        rules.need(
            "audit.mac_secret",
            secret == 0 || secret >= 32,
            "at least 32 bytes, or empty for the generated key",
        );
    }
}
