//! Keeps the bytes of a record that others wrote beside its text, so that it goes to its topic of dead letters, and
//! back, as it was.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kernel::ports::bus::BusMessage;
use rdkafka::message::{Headers as _, Message};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::str;

/// The name under which a message's headers have its bytes. It is on no broker: a record of others that has a header
/// of this name is kept as bytes too.
pub(super) const RECORD: &str = "portage-record";

/// A record that has no exact form as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawRecord {
    pub key: Option<Vec<u8>>,
    pub payload: Option<Vec<u8>>,
    /// Each header in its place; a name may come more than once.
    pub headers: Vec<RawHeader>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawHeader {
    pub name: String,
    pub value: Option<Vec<u8>>,
}

/// True where key, payload and headers are texts, and no two headers have one name.
pub(super) fn is_text(record: &impl Message) -> bool {
    let text = |bytes: Option<&[u8]>| bytes.is_some_and(|all| str::from_utf8(all).is_ok());
    let mut names = BTreeSet::new();
    let mut headers = record.headers().into_iter().flat_map(|all| all.iter());
    text(record.key())
        && text(record.payload())
        && headers.all(|one| text(one.value) && one.key != RECORD && names.insert(one.key))
}

impl RawRecord {
    pub(super) fn of(record: &impl Message) -> Self {
        let header = |header: rdkafka::message::Header<'_, &[u8]>| RawHeader {
            name: header.key.to_owned(),
            value: header.value.map(<[u8]>::to_vec),
        };
        Self {
            key: record.key().map(<[u8]>::to_vec),
            payload: record.payload().map(<[u8]>::to_vec),
            headers: record.headers().into_iter().flat_map(|all| all.iter()).map(header).collect(),
        }
    }

    /// The text that a message carries it by.
    pub(super) fn text(&self) -> String {
        let bytes = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(|all| STANDARD.encode(all));
        let headers: Vec<Value> =
            self.headers.iter().map(|header| json!([header.name, bytes(&header.value)])).collect();
        json!({ "key": bytes(&self.key), "payload": bytes(&self.payload), "headers": headers })
            .to_string()
    }

    /// The record that a message carries; `None` where its texts are all of it.
    pub(super) fn carried(message: &BusMessage) -> Option<Self> {
        let headers: Map<String, Value> = serde_json::from_str(&message.headers).ok()?;
        let stored: Value = serde_json::from_str(headers.get(RECORD)?.as_str()?).ok()?;
        let bytes = |value: Option<&Value>| STANDARD.decode(value?.as_str()?).ok();
        let header = |value: &Value| {
            let name = value.get(0)?.as_str()?.to_owned();
            Some(RawHeader { name, value: bytes(value.get(1)) })
        };
        Some(Self {
            key: bytes(stored.get("key")),
            payload: bytes(stored.get("payload")),
            headers: stored.get("headers")?.as_array()?.iter().filter_map(header).collect(),
        })
    }
}
