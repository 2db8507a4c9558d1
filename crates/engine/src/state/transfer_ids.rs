//! The ids of transfers that a chain pays. A payment's memo is the id, and the journal may lose a transfer
//! when it is restored. So the id is a function of what a client repeats: its key, and the scope of the key,
//! under a secret that the journal draws once and that every backup has.

use crate::commit::outcome::{WriteOutcome, write_beside};
use crate::state::parts::Parts;
use kernel::answer::Cause;
use kernel::audit::hex;
use kernel::hmac::MacKey;
use kernel::ids::{Id, Millis};
use kernel::record::Binding;
use kernel::unit::{Guard, Put, Unit};
use std::sync::Arc;

/// The row of the journal with the secret.
const SECRET: &str = "secret:transfer-ids";

/// How often the row is written before the start of the process fails.
const TRIES: usize = 5;

/// Makes the ids of transfers whose client gave a key.
#[derive(Debug)]
pub(crate) struct TransferIds(MacKey);

impl TransferIds {
    /// Reads the secret of the journal, and draws it where the journal has none.
    ///
    /// # Errors
    /// Why the journal does not show it.
    pub(crate) async fn read(parts: &Parts) -> Result<Self, Cause> {
        let mut last = Cause::of("NO_SECRET");
        for _ in 0..TRIES {
            if let Some(row) = parts.journal.resource(SECRET.into()).await? {
                return Ok(Self(MacKey::new(row.value.as_bytes())));
            }
            let guard = Guard::Resource { name: SECRET.into(), version: 0 };
            let put = Put::Resource { name: SECRET.into(), value: drawn(parts) };
            // whatever becomes of the write, the row that the journal has then is the secret
            let drawn = Unit::guarded(vec![guard], vec![put]);
            if let WriteOutcome::NotWritten(why) = write_beside(&*parts.journal, drawn).await {
                last = why.cause;
            }
        }
        Err(last)
    }

    /// The id of a moment for a client's key. The same key has the same [`Id::tag`] at every moment.
    pub(crate) fn of_key(
        &self,
        at: Millis,
        flow: &str,
        Binding { scope, key, .. }: &Binding,
    ) -> Id {
        let mut message = Vec::new();
        for part in [flow, scope, key] {
            message.extend(part.len().to_be_bytes());
            message.extend(part.as_bytes());
        }
        let mac = self.0.mac(&message);
        Id::new(at, mac.iter().take(10).fold(0, |tag, byte| tag << 8 | u128::from(*byte)))
    }
}

/// A new secret of 256 bits, as text.
fn drawn(parts: &Parts) -> Arc<str> {
    let mut secret = [0; 32];
    for part in secret.chunks_mut(8) {
        part.copy_from_slice(&parts.rng.next().to_be_bytes());
    }
    hex(&secret).into()
}

#[cfg(test)]
mod tests {
    use super::TransferIds;
    use kernel::hmac::MacKey;
    use kernel::ids::Id;
    use kernel::record::Binding;

    /// Turns red where an id depends on less than the flow, the scope and the key, or on more than them and
    /// its moment.
    #[test]
    fn the_tag_is_a_function_of_flow_scope_and_key() {
        let bound = |scope: &str, key: &str| Binding {
            scope: scope.into(),
            key: key.into(),
            fingerprint: [0; 32],
        };
        let ids = TransferIds(MacKey::new(b"secret"));
        let first = ids.of_key(5, "relay", &bound("i|ann", "1"));
        assert_eq!(first.at(), 5);
        assert_eq!(ids.of_key(7, "relay", &bound("i|ann", "1")), Id::new(7, first.tag()));
        let others = [
            ids.of_key(5, "relay", &bound("i|ann", "2")),
            ids.of_key(5, "relay", &bound("i|bob", "1")),
            ids.of_key(5, "relay", &bound("i|an", "n1")),
            ids.of_key(5, "swap_out", &bound("i|ann", "1")),
            TransferIds(MacKey::new(b"other")).of_key(5, "relay", &bound("i|ann", "1")),
        ];
        assert!(others.iter().all(|other| other.tag() != first.tag()));
    }
}
