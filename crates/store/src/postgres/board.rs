//! What a group of items is decided on: rows as they were read under their locks, and what the items
//! before did to them. Deciding reads and writes nothing else.

use super::fault::Fault;
use super::needs::Bound;
use super::purses::Owner;
use crate::rules::{Balance, Book, Changed, Opened, Spend, Standing};
use kernel::attempt::AttemptId;
use kernel::audit::Hash;
use kernel::ids::{AssetId, FlowId, Id, LedgerId, Millis};
use kernel::money::Amount;
use kernel::people::{Spent, Stand};
use kernel::ports::ledger::{Direction, Incarnation, Known};
use kernel::unit::{Key, Operation, Outgoing};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// A transfer's row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Seat {
    /// There is none.
    Free,
    /// It is ours for this write.
    Taken(Standing),
    /// Somebody else holds it.
    Locked,
}

/// A balance's row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purse {
    /// There is no such account.
    Nobody,
    /// It is ours for this write.
    Open(Held),
    /// Somebody else holds it.
    Locked,
}

/// A balance that is decided on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    /// As it is stored, or believed to be.
    pub(crate) was: Balance,
    /// As it is by now.
    pub(crate) now: Balance,
    /// False: it is only believed, and no row is locked yet.
    pub(crate) read: bool,
}

impl Held {
    /// As its row was read.
    pub(crate) const fn read(was: Balance) -> Self {
        Self { was, now: was, read: true }
    }

    /// As this process wrote it last.
    pub(crate) const fn believed(was: Balance) -> Self {
        Self { was, now: was, read: false }
    }
}

/// What a user moved on a day.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moves {
    /// As it is stored, and as it is by now; `true`: it has a row.
    Open(Spent, Spent, bool),
    /// Somebody else holds it.
    Locked,
}

/// The numbers that a write gives out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Numbers {
    pub(crate) lane: i32,
    /// The next row of `audit_units` in the lane.
    pub(crate) unit: u64,
    /// The first transfer's, and the next one's.
    pub(crate) batch: i64,
    pub(crate) serial: i64,
    /// The next Funding operation's.
    pub(crate) seq: u64,
}

/// Flags and systems, as everybody's next write sees them.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    pub(crate) halted: bool,
    /// The number of the last halt.
    pub(crate) halts: u64,
    pub(crate) horizon: Option<Id>,
    pub(crate) ledgers: Vec<(LedgerId, Known)>,
    /// How often the core of a ledger was taken over.
    pub(crate) epochs: Vec<(LedgerId, u64)>,
    pub(crate) assets: HashSet<AssetId>,
}

/// Why an item is not decided in this write.
#[derive(Debug)]
pub(crate) enum Stop {
    /// An earlier item of the write did something to the same rows: it comes right behind.
    Again,
    /// Somebody else holds a row that it needs.
    Locked,
    /// A row that we never wrote like this.
    Fault(Fault),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Stop> for Fault {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Again | Stop::Locked => Self::Locked,
            Stop::Fault(fault) => fault,
        }
    }
}

/// What only rare units ask for, read one by one.
#[derive(Debug, Default)]
pub(crate) struct Rare {
    pub(crate) attempts: HashMap<AttemptId, u32>,
    pub(crate) resources: HashMap<Arc<str>, u64>,
    pub(crate) counters: HashMap<Arc<str>, u128>,
    pub(crate) seen: HashMap<(&'static str, u128), bool>,
    pub(crate) acted: HashMap<(Arc<str>, Arc<str>), bool>,
    pub(crate) stands: HashMap<Id, Option<(Stand, Millis)>>,
    pub(crate) superseded: HashMap<(LedgerId, Incarnation), bool>,
}

/// What is written once everything is decided.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) opened: Vec<Opened>,
    pub(crate) changed: Vec<Changed>,
    pub(crate) operations: Vec<(LedgerId, Operation)>,
    /// Money from and to the world; the rows are written already.
    pub(crate) externals: Vec<(Direction, AssetId, Amount)>,
    pub(crate) outbox: Vec<Outgoing>,
    pub(crate) books: BTreeMap<(Book, AssetId), i128>,
    pub(crate) highest: BTreeMap<LedgerId, u64>,
    pub(crate) ends: BTreeMap<(FlowId, i16), i64>,
    /// Hashes of new entries, with their transfer's number (0 and below: deeds) and their place.
    pub(crate) entries: Vec<(i64, u32, Hash)>,
    /// Transfers, and keys, that an item of this write has had in hand.
    pub(crate) touched: BTreeSet<Id>,
    pub(crate) bound: BTreeSet<Bound>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Board {
    pub(crate) at: Millis,
    pub(crate) numbers: Numbers,
    pub(crate) flags: Flags,
    pub(crate) seats: HashMap<Id, Seat>,
    pub(crate) purses: HashMap<Owner, Purse>,
    pub(crate) moves: HashMap<Spend, Moves>,
    pub(crate) legs: HashMap<Id, Vec<(LedgerId, Operation)>>,
    /// Keys that are bound.
    pub(crate) bound: HashSet<Bound>,
    /// The leg that the database refused when it was tried alone.
    pub(crate) refused: Option<(Key, Arc<str>)>,
    pub(crate) rare: Rare,
    pub(crate) changes: Changes,
}

impl Board {
    /// True where nothing is to be written.
    pub(crate) fn untouched(&self) -> bool {
        let changes = &self.changes;
        let moved = |moves: &Moves| matches!(moves, Moves::Open(stored, now, _) if stored != now);
        changes.opened.is_empty()
            && changes.changed.is_empty()
            && changes.operations.is_empty()
            && changes.outbox.is_empty()
            && changes.highest.is_empty()
            && changes.entries.is_empty()
            && !self.moves.values().any(moved)
    }

    /// True where a balance was decided on that nobody has looked at.
    pub(crate) fn believes(&self) -> bool {
        self.purses.values().any(|purse| matches!(purse, Purse::Open(held) if !held.read))
    }
}
