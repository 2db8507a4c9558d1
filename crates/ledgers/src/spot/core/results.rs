//! Keeps the results of operations: finds them by key, lists them by number, and forgets them below the
//! horizon.

use super::entry::Entry;
use kernel::flow::life::Leg;
use kernel::ids::Id;
use kernel::operation::Key;
use std::collections::{BTreeMap, BTreeSet};

/// Numbers per chunk. A chunk never grows, so no growth ever copies all results.
const CHUNK: u64 = 1_024;

/// A key with an alignment of 8 instead of 16: a third less memory in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CompactKey {
    high: u64,
    low: u64,
    leg: Leg,
}

impl CompactKey {
    fn new(key: Key) -> Self {
        let half = |n: u128| u64::try_from(n & u128::from(u64::MAX)).unwrap_or(u64::MAX);
        Self { high: half(key.id.0 >> 64), low: half(key.id.0), leg: key.leg }
    }

    fn id(self) -> Id {
        Id((u128::from(self.high) << 64) | u128::from(self.low))
    }
}

/// Up to [`CHUNK`] results in the order of their numbers, as two columns: no byte of padding, and a
/// search by number reads only numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Chunk {
    places: Vec<u16>,
    entries: Vec<Entry>,
}

impl Chunk {
    fn with_room() -> Self {
        let room = usize::try_from(CHUNK).unwrap_or_default();
        Self { places: Vec::with_capacity(room), entries: Vec::with_capacity(room) }
    }

    fn iter(&self) -> impl Iterator<Item = (u16, &Entry)> {
        self.places.iter().copied().zip(&self.entries)
    }

    fn get(&self, place: u16) -> Option<&Entry> {
        self.entries.get(self.places.binary_search(&place).ok()?)
    }

    /// Drops what is not to be kept, and the memory that it took.
    fn retain(&mut self, keep: impl Fn(&Entry) -> bool) {
        let left: Vec<_> = self.iter().filter(|(_, e)| keep(e)).map(|(p, e)| (p, *e)).collect();
        if left.len() < self.entries.len() {
            (self.places, self.entries) = left.into_iter().unzip();
        }
    }
}

/// Which chunk a number is in, and where.
fn place(seq: u64) -> (u64, u16) {
    (seq / CHUNK, u16::try_from(seq % CHUNK).unwrap_or(u16::MAX))
}

/// Results by key and by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StoredResults {
    index: BTreeMap<CompactKey, u64>,
    chunks: BTreeMap<u64, Chunk>,
}

impl StoredResults {
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// The result stored under a key, with its number.
    pub(crate) fn get(&self, key: Key) -> Option<(u64, Entry)> {
        let seq = *self.index.get(&CompactKey::new(key))?;
        let (chunk, place) = place(seq);
        Some((seq, *self.chunks.get(&chunk)?.get(place)?))
    }

    /// Keeps one more; false where the key is taken or the number does not rise.
    pub(crate) fn push(&mut self, seq: u64, entry: Entry) -> bool {
        let (chunk, place) = place(seq);
        let chunk = self.chunks.entry(chunk).or_insert_with(Chunk::with_room);
        if chunk.places.last().is_some_and(|last| *last >= place) {
            return false;
        }
        chunk.places.push(place);
        chunk.entries.push(entry);
        self.index.insert(CompactKey::new(entry.key()), seq).is_none()
    }

    /// Results above a number, by number.
    pub(crate) fn after(&self, seq: u64) -> impl Iterator<Item = (u64, &Entry)> {
        self.chunks
            .range(seq / CHUNK..)
            .flat_map(|(n, chunk)| {
                let first = n.saturating_mul(CHUNK);
                chunk.iter().map(move |(p, entry)| (first.saturating_add(p.into()), entry))
            })
            .skip_while(move |(n, _)| *n <= seq)
    }

    /// Forgets what is at or below the horizon, but for the open ones.
    pub(crate) fn forget(&mut self, horizon: Id, open: &BTreeSet<Id>) {
        let young = match horizon.0.checked_add(1) {
            Some(next) => {
                let first = CompactKey::new(Key { id: Id(next), leg: Leg::Withdraw });
                self.index.split_off(&first)
            }
            None => BTreeMap::new(),
        };
        let old = std::mem::replace(&mut self.index, young);
        let before = old.len();
        let open_ones: Vec<_> = old.into_iter().filter(|(n, _)| open.contains(&n.id())).collect();
        let forgot = open_ones.len() < before;
        self.index.extend(open_ones);
        if forgot {
            self.chunks.retain(|_, chunk| {
                chunk.retain(|entry| entry.id > horizon || open.contains(&entry.id));
                !chunk.entries.is_empty()
            });
        }
    }
}
