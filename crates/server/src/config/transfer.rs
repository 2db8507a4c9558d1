//! `[transfer]`: how long a create waits for the opening and for the end of its transfer.

use super::section::{SettingRules, section};

section! {
    /// What a caller waits for.
    Transfer {
        /// How long a create waits for the end, from the durable opening.
        sync_timeout_ms: u64 = 500,
        /// How long it waits for the durable opening.
        open_timeout_ms: u64 = 5_000,
        /// A create without a client's key is refused with `IDEMPOTENCY_KEY_REQUIRED`. Where it is off, a repeat of one is another transfer.
        require_key: bool = false,
    }
}

impl Transfer {
    pub(super) fn rules(&self, rules: &mut SettingRules) {
        rules.need("transfer.open_timeout_ms", self.open_timeout_ms > 0, "above 0");
    }
}
