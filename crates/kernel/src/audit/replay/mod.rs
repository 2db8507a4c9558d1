//! Replays what operators did, from the entries of their chain, and compares the rows that their actions wrote: HALTs,
//! approvals, assets, accounts and their status.
//!
//! The entries are hashed and sealed, these rows are not. A row that another program changed, removed or added is a
//! [`RowFault`]; a row that no action can prove is named beside them.

mod accounts;
mod approvals;
mod assets;
mod halts;
mod performed;

use super::Entry;
use accounts::{NumberedReplay, StatusReplay};
use approvals::ApprovalReplay;
use assets::AssetReplay;
use halts::HaltReplay;
use performed::Performed;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A table whose rows actions of operators wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActionTable {
    /// `halts`: every HALT by its number.
    Halts,
    /// The row `halted` of `service_state`, by which processes stop.
    Halted,
    /// `approvals`: every proposal by its id.
    Approvals,
    /// `assets_tb`: every asset by its number.
    Assets,
    /// `accounts_tb`: every numbered account.
    NumberedAccounts,
    /// `status_changes`: every change of an account's status at Funding, by its key.
    StatusChanges,
    /// `balances_tb`: the users whose account at Funding has another status than ACTIVE.
    Statuses,
}

impl ActionTable {
    /// Every table, in the order in which they are compared.
    pub const ALL: [Self; 7] = [
        Self::Halts,
        Self::Halted,
        Self::Approvals,
        Self::Assets,
        Self::NumberedAccounts,
        Self::StatusChanges,
        Self::Statuses,
    ];

    /// The name of the table, as operators know it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Halts => "halts",
            Self::Halted => "service_state",
            Self::Approvals => "approvals",
            Self::Assets => "assets_tb",
            Self::NumberedAccounts => "accounts_tb",
            Self::StatusChanges => "status_changes",
            Self::Statuses => "balances_tb",
        }
    }

    /// The columns that are compared, in the order of [`StoredRow::fields`].
    pub const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Halts => &["reason", "at", "lifted_at"],
            Self::Halted => &["value"],
            Self::Approvals => &[
                "action",
                "subject",
                "value",
                "reason",
                "requested_by",
                "requested_at",
                "status",
                "decided_by",
                "decided_at",
            ],
            Self::Assets => &[
                "symbol",
                "precision",
                "status",
                "internal_transfer_enabled",
                "min_transfer_amount",
                "max_transfer_amount",
                "daily_amount",
            ],
            Self::NumberedAccounts => &["owner_id", "asset_id", "status"],
            Self::StatusChanges => &["subject", "value", "reason", "caller", "found", "at"],
            Self::Statuses => &["status"],
        }
    }
}

/// A row as text, whatever the types of its columns are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRow {
    /// What names the row in its table.
    pub key: String,
    /// Its values, in the order of [`ActionTable::columns`]; `None` for NULL.
    pub fields: Vec<Option<String>>,
}

impl StoredRow {
    /// The value at a place of [`ActionTable::columns`].
    fn field(&self, place: usize) -> Option<&str> {
        self.fields.get(place)?.as_deref()
    }
}

/// The rows of every table at one instant.
pub type ActionRows = BTreeMap<ActionTable, Vec<StoredRow>>;

/// A row that says something else than what was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowFault {
    /// The table and the key of the row: `halts/3`.
    pub row: String,
    /// The column, where the row is there and should be.
    pub column: Option<&'static str>,
    /// The value that is stored.
    pub stored: String,
    /// The value that was written.
    pub proven: String,
    /// The part of the audit that proves it.
    pub by: &'static str,
}

/// What the proof of a [`RowFault`] is, where actions are it.
const ACTIONS: &str = "the operators' actions";

impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, column, stored, proven, by } = self;
        write!(f, "{row}: ")?;
        match column {
            Some(column) => write!(f, "its {column} is {stored}, and {by} say {proven}"),
            None => write!(f, "{stored}, and {by} say {proven}"),
        }
    }
}

/// What the comparison of all tables found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayFindings {
    /// The rows that say something else than the actions.
    pub faults: Vec<RowFault>,
    /// What no action proves, each as a sentence: no fault.
    pub unproven: Vec<String>,
}

/// A value that was written, or what a reader sees of none.
fn shown(value: Option<&str>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |value| format!("`{value}`"))
}

impl ReplayFindings {
    /// Notes a column that has another value than the actions gave it.
    fn differs(&mut self, table: ActionTable, row: &StoredRow, place: usize, proven: Option<&str>) {
        let stored = row.field(place);
        if stored != proven {
            self.column(table, row, place, shown(proven));
        }
    }

    /// Notes a column whose value no action gave it.
    fn column(&mut self, table: ActionTable, row: &StoredRow, place: usize, proven: String) {
        self.faults.push(RowFault {
            row: format!("{}/{}", table.name(), row.key),
            column: table.columns().get(place).copied(),
            stored: shown(row.field(place)),
            proven,
            by: ACTIONS,
        });
    }

    /// Notes a row that is not there, or should not be.
    fn row(&mut self, table: ActionTable, key: &str, stored: &str, proven: String) {
        let row = format!("{}/{key}", table.name());
        let stored = stored.to_owned();
        self.faults.push(RowFault { row, column: None, stored, proven, by: ACTIONS });
    }
}

/// Takes the entries of the operators' chain, in their order, and compares the rows with them.
#[derive(Debug, Default)]
pub struct ActionReplay {
    halts: HaltReplay,
    approvals: ApprovalReplay,
    assets: AssetReplay,
    numbered: NumberedReplay,
    statuses: StatusReplay,
}

impl ActionReplay {
    /// Takes the next action. An entry that is no action of a release is passed over: the chain says who changed it.
    pub fn entry(&mut self, entry: &Entry) {
        let Some(performed) = Performed::read(entry) else { return };
        self.halts.take(&performed);
        self.approvals.take(&performed);
        self.assets.take(&performed);
        self.numbered.take(&performed);
        self.statuses.take(&performed);
    }

    /// Compares the rows that are stored at the instant at which the chain ended.
    pub fn compare(self, rows: &ActionRows) -> ReplayFindings {
        let mut found = ReplayFindings::default();
        let of = |table| rows.get(&table).map_or(&[][..], Vec::as_slice);
        let stops = self.halts.compare(of(ActionTable::Halts), of(ActionTable::Halted), &mut found);
        self.approvals.compare(of(ActionTable::Approvals), &stops, &mut found);
        self.assets.compare(of(ActionTable::Assets), &mut found);
        self.numbered.compare(of(ActionTable::NumberedAccounts), &mut found);
        let (changes, statuses) = (of(ActionTable::StatusChanges), of(ActionTable::Statuses));
        self.statuses.compare(changes, statuses, &mut found);
        found
    }
}

/// The first of these times at or behind another one.
fn first_from(times: &BTreeSet<u64>, from: u64) -> Option<u64> {
    times.range(from..).next().copied()
}
