//! Caches the transfers that this process wrote last, so that the writer moves one of them again
//! without a read.
//!
//! A cached transfer is only assumed. A write that moves it changes its row only at the assumed
//! version; otherwise the whole write fails ([`StoreError::AssumptionFailed`]). An assumption that no
//! move checks is not used.

use super::row_set::RowSet;
use super::workspace::{BatchWorkspace, TransferRow};
use crate::postgres::error::StoreError;
use kernel::flow::table::Flows;
use kernel::ids::{Id, LedgerId};
use kernel::operation::Operation;
use kernel::rules::{Changed, StoredTransfer};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More are not remembered: those that wait long are read again.
const MOST: usize = 65_536;

/// A transfer's row and its operations.
#[derive(Debug, Clone)]
pub(crate) struct CachedTransfer {
    stored: StoredTransfer,
    legs: Vec<(LedgerId, Operation)>,
}

#[derive(Default)]
pub(crate) struct TransferCache(Mutex<HashMap<Id, CachedTransfer>>);

impl TransferCache {
    fn all(&self) -> MutexGuard<'_, HashMap<Id, CachedTransfer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the cached transfers out of the rows that will be read.
    pub(crate) fn take(&self, row_set: &mut RowSet) -> Vec<(Id, CachedTransfer)> {
        let all = self.all();
        let cached: Vec<_> = row_set
            .transfers
            .iter()
            .filter_map(|id| all.get(id).map(|cached| (*id, cached.clone())))
            .collect();
        drop(all);
        for (id, _) in &cached {
            row_set.transfers.remove(id);
            row_set.legs.remove(id);
        }
        cached
    }

    /// Forgets the cached rows of these transfers.
    pub(crate) fn forget<'i>(&self, ids: impl IntoIterator<Item = &'i Id>) {
        let mut all = self.all();
        for id in ids {
            all.remove(id);
        }
    }

    /// Keeps the transfers of a write.
    pub(crate) fn keep(&self, flows: &Flows, workspace: &mut BatchWorkspace) {
        let mut all = self.all();
        if all.len() > MOST {
            all.clear();
        }
        for row in &workspace.changes.opened {
            let record = &row.record;
            let table = flows.table(record.flow);
            if table.ends(record.head.state) {
                continue;
            }
            let stored = StoredTransfer {
                transfer: row.transfer,
                flow: record.flow,
                code: table.state(record.head.state).code,
                version: record.head.version,
                batch: workspace.numbers.batch,
                events: row.added.events,
                chain: row.added.chain,
                due: record.head.due_at.is_some(),
                agreed: record.agreed.is_some(),
            };
            let legs = workspace.legs.remove(&record.id).unwrap_or_default();
            all.insert(record.id, CachedTransfer { stored, legs });
        }
        for row in &workspace.changes.changed {
            if row.ends {
                all.remove(&row.id);
            } else {
                let legs = workspace.legs.remove(&row.id).unwrap_or_default();
                all.insert(row.id, CachedTransfer { stored: moved(flows, row), legs });
            }
        }
    }
}

fn moved(flows: &Flows, row: &Changed) -> StoredTransfer {
    let agreed = row.was.agreed || row.agreed.is_some();
    let (events, chain) = (row.added.events, row.added.chain);
    let was = StoredTransfer { events, chain, agreed, ..row.was };
    match row.head {
        Some((head, _)) => StoredTransfer {
            code: flows.table(was.flow).state(head.state).code,
            version: head.version,
            due: was.due || head.due_at.is_some(),
            ..was
        },
        None => was,
    }
}

impl BatchWorkspace {
    /// Adds the assumed transfers to those that were read.
    pub(crate) fn assume(&mut self, cached: Vec<(Id, CachedTransfer)>) -> BTreeSet<Id> {
        let assumed = cached.iter().map(|(id, _)| *id).collect();
        for (id, CachedTransfer { stored, legs }) in cached {
            self.transfers.insert(id, TransferRow::Owned(stored));
            self.legs.insert(id, legs);
        }
        assumed
    }

    /// # Errors
    /// [`StoreError::AssumptionFailed`]: a transfer that was assumed is not moved, so that nothing
    /// would check it.
    pub(crate) fn check_assumed(&self, mut assumed: BTreeSet<Id>) -> Result<(), StoreError> {
        for row in self.changes.changed.iter().filter(|row| row.head.is_some()) {
            assumed.remove(&row.id);
        }
        if assumed.is_empty() { Ok(()) } else { Err(StoreError::AssumptionFailed) }
    }
}
