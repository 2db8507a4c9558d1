//! `[alerts]`: the thresholds at which cases open, and the webhook that receives them.

pub(super) mod mail;
pub(super) mod webhooks;

use super::address::Address;
use super::secret::Secret;
use super::section::{SettingRules, section};
use crate::outbound_http;
use crate::webhooks::sign;

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
        /// The days for which closed cases are kept, with their notes; 0 keeps all.
        keep_days: u64 = 90,
        /// Where the beginning and the end of each case are posted, signed: `https://`, or `http://` on loopback; empty posts none.
        webhook_url: Address = Address::default(),
        /// The key that signs them: at least 32 bytes, as they are or as `whsec_` and their base64.
        webhook_secret: Secret = Secret::default(),
    }
}

impl Alerts {
    pub(super) fn rules(&self, rules: &mut SettingRules) {
        rules.need("alerts.after_retries", self.after_retries > 0, "above 0");
        rules.need("alerts.after_seconds", self.after_seconds > 0, "above 0");
        rules.need("alerts.target_pending_seconds", self.target_pending_seconds > 0, "above 0");
        rules.need("alerts.compensation_failures", self.compensation_failures > 0, "above 0");
        let (url, key) = (&*self.webhook_url, self.webhook_secret.reveal());
        if url.is_empty() {
            // a setting that is ignored would seem to send alerts
            let rule = "empty where alerts.webhook_url is: nothing is posted";
            rules.need("alerts.webhook_secret", key.is_empty(), rule);
            return;
        }
        if let Err(rule) = outbound_http::address(url) {
            rules.need("alerts.webhook_url", false, rule);
        }
        if let Err(rule) = sign::secret(key) {
            rules.need("alerts.webhook_secret", false, rule);
        }
    }
}
