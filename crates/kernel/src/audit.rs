//! The hash chain of a transfer's history, and the digest of one journal write.
//!
//! The journal calls these while it writes, so a row and its hash are one write.

use crate::ids::{Id, Millis};
use sha2::{Digest, Sha256};

/// A SHA-256 hash.
pub type Hash = [u8; 32];

/// What an entry of the history says, as it is hashed and shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its place in the transfer's history, from 0.
    pub seq: u32,
    /// When, by the journal's time.
    pub at: Millis,
    /// The stored number of the state before; `None` for the first entry.
    pub from: Option<i16>,
    /// The stored number of the state after.
    pub to: i16,
    /// The word for it: CREATED, SOURCE_OK, …
    pub event: String,
    /// Who caused it: a principal, or nobody for the machine.
    pub caller: Option<String>,
    /// Evidence, cause or reason.
    pub detail: Option<String>,
}

/// The hash before a transfer's first entry: it binds the chain to the transfer.
pub fn genesis(id: Id) -> Hash {
    Sha256::new()
        .chain_update(b"portage transfer")
        .chain_update(id.0.to_be_bytes())
        .finalize()
        .into()
}

/// The hash of an entry that follows `prev`. Every field is preceded by its length or presence, so
/// that no two entries share their bytes.
pub fn link(prev: Hash, entry: &Entry) -> Hash {
    let mut hash = Sha256::new();
    hash.update(prev);
    hash.update(entry.seq.to_be_bytes());
    hash.update(entry.at.to_be_bytes());
    match entry.from {
        Some(from) => hash.update([&[1][..], &from.to_be_bytes()].concat()),
        None => hash.update([0]),
    }
    hash.update(entry.to.to_be_bytes());
    text(&mut hash, Some(&entry.event));
    text(&mut hash, entry.caller.as_deref());
    text(&mut hash, entry.detail.as_deref());
    hash.finalize().into()
}

fn text(hash: &mut Sha256, text: Option<&str>) {
    match text {
        Some(text) => {
            hash.update([1]);
            hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(text);
        }
        None => hash.update([0]),
    }
}

/// The digest of one journal write: its row of `audit_units` (lane, n, count, digest).
#[derive(Debug, Clone, Default)]
pub struct UnitDigest {
    hash: Sha256,
    /// Entries so far.
    pub count: u32,
}

impl UnitDigest {
    /// Takes the hash of one more entry.
    pub fn push(&mut self, entry: Hash) {
        self.hash.update(entry);
        self.count = self.count.saturating_add(1);
    }

    /// The digest of all entries, in their order, under the lane's name and the row's number.
    pub fn finish(self, lane: u64, n: u64) -> Hash {
        self.hash.chain_update(lane.to_be_bytes()).chain_update(n.to_be_bytes()).finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, genesis, link};
    use crate::ids::Id;

    #[test]
    fn every_field_changes_the_hash() {
        let entry = Entry {
            seq: 1,
            at: 2,
            from: Some(0),
            to: 10,
            event: "SOURCE_CALL".to_owned(),
            caller: None,
            detail: None,
        };
        let base = link(genesis(Id(1)), &entry);
        let changed = [
            link(genesis(Id(2)), &entry),
            link(genesis(Id(1)), &Entry { seq: 2, ..entry.clone() }),
            link(genesis(Id(1)), &Entry { at: 3, ..entry.clone() }),
            link(genesis(Id(1)), &Entry { from: None, ..entry.clone() }),
            link(genesis(Id(1)), &Entry { to: 20, ..entry.clone() }),
            link(genesis(Id(1)), &Entry { event: "SOURCE_OK".to_owned(), ..entry.clone() }),
            link(genesis(Id(1)), &Entry { caller: Some(String::new()), ..entry.clone() }),
            link(genesis(Id(1)), &Entry { detail: Some(String::new()), ..entry.clone() }),
        ];
        for (n, hash) in changed.iter().enumerate() {
            assert_ne!(*hash, base, "{n}");
        }
    }
}
