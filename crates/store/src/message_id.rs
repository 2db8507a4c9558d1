//! The name of a message.

use kernel::audit::{Entry, genesis, link};
use kernel::unit::Outgoing;
use uuid::Uuid;

/// The UUID (of the kind that each application makes its own way) of a message: each that computes
/// it again from transfer, type and n finds the same.
pub(crate) fn message_id(message: &Outgoing) -> Uuid {
    let (event, at) = (message.topic.to_owned(), 0);
    let (from, to, caller, detail) = (None, 0, None, None);
    let entry = Entry { seq: message.n, at, from, to, event, caller, detail };
    let hash = kernel::audit::hex(&link(genesis(message.id), &entry));
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    let digits = format!("{}8{}8{}", part(0, 12), part(12, 15), part(15, 30));
    Uuid::from_u128(u128::from_str_radix(&digits, 16).unwrap_or_default())
}
