//! `[webhooks]`: the delivery of events to endpoints: timeouts, retries and retention.

use crate::config::section::{Setting, SettingRules, Shape, section};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

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
        /// With `allow_private`: endpoints in private networks may have addresses that begin with `http://`. What is posted crosses that network in the clear.
        allow_private_http: bool = false,
        /// How long a receiver has to answer.
        timeout_seconds: u64 = 15,
        /// The waits between the tries of one message, in seconds, each up to a fifth longer by chance; after the last it is given up.
        retry_seconds: RetrySeconds = RetrySeconds(vec![5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]),
        /// An endpoint that took nothing for this time is disabled, with a case.
        disable_after_hours: u64 = 72,
        /// An endpoint that has this number of messages still to take is disabled, with a case; at half of it a case opens.
        max_waiting: u64 = 100_000,
        /// How long messages and their log are kept.
        keep_days: u64 = 30,
    }
}

/// Waits in seconds. A file may have numbers or texts; a variable has texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct RetrySeconds(pub Vec<u64>);

impl<'de> Deserialize<'de> for RetrySeconds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let list = Vec::<Value>::deserialize(from)?;
        let read = |one: &Value| match one.as_str() {
            Some(text) => text.trim().parse().ok(),
            None => one.as_u64(),
        };
        let all = list.iter().map(read).collect::<Option<Vec<u64>>>();
        all.map(Self).ok_or_else(|| D::Error::custom("not whole numbers"))
    }
}

impl Setting for RetrySeconds {
    const KIND: &'static str = "a list of whole numbers";
    const SHAPE: Shape = Shape::List;
}

impl Webhooks {
    /// The waits between the tries of one message, in milliseconds.
    pub fn waits(&self) -> Vec<u64> {
        self.retry_seconds.0.iter().map(|seconds| seconds.saturating_mul(1_000)).collect()
    }

    pub(in crate::config) fn rules(&self, rules: &mut SettingRules) {
        let fit = |seconds: &u64| (1..=LONGEST).contains(seconds);
        let rule = "whole numbers of seconds, each from 1 to 2592000";
        rules.need("webhooks.retry_seconds", self.retry_seconds.0.iter().all(fit), rule);
        let fits = self.allow_private || !self.allow_private_http;
        rules.need("webhooks.allow_private_http", fits, "off where webhooks.allow_private is");
        let fits = (1..=60).contains(&self.timeout_seconds);
        rules.need("webhooks.timeout_seconds", fits, "from 1 to 60");
        rules.need("webhooks.disable_after_hours", self.disable_after_hours > 0, "above 0");
        let fits = (LEAST_WAITING..=MOST_WAITING).contains(&self.max_waiting);
        rules.need("webhooks.max_waiting", fits, "from 100 to 10000000");
        rules.need("webhooks.keep_days", self.keep_days > 0, "above 0");
    }
}
