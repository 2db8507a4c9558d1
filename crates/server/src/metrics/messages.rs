//! Metrics of messages: the outbox, groups of consumers, parked keys and dead letters.

use super::registry::{MetricRegistry, labels};
use super::whole;
use kernel::ids::Millis;
use kernel::ports::meter::Seen;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

labels! {
    GroupOutcome { group, outcome }
    GroupPartition { group, topic, partition }
    OfGroup { group }
    OfTopic { topic }
    TopicReason { topic, reason }
    TopicOutcome { topic, outcome }
    OfOutcome { outcome }
}

type Number = Gauge<f64, AtomicU64>;

/// The metrics of messages.
#[derive(Debug)]
pub(super) struct MessageMetrics {
    pending: Gauge,
    oldest: Number,
    published: Family<OfOutcome, Counter>,
    consumed: Family<GroupOutcome, Counter>,
    lag: Family<GroupPartition, Gauge>,
    lag_seconds: Family<GroupPartition, Number>,
    paused: Family<OfGroup, Gauge>,
    parked_keys: Family<OfGroup, Gauge>,
    parked_messages: Family<OfGroup, Gauge>,
    dead: Family<TopicReason, Counter>,
    redriven: Family<TopicOutcome, Counter>,
    depth: Family<OfTopic, Gauge>,
    depth_age: Family<OfTopic, Number>,
}

fn seconds(age: Millis) -> f64 {
    Duration::from_millis(age).as_secs_f64()
}

impl MessageMetrics {
    #[rustfmt::skip]
    pub(super) fn entered(metrics: &mut MetricRegistry) -> Self {
        Self {
            pending: metrics.single("outbox_pending", "Messages that are not published yet", Gauge::default()),
            oldest: metrics.single("outbox_oldest_age_seconds", "Age of the oldest message that is not published yet, in seconds", Number::default()),
            published: metrics.counters("outbox_published", "Messages that were sent to the bus: `sure`, or `again` where it gave no good answer"),
            consumed: metrics.counters("consumer_records", "Messages that a group was given, by what became of them"),
            lag: metrics.gauges("consumergroup_lag", "Messages of a partition that a group has not consumed"),
            lag_seconds: metrics.gauges("consumergroup_lag_seconds", "Age of the oldest message of a partition that a group has not consumed, in seconds"),
            paused: metrics.gauges("consumer_paused", "1 while operators pause the group"),
            parked_keys: metrics.gauges("parked_keys", "Keys whose messages failed too often, and wait"),
            parked_messages: metrics.gauges("parked_messages", "Messages that wait under them"),
            dead: metrics.counters("dlt_in", "Messages that no consumer can take, by why"),
            redriven: metrics.counters("dlt_redriven", "Dead letters that operators sent back: `sure`, or `again`"),
            depth: metrics.gauges("dlt_depth", "Dead letters that wait"),
            depth_age: metrics.gauges("dlt_oldest_age_seconds", "Age of the oldest dead letter that waits, in seconds"),
        }
    }

    /// Makes the series of what is published, and of these groups of consumers.
    pub(super) fn start_at_zero(&self, groups: impl Iterator<Item = &'static str>) {
        for outcome in ["sure", "again"] {
            let _series = self.published.get_or_create(&OfOutcome::of(outcome));
        }
        for group in groups {
            for outcome in ["moved", "seen", "passed", "failed", "poison", "foreign"] {
                let _series = self.consumed.get_or_create(&GroupOutcome::of(group, outcome));
            }
        }
    }

    pub(super) fn see(&self, seen: Seen<'_>) {
        let outcome = |sure: bool| if sure { "sure" } else { "again" };
        match seen {
            Seen::Consumed { group, outcome } => {
                self.consumed.get_or_create(&GroupOutcome::of(group, outcome)).inc();
            }
            Seen::Published { sure } => {
                self.published.get_or_create(&OfOutcome::of(outcome(sure))).inc();
            }
            Seen::DeadLetter { topic, reason } => {
                self.dead.get_or_create(&TopicReason::of(topic, reason)).inc();
            }
            Seen::Redriven { topic, sure } => {
                self.redriven.get_or_create(&TopicOutcome::of(topic, outcome(sure))).inc();
            }
            Seen::Outbox { messages, age } => {
                self.pending.set(whole(messages));
                self.oldest.set(seconds(age));
            }
            Seen::Lag { group, topic, partition, messages, age } => {
                let label = GroupPartition::of(group, topic, &partition.to_string());
                self.lag.get_or_create(&label).set(whole(messages));
                self.lag_seconds.get_or_create(&label).set(seconds(age));
            }
            Seen::Parked { group, keys, messages } => {
                self.parked_keys.get_or_create(&OfGroup::of(group)).set(whole(keys));
                self.parked_messages.get_or_create(&OfGroup::of(group)).set(whole(messages));
            }
            Seen::DeadLetters { topic, messages, age } => {
                self.depth.get_or_create(&OfTopic::of(topic)).set(whole(messages));
                self.depth_age.get_or_create(&OfTopic::of(topic)).set(seconds(age));
            }
            Seen::GroupPaused { group, paused } => {
                self.paused.get_or_create(&OfGroup::of(group)).set(i64::from(paused));
            }
            Seen::Commit { .. }
            | Seen::Step { .. }
            | Seen::Opened { .. }
            | Seen::Ended { .. }
            | Seen::Batch { .. }
            | Seen::Queue { .. }
            | Seen::Retry { .. }
            | Seen::Refused { .. }
            | Seen::Replay { .. }
            | Seen::Conflict { .. }
            | Seen::Cases { .. }
            | Seen::UnknownOpen { .. }
            | Seen::Round { .. }
            | Seen::ChainCall { .. }
            | Seen::Lane { .. }
            | Seen::Lanes { .. }
            | Seen::FeeBalance { .. }
            | Seen::ChainBalance { .. }
            | Seen::Halted(_) => {}
        }
    }
}
