//! Encodes a message as a record of Kafka, and back: CloudEvents 1.0 in binary mode. The value is the
//! payload; number and headers are the record's headers.

use super::raw::{RECORD, RawHeader, RawRecord, is_text};
use kernel::ports::bus::{BusDelivery, BusMessage, Partition};
use rdkafka::message::{Header, Headers as _, Message, OwnedHeaders};
use serde_json::{Map, Value};
use std::sync::Arc;
use uuid::Uuid;

const ID: &str = "ce_id";
/// The headers of every record that name its form.
const FORM: [(&str, &str); 2] =
    [("ce_specversion", "1.0"), ("content-type", "application/json; charset=utf-8")];

/// What the headers of dead letters begin with: of a record that is kept as bytes they alone are written anew.
const DEAD: &str = "dlt-";

/// A message as it is written to a broker.
pub(super) struct WireRecord {
    pub key: Option<Vec<u8>>,
    pub payload: Option<Vec<u8>>,
    pub headers: OwnedHeaders,
}

impl WireRecord {
    pub(super) fn of(message: &BusMessage) -> Self {
        let Some(RawRecord { key, payload, headers: all }) = RawRecord::carried(message) else {
            let bytes = |text: &Arc<str>| Some(text.as_bytes().to_vec());
            let (key, payload) = (bytes(&message.key), bytes(&message.payload));
            return Self { key, payload, headers: headers(message) };
        };
        let number = Uuid::from_u128(message.number).to_string();
        let mut headers = OwnedHeaders::new_with_capacity(all.len().saturating_add(8));
        // its consumers know it by its number, whatever it had
        headers = headers.insert(Header { key: ID, value: Some(&number) });
        for RawHeader { name, value } in &all {
            if name != ID && !name.starts_with(DEAD) {
                headers = headers.insert(Header { key: name, value: value.as_ref() });
            }
        }
        let own: Map<String, Value> = serde_json::from_str(&message.headers).unwrap_or_default();
        for (key, value) in own.iter().filter(|(name, _)| name.starts_with(DEAD)) {
            headers = headers.insert(Header { key, value: value.as_str() });
        }
        Self { key, payload, headers }
    }
}

/// The headers of a message's record.
fn headers(message: &BusMessage) -> OwnedHeaders {
    let own: Map<String, Value> = serde_json::from_str(&message.headers).unwrap_or_default();
    let number = Uuid::from_u128(message.number).to_string();
    let mut headers = OwnedHeaders::new_with_capacity(own.len().saturating_add(3));
    for (key, value) in FORM.into_iter().chain([(ID, number.as_str())]) {
        headers = headers.insert(Header { key, value: Some(value) });
    }
    for (key, value) in &own {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        headers = headers.insert(Header { key, value: Some(&text) });
    }
    headers
}

/// A record as a consumer gets it. One that others wrote has a number by its place, and whatever of it is
/// no text is replaced: the consumer finds that it cannot be read. Its bytes stand among the headers then.
pub(super) fn delivery(record: &impl Message) -> BusDelivery {
    let text = |bytes: Option<&[u8]>| -> Arc<str> {
        bytes.map(String::from_utf8_lossy).unwrap_or_default().into()
    };
    let mut own = Map::new();
    let (mut number, mut form) = (None, 0_usize);
    for header in record.headers().into_iter().flat_map(|headers| headers.iter()) {
        let value = text(header.value);
        if header.key == ID {
            number = Uuid::parse_str(&value).ok().map(|id| id.as_u128());
        } else if FORM.contains(&(header.key, &*value)) {
            form = form.saturating_add(1);
        } else {
            own.insert(header.key.to_owned(), Value::String(value.to_string()));
        }
    }
    if form != FORM.len() || number.is_none() || !is_text(record) {
        let raw = RawRecord::of(record).text();
        own.insert(RECORD.to_owned(), Value::String(raw));
    }
    let partition = Partition {
        topic: record.topic().into(),
        number: u32::try_from(record.partition()).unwrap_or(0),
    };
    let offset = u64::try_from(record.offset()).unwrap_or(0);
    let place = (u128::from(partition.number) << 64) | u128::from(offset);
    let message = BusMessage {
        topic: partition.topic.clone(),
        key: text(record.key()),
        number: number.unwrap_or(place),
        payload: text(record.payload()),
        headers: Value::Object(own).to_string().into(),
    };
    BusDelivery { partition, offset, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdkafka::Timestamp;
    use rdkafka::message::OwnedMessage;

    fn record(payload: &[u8], headers: Option<OwnedHeaders>) -> OwnedMessage {
        let (payload, key) = (Some(payload.to_vec()), Some(b"a".to_vec()));
        OwnedMessage::new(payload, key, "t".into(), Timestamp::NotAvailable, 3, 7, headers)
    }

    fn message() -> BusMessage {
        let headers = r#"{"ce_type":"transfer-opened"}"#.into();
        BusMessage { topic: "t".into(), key: "a".into(), number: 1, payload: "{}".into(), headers }
    }

    /// Turns red where a header has another name than CloudEvents gives it: tools would not find it.
    #[test]
    fn a_record_is_a_cloud_event() {
        let headers = headers(&message());
        let all: Vec<_> = headers
            .iter()
            .map(|h| (h.key, String::from_utf8_lossy(h.value.unwrap_or(b""))))
            .collect();
        let should = [
            ("ce_specversion", "1.0"),
            ("content-type", "application/json; charset=utf-8"),
            ("ce_id", "00000000-0000-0000-0000-000000000001"),
            ("ce_type", "transfer-opened"),
        ];
        assert_eq!(all, should.map(|(key, value)| (key, value.into())));
    }

    #[test]
    fn what_comes_is_what_was_sent() {
        let sent = message();
        let got = delivery(&record(b"{}", Some(headers(&sent))));
        assert_eq!((got.offset, got.partition.number, got.message), (7, 3, sent));
    }

    /// Turns red where two records of others have one number: the second would pass as consumed.
    #[test]
    fn a_record_without_a_number_has_one_of_its_place() {
        let foreign = delivery(&record(&[0xff], None));
        assert_eq!(foreign.message.number, (3 << 64) | 7);
        assert_eq!(&*foreign.message.payload, "\u{fffd}");
    }

    /// Turns red where bytes become a replacement character, nothing becomes an empty text, or two headers of one name
    /// become one (the release before): what the record was is lost then, and a redrive sends another.
    #[test]
    fn what_is_no_text_is_written_as_it_was() {
        let value = |value: &'static [u8]| Some(value.to_vec());
        let header = |name: &str, value| RawHeader { name: name.to_owned(), value };
        let all = vec![
            header("a", value(b"1")),
            header("a", value(b"2")),
            header("empty", value(b"")),
            header("none", None),
            header("content-type", value(b"application/avro")),
            header(RECORD, value(b"{}")),
            header("bytes", value(&[0xfe])),
        ];
        let mut headers = OwnedHeaders::new();
        for RawHeader { name, value } in &all {
            headers = headers.insert(Header { key: name, value: value.as_ref() });
        }
        for (payload, key) in
            [(value(&[0xff, 0]), value(b"k")), (None, None), (value(b""), value(b""))]
        {
            let record = OwnedMessage::new(
                payload.clone(),
                key.clone(),
                "t".into(),
                Timestamp::NotAvailable,
                3,
                7,
                Some(headers.clone()),
            );
            let got = delivery(&record).message;
            // as a dead letter: with one more header
            let mut own: Map<String, Value> =
                serde_json::from_str(&got.headers).unwrap_or_default();
            own.insert("dlt-reason-code".to_owned(), "UNREADABLE".into());
            let letter = BusMessage { headers: Value::Object(own).to_string().into(), ..got };
            let written = WireRecord::of(&letter);
            assert_eq!((&written.payload, &written.key), (&payload, &key));
            let found = OwnedMessage::new(
                written.payload,
                written.key,
                "t".into(),
                Timestamp::NotAvailable,
                3,
                8,
                Some(written.headers),
            );
            let mut names = RawRecord::of(&found).headers;
            assert_eq!(names.remove(0).name, ID);
            assert_eq!(names.pop(), Some(header("dlt-reason-code", value(b"UNREADABLE"))));
            assert_eq!(names, all);
        }
    }
}
