//! Runs one group of items as one transaction: it reads the rows, has the rules decide, and writes.

use super::balance_cache::BalanceKey;
use super::connection::WriteConnection;
use super::read_rows::{LockMode, TransactionLocks};
use super::row_set::RowSet;
use super::statement::Statements;
use super::transfer_cache::CachedTransfer;
use super::work::WorkItem;
use super::workspace::{BalanceChange, BalanceRow, Undecided};
use super::writer::WriterContext;
use crate::postgres::error::StoreError;
use kernel::answer::Answer;
use kernel::ids::Id;
use kernel::operation::Key;
use kernel::rules::StoredBalance;
use kernel::unit::Wrote;
use std::sync::Arc;

/// The result of one item.
#[derive(Debug)]
pub(crate) enum ItemResult {
    Wrote(Wrote),
    Answer(Answer),
    /// An item before it did something to the same rows: it comes in the next group.
    Again,
    /// Another transaction holds a row that it needs.
    Locked,
}

/// The mode in which a group runs.
#[derive(Debug, Clone)]
pub(crate) struct BatchMode {
    /// Takes each opened transfer for new without a read; the write fails where it is not.
    pub(crate) assume: bool,
    /// How it meets rows that another transaction holds.
    pub(crate) wait: LockMode,
    /// The one leg that the database refused when it was tried alone.
    pub(crate) refused: Option<(Key, Arc<str>)>,
    /// False: everything is tried and nothing kept.
    pub(crate) keep: bool,
}

impl BatchMode {
    /// The mode of the first try of a group.
    pub(crate) const FIRST: Self =
        Self { assume: true, wait: LockMode::Skip, refused: None, keep: true };
}

/// Rows that a group takes from the caches instead of the database.
struct Assumed {
    transfers: Vec<(Id, CachedTransfer)>,
    balances: Vec<(BalanceKey, StoredBalance)>,
}

impl Assumed {
    /// Takes the cached rows out of the rows that will be read.
    fn take(writers: &WriterContext, row_set: &mut RowSet, mode: &BatchMode) -> Self {
        if !mode.assume {
            return Self { transfers: Vec::new(), balances: Vec::new() };
        }
        Self {
            transfers: writers.transfer_cache.take(row_set),
            balances: writers.balance_cache.take(row_set),
        }
    }
}

/// The sources of a batch's rows: the database, and the assumed rows of the caches.
struct BatchReads<'r> {
    row_set: &'r RowSet,
    assumed: Assumed,
}

impl WriteConnection {
    /// Tries the items in one transaction. The answers count: they are durable.
    ///
    /// # Errors
    /// Nothing of the batch was written, or ([`StoreError::Cut`]) the outcome is unknown.
    pub(crate) async fn run_batch(
        &mut self,
        writers: &WriterContext,
        items: &[WorkItem],
        mode: &BatchMode,
    ) -> Result<Vec<ItemResult>, StoreError> {
        let mut row_set = RowSet::of(items.iter(), mode.assume);
        let assumed = Assumed::take(writers, &mut row_set, mode);
        let transfers: Vec<Id> = assumed.transfers.iter().map(|(id, _)| *id).collect();
        let assumed_balances: Vec<BalanceKey> =
            assumed.balances.iter().map(|(owner, _)| *owner).collect();
        let try_batch =
            self.try_batch(writers, items, BatchReads { row_set: &row_set, assumed }, mode).await;
        if try_batch.is_err() {
            writers.transfer_cache.forget(transfers.iter().chain(&row_set.transfers));
            writers.balance_cache.invalidate(&assumed_balances);
        }
        match try_batch {
            Ok(results) => Ok(results),
            Err(error @ StoreError::Cut(_)) => Err(error),
            Err(error) => {
                self.rollback().await?;
                Err(error)
            }
        }
    }

    async fn try_batch(
        &mut self,
        WriterContext { flows, batches, transfer_cache, balance_cache, .. }: &WriterContext,
        items: &[WorkItem],
        BatchReads { row_set, assumed: Assumed { transfers, balances } }: BatchReads<'_>,
        mode: &BatchMode,
    ) -> Result<Vec<ItemResult>, StoreError> {
        let mut workspace =
            self.read_rows(flows, row_set, mode.wait, TransactionLocks::default()).await?;
        let assumed = workspace.assume(transfers);
        let open = |(owner, was)| (owner, BalanceRow::Owned(BalanceChange::assumed(was)));
        workspace.balances.extend(balances.into_iter().map(open));
        workspace.refused.clone_from(&mode.refused);
        let mut results = Vec::with_capacity(items.len());
        for item in items {
            let decided = match item {
                WorkItem::Unit(unit, _) => workspace.unit(flows, unit).map(ItemResult::Wrote),
                WorkItem::Leg(op, _) => workspace.leg(op).map(ItemResult::Answer),
            };
            results.push(match decided {
                Ok(answer) => answer,
                Err(Undecided::Again) => ItemResult::Again,
                Err(Undecided::Locked) => ItemResult::Locked,
                Err(Undecided::Error(error)) => return Err(error),
            });
        }
        workspace.check_assumed(assumed)?;
        if workspace.untouched() {
            if workspace.has_assumptions() {
                // nothing is written that would check them
                return Err(StoreError::AssumptionFailed);
            }
            let read = self.read();
            self.rollback().await?;
            self.confirm_read(read).await?;
            // a unit that does nothing was told this time: the next one is not told an earlier one
            self.written(workspace.at);
            return Ok(results);
        }
        let (mut all, ended) = Statements::of(self, flows, &mut workspace, batches.worker());
        all.sweep(if mode.keep { batches.over() } else { Vec::new() });
        self.run(all, mode.keep).await?;
        if mode.keep {
            self.record_write(&workspace);
            batches.count(ended);
            balance_cache.keep(&workspace);
            transfer_cache.keep(flows, &mut workspace);
        } else {
            self.rollback().await?;
        }
        Ok(results)
    }

    /// Advances the lane's numbers behind a write that is durable.
    pub(crate) fn record_write(&mut self, workspace: &super::workspace::BatchWorkspace) {
        let (n, seq) = self.after(&workspace.numbers, !workspace.changes.entries.is_empty());
        (self.n, self.at, self.seq) = (n, workspace.at, seq);
        if !workspace.changes.entries.is_empty() {
            self.noted(self.n, self.at);
        }
        self.written(workspace.at);
    }
}
