//! Holds the state on which the rules decide a batch: the rows as they were read under their locks, and
//! the changes of the items before. The decision reads and writes nothing else.

use super::balance_cache::BalanceKey;
use super::row_set::ClientKey;
use crate::postgres::attempts::write::{AttemptRow, ChangedAttempt};
use crate::postgres::error::StoreError;
use crate::postgres::inbox::InboxKey;
use crate::postgres::named_values::NamedRow;
use crate::postgres::numbered_accounts::NumberedRow;
use kernel::attempt::AttemptId;
use kernel::audit::Hash;
use kernel::ids::{AssetId, FlowId, Id, LedgerId, Millis};
use kernel::limits::DailyUsage;
use kernel::message::Emitted;
use kernel::money::Amount;
use kernel::operation::{Incarnation, Key, Known, Operation};
use kernel::operators::ApprovalStatus;
use kernel::ports::ledger::Direction;
use kernel::rules::{Book, Changed, LockKey, Opened, StoredBalance, StoredTransfer, UsageKey};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

#[derive(Debug, Clone, Copy)]
pub(crate) enum TransferRow {
    Absent,
    /// It is ours for this write.
    Owned(StoredTransfer),
    /// Another transaction holds it.
    Locked,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum BalanceRow {
    /// There is no such account.
    Absent,
    /// It is ours for this write.
    Owned(BalanceChange),
    /// Another transaction holds it.
    Locked,
}

/// A balance that is decided on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BalanceChange {
    /// The balance as it is stored, or assumed to be.
    pub(crate) was: StoredBalance,
    /// The balance after the items so far.
    pub(crate) now: StoredBalance,
    /// False: it is only assumed, and no row is locked yet.
    pub(crate) read: bool,
}

impl BalanceChange {
    /// A balance as its row was read.
    pub(crate) const fn read(was: StoredBalance) -> Self {
        Self { was, now: was, read: true }
    }

    /// A balance as this process wrote it last.
    pub(crate) const fn assumed(was: StoredBalance) -> Self {
        Self { was, now: was, read: false }
    }
}

/// A user's daily usage in a write.
#[derive(Debug, Clone, Copy)]
pub(crate) enum UsageRow {
    /// As it is stored, and after the items so far; `true`: it has a row.
    Owned(DailyUsage, DailyUsage, bool),
    /// Another transaction holds it.
    Locked,
}

/// The numbers that a write gives out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WriteNumbers {
    pub(crate) lane: i32,
    /// The next row of `audit_units` in the lane.
    pub(crate) unit: u64,
    /// The number of the first transfer, and of the next one.
    pub(crate) batch: i64,
    pub(crate) serial: i64,
    /// The next Funding operation's.
    pub(crate) seq: u64,
}

/// Flags and systems, as every later write sees them.
#[derive(Debug, Default)]
pub(crate) struct ServiceFlags {
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
pub(crate) enum Undecided {
    /// An earlier item of the write did something to the same rows: it comes right behind.
    Again,
    /// Another transaction holds a row that it needs.
    Locked,
    /// A row that we never wrote like this.
    Error(StoreError),
}

impl From<StoreError> for Undecided {
    fn from(error: StoreError) -> Self {
        Self::Error(error)
    }
}

impl From<Undecided> for StoreError {
    fn from(stop: Undecided) -> Self {
        match stop {
            Undecided::Again | Undecided::Locked => Self::Locked,
            Undecided::Error(error) => error,
        }
    }
}

/// The rows that only rare units need, read one by one.
#[derive(Debug, Default)]
pub(crate) struct RareRows {
    /// The counter of an external movement.
    pub(crate) counters: HashMap<Arc<str>, u128>,
    pub(crate) seen: HashMap<(&'static str, u128), bool>,
    pub(crate) actions: HashMap<(Arc<str>, Arc<str>), bool>,
    pub(crate) approvals: HashMap<Id, Option<(ApprovalStatus, Millis)>>,
    pub(crate) superseded: HashMap<(LedgerId, Incarnation), bool>,
}

/// External money that is booked, as the running sums count it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BookedExternal {
    pub(crate) ledger: LedgerId,
    pub(crate) direction: Direction,
    pub(crate) asset: AssetId,
    pub(crate) amount: Amount,
}

/// The changes that the write makes once every item is decided.
#[derive(Debug, Default)]
pub(crate) struct BatchChanges {
    pub(crate) opened: Vec<Opened>,
    pub(crate) changed: Vec<Changed>,
    pub(crate) operations: Vec<(LedgerId, Operation)>,
    /// External money; the rows are written already.
    pub(crate) externals: Vec<BookedExternal>,
    pub(crate) outbox: Vec<Emitted>,
    /// Events that consumers had by this write.
    pub(crate) inbox: BTreeSet<InboxKey>,
    pub(crate) attempts: Vec<ChangedAttempt>,
    pub(crate) books: BTreeMap<Book, i128>,
    pub(crate) highest: BTreeMap<LedgerId, u64>,
    pub(crate) ends: BTreeMap<(FlowId, i16), i64>,
    /// Hashes of new entries, with their transfer's number (0 and below: entries of the audit
    /// chains) and their place.
    pub(crate) entries: Vec<(i64, u32, Hash)>,
    /// Transfers, and keys, that an earlier item of this write has touched.
    pub(crate) touched: BTreeSet<Id>,
    pub(crate) bound_keys: BTreeSet<ClientKey>,
}

#[derive(Debug, Default)]
pub(crate) struct BatchWorkspace {
    pub(crate) at: Millis,
    /// The time of the write by the clock that finds what is due.
    pub(crate) put: Millis,
    /// How far the times of this process are ahead of the database's.
    pub(crate) ahead: Millis,
    pub(crate) numbers: WriteNumbers,
    pub(crate) flags: ServiceFlags,
    pub(crate) transfers: HashMap<Id, TransferRow>,
    pub(crate) balances: HashMap<BalanceKey, BalanceRow>,
    /// Numbered accounts, in the order in which they are locked and written.
    pub(crate) accounts: BTreeMap<Arc<str>, NumberedRow>,
    /// Resources and counters, in the order in which they are locked and written.
    pub(crate) named: BTreeMap<Arc<str>, NamedRow>,
    pub(crate) attempts: HashMap<AttemptId, AttemptRow>,
    /// Which locks of chains were ever taken.
    pub(crate) locks: HashMap<LockKey, bool>,
    pub(crate) usage: HashMap<UsageKey, UsageRow>,
    pub(crate) legs: HashMap<Id, Vec<(LedgerId, Operation)>>,
    /// Keys that are bound.
    pub(crate) bound_keys: HashSet<ClientKey>,
    /// The leg that the database refused when it was tried alone.
    pub(crate) refused: Option<(Key, Arc<str>)>,
    pub(crate) rare: RareRows,
    pub(crate) changes: BatchChanges,
}

impl BatchWorkspace {
    /// True where nothing is to be written.
    pub(crate) fn untouched(&self) -> bool {
        let changes = &self.changes;
        let moved =
            |usage: &UsageRow| matches!(usage, UsageRow::Owned(stored, now, _) if stored != now);
        changes.opened.is_empty()
            && changes.changed.is_empty()
            && changes.operations.is_empty()
            && changes.outbox.is_empty()
            && changes.inbox.is_empty()
            && changes.attempts.is_empty()
            && !self.names_changed()
            && changes.highest.is_empty()
            && changes.entries.is_empty()
            && !self.usage.values().any(moved)
    }

    /// Puts what is due later into the database's time, by which each worker looks for it: a due time that a clock
    /// set back left ahead would wait until that clock has caught up.
    pub(crate) fn due_by_the_database(&mut self) {
        let ahead = std::mem::take(&mut self.ahead);
        let changes = &mut self.changes;
        let opened = changes.opened.iter_mut().map(|row| &mut row.record.head.due_at);
        let changed =
            changes.changed.iter_mut().filter_map(|row| Some(&mut row.head.as_mut()?.0.due_at));
        let attempts = changes.attempts.iter_mut().filter_map(ChangedAttempt::due_at);
        for due in opened.chain(changed).flatten().chain(attempts) {
            *due = due.saturating_sub(ahead);
        }
    }

    /// True where a balance was decided on that was not read.
    pub(crate) fn has_assumptions(&self) -> bool {
        self.balances.values().any(|row| matches!(row, BalanceRow::Owned(change) if !change.read))
    }
}
