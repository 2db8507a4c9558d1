//! Defines dead letters: messages that can never be consumed, each with the reason and the place that it
//! came from, for a topic of their own.

use crate::messaging::group::GroupTask;
use kernel::audit::hash::sha256;
use kernel::audit::hex;
use kernel::ids::Millis;
use kernel::ports::bus::{BusDelivery, BusMessage};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The ending of the names of dead letters' topics.
pub(crate) const SUFFIX: &str = "-dlt";
/// The most bytes of a dead letter that is kept whole: with its headers it is below the 1 048 588 bytes
/// that a topic of Kafka takes by default (`max.message.bytes`).
const WHOLE_BYTES: usize = 900_000;
/// What is kept of the payload of a larger one, in bytes.
const HEAD_BYTES: usize = 65_536;
/// What is kept of the key of a larger one, in bytes.
const KEY_BYTES: usize = 1_024;

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
    /// Only of one that was cut: the size of its payload, in bytes.
    pub const PAYLOAD_BYTES: &str = "dlt-payload-bytes";
    /// Only of one that was cut: the SHA-256 of its payload, in hexadecimal digits.
    pub const PAYLOAD_SHA256: &str = "dlt-payload-sha256";
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

/// The topic of the dead letters of a topic, and the name under which those of a group wait in the journal.
pub(super) fn dead_letters_of(name: &str) -> Arc<str> {
    format!("{name}{SUFFIX}").into()
}

/// The headers of a message, as far as they can be read.
pub(crate) fn headers(message: &BusMessage) -> Map<String, Value> {
    serde_json::from_str(&message.headers).unwrap_or_default()
}

/// The message as a dead letter: with the place that it came from and the reason, else unchanged, or cut
/// where it is too large for its topic. One that went back and failed again keeps its first place.
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
    let headers = Value::Object(all).to_string().into();
    let topic = dead_letters_of(&delivery.partition.topic);
    cut(BusMessage { topic, headers, ..message.clone() })
}

/// Cuts a dead letter that is too large: it keeps the head of its payload and of its key, the size and the
/// hash of the payload, and of its headers those that say why it is dead.
fn cut(letter: BusMessage) -> BusMessage {
    let BusMessage { key, payload, headers: own, .. } = &letter;
    let bytes = key.len().saturating_add(payload.len()).saturating_add(own.len());
    if bytes <= WHOLE_BYTES {
        return letter;
    }
    let mut all = headers(&letter);
    all.retain(|name, _| name.starts_with("dlt-"));
    let hash = hex(&sha256(payload.as_bytes()));
    all.insert(header::PAYLOAD_BYTES.to_owned(), Value::String(payload.len().to_string()));
    all.insert(header::PAYLOAD_SHA256.to_owned(), Value::String(hash));
    BusMessage {
        key: head(key, KEY_BYTES).into(),
        payload: head(payload, HEAD_BYTES).into(),
        headers: Value::Object(all).to_string().into(),
        ..letter
    }
}

/// The first bytes of a text, up to the end of a character.
fn head(text: &str, bytes: usize) -> &str {
    let most = if text.len() < bytes { text.len() } else { bytes };
    (0..=most).rev().find_map(|end| text.get(..end)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Death, HEAD_BYTES, WHOLE_BYTES, dead, header, headers};
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

    /// Turns red where a dead letter is larger than its topic takes: it would never be published.
    #[test]
    fn one_that_is_too_large_keeps_its_head_and_its_hash() {
        let group = GroupTask::Move(ConsumerGroup { name: "group", topic: "topic" });
        // three bytes a character: the head ends between two of them
        for (key, payload, big) in [
            ("k".to_owned(), "\u{fffd}".repeat(400_000), "{}".to_owned()),
            ("k".repeat(1_000_000), "{}".to_owned(), "{}".to_owned()),
            ("k".to_owned(), "{}".to_owned(), format!(r#"{{"own":"{}"}}"#, "x".repeat(1_000_000))),
        ] {
            let message = BusMessage {
                topic: "topic".into(),
                key: key.into(),
                number: 7,
                payload: payload.clone().into(),
                headers: big.into(),
            };
            let partition = Partition { topic: "topic".into(), number: 2 };
            let from = BusDelivery { partition, offset: 9, message };
            let letter = dead(&from, Death { group, reason: "ONE", attempts: 1, at: 50 });
            let bytes = letter.key.len() + letter.payload.len() + letter.headers.len();
            assert!(bytes < WHOLE_BYTES, "{bytes}");
            assert!(letter.payload.len() <= HEAD_BYTES && payload.starts_with(&*letter.payload));
            let all = headers(&letter);
            let of =
                |name: &str| all.get(name).and_then(|value| value.as_str()).unwrap_or_default();
            assert_eq!(of(header::PAYLOAD_BYTES), payload.len().to_string());
            assert_eq!(of(header::PAYLOAD_SHA256).len(), 64);
            assert_eq!((of(header::OFFSET), of(header::REASON)), ("9", "ONE"));
        }
    }
}
