//! `[conservation]`: the interval of reconciliation, which proves that no money was lost.

use super::section::{SettingRules, section};

section! {
    /// The proof that nothing was lost.
    Conservation {
        /// The time between two rounds of the check.
        interval_ms: u64 = 10_000,
    }
}

impl Conservation {
    pub(super) fn rules(&self, rules: &mut SettingRules) {
        rules.need("conservation.interval_ms", self.interval_ms > 0, "above 0");
    }
}
