//! Holds the books of the Spot ledger in memory. Pure: only records change them.

pub(crate) mod decide;
pub(crate) mod entry;
pub(crate) mod record;
mod results;
mod views;

use entry::Entry;
use kernel::ids::{AssetId, Id, UserId};
use kernel::money::Amount;
use kernel::operation::{Identity, Incarnation, Key, Known};
use kernel::ports::ledger::AccountStatus;
use record::Record;
use results::StoredResults;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A user's account: one status, and what it has of each asset it ever had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) status: AccountStatus,
    /// Ordered by asset; short, so that a search goes from the front.
    pub(crate) holdings: Vec<(AssetId, Amount)>,
}

impl Account {
    pub(crate) fn available(&self, asset: AssetId) -> Amount {
        self.holdings.iter().find(|(a, _)| *a == asset).map_or(Amount::ZERO, |(_, amount)| *amount)
    }

    fn set(&mut self, asset: AssetId, available: Amount) {
        match self.holdings.binary_search_by_key(&asset, |(a, _)| *a) {
            Ok(at) => {
                if let Some(holding) = self.holdings.get_mut(at) {
                    holding.1 = available;
                }
            }
            Err(at) => self.holdings.insert(at, (asset, available)),
        }
    }
}

/// The result of the last use of an operator's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AppliedStatus {
    pub(crate) user: UserId,
    pub(crate) status: AccountStatus,
}

/// A record that the books cannot take: a bug, or a file that is not what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Impossible;

/// The state of the ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Core {
    pub(crate) identity: Option<Identity>,
    pub(crate) incarnation: Option<Incarnation>,
    /// The highest operation's number.
    pub(crate) sequence: u64,
    pub(crate) assets: BTreeSet<AssetId>,
    pub(crate) accounts: BTreeMap<UserId, Account>,
    pub(crate) clearing: BTreeMap<AssetId, i128>,
    pub(crate) results: StoredResults,
    pub(crate) keys: BTreeMap<Arc<str>, AppliedStatus>,
    /// Results at or below it are forgotten, but for those of `open`.
    pub(crate) horizon: Option<Id>,
    pub(crate) open: BTreeSet<Id>,
    /// The highest number of a HALT that it was told of; 0 before the first one.
    pub(crate) halt: u64,
}

impl Core {
    /// An empty ledger that knows these assets.
    pub(crate) fn new(assets: impl IntoIterator<Item = AssetId>) -> Self {
        Self { assets: assets.into_iter().collect(), ..Self::default() }
    }

    /// The identity, the incarnation and the highest operation. Zero before the first start.
    pub(crate) fn known(&self) -> Known {
        Known {
            identity: self.identity.unwrap_or(Identity(0)),
            incarnation: self.incarnation.unwrap_or(Incarnation(0)),
            highest: self.sequence,
        }
    }

    /// The result stored under a key.
    pub(crate) fn get(&self, key: Key) -> Option<(u64, Entry)> {
        self.results.get(key)
    }

    /// Takes records in order. The same ones give the same books.
    ///
    /// # Errors
    /// At the first record that the books cannot take; those before it are in.
    pub(crate) fn apply(&mut self, records: Vec<Record>) -> Result<(), Impossible> {
        records.into_iter().try_for_each(|record| self.take(record).ok_or(Impossible))
    }

    fn take(&mut self, record: Record) -> Option<()> {
        match record {
            Record::Identity(identity) => {
                let first = self.identity.replace(identity).is_none();
                first.then_some(())?;
            }
            Record::Incarnation(incarnation) => self.incarnation = Some(incarnation),
            Record::Result { entry, available } => {
                let seq = self.sequence.checked_add(1)?;
                self.results.push(seq, entry).then_some(())?;
                self.sequence = seq;
                if let Some(available) = available {
                    self.rebalance(entry.user, entry.asset, available)?;
                }
            }
            Record::Horizon { id, open } => {
                self.open = open.into_iter().collect();
                self.horizon = Some(id);
                self.results.forget(id, &self.open);
            }
            Record::Status { user, status, key, .. } => {
                self.accounts.get_mut(&user)?.status = status;
                self.keys.insert(key, AppliedStatus { user, status });
            }
            Record::Halt(number) => {
                (number > self.halt).then_some(())?;
                self.halt = number;
            }
            Record::Account { user, status, holdings } => {
                let account = Account { status, holdings };
                self.accounts.insert(user, account).is_none().then_some(())?;
            }
            Record::StoredResult { seq, entry } => self.results.push(seq, entry).then_some(())?,
            Record::Key { user, status, key } => {
                self.keys.insert(key, AppliedStatus { user, status });
            }
            Record::Clearing { asset, amount } => {
                self.clearing.insert(asset, amount);
            }
            Record::End { sequence, accounts, results, .. } => {
                let whole = u64::try_from(self.accounts.len()) == Ok(accounts)
                    && u64::try_from(self.results.len()) == Ok(results);
                whole.then_some(())?;
                self.sequence = sequence;
            }
        }
        Some(())
    }

    /// Sets what an account has. The other side of the entry is clearing, so that their sum stays
    /// what it was.
    fn rebalance(&mut self, user: UserId, asset: AssetId, available: Amount) -> Option<()> {
        let account = self
            .accounts
            .entry(user)
            .or_insert_with(|| Account { status: AccountStatus::Active, holdings: Vec::new() });
        let rise = available.signed()?.checked_sub(account.available(asset).signed()?)?;
        let clearing = self.clearing.entry(asset).or_default();
        *clearing = clearing.checked_sub(rise)?;
        account.set(asset, available);
        Some(())
    }
}
