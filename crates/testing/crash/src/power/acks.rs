//! Finds in a trace the answers that the server sent to clients, and their times.

use super::trace::Call;
use crate::create::units;
use serde_json::Value;

/// What a client was told, and must find again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ack {
    Transfer {
        key: String,
        id: String,
        /// From Funding to Spot.
        in_to_spot: bool,
        /// The amount in base units.
        units: i64,
        /// The state that was answered.
        state: String,
    },
    /// Money from or to the outside.
    Booked {
        /// The number of the operation.
        id: i64,
        user: u64,
        /// The amount in base units.
        units: i64,
    },
}

/// Every answer that was sent, with the line of the call's entry: from then on it may have been read.
pub fn acks(calls: &[Call]) -> Vec<(usize, Ack)> {
    let sends = calls.iter().filter(|call| {
        let peer = call.file().is_some_and(|file| file.starts_with("socket:"));
        peer && matches!(call.name.as_str(), "writev" | "write" | "sendto")
    });
    let promise = |call: &Call| Some((call.begun, call.result.and_then(|_| ack(&call.strings()))?));
    sends.filter_map(promise).collect()
}

fn ack(bytes: &[u8]) -> Option<Ack> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    if !["HTTP/1.1 20", "HTTP/1.1 422"].iter().any(|status| head.starts_with(status)) {
        return None;
    }
    let body: Value = serde_json::from_str(body).ok()?;
    let word = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let units = units(&word("amount")?).ok()?;
    if let Some(id) = body.get("operation_id").and_then(Value::as_i64) {
        let user = word("user_id")?.parse().ok()?;
        return Some(Ack::Booked { id, user, units });
    }
    let in_to_spot = word("from")? == "FUNDING";
    let (key, id, state) = (word("cid")?, word("req_id")?, word("state")?);
    Some(Ack::Transfer { key, id, in_to_spot, units, state })
}

#[cfg(test)]
mod tests {
    use super::{Ack, ack};

    #[test]
    fn a_promise_is_read_from_the_wire() {
        let made = b"HTTP/1.1 202 Accepted\r\na: b\r\n\r\n{\"req_id\":\"X\",\"cid\":\"k\",\
                     \"from\":\"SPOT\",\"amount\":\"1.500000\",\"state\":\"PENDING\"}";
        let (key, id, state) = ("k".to_owned(), "X".to_owned(), "PENDING".to_owned());
        let expected = Ack::Transfer { key, id, in_to_spot: false, units: 1_500_000, state };
        assert_eq!(ack(made), Some(expected));
        let booked = b"HTTP/1.1 201 Created\r\n\r\n{\"operation_id\":7,\"user_id\":\"4001\",\
                       \"amount\":\"2.000000\"}";
        assert_eq!(ack(booked), Some(Ack::Booked { id: 7, user: 4001, units: 2_000_000 }));
        for no_promise in [
            &b"HTTP/1.1 500 Oh\r\n\r\n{\"req_id\":\"X\",\"cid\":\"k\",\"amount\":\"1.000000\"}"[..],
            b"HTTP/1.1 200 OK\r\n\r\n{}",
            b"\x00\x01",
        ] {
            assert_eq!(ack(no_promise), None);
        }
    }
}
