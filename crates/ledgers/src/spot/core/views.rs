//! Answers queries from the books: totals, stored results, operations and balances.

use crate::spot::core::{Account, Core};
use kernel::answer::Cause;
use kernel::ids::{AssetId, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Operation};
use kernel::ports::ledger::{Holding, Stored, Totals, Whose};
use std::collections::BTreeMap;
use std::ops::Bound;

impl Core {
    /// Every asset's sums, recomputed from the accounts.
    ///
    /// # Errors
    /// `OVERFLOW`, which the rules keep from happening.
    pub(crate) fn totals(&self) -> Result<Vec<(AssetId, Totals)>, Cause> {
        let mut sums: BTreeMap<AssetId, Totals> =
            self.assets.iter().map(|asset| (*asset, Totals::default())).collect();
        for (asset, clearing) in &self.clearing {
            sums.entry(*asset).or_default().clearing = *clearing;
        }
        for (asset, available) in self.accounts.values().flat_map(|account| &account.holdings) {
            let users = &mut sums.entry(*asset).or_default().users;
            let sum = available.signed().and_then(|available| users.checked_add(available));
            *users = sum.ok_or_else(|| Cause::of("OVERFLOW"))?;
        }
        Ok(sums.into_iter().collect())
    }

    /// The operation stored under a key.
    ///
    /// # Errors
    /// `BELOW_HORIZON`: there may have been something.
    pub(crate) fn query(&self, key: Key) -> Result<Stored, Cause> {
        match self.get(key) {
            Some((seq, entry)) => Ok(Stored::Found(entry.operation(seq))),
            None if self.forgotten(key.id) => Err(Cause::of("BELOW_HORIZON")),
            None => Ok(Stored::Nothing),
        }
    }

    /// Kept operations above a number, by number.
    pub(crate) fn operations(&self, after: u64, limit: usize) -> Vec<Operation> {
        self.results.after(after).take(limit).map(|(seq, entry)| entry.operation(seq)).collect()
    }

    /// Balances. A page ends between two users, so that the next one can begin after the last:
    /// one user's holdings may be more than `limit`.
    pub(crate) fn holdings(&self, whose: Whose) -> Vec<Holding> {
        let (user, limit) = match whose {
            Whose::User(user) => {
                let account = self.accounts.get(&user);
                return account
                    .map(|account| holdings(user, account).collect())
                    .unwrap_or_default();
            }
            Whose::After(user, limit) => (UserId(user), limit),
        };
        let mut page: Vec<Holding> = Vec::new();
        for (user, account) in self.accounts.range((Bound::Excluded(user), Bound::Unbounded)) {
            let more = page.len().saturating_add(account.holdings.len());
            if page.len() >= limit || (more > limit && !page.is_empty()) {
                break;
            }
            page.extend(holdings(*user, account));
        }
        page
    }
}

fn holdings(user: UserId, account: &Account) -> impl Iterator<Item = Holding> {
    account.holdings.iter().map(move |(asset, available)| Holding {
        user,
        asset: *asset,
        available: *available,
        frozen: Amount::ZERO,
        status: account.status,
    })
}
