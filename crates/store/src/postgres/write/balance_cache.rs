//! Caches balances as this process wrote them last, so that the writer moves their money again without
//! a read.
//!
//! A cached balance is only assumed. A write changes a balance only where the row still is as assumed;
//! otherwise the whole write fails (`StoreError::AssumptionFailed`). So neither another process that
//! shares the account nor an operator's SQL is overlooked. After a failure the cache assumes nothing
//! for a number of batches, twice as many each time: processes that share their accounts soon read
//! always.

use super::row_set::RowSet;
use super::workspace::{BalanceChange, BalanceRow, BatchWorkspace};
use kernel::ids::{AssetId, UserId};
use kernel::rules::StoredBalance;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An asset of a user.
pub(crate) type BalanceKey = (UserId, AssetId);

/// The size of each of the two generations of cached balances.
const MOST: usize = 131_072;
/// Assumptions rest for no more batches.
const LONGEST: u32 = 512;

#[derive(Default)]
pub(crate) struct BalanceCache(Mutex<CachedBalances>);

#[derive(Default)]
struct CachedBalances {
    recent: HashMap<BalanceKey, StoredBalance>,
    /// The generation before `recent`.
    older: HashMap<BalanceKey, StoredBalance>,
    /// Batches until anything is assumed again.
    rest: u32,
    /// How long the next rest is.
    next: u32,
}

impl BalanceCache {
    fn state(&self) -> MutexGuard<'_, CachedBalances> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the cached balances out of the rows that will be read.
    pub(crate) fn take(&self, row_set: &mut RowSet) -> Vec<(BalanceKey, StoredBalance)> {
        let mut state = self.state();
        if state.rest > 0 {
            state.rest = state.rest.saturating_sub(1);
            return Vec::new();
        }
        let known = |key: &BalanceKey| state.recent.get(key).or_else(|| state.older.get(key));
        let known: Vec<_> = row_set
            .balances
            .iter()
            .filter_map(|key| known(key).map(|balance| (*key, *balance)))
            .collect();
        drop(state);
        for (key, _) in &known {
            row_set.balances.remove(key);
        }
        known
    }

    /// Forgets these balances after a write that assumed them failed.
    pub(crate) fn invalidate(&self, assumed: &[BalanceKey]) {
        if assumed.is_empty() {
            return;
        }
        let mut state = self.state();
        for key in assumed {
            state.recent.remove(key);
            state.older.remove(key);
        }
        let doubled = state.next.saturating_mul(2);
        state.next = doubled.clamp(1, LONGEST);
        state.rest = state.next;
    }

    /// Keeps the balances of a write.
    pub(crate) fn keep(&self, workspace: &BatchWorkspace) {
        let mut state = self.state();
        if workspace.has_assumptions() {
            state.next /= 2;
        }
        for (key, row) in &workspace.balances {
            if let BalanceRow::Owned(BalanceChange { now, .. }) = row
                && now.changed
            {
                state.put(*key, StoredBalance { stored: true, changed: false, ..*now });
            }
        }
    }
}

impl CachedBalances {
    fn put(&mut self, key: BalanceKey, balance: StoredBalance) {
        if self.recent.len() >= MOST {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(key, balance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::money::Amount;
    use kernel::ports::ledger::AccountStatus;

    fn key(user: u64) -> BalanceKey {
        (UserId(user), AssetId(3))
    }

    fn row_set(user: u64) -> RowSet {
        RowSet { balances: [key(user)].into(), ..RowSet::default() }
    }

    fn workspace(user: u64, available: u128) -> BatchWorkspace {
        let was = StoredBalance::empty(AccountStatus::Active);
        let now = StoredBalance { available: Amount(available), changed: true, ..was };
        let change = BalanceChange { now, ..BalanceChange::read(was) };
        BatchWorkspace {
            balances: [(key(user), BalanceRow::Owned(change))].into(),
            ..BatchWorkspace::default()
        }
    }

    #[test]
    fn what_was_written_is_believed_and_not_read() {
        let balances = BalanceCache::default();
        balances.keep(&workspace(1, 5));
        let mut asked = row_set(1);
        let known = balances.take(&mut asked);
        assert_eq!(
            known.first().map(|(_, change)| (change.available, change.changed)),
            Some((Amount(5), false))
        );
        assert!(asked.balances.is_empty());
        assert!(balances.take(&mut row_set(2)).is_empty());
    }

    // red for a state that keeps what failed, or that rests as long each time
    #[test]
    fn a_belief_that_fails_rests_longer_each_time() {
        let balances = BalanceCache::default();
        let mut rests = Vec::new();
        for _ in 0..4 {
            balances.invalidate(&[key(1)]);
            assert!(!balances.state().recent.contains_key(&key(1)));
            balances.keep(&workspace(1, 5));
            let has_assumptions = |_: &u32| !balances.take(&mut row_set(1)).is_empty();
            rests.push((0_u32..).find(has_assumptions));
        }
        assert_eq!(rests, [Some(1), Some(2), Some(4), Some(8)]);
    }

    #[test]
    fn no_more_is_remembered_than_twice_the_most() {
        let balances = BalanceCache::default();
        (0..300_000).for_each(|user| balances.keep(&workspace(user, 5)));
        let state = balances.state();
        assert!(state.recent.len() <= MOST && state.older.len() <= MOST);
        assert!(state.recent.contains_key(&key(299_999)));
    }
}
