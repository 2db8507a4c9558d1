//! What a group of items is decided on: rows as they were read under their locks, and what the items
//! before did to them. Deciding reads and writes nothing else.

use super::fault::Fault;
use super::needs::{Bound, Spend};
use kernel::answer::Evidence;
use kernel::audit::Hash;
use kernel::ids::{AssetId, FlowId, Id, LedgerId, Millis, UserId};
use kernel::money::Amount;
use kernel::people::Spent;
use kernel::ports::ledger::{AccountStatus, Known};
use kernel::record::{Head, Record};
use kernel::unit::{Hold, Key, Operation, Outgoing};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Where a stored transfer stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    pub(crate) transfer: i64,
    pub(crate) flow: FlowId,
    pub(crate) code: i16,
    pub(crate) version: u32,
    pub(crate) batch: i64,
    pub(crate) events: u32,
    pub(crate) chain: Hash,
    /// It has a row for the scanner.
    pub(crate) due: bool,
}

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

/// One asset of one account.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Balance {
    pub(crate) available: Amount,
    pub(crate) frozen: Amount,
    pub(crate) status: AccountStatus,
    /// It has a row already.
    pub(crate) stored: bool,
    pub(crate) changed: bool,
}

/// A balance's row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purse {
    /// There is no such account.
    Nobody,
    /// It is ours for this write.
    Open(Balance),
    /// Somebody else holds it.
    Locked,
}

/// What a user moved on a day.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moves {
    /// As it is stored, and as it is by now; `true`: it has a row.
    Open(Spent, Spent, bool),
    /// Somebody else holds it.
    Locked,
}

/// A book that no user owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Book {
    Clearing,
    World,
}

impl Book {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Clearing => "CLEARING",
            Self::World => "WORLD",
        }
    }
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

/// A transfer that a write opens.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) record: Record,
    pub(crate) hold: Hold,
    pub(crate) transfer: i64,
    pub(crate) added: Added,
}

/// A stored transfer that a write moves, or tells more of.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) id: Id,
    pub(crate) was: Standing,
    pub(crate) head: Option<(Head, Hold)>,
    pub(crate) error: Option<Evidence>,
    pub(crate) added: Added,
    /// It ends with this write.
    pub(crate) ends: bool,
}

/// The history that a write adds to one transfer.
#[derive(Debug)]
pub(crate) struct Added {
    pub(crate) text: String,
    pub(crate) events: u32,
    pub(crate) chain: Hash,
}

/// What is written once everything is decided.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) opened: Vec<Opened>,
    pub(crate) changed: Vec<Changed>,
    pub(crate) operations: Vec<(LedgerId, Operation)>,
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
    pub(crate) purses: HashMap<(UserId, AssetId), Purse>,
    pub(crate) moves: HashMap<Spend, Moves>,
    pub(crate) legs: HashMap<Id, Vec<(LedgerId, Operation)>>,
    /// Keys that are bound.
    pub(crate) bound: HashSet<Bound>,
    /// The leg that the database refused when it was tried alone.
    pub(crate) refused: Option<(Key, Arc<str>)>,
    pub(crate) changes: Changes,
}

/// What an item changed, so that it can be taken back when the item is not written.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    purses: Vec<((UserId, AssetId), Purse)>,
    moves: Vec<(Spend, Moves)>,
    books: Vec<(Book, AssetId, i128)>,
    /// Operations that it decided, in their order.
    pub(crate) new: Vec<Operation>,
}

impl Board {
    /// A balance as it is by now; `None`: there is no such account.
    pub(crate) fn balance(&self, user: UserId, asset: AssetId) -> Result<Option<Balance>, Stop> {
        match self.purses.get(&(user, asset)) {
            Some(Purse::Open(balance)) => Ok(Some(*balance)),
            Some(Purse::Nobody) => Ok(None),
            Some(Purse::Locked) => Err(Stop::Locked),
            None => Err(Stop::Fault(Fault::Damaged("a balance that was not asked for"))),
        }
    }

    pub(crate) fn put(&mut self, undo: &mut Undo, key: (UserId, AssetId), balance: Balance) {
        let new = Purse::Open(Balance { changed: true, ..balance });
        if let Some(before) = self.purses.insert(key, new) {
            undo.purses.push((key, before));
        }
    }

    /// Adds to a book that no user owns.
    pub(crate) fn add(&mut self, undo: &mut Undo, book: Book, asset: AssetId, delta: i128) {
        undo.books.push((book, asset, delta));
        let sum = self.changes.books.entry((book, asset)).or_default();
        *sum = sum.saturating_add(delta);
    }

    /// What a user moved on a day, by now.
    pub(crate) fn spent(&self, spend: Spend) -> Result<Spent, Stop> {
        match self.moves.get(&spend) {
            Some(Moves::Open(_, now, _)) => Ok(*now),
            Some(Moves::Locked) => Err(Stop::Locked),
            None => Err(Stop::Fault(Fault::Damaged("a day that was not asked for"))),
        }
    }

    pub(crate) fn spend(&mut self, undo: &mut Undo, spend: Spend, now: Spent) {
        if let Some(Moves::Open(stored, before, row)) = self.moves.get(&spend).copied() {
            undo.moves.push((spend, Moves::Open(stored, before, row)));
            self.moves.insert(spend, Moves::Open(stored, now, row));
        }
    }

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

    /// Takes back what an item changed.
    pub(crate) fn restore(&mut self, undo: Undo) {
        for (key, purse) in undo.purses.into_iter().rev() {
            self.purses.insert(key, purse);
        }
        for (spend, moves) in undo.moves.into_iter().rev() {
            self.moves.insert(spend, moves);
        }
        for (book, asset, delta) in undo.books {
            let sum = self.changes.books.entry((book, asset)).or_default();
            *sum = sum.saturating_sub(delta);
        }
        let given = u64::try_from(undo.new.len()).unwrap_or(0);
        self.numbers.seq = self.numbers.seq.saturating_sub(given);
    }
}
