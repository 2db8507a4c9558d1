//! `[alerts]`

use super::secret::Secret;
use super::section::{Rules, section};

section! {
    /// When a person is told.
    Alerts {
        /// Unclear answers to one transfer before a case opens.
        after_retries: u32 = 10,
        /// The age of an open transfer at which a case opens.
        after_seconds: u64 = 300,
        /// The time in TARGET_PENDING after which a CRITICAL case opens.
        target_pending_seconds: u64 = 60,
        /// Refunds without a clear answer before a CRITICAL case opens.
        compensation_failures: u32 = 3,
        /// Where alerts are posted. This release posts none: empty, or it does not start.
        webhook_url: String = String::new(),
        /// The key that signs them. Empty in this release.
        webhook_secret: Secret = Secret::default(),
    }
}

impl Alerts {
    pub(super) fn rules(&self, rules: &mut Rules) {
        rules.need("alerts.after_retries", self.after_retries > 0, "above 0");
        rules.need("alerts.after_seconds", self.after_seconds > 0, "above 0");
        rules.need("alerts.target_pending_seconds", self.target_pending_seconds > 0, "above 0");
        rules.need("alerts.compensation_failures", self.compensation_failures > 0, "above 0");
        // a setting that is ignored would let somebody believe that they are told
        let none = "empty: this release posts no webhooks; alerts are in the log, in /metrics and \
                    in the list of cases";
        rules.need("alerts.webhook_url", self.webhook_url.is_empty(), none);
        rules.need("alerts.webhook_secret", self.webhook_secret.reveal().is_empty(), none);
    }
}
