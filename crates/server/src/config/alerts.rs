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
        /// Where alerts are posted, beside the log and the metrics; empty posts none.
        webhook_url: String = String::new(),
        /// The key that signs them (HMAC-SHA256): at least 32 bytes.
        webhook_secret: Secret = Secret::default(),
    }
}

impl Alerts {
    pub(super) fn rules(&self, rules: &mut Rules) {
        rules.need("alerts.after_retries", self.after_retries > 0, "above 0");
        rules.need("alerts.after_seconds", self.after_seconds > 0, "above 0");
        rules.need("alerts.target_pending_seconds", self.target_pending_seconds > 0, "above 0");
        rules.need("alerts.compensation_failures", self.compensation_failures > 0, "above 0");
        let url = self.webhook_url.as_str();
        let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        rules.need(
            "alerts.webhook_url",
            url.is_empty() || host.is_some_and(|rest| !rest.is_empty() && !rest.contains('@')),
            "an address that begins with https:// or http://, without a user or a password",
        );
        let secret = self.webhook_secret.reveal().len();
        rules.need(
            "alerts.webhook_secret",
            (url.is_empty() && secret == 0) || (!url.is_empty() && secret >= 32),
            "at least 32 bytes where alerts.webhook_url is set, and none where it is not",
        );
    }
}
