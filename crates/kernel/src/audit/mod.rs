//! The audit: chains of hashes, the digest of one journal write, the seals over many writes, and their
//! proof.
//!
//! Every entry names the hash of the entry before it in its chain: a transfer's history, the actions of
//! operators, or the movements that came from outside. The entries of one journal write make a unit; a
//! [`seal`] covers units up to a stated number. The journal calls these functions while it writes, so a row
//! and its hash are one write; [`proof`] computes all of them again.

pub mod hash;
pub mod merkle;
pub mod proof;
pub mod replay;
pub mod seal;

pub use hash::{Hash, hex, unhex};

use crate::ids::{Id, Millis};
use crate::money::Amount;
use crate::record::{Binding, Origin, Party, Terms, TermsVersion};
use sha2::{Digest, Sha256};

/// The chain of operators' actions. No transfer has this id: its time would be 1970.
pub const OPERATORS: Id = Id(0);
/// The chain of external movements: deposits and withdrawals.
pub const WORLD: Id = Id(1);

/// The fields of an entry of the history, as they are hashed and shown.
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
    /// The principal that caused it; `None` for the engine.
    pub caller: Option<String>,
    /// Evidence, cause or reason.
    pub detail: Option<String>,
    /// The hash of what was agreed with it ([`crate::agreed::Agreed::hash`]).
    pub agreed: Option<Hash>,
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
/// amount or an account cannot be changed behind a history. A row keeps the version that it was opened
/// with, so what it hashes to stays.
pub fn birth(id: Id, flow: &str, terms: &Terms) -> Hash {
    match terms.version {
        TermsVersion::V1 => birth_of_one_amount(id, flow, terms),
        TermsVersion::V2 => birth_of_parties(id, flow, terms, None),
        TermsVersion::V3 => birth_of_parties(id, flow, terms, Some(terms.refund_fee)),
    }
}

/// Version 1, as release 0.1.0 wrote it: one user, one asset, one amount.
fn birth_of_one_amount(id: Id, flow: &str, terms: &Terms) -> Hash {
    let Terms { principal, owner, source, target, fee, .. } = terms;
    let mut hash = Sha256::new_with_prefix(genesis(id));
    text(&mut hash, Some(flow));
    text(&mut hash, Some(principal));
    hash.update(owner.number().to_be_bytes());
    bound(&mut hash, terms.binding.as_ref());
    for Party { system, account, .. } in [source, target] {
        hash.update([system.code()]);
        text(&mut hash, Some(&account.to_string()));
    }
    hash.update(source.asset.0.to_be_bytes());
    hash.update(source.amount.0.to_be_bytes());
    hash.update(fee.0.to_be_bytes());
    hash_optional_fields(&mut hash, terms);
    hash.finalize().into()
}

/// Version 2: every field of the terms but the refund fee, which version 3 adds. A later field comes behind a
/// presence byte at the end, and only where it is there: the rows that have none keep their hash.
fn birth_of_parties(id: Id, flow: &str, terms: &Terms, refund_fee: Option<Amount>) -> Hash {
    let Terms { principal, owner, source, target, fee, origin, .. } = terms;
    let mut hash = Sha256::new_with_prefix(genesis(id));
    // the first version begins with the presence of a text, which is 1
    hash.update([if refund_fee.is_some() { 3 } else { 2 }]);
    text(&mut hash, Some(flow));
    text(&mut hash, Some(principal));
    text(&mut hash, Some(&owner.to_string()));
    bound(&mut hash, terms.binding.as_ref());
    for Party { system, account, asset, amount } in [source, target] {
        hash.update([system.code()]);
        text(&mut hash, Some(&account.key()));
        hash.update(asset.0.to_be_bytes());
        hash.update(amount.0.to_be_bytes());
    }
    hash.update(fee.0.to_be_bytes());
    if let Some(refund_fee) = refund_fee {
        hash.update(refund_fee.0.to_be_bytes());
    }
    hash.update(u64::try_from(terms.metadata.len()).unwrap_or(u64::MAX).to_be_bytes());
    hash_optional_fields(&mut hash, terms);
    if let Some(Origin { chain, key }) = origin {
        hash.update([1, chain.0]);
        text(&mut hash, Some(key));
    }
    hash.finalize().into()
}

/// Hashes a client's key and what it is bound to, or that there is none.
fn bound(hash: &mut Sha256, binding: Option<&Binding>) {
    let Binding { scope, key, fingerprint } = match binding {
        Some(binding) => binding,
        None => &Binding { scope: "".into(), key: "".into(), fingerprint: [0; 32] },
    };
    hash.update([u8::from(binding.is_some())]);
    text(hash, Some(scope));
    text(hash, Some(key));
    hash.update(fingerprint);
}

/// Hashes the fields that only some transfers have.
fn hash_optional_fields(hash: &mut Sha256, terms: &Terms) {
    let Terms { deadline, memo, reference, metadata, day, .. } = terms;
    hash.update([u8::from(deadline.is_some())]);
    hash.update(deadline.unwrap_or_default().to_be_bytes());
    text(hash, memo.as_deref());
    text(hash, reference.as_deref());
    hash.update([u8::from(day.is_some())]);
    hash.update(day.map_or(0, |day| day.0).to_be_bytes());
    for (name, value) in metadata {
        text(hash, Some(name));
        text(hash, Some(value));
    }
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
        agreed: None,
    }
}

/// The hash of an entry that follows `prev`. Every field is preceded by its length or presence, so
/// that no two entries share their bytes. What was agreed comes at the end behind a byte of its own, and
/// only where it is there: entries that agree nothing keep the hash that former releases gave them.
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
    if let Some(agreed) = entry.agreed {
        hash.update([1]);
        hash.update(agreed);
    }
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
    /// The number of entries that were pushed so far.
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
            agreed: None,
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
            link(genesis(Id(1)), &Entry { agreed: Some([0; 32]), ..entry.clone() }),
            link(genesis(Id(1)), &Entry { agreed: Some([1; 32]), ..entry.clone() }),
        ];
        for (n, hash) in changed.iter().enumerate() {
            assert_ne!(*hash, base, "{n}");
        }
    }
}
