//! The audit: chains of hashes, the digest of one journal write, seals over many, and their proof.
//!
//! Every entry is linked to the one before it in its chain: a transfer's history, what operators
//! did, what came from the world. The entries of one journal write make a unit; a [`seal`] covers
//! units up to a stated number. The journal calls these while it writes, so a row and its hash are
//! one write; [`proof`] computes all of it again.

pub mod merkle;
pub mod proof;
pub mod seal;

use crate::ids::{Id, Millis};
use crate::record::{Binding, Party, Terms};
use sha2::{Digest, Sha256};

/// The chain of what operators did. No transfer has this id: its time would be 1970.
pub const OPERATORS: Id = Id(0);
/// The chain of money that came from the world or went there.
pub const WORLD: Id = Id(1);

/// A SHA-256 hash.
pub type Hash = [u8; 32];

/// A hash in hexadecimal digits, as it is stored and shown.
pub fn hex(hash: &Hash) -> String {
    let digit = |n: u8| char::from_digit(n.into(), 16).unwrap_or_default();
    let mut text = String::with_capacity(64);
    for byte in hash {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 0xf));
    }
    text
}

/// The hash of 64 hexadecimal digits; none of anything else.
pub fn unhex(text: &str) -> Option<Hash> {
    let digits = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let byte = |at: usize| u8::from_str_radix(text.get(at..at.checked_add(2)?)?, 16).ok();
    let bytes: Vec<u8> = (0..64).step_by(2).map(byte).collect::<Option<_>>()?;
    bytes.try_into().ok().filter(|_| digits)
}

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
    /// Who caused it: a principal; `None` for the engine.
    pub caller: Option<String>,
    /// Evidence, cause or reason.
    pub detail: Option<String>,
}

/// The hash before the first entry of a chain that belongs to no transfer.
pub fn genesis(id: Id) -> Hash {
    Sha256::new()
        .chain_update(b"portage transfer")
        .chain_update(id.0.to_be_bytes())
        .finalize()
        .into()
}

/// The hash before a transfer's first entry: it binds the chain to what was agreed, so that an
/// amount or an account cannot be changed behind a history.
pub fn birth(id: Id, flow: &str, terms: &Terms) -> Hash {
    let Terms {
        principal,
        user,
        binding,
        source,
        target,
        asset,
        amount,
        fee,
        deadline,
        memo,
        reference,
        metadata,
        day,
    } = terms;
    let mut hash = Sha256::new_with_prefix(genesis(id));
    text(&mut hash, Some(flow));
    text(&mut hash, Some(principal));
    hash.update(user.0.to_be_bytes());
    let Binding { scope, key, fingerprint } = match binding {
        Some(binding) => binding,
        None => &Binding { scope: "".into(), key: "".into(), fingerprint: [0; 32] },
    };
    hash.update([u8::from(binding.is_some())]);
    text(&mut hash, Some(scope));
    text(&mut hash, Some(key));
    hash.update(fingerprint);
    for Party { system, account } in [source, target] {
        hash.update([system.code()]);
        text(&mut hash, Some(&account.to_string()));
    }
    hash.update(asset.0.to_be_bytes());
    hash.update(amount.0.to_be_bytes());
    hash.update(fee.0.to_be_bytes());
    hash.update([u8::from(deadline.is_some())]);
    hash.update(deadline.unwrap_or_default().to_be_bytes());
    text(&mut hash, memo.as_deref());
    text(&mut hash, reference.as_deref());
    hash.update([u8::from(day.is_some())]);
    hash.update(day.map_or(0, |day| day.0).to_be_bytes());
    for (name, value) in metadata {
        text(&mut hash, Some(name));
        text(&mut hash, Some(value));
    }
    hash.finalize().into()
}

/// The entry of something that belongs to no transfer, with all of its row: `fields` are the columns
/// that the entry has no place for, in the row's order.
pub fn action_entry(seq: u32, at: Millis, event: &str, caller: &str, fields: &[&str]) -> Entry {
    Entry {
        seq,
        at,
        from: None,
        to: 0,
        event: event.to_owned(),
        caller: Some(caller.to_owned()),
        detail: Some(serde_json::Value::from(fields).to_string()),
    }
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

/// A row of `audit_units`: one journal write with entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditUnit {
    /// The lane of the writer.
    pub lane: u64,
    /// Its number in the lane, from 1, without a gap.
    pub n: u64,
    /// The number of entries that the write holds.
    pub count: u32,
    /// The digest of their hashes.
    pub digest: Hash,
}

impl AuditUnit {
    /// Its bytes in a seal's tree.
    fn leaf(&self) -> Vec<u8> {
        let mut leaf = self.lane.to_be_bytes().to_vec();
        leaf.extend(self.n.to_be_bytes());
        leaf.extend(self.count.to_be_bytes());
        leaf.extend(self.digest);
        leaf
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
