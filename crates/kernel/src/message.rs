//! Messages to others: what a flow reports of an event, and the row that the outbox keeps of it.
//!
//! The flow makes a message for one event, and the unit of that event writes it. The journal adds what only
//! it knows: the place of the event in the transfer's chain, its hash and its detail.

use crate::audit::{self, Entry, Hash, genesis, link};
use crate::ids::{Id, Millis};
use serde_json::{Map, Value};
use std::sync::Arc;

/// How many buckets the outbox has. One worker at a time publishes a bucket, in order.
pub const BUCKETS: u16 = 16;

/// The message that a flow makes of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The topic to which its publisher sends it.
    pub topic: &'static str,
    /// Its type: with the transfer and `n` it names the message.
    pub kind: &'static str,
    /// Messages of one key are published in the order in which they were written.
    pub key: Arc<str>,
    /// The fields of its payload. The journal adds `transfer`, `sequence`, `hash`, and where it has them
    /// `prev` (the hash of the event before) and `detail` (of a refusal its code).
    pub payload: Map<String, Value>,
    /// The headers beside the payload, by name.
    pub headers: Map<String, Value>,
}

impl Message {
    /// A message without fields and headers.
    pub fn new(topic: &'static str, kind: &'static str, key: impl Into<Arc<str>>) -> Self {
        Self { topic, kind, key: key.into(), payload: Map::new(), headers: Map::new() }
    }

    /// The same with one more text in its payload.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Into<String>) -> Self {
        self.payload.insert(name.to_owned(), Value::String(value.into()));
        self
    }
}

/// The reason for which a flow is asked for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emission {
    /// The transfer enters the state, by its opening or by an edge of the table.
    Entered,
    /// The transfer is in the state, and its time has come: the message that drives it on is sent again.
    Due,
}

/// A row of the outbox, as a unit writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The message of the flow.
    pub message: Message,
    /// The transfer that the message is about.
    pub id: Id,
    /// How often the message was emitted before: 0 at first.
    pub n: u32,
    /// The place in [`crate::unit::Then::events`] of the event that it belongs to. `None`: no event is
    /// written beside it, and it belongs to the last one that the transfer has.
    pub event: Option<usize>,
}

impl Outgoing {
    /// The number that names the message, as [`number`] makes it.
    pub fn number(&self) -> u128 {
        number(self.id, self.message.kind, self.n)
    }

    /// The message with what the journal knows of its event, as it is kept and published.
    pub fn completed(&self, event: &EventPlace<'_>, at: Millis) -> Emitted {
        let mut payload = self.message.payload.clone();
        payload.insert("transfer".to_owned(), Value::String(self.id.to_string()));
        payload.insert("sequence".to_owned(), Value::from(event.sequence));
        payload.insert("hash".to_owned(), Value::String(audit::hex(event.hash)));
        if let Some(prev) = event.prev {
            payload.insert("prev".to_owned(), Value::String(audit::hex(prev)));
        }
        if let Some(detail) = event.detail {
            payload.insert("detail".to_owned(), Value::String(detail.to_owned()));
        }
        Emitted {
            number: self.number(),
            id: self.id,
            n: self.n,
            topic: self.message.topic.into(),
            kind: self.message.kind.into(),
            key: self.message.key.clone(),
            payload: Value::Object(payload).to_string().into(),
            headers: Value::Object(self.message.headers.clone()).to_string().into(),
            at,
        }
    }
}

/// The number of a message: a UUID (version 8) made from transfer, type and n, so that each that computes it
/// again finds the same. `n`: how often a message of the type was emitted before.
pub fn number(id: Id, kind: &str, n: u32) -> u128 {
    let (event, at) = (kind.to_owned(), 0);
    let (from, to, caller, detail, agreed) = (None, 0, None, None, None);
    let entry = Entry { seq: n, at, from, to, event, caller, detail, agreed };
    let hash = audit::hex(&link(genesis(id), &entry));
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    let digits = format!("{}8{}8{}", part(0, 12), part(12, 15), part(15, 30));
    u128::from_str_radix(&digits, 16).unwrap_or_default()
}

/// The place of an event in its transfer's chain.
#[derive(Debug, Clone, Copy)]
pub struct EventPlace<'e> {
    /// Its place in the history of its transfer, from 0.
    pub sequence: u32,
    /// The hash that links it to the event before.
    pub hash: &'e Hash,
    /// The hash of the event before. `None` where the write that sends the message adds no event: it does
    /// not know it.
    pub prev: Option<&'e Hash>,
    /// The evidence, cause or reason that is stored with it.
    pub detail: Option<&'e str>,
}

/// A message as the outbox keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emitted {
    /// The number that names it for ever ([`Outgoing::number`]).
    pub number: u128,
    /// The transfer that the message is about, whose history has its event.
    pub id: Id,
    /// How often the same type was emitted before for this transfer.
    pub n: u32,
    /// The topic to which its publisher sends it.
    pub topic: Arc<str>,
    /// The type of the message, as its flow says it.
    pub kind: Arc<str>,
    /// The key by which messages are ordered: its bucket follows from it.
    pub key: Arc<str>,
    /// A JSON object, completed by the place of its event.
    pub payload: Arc<str>,
    /// The headers beside the payload, as a JSON object of texts.
    pub headers: Arc<str>,
    /// When it was written, by the journal's time.
    pub at: Millis,
}

/// The bucket of a key: the partition that Kafka's own client gives it among [`BUCKETS`].
pub fn bucket(key: &str) -> u16 {
    u16::try_from(partition(key, u32::from(BUCKETS))).unwrap_or(0)
}

/// The partition of a key among this many, as Kafka's `murmur2` partitioner counts; 0 among none.
pub fn partition(key: &str, partitions: u32) -> u32 {
    (murmur2(key.as_bytes()) & 0x7fff_ffff).checked_rem(partitions).unwrap_or(0)
}

/// The 32-bit hash that Kafka's Java client partitions keys by.
fn murmur2(data: &[u8]) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    let mut hash = 0x9747_b28c ^ length;
    let (words, rest) = data.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    if !rest.is_empty() {
        for (place, byte) in (0u32..).zip(rest) {
            hash ^= u32::from(*byte) << (8 * place);
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of Kafka's own `UtilsTest.testMurmur2`.
    #[test]
    fn the_hash_is_that_of_kafkas_client() {
        let vectors: [(&str, i32); 7] = [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
            ("", 275_646_681),
        ];
        for (text, hash) in vectors {
            assert_eq!(murmur2(text.as_bytes()).cast_signed(), hash, "{text}");
        }
    }

    #[test]
    fn a_message_is_named_by_transfer_type_and_n() {
        let named = |id, kind, n| {
            let message = Message::new("topic", kind, "key");
            Outgoing { message, id: Id(id), n, event: None }.number()
        };
        let one = named(1, "a", 0);
        assert_eq!(one, named(1, "a", 0));
        assert!([named(2, "a", 0), named(1, "b", 0), named(1, "a", 1)].iter().all(|n| *n != one));
        assert_eq!((one >> 76) & 0xf, 8, "the version of a UUID that an application makes");
    }

    #[test]
    fn the_payload_says_which_event_it_belongs_to() {
        let message = Message::new("t", "k", "key").field("amount", "10");
        let outgoing = Outgoing { message, id: Id(1), n: 0, event: Some(0) };
        let (hash, prev) = (&[7; 32], Some(&[6; 32]));
        let event = EventPlace { sequence: 3, hash, prev, detail: Some("WHY") };
        let emitted = outgoing.completed(&event, 5);
        let (hash, prev) = ("07".repeat(32), "06".repeat(32));
        let should = format!(
            r#"{{"amount":"10","detail":"WHY","hash":"{hash}","prev":"{prev}","sequence":3,"transfer":"{}"}}"#,
            Id(1)
        );
        assert_eq!(*emitted.payload, *should);
        assert_eq!(&*emitted.headers, "{}");
    }
}
