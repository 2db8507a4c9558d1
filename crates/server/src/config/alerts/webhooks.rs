//! `[webhooks]`: the delivery of events to endpoints: timeouts, retries and retention.

use crate::config::section::{SettingRules, section};

/// Above that a wait is a mistake: a month.
const LONGEST: u64 = 30 * 86_400;

/// A page of a replay has half of this number, and must not disable its endpoint.
const LEAST_WAITING: u64 = 100;
/// Above that the store has no room for them.
const MOST_WAITING: u64 = 10_000_000;

section! {
    /// Endpoints that operators add, and what they are sent (`portage webhook`).
    Webhooks {
        /// Endpoints may lie in private networks and on this machine; for development, and where every operator may reach them.
        allow_private: bool = false,
        /// How long a receiver has to answer.
        timeout_seconds: u64 = 15,
        /// The waits between the tries of one message, in seconds, each up to a fifth longer by chance; after the last it is given up.
        retry_seconds: Vec<String> = ["5", "300", "1800", "7200", "18000", "36000", "50400", "72000", "86400"].map(str::to_owned).to_vec(),
        /// An endpoint that took nothing for this time is disabled, with a case.
        disable_after_hours: u64 = 72,
        /// An endpoint that has this number of messages still to take is disabled, with a case; at half of it a case opens.
        max_waiting: u64 = 100_000,
        /// How long messages and their log are kept.
        keep_days: u64 = 30,
    }
}

impl Webhooks {
    /// The waits between the tries of one message, in milliseconds.
    pub fn waits(&self) -> Vec<u64> {
        let seconds = self.retry_seconds.iter().filter_map(|text| text.trim().parse::<u64>().ok());
        seconds.map(|seconds| seconds.saturating_mul(1_000)).collect()
    }

    pub(in crate::config) fn rules(&self, rules: &mut SettingRules) {
        let fit =
            |text: &String| text.trim().parse().is_ok_and(|n: u64| (1..=LONGEST).contains(&n));
        let rule = "whole numbers of seconds, each from 1 to 2592000";
        rules.need("webhooks.retry_seconds", self.retry_seconds.iter().all(fit), rule);
        let fits = (1..=60).contains(&self.timeout_seconds);
        rules.need("webhooks.timeout_seconds", fits, "from 1 to 60");
        rules.need("webhooks.disable_after_hours", self.disable_after_hours > 0, "above 0");
        let fits = (LEAST_WAITING..=MOST_WAITING).contains(&self.max_waiting);
        rules.need("webhooks.max_waiting", fits, "from 100 to 10000000");
        rules.need("webhooks.keep_days", self.keep_days > 0, "above 0");
    }
}
