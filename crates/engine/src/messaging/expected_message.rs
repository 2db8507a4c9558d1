//! Recomputes the message that a flow makes of a stored event, and compares a message from the bus with it as
//! a whole.

use crate::messaging::dead_letter::headers;
use kernel::flow::table::Table;
use kernel::message::{self, Emission, Emitted, EventPlace, Message, Outgoing};
use kernel::ports::bus::BusDelivery;
use kernel::ports::journal::Linked;
use kernel::record::{Head, Record};
use serde_json::{Map, Value};

/// The fields of a payload that messages of earlier releases do not have.
const ADDED_LATER: [&str; 1] = ["prev"];

/// The message that a flow makes of an event of a record; `None` where it makes none.
pub(super) fn message_of(
    table: &Table,
    record: &Record,
    linked: &Linked,
    emission: Emission,
) -> Option<Message> {
    let entered = linked.entry.from != Some(linked.entry.to);
    let state = table.coded(linked.entry.to).filter(|_| entered || emission == Emission::Due)?;
    let then = Record { head: Head { state, ..record.head }, ..record.clone() };
    (table.emits)(state, &then, emission)
}

/// The message that reports an event, as the unit of the event wrote it; `None` where none does.
pub(super) fn stored(table: &Table, record: &Record, linked: &Linked) -> Option<Emitted> {
    let message = message_of(table, record, linked, Emission::Entered)?;
    Some(completed(message, record, linked, linked.entry.detail.as_deref()))
}

fn completed(message: Message, record: &Record, linked: &Linked, detail: Option<&str>) -> Emitted {
    let place = EventPlace {
        sequence: linked.entry.seq,
        hash: &linked.hash,
        prev: Some(&linked.prev),
        detail,
    };
    Outgoing { message, id: record.id, n: 0, event: None }.completed(&place, linked.entry.at)
}

/// Why a message is not one that the flow makes of this event; `None` where it is one.
pub(super) fn contradiction(
    table: &Table,
    record: &Record,
    linked: &Linked,
    delivery: &BusDelivery,
) -> Option<String> {
    let sequence = linked.entry.seq;
    let differences = [Emission::Entered, Emission::Due]
        .into_iter()
        .filter_map(|emission| {
            let message = message_of(table, record, linked, emission)?;
            Some(differences(message, record, linked, emission, delivery))
        })
        .min_by_key(Vec::len);
    match differences {
        None => Some(format!("event {sequence} has no message in the history")),
        Some(names) if names.is_empty() => None,
        Some(names) => {
            Some(format!("event {sequence} has another {} in the history", names.join(", ")))
        }
    }
}

/// The names of what differs between a message of the flow and a message from the bus.
fn differences(
    message: Message,
    record: &Record,
    linked: &Linked,
    emission: Emission,
    delivery: &BusDelivery,
) -> Vec<String> {
    let (numbers, detail) = match emission {
        Emission::Entered => (0..=0, linked.entry.detail.as_deref()),
        Emission::Due => (1..=record.head.retries, None),
    };
    let (kind, id, found) = (message.kind, record.id, &delivery.message);
    let expected = completed(message, record, linked, detail);
    let mut names = Vec::new();
    let mut compare = |name: &str, equal: bool| {
        if !equal {
            names.push(name.to_owned());
        }
    };
    compare("topic", expected.topic == delivery.partition.topic);
    compare("ce_type", headers(found).get("ce_type").and_then(Value::as_str) == Some(kind));
    compare("key", expected.key == found.key);
    compare("ce_id", numbers.rev().any(|n| message::number(id, kind, n) == found.number));
    names.extend(payload_differences(&expected.payload, &found.payload));
    names
}

/// The names of the fields in which a payload differs from the expected one. Of fields that no message has
/// nothing is named: their text is that of a foreign writer.
fn payload_differences(expected: &str, found: &str) -> Vec<String> {
    let parsed = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let (expected, fields) = (parsed(expected), parsed(found));
    let differs = |(name, value): &(&String, &Value)| match fields.get(*name) {
        None => !ADDED_LATER.contains(&name.as_str()),
        Some(field) => field != *value,
    };
    let mut names: Vec<String> =
        expected.iter().filter(differs).map(|(name, _)| name.clone()).collect();
    if fields.keys().any(|name| !expected.contains_key(name)) {
        names.push("set of fields".to_owned());
    }
    // a field that stands twice is read in two ways
    let once = Value::Object(fields).to_string();
    if names.is_empty() && once != found {
        names.push("payload".to_owned());
    }
    names
}
