//! Proves that no row of the audit was changed, removed or cut off: it computes all hashes again.
//!
//! The chains come first (external movements, operators, then transfers by number, which is the order in
//! which a unit's digest takes them), then units and seals by their numbers. Of the chains it keeps only
//! the units whose entries did not all come yet, and which units are complete.

use super::replay::{ActionReplay, ActionRows, RowFault};
use super::seal::{Seal, SealKey, Sealing};
use super::{AuditUnit, Entry, Hash, OPERATORS, UnitDigest, link};
use crate::ids::{Id, Millis, Serial};
use std::collections::BTreeMap;
use std::fmt;

/// The most faults that are named; more are only counted.
const NAMED: usize = 200;

/// A chain that is about to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainStart {
    /// The owner of the chain: a transfer, [`super::OPERATORS`] or [`super::WORLD`].
    pub id: Id,
    /// The transfer's number; 0 for the others.
    pub serial: Serial,
    /// The hash before its first entry, computed from what the rows say now.
    pub start: Hash,
}

/// An entry of a chain, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEntry {
    /// The entry, as it is stored.
    pub entry: Entry,
    /// The hash that is stored with it.
    pub hash: Hash,
    /// The lane of the write that it was part of.
    pub lane: u64,
    /// The number of that write in its lane.
    pub unit: u64,
}

/// What a transfer's row says of its history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The number of the state in which it stands.
    pub state: i16,
    /// The number of entries that the row names.
    pub events: u32,
    /// The hash of the last one.
    pub hash: Hash,
    /// The hash of what the row says was agreed, where something was.
    pub agreed: Option<Hash>,
    /// When the row says that the transfer was opened: the time of its first entry.
    pub created_at: Millis,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// An entry, or what was agreed at the beginning of its chain, is not what was hashed.
    Entry {
        /// The chain that the entry is in.
        id: Id,
        /// The entry's place in the chain, from 0.
        seq: u32,
    },
    /// An entry says that something was agreed, and an earlier one of its history did.
    AgreedAgain {
        /// The chain that both entries are in.
        id: Id,
        /// The place of the second one.
        seq: u32,
    },
    /// A transfer's row cannot be read.
    Unreadable {
        /// The journal's number of the transfer.
        serial: u64,
        /// What is wrong with it.
        what: String,
    },
    /// A transfer's row says something else than the end of its history.
    RowDiffers {
        /// The transfer whose row it is.
        id: Id,
        /// The part of the row that differs.
        what: &'static str,
    },
    /// A row that an action of an operator wrote, or a time of a transfer, is another one.
    Row(RowFault),
    /// A transfer was opened in an earlier write than the one whose number is lower.
    Renumbered {
        /// The transfer with the higher number.
        id: Id,
    },
    /// The transfers of these numbers are missing.
    Removed {
        /// The lowest number that is missing.
        from: u64,
        /// The highest number that is missing.
        to: u64,
    },
    /// A unit is not what its entries make it.
    Unit {
        /// The lane that the unit was written in.
        lane: u64,
        /// The unit's number in its lane.
        n: u64,
        /// What is wrong with it.
        what: UnitFault,
    },
    /// A seal is not what the units make it, or does not follow the one before it.
    Seal {
        /// The number of the seal, from 1.
        number: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A seal covers units that are missing.
    Cut {
        /// The number of the seal that covers it.
        seal: u64,
        /// The lane whose end is missing.
        lane: u64,
        /// The number that it covers.
        sealed: u64,
        /// The last number that is there.
        last: u64,
    },
    /// The seal that was recorded elsewhere is not the one that is stored.
    RecordedSeal {
        /// The number of the recorded seal.
        number: u64,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// What is wrong with a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitFault {
    /// It has no row, but this chain names it.
    NoRow(Id),
    /// All its entries came, and then one more, of this chain.
    TooMany(Id),
    /// This many of its entries are missing.
    TooFew(u32),
    /// Its entries have another digest.
    Digest,
    /// Its row is missing between others.
    Gap,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry { id, seq: 0 } if *id > super::WORLD => write!(
                f,
                "transfer {id}: what was agreed (amount, accounts, …) or entry 0 was changed"
            ),
            Self::Entry { id, seq } => write!(f, "{}: entry {seq} was changed", Whose(*id)),
            Self::AgreedAgain { id, seq } => {
                write!(f, "{}: entry {seq} agrees what was agreed before", Whose(*id))
            }
            Self::RowDiffers { id, what } => {
                write!(f, "{}: its {what} is not that of its history's end", Whose(*id))
            }
            Self::Unreadable { serial, what } => {
                write!(f, "transfer number {serial} cannot be read: {what}")
            }
            Self::Row(fault) => fault.fmt(f),
            Self::Renumbered { id } => write!(
                f,
                "transfer {id}: its number was changed: it was opened before the one below it"
            ),
            Self::Removed { from, to } if from == to => {
                write!(f, "transfer number {from} was removed")
            }
            Self::Removed { from, to } => write!(f, "transfers number {from} to {to} were removed"),
            Self::Unit { lane, n, what } => {
                write!(f, "unit {lane}:{n}: ")?;
                match what {
                    UnitFault::NoRow(id) => {
                        write!(f, "it has no row; {} has an entry of it", Whose(*id))
                    }
                    UnitFault::TooMany(id) => {
                        write!(f, "an entry too many, of {}", Whose(*id))
                    }
                    UnitFault::TooFew(missing) => write!(f, "{missing} of its entries are missing"),
                    UnitFault::Digest => write!(f, "its entries are not those that were written"),
                    UnitFault::Gap => write!(f, "it is missing"),
                }
            }
            Self::Seal { number, what } => write!(f, "seal {number}: {what}"),
            Self::Cut { seal, lane, sealed, last } => write!(
                f,
                "the end was cut off: seal {seal} covers lane {lane} up to unit {sealed}, and the \
                 last one there is {last}"
            ),
            Self::RecordedSeal { number, what } => {
                write!(f, "the seal {number} that was kept: {what}")
            }
        }
    }
}

/// The owner of a chain, as text for operators.
struct Whose(Id);

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            super::OPERATORS => f.write_str("operators' actions"),
            super::WORLD => f.write_str("external movements"),
            id => write!(f, "transfer {id}"),
        }
    }
}

/// The result of a proof of the audit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// The number of transfers that were read.
    pub transfers: u64,
    /// Entries of all chains.
    pub entries: u64,
    /// The number of units that were read.
    pub units: u64,
    /// Units above the last seal.
    pub unsealed: u64,
    /// The number of seals that were read.
    pub seals: u64,
    /// The last seal that was read; `None` where there is none.
    pub last: Option<Seal>,
    /// The number of faults that were found.
    pub wrong: u64,
    /// The first of them.
    pub faults: Vec<Fault>,
    /// The rows that no action proves, each kind as a sentence: no fault.
    pub unproven: Vec<String>,
}

/// A seal that was recorded elsewhere: in the log, on paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedSeal {
    /// The number of the seal, from 1.
    pub number: u64,
    /// The Merkle root that the seal had when it was recorded.
    pub root: Hash,
    /// The keyed MAC that the seal had when it was recorded.
    pub mac: Hash,
}

/// Numbers that are complete, as ranges: few, since units become complete nearly in order.
#[derive(Debug, Default)]
struct Complete(BTreeMap<(u64, u64), u64>);

impl Complete {
    fn has(&self, lane: u64, n: u64) -> bool {
        let before = self.0.range(..=(lane, n)).next_back();
        before.is_some_and(|((of, _), to)| *of == lane && *to >= n)
    }

    fn add(&mut self, lane: u64, n: u64) {
        let (mut from, mut to) = (n, n);
        if let Some(below) = n.checked_sub(1)
            && let Some(((of, start), end)) = self.0.range(..=(lane, below)).next_back()
            && (*of, *end) == (lane, below)
        {
            from = *start;
        }
        if let Some(above) = n.checked_add(1)
            && let Some(end) = self.0.remove(&(lane, above))
        {
            to = end;
        }
        self.0.insert((lane, from), to);
    }
}

/// A unit whose entries did not all come yet.
#[derive(Debug)]
struct Open {
    row: AuditUnit,
    digest: UnitDigest,
}

/// Verifies the chains of hashes: it takes every chain, entry by entry, and the rows of the units that the
/// entries name. [`Self::chained`] makes the verifier of seals of it.
#[derive(Debug)]
pub struct ChainVerifier {
    key: SealKey,
    recorded: Option<RecordedSeal>,
    /// Transfers are numbered without a gap.
    gapless: bool,
    /// The chain that is read, its next place and the hash before it.
    chain: Option<(ChainStart, u32, Hash)>,
    /// The state to which the last entry of the present history leads.
    stands: i16,
    /// The hash of what was agreed in it.
    agreed: Option<Hash>,
    /// The time of its first entry.
    opened: Option<Millis>,
    /// The write that opened the transfer before, where numbers follow the writes.
    opened_in: u64,
    /// What operators did, so far.
    replay: ActionReplay,
    serial: u64,
    open: BTreeMap<(u64, u64), Open>,
    complete: Complete,
    /// Units of which no row was found.
    strange: BTreeMap<(u64, u64), Id>,
    found: Findings,
}

impl ChainVerifier {
    /// A verifier that has read nothing yet. `gapless`: the journal numbers its transfers without a gap.
    pub fn new(key: SealKey, recorded: Option<RecordedSeal>, gapless: bool) -> Self {
        Self {
            key,
            recorded,
            gapless,
            chain: None,
            stands: 0,
            agreed: None,
            opened: None,
            opened_in: 0,
            replay: ActionReplay::default(),
            serial: 0,
            open: BTreeMap::new(),
            complete: Complete::default(),
            strange: BTreeMap::new(),
            found: Findings::default(),
        }
    }

    fn wrong(&mut self, fault: Fault) {
        self.found.wrong = self.found.wrong.saturating_add(1);
        if self.found.faults.len() < NAMED {
            self.found.faults.push(fault);
        }
    }

    /// True where the row of a unit must be handed in by [`ChainVerifier::row`] before its entries.
    pub fn lacks(&self, lane: u64, n: u64) -> bool {
        let at = (lane, n);
        !self.open.contains_key(&at)
            && !self.strange.contains_key(&at)
            && !self.complete.has(lane, n)
    }

    /// Takes the row of a unit that entries are about to name.
    pub fn row(&mut self, row: AuditUnit) {
        self.open.insert((row.lane, row.n), Open { row, digest: UnitDigest::default() });
    }

    /// Begins the chain of a transfer, or one that belongs to none.
    pub fn begin(&mut self, chain: ChainStart) {
        self.numbered(chain.serial.0);
        self.chain = Some((chain, 0, chain.start));
        (self.agreed, self.opened) = (None, None);
    }

    /// Compares the rows that operators' actions wrote, after the chain of these was read.
    pub fn action_rows(&mut self, rows: &ActionRows) {
        let replayed = std::mem::take(&mut self.replay).compare(rows);
        replayed.faults.into_iter().for_each(|fault| self.wrong(Fault::Row(fault)));
        self.found.unproven.extend(replayed.unproven);
    }

    /// Notes a transfer whose row cannot be read.
    pub fn unreadable(&mut self, serial: Serial, what: String) {
        self.numbered(serial.0);
        self.wrong(Fault::Unreadable { serial: serial.0, what });
    }

    /// Notes the number of the next transfer; 0 for a chain that belongs to none.
    fn numbered(&mut self, number: u64) {
        if number == 0 {
            return;
        }
        self.found.transfers = self.found.transfers.saturating_add(1);
        let next = self.serial.saturating_add(1);
        if self.gapless && number > next {
            self.wrong(Fault::Removed { from: next, to: number.saturating_sub(1) });
        }
        self.serial = number;
    }

    /// Takes the next entry of the chain that began last.
    pub fn entry(&mut self, stored: &StoredEntry) {
        let Some((chain, seq, prev)) = self.chain else { return };
        let StoredEntry { entry, hash, lane, unit } = stored;
        self.found.entries = self.found.entries.saturating_add(1);
        if entry.seq != seq || link(prev, entry) != *hash {
            self.wrong(Fault::Entry { id: chain.id, seq });
        }
        // one change is one fault: what follows is held to the hash that is stored
        self.chain = Some((chain, seq.saturating_add(1), *hash));
        self.stands = entry.to;
        if entry.agreed.is_some() && self.agreed.is_some() {
            self.wrong(Fault::AgreedAgain { id: chain.id, seq });
        }
        self.agreed = self.agreed.or(entry.agreed);
        if chain.id == OPERATORS {
            self.replay.entry(entry);
        }
        if seq == 0 && chain.serial.0 > 0 {
            self.opened = Some(entry.at);
            // one writer numbers them, each write behind the one before
            if self.gapless && *unit < self.opened_in {
                self.wrong(Fault::Renumbered { id: chain.id });
            }
            self.opened_in = *unit;
        }
        self.member(chain.id, *lane, *unit, *hash);
    }

    /// Counts an entry in its unit.
    fn member(&mut self, id: Id, lane: u64, n: u64, hash: Hash) {
        let at = (lane, n);
        let Some(open) = self.open.get_mut(&at) else {
            if self.complete.has(lane, n) {
                self.wrong(Fault::Unit { lane, n, what: UnitFault::TooMany(id) });
            } else if self.strange.insert(at, id).is_none() {
                self.wrong(Fault::Unit { lane, n, what: UnitFault::NoRow(id) });
            }
            return;
        };
        open.digest.push(hash);
        if open.digest.count < open.row.count {
            return;
        }
        if let Some(Open { row, digest }) = self.open.remove(&at) {
            self.complete.add(lane, n);
            if digest.finish(lane, n) != row.digest {
                self.wrong(Fault::Unit { lane, n, what: UnitFault::Digest });
            }
        }
    }

    /// Ends the chain that began last. `end`: the end as the transfer's row has it.
    pub fn end(&mut self, end: Option<End>) {
        let Some((chain, entries, last)) = self.chain.take() else { return };
        let Some(end) = end else { return };
        let id = chain.id;
        let differs = [
            ("number of entries", end.events != entries),
            ("last hash", end.hash != last),
            ("state", end.state != self.stands),
            ("agreement", end.agreed != self.agreed),
        ];
        for (what, _) in differs.into_iter().filter(|(_, differs)| *differs) {
            self.wrong(Fault::RowDiffers { id, what });
        }
        if let Some(opened) = self.opened.filter(|opened| *opened != end.created_at) {
            self.wrong(Fault::Row(RowFault {
                row: format!("transfer {id}"),
                column: Some("created_at"),
                stored: format!("`{}`", end.created_at),
                proven: format!("`{opened}`"),
                by: "the entries of its history",
            }));
        }
    }

    /// Goes on with units and seals, after every chain was read.
    pub fn chained(mut self) -> SealVerifier {
        for ((lane, n), Open { row, digest }) in std::mem::take(&mut self.open) {
            let missing = row.count.saturating_sub(digest.count);
            self.complete.add(lane, n);
            self.wrong(Fault::Unit { lane, n, what: UnitFault::TooFew(missing) });
        }
        SealVerifier {
            chains: self,
            last: None,
            key_age: None,
            sealing: None,
            ends: BTreeMap::new(),
        }
    }
}

/// Verifies units and seals, once every chain was read. It takes each seal after the units that the seal
/// covers, in the order of their lanes and numbers; then the units above the last seal.
#[derive(Debug)]
pub struct SealVerifier {
    chains: ChainVerifier,
    last: Option<Seal>,
    /// The age of the key of the seals up to here.
    key_age: Option<usize>,
    sealing: Option<Sealing>,
    /// The last number of each lane that was there.
    ends: BTreeMap<u64, u64>,
}

impl SealVerifier {
    /// Takes the next unit of a lane.
    pub fn unit(&mut self, row: &AuditUnit) {
        let AuditUnit { lane, n, count, .. } = *row;
        self.chains.found.units = self.chains.found.units.saturating_add(1);
        let last = self.ends.insert(lane, n).unwrap_or_default();
        for missing in (last.saturating_add(1)..n).take(NAMED) {
            self.chains.wrong(Fault::Unit { lane, n: missing, what: UnitFault::Gap });
        }
        if !self.chains.complete.has(lane, n) {
            self.chains.wrong(Fault::Unit { lane, n, what: UnitFault::TooFew(count) });
        }
        let last = self.last.as_ref();
        self.sealing.get_or_insert_with(|| Sealing::after(last)).push(row);
    }

    /// Takes a seal, after the units that it covers.
    pub fn seal(&mut self, seal: Seal) {
        let number = seal.number;
        self.chains.found.seals = self.chains.found.seals.saturating_add(1);
        let last = self.last.as_ref();
        let sealing = self.sealing.take().unwrap_or_else(|| Sealing::after(last));
        let before = last.map_or(0, |last| last.number);
        let previous = last.map_or([0; 32], Seal::hash);
        let back =
            last.is_some_and(|last| last.cover.0.iter().any(|(l, n)| seal.cover.of(*l) < *n));
        if before.checked_add(1) != Some(number) {
            self.chains.wrong(Fault::Seal { number, what: "seals before it are missing" });
        } else if previous != seal.previous {
            self.chains
                .wrong(Fault::Seal { number, what: "it does not follow the seal before it" });
        }
        if back {
            self.chains
                .wrong(Fault::Seal { number, what: "it covers less than the seal before it" });
        }
        match seal.key_age(&self.chains.key) {
            None => {
                self.chains.wrong(Fault::Seal { number, what: "its MAC is not of the key: forged" })
            }
            // a former key is known to more people: it seals nothing after its successor
            Some(age) if self.key_age.is_some_and(|newest| age > newest) => {
                self.chains.wrong(Fault::Seal {
                    number,
                    what: "a former key made it after a later key: forged",
                })
            }
            Some(age) => self.key_age = Some(age),
        }
        let short = seal.cover.0.iter().find(|(lane, n)| sealing.cover().of(**lane) < **n);
        if let Some((lane, sealed)) = short {
            let last = self.ends.get(lane).copied().unwrap_or_default();
            if last < *sealed {
                let (seal, lane, sealed) = (number, *lane, *sealed);
                self.chains.wrong(Fault::Cut { seal, lane, sealed, last });
            } else {
                self.chains.wrong(Fault::Seal { number, what: "units that it covers are missing" });
            }
        } else if sealing.root() != seal.root {
            self.chains
                .wrong(Fault::Seal { number, what: "its units are not those that it sealed" });
        }
        self.keeps(&seal);
        self.last = Some(seal);
    }

    /// Compares a seal with the one that was recorded elsewhere.
    fn keeps(&mut self, seal: &Seal) {
        let Some(RecordedSeal { number, root, mac }) = self.chains.recorded else { return };
        if number == seal.number {
            self.chains.recorded = None;
            if root != seal.root || mac != seal.mac {
                self.chains.wrong(Fault::RecordedSeal { number, what: "here it is another one" });
            }
        }
    }

    /// Ends the proof, after everything was read.
    pub fn finish(mut self) -> Findings {
        if let Some(RecordedSeal { number, .. }) = self.chains.recorded {
            self.chains.wrong(Fault::RecordedSeal {
                number,
                what: "it is not there: the end was cut off",
            });
        }
        self.chains.found.unsealed = self.sealing.map_or(0, |sealing| sealing.units());
        self.chains.found.last = self.last;
        self.chains.found
    }
}
