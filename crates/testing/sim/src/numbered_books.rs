//! The data of the accounts ledger in memory: numbered accounts, operations, and external movements.

use crate::movements::Movements;
use kernel::accounts::{AccountsOf, NumberedAccount};
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::money::Amount;
use kernel::operation::{Key, Operation, StoredOutcome};
use kernel::ports::journal::{AccountSums, Sums};
use kernel::ports::ledger::{Direction, External, Stored, Totals};
use kernel::record::Account;
use kernel::rules::Posting;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The accounts ledger's accounts, operations and world.
#[derive(Debug, Clone, Default)]
pub struct NumberedBooks {
    accounts: BTreeMap<Arc<str>, NumberedAccount>,
    stored: BTreeMap<Key, Operation>,
    world: BTreeMap<AssetId, i128>,
    pub(crate) movements: Movements,
    highest: u64,
}

impl NumberedBooks {
    /// The highest number that was given.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// The account of a number, where there is one.
    pub fn account(&self, number: &str) -> Option<&NumberedAccount> {
        self.accounts.get(number)
    }

    /// The accounts that are asked for, by number.
    pub fn list(&self, of: &AccountsOf) -> Vec<NumberedAccount> {
        let all = self.accounts.values();
        match of {
            AccountsOf::Numbers(numbers) => {
                all.filter(|a| numbers.contains(&a.number)).cloned().collect()
            }
            AccountsOf::Owner(owner) => all.filter(|a| a.owner == *owner).cloned().collect(),
            AccountsOf::After(number, limit) => {
                all.filter(|a| a.number > *number).take(*limit).cloned().collect()
            }
        }
    }

    /// Takes in what the product's rules decided for numbered accounts.
    pub fn apply(&mut self, posting: &Posting) {
        for (_, operation) in posting.operations.iter().filter(|(at, _)| *at == LedgerId::ACCOUNT) {
            self.highest = operation.seq;
            self.stored.insert(operation.op.key, operation.clone());
        }
        for account in &posting.accounts {
            let account = NumberedAccount { version: account.version + 1, ..account.clone() };
            self.accounts.insert(account.number.clone(), account);
        }
        for (book, delta) in
            posting.books.iter().filter(|(book, _)| book.ledger == LedgerId::ACCOUNT)
        {
            *self.world.entry(book.asset).or_default() += delta;
        }
    }

    /// The operations of a transfer.
    pub fn of(&self, id: Id) -> impl Iterator<Item = &Operation> {
        let key = |leg| Key { id, leg };
        self.stored.range(key(Leg::Withdraw)..=key(Leg::Cost)).map(|(_, operation)| operation)
    }

    /// What is stored under a key.
    pub fn query(&self, key: Key) -> Stored {
        self.stored.get(&key).map_or(Stored::Nothing, |stored| Stored::Found(stored.clone()))
    }

    /// The books per asset, recomputed from the accounts.
    pub fn totals(&self) -> Vec<(AssetId, Totals)> {
        let mut totals: BTreeMap<AssetId, Totals> = BTreeMap::new();
        for account in self.accounts.values() {
            let of = totals.entry(account.asset).or_default();
            of.users = of.users.saturating_add_unsigned(account.balance.0);
        }
        for (asset, world) in &self.world {
            totals.entry(*asset).or_default().world = *world;
        }
        totals.into_iter().collect()
    }

    /// Every operation that is stored.
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.stored.values()
    }

    /// What the operations add up to, the external ones among them.
    pub fn sums(&self, upto: u64) -> BTreeMap<AssetId, Sums> {
        let mut sums = crate::books::add_up(self.operations().filter(|o| o.seq <= upto));
        for (asset, world) in &self.world {
            sums.entry(*asset).or_default().external = -*world;
        }
        sums
    }

    /// What each account has, beside what its moves and external movements add up to.
    pub fn account_sums(&self, upto: u64) -> Vec<AccountSums> {
        let own = |account: &NumberedAccount| {
            let mut sums = Sums::default();
            let done = |o: &&Operation| o.outcome == StoredOutcome::Done && o.seq <= upto;
            for Operation { op, .. } in self.operations().filter(done) {
                let n = op.amount.signed().unwrap_or(i128::MAX);
                let is = |other: &Account| *other == Account::Named(account.number.clone());
                if is(&op.account) {
                    (sums.withdraw, sums.count) = (sums.withdraw + n, sums.count + 1);
                } else if op.other.as_ref().is_some_and(is) {
                    (sums.deposit, sums.count) = (sums.deposit + n, sums.count + 1);
                }
            }
            let mine = |m: &&External| m.number.as_ref() == Some(&account.number);
            for movement in self.movements.iter().filter(mine) {
                let n = movement.amount.signed().unwrap_or(i128::MAX);
                sums.external += if movement.direction == Direction::In { n } else { -n };
            }
            let (available, frozen) = (account.balance, Amount::ZERO);
            let (name, asset) = (Account::Named(account.number.clone()), account.asset);
            AccountSums { account: name, asset, available, frozen, sums }
        };
        let mut all: Vec<_> = self.accounts.values().map(own).collect();
        all.sort_by_key(|row| (row.account.to_string().len(), row.account.clone()));
        all
    }
}
