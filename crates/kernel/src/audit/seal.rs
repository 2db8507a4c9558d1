//! Seals: from time to time the journal writes one hash over everything before it, with a keyed MAC.
//!
//! A seal covers each lane up to a stated number without a gap, and names the seal before it. A person who
//! changes a covered row also needs the key, and the copy of the seal in the log.

use super::merkle::Merkle;
use super::{AuditUnit, Hash};
use crate::hmac::MacKey;
use crate::ids::Millis;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The key of the seals, and those that were the key before it.
#[derive(Debug, Clone)]
pub struct SealKey {
    present: MacKey,
    /// The keys before it, the newest first.
    former: Vec<MacKey>,
}

impl SealKey {
    /// The key of these bytes, of any length.
    pub fn new(bytes: &[u8]) -> Self {
        Self { present: MacKey::new(bytes), former: Vec::new() }
    }

    /// The same key, after these: the newest of them first. They verify older seals and make none.
    #[must_use]
    pub fn with_former(mut self, former: &[Vec<u8>]) -> Self {
        self.former = former.iter().map(|bytes| MacKey::new(bytes)).collect();
        self
    }

    fn mac(&self, message: &[u8]) -> Hash {
        self.present.mac(message)
    }

    /// The MAC of a text that is no seal. Texts of one kind never pass for those of another, nor for
    /// a seal.
    pub fn certify(&self, kind: &str, text: &str) -> Hash {
        self.mac(&certified(kind, text))
    }

    /// True where the MAC of this text was made with this key.
    pub fn certifies(&self, kind: &str, text: &str, mac: &Hash) -> bool {
        holds(&self.present, &certified(kind, text), mac)
    }
}

fn holds(key: &MacKey, message: &[u8], mac: &Hash) -> bool {
    let differing = key.mac(message).iter().zip(mac).fold(0, |d, (a, b)| d | (a ^ b));
    differing == 0
}

/// No kind holds a zero, so the text begins behind the first.
fn certified(kind: &str, text: &str) -> Vec<u8> {
    let mut body = b"portage text".to_vec();
    body.extend(kind.bytes().filter(|byte| *byte != 0));
    body.push(0);
    body.extend(text.bytes());
    body
}

/// Up to which number a seal covers each lane. Written `0:17,1:4`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cover(pub BTreeMap<u64, u64>);

impl Cover {
    /// The last number of a lane that is covered; 0 where none is.
    pub fn of(&self, lane: u64) -> u64 {
        self.0.get(&lane).copied().unwrap_or_default()
    }
}

impl fmt::Display for Cover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (lane, n)) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{lane}:{n}")?;
        }
        Ok(())
    }
}

/// A text that says nothing of lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a list of lanes with their numbers")]
pub struct BadCover;

impl FromStr for Cover {
    type Err = BadCover;

    fn from_str(text: &str) -> Result<Self, BadCover> {
        let lane = |part: &str| {
            let (lane, n) = part.split_once(':')?;
            Some((lane.parse().ok()?, n.parse().ok()?))
        };
        let parts = text.split(',').filter(|part| !part.is_empty());
        parts.map(lane).collect::<Option<_>>().map(Self).ok_or(BadCover)
    }
}

/// A seal: a row of `audit_seals`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    /// From 1, without a gap.
    pub number: u64,
    /// When, by the journal's time.
    pub at: Millis,
    /// What it and the seals before it cover.
    pub cover: Cover,
    /// The Merkle root over the units that it covers and the seal before it does not.
    pub root: Hash,
    /// The hash of the seal before; zeros for the first.
    pub previous: Hash,
    /// The keyed MAC over all of it.
    pub mac: Hash,
}

impl Seal {
    fn body(&self) -> Vec<u8> {
        let mut body = b"portage seal".to_vec();
        body.extend(self.number.to_be_bytes());
        body.extend(self.at.to_be_bytes());
        for (lane, n) in &self.cover.0 {
            body.extend(lane.to_be_bytes());
            body.extend(n.to_be_bytes());
        }
        body.extend(self.root);
        body.extend(self.previous);
        body
    }

    /// The hash that the next seal names.
    pub fn hash(&self) -> Hash {
        Sha256::digest(self.body()).into()
    }

    /// True where it was made with this key, or with one that was the key before it.
    pub fn is_of(&self, key: &SealKey) -> bool {
        self.key_age(key).is_some()
    }

    /// The number of keys that came after the one that made it: 0 of the present key. `None`: of no key.
    pub fn key_age(&self, key: &SealKey) -> Option<usize> {
        let body = self.body();
        let mut keys = [&key.present].into_iter().chain(&key.former);
        keys.position(|one| holds(one, &body, &self.mac))
    }
}

/// Builds a seal: it takes units in the order of their lanes and numbers.
#[derive(Debug)]
pub struct Sealing {
    number: u64,
    previous: Hash,
    cover: Cover,
    merkle: Merkle,
    units: u64,
}

impl Sealing {
    /// Of what the last seal does not cover.
    pub fn after(last: Option<&Seal>) -> Self {
        Self {
            number: last.map_or(1, |last| last.number.saturating_add(1)),
            previous: last.map_or([0; 32], Seal::hash),
            cover: last.map(|last| last.cover.clone()).unwrap_or_default(),
            merkle: Merkle::default(),
            units: 0,
        }
    }

    /// Takes one more unit. False: it does not follow the last one of its lane, so nothing of this
    /// lane may be sealed from here on.
    pub fn push(&mut self, unit: &AuditUnit) -> bool {
        let last = self.cover.of(unit.lane);
        if last.checked_add(1) != Some(unit.n) {
            return false;
        }
        self.cover.0.insert(unit.lane, unit.n);
        self.merkle.push(&unit.leaf());
        self.units = self.units.saturating_add(1);
        true
    }

    /// What is covered so far.
    pub const fn cover(&self) -> &Cover {
        &self.cover
    }

    /// How many units came since the last seal.
    pub const fn units(&self) -> u64 {
        self.units
    }

    /// The root over what was taken.
    pub fn root(self) -> Hash {
        self.merkle.root()
    }

    /// The seal; `None` where nothing is new.
    pub fn seal(self, key: &SealKey, at: Millis) -> Option<Seal> {
        if self.units == 0 {
            return None;
        }
        let Self { number, previous, cover, merkle, .. } = self;
        let mut seal = Seal { number, at, cover, root: merkle.root(), previous, mac: [0; 32] };
        seal.mac = key.mac(&seal.body());
        Some(seal)
    }
}

#[cfg(test)]
mod tests {
    use super::Cover;

    #[test]
    fn a_cover_is_read_as_it_is_written() {
        let cover = Cover([(0, 17), (3, 4)].into());
        assert_eq!(cover.to_string(), "0:17,3:4");
        assert_eq!("0:17,3:4".parse(), Ok(cover));
        assert_eq!("".parse(), Ok(Cover::default()));
        for bad in ["0", "0:", "0:1;1:2", "a:1"] {
            assert!(bad.parse::<Cover>().is_err(), "{bad}");
        }
    }
}
