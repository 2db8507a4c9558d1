//! Publishes dead letters: messages that can never be consumed, each with the reason and the place that it
//! came from, on a topic of their own.

use crate::messaging::Messaging;
use crate::messaging::group::GroupTask;
use crate::messaging::lanes::Ready;
use kernel::ids::Millis;
use kernel::operators::{Case, Severity, Subject};
use kernel::ports::bus::{BusDelivery, BusMessage};
use kernel::ports::meter::Seen;
use serde_json::{Map, Value};

/// The ending of the names of dead letters' topics.
pub(crate) const SUFFIX: &str = "-dlt";

/// The headers that a dead letter has beside those of its message.
pub mod header {
    pub const TOPIC: &str = "dlt-original-topic";
    pub const PARTITION: &str = "dlt-original-partition";
    pub const OFFSET: &str = "dlt-original-offset";
    pub const GROUP: &str = "dlt-consumer-group";
    pub const REASON: &str = "dlt-reason-code";
    pub const ATTEMPTS: &str = "dlt-attempts";
    pub const FIRST_FAILED: &str = "dlt-first-failed-at";
    pub const REPLAYS: &str = "dlt-replay-count";
}

/// Why a message is dead, and how often it was tried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Death<'a> {
    pub group: GroupTask,
    pub reason: &'a str,
    /// The tries, the last one included.
    pub attempts: u32,
    /// The time of the journal.
    pub at: Millis,
}

impl Messaging {
    /// Puts a message that can never be consumed on its topic of dead letters, and opens a case. False: it
    /// may not be there.
    pub(super) async fn dead_letter(&self, group: GroupTask, ready: &Ready, reason: &str) -> bool {
        let Some(client) = &self.client else { return false };
        let (attempts, at) = (ready.failures.saturating_add(1), self.shared.parts.journal.now());
        let message = dead(&ready.delivery, Death { group, reason, attempts, at });
        let topic = message.topic.clone();
        let said = client.bus.publish(vec![message]).await.pop();
        if !matches!(said, Some(Ok(()))) {
            return false;
        }
        self.shared.parts.meter.see(Seen::DeadLetter { topic: &topic, reason });
        let delivery = &ready.delivery;
        let (at, offset) = (delivery.partition.number, delivery.offset);
        let from = format!("{}, partition {at}, offset {offset}", delivery.partition.topic);
        self.cases.case(Case {
            kind: "DEAD_LETTER",
            severity: Severity::Warning,
            subject: Subject::Service,
            facts: format!("{reason}: a message of {from} lies on {topic}").into(),
        });
        true
    }
}

/// The headers of a message, as far as they can be read.
pub(crate) fn headers(message: &BusMessage) -> Map<String, Value> {
    serde_json::from_str(&message.headers).unwrap_or_default()
}

/// The message as a dead letter: unchanged, with the place that it came from and the reason. One that went
/// back and failed again keeps its first place.
pub(crate) fn dead(delivery: &BusDelivery, death: Death<'_>) -> BusMessage {
    let message = &delivery.message;
    let mut all = headers(message);
    let first = [
        (header::TOPIC, delivery.partition.topic.to_string()),
        (header::PARTITION, delivery.partition.number.to_string()),
        (header::OFFSET, delivery.offset.to_string()),
        (header::FIRST_FAILED, death.at.to_string()),
        (header::REPLAYS, "0".to_owned()),
    ];
    for (name, value) in first {
        all.entry(name).or_insert(Value::String(value));
    }
    let last = [
        (header::GROUP, death.group.name().to_owned()),
        (header::REASON, death.reason.to_owned()),
        (header::ATTEMPTS, death.attempts.to_string()),
    ];
    for (name, value) in last {
        all.insert(name.to_owned(), Value::String(value));
    }
    BusMessage {
        topic: format!("{}{SUFFIX}", delivery.partition.topic).into(),
        headers: Value::Object(all).to_string().into(),
        ..message.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{Death, dead, header, headers};
    use crate::messaging::group::GroupTask;
    use kernel::flow::life::ConsumerGroup;
    use kernel::ports::bus::{BusDelivery, BusMessage, Partition};

    /// Turns red where a message loses where it came from at first, its number, or a header of its own.
    #[test]
    fn a_second_death_keeps_the_first_place_and_says_the_last_reason() {
        let group = GroupTask::Move(ConsumerGroup { name: "group", topic: "topic" });
        let message = BusMessage {
            topic: "topic".into(),
            key: "key".into(),
            number: 7,
            payload: "{}".into(),
            headers: r#"{"ce_id":"7"}"#.into(),
        };
        let partition = Partition { topic: "topic".into(), number: 2 };
        let first = BusDelivery { partition: partition.clone(), offset: 9, message };
        let one = dead(&first, Death { group, reason: "ONE", attempts: 1, at: 50 });
        let again = BusDelivery { partition, offset: 30, message: one };
        let two = dead(&again, Death { group, reason: "TWO", attempts: 3, at: 60 });
        assert_eq!((&*two.topic, two.number, &*two.key), ("topic-dlt", 7, "key"));
        let all = headers(&two);
        let of = |name: &str| all.get(name).and_then(|value| value.as_str()).unwrap_or_default();
        let should = [
            ("ce_id", "7"),
            (header::OFFSET, "9"),
            (header::PARTITION, "2"),
            (header::FIRST_FAILED, "50"),
            (header::REASON, "TWO"),
            (header::ATTEMPTS, "3"),
            (header::REPLAYS, "0"),
            (header::GROUP, "group"),
        ];
        for (name, value) in should {
            assert_eq!(of(name), value, "{name}");
        }
    }
}
