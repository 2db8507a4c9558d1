//! The state after a block, in persistent maps: a copy costs a pointer, so each block keeps its own,
//! and a receipt that fails is undone by taking the copy from before it.

use imbl::OrdMap;
use near_crypto::PublicKey;
use near_primitives::{
    account::AccessKey,
    hash::CryptoHash,
    types::{AccountId, Balance},
    views::AccountView,
};
use std::sync::Arc;

pub(crate) type Storage = OrdMap<Vec<u8>, Arc<[u8]>>;

#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) hash: CryptoHash,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Account {
    pub(crate) amount: u128,
    pub(crate) storage_usage: u64,
    pub(crate) code: Option<Arc<Code>>,
    pub(crate) keys: OrdMap<PublicKey, AccessKey>,
    pub(crate) storage: Storage,
}

impl Account {
    pub(crate) fn view(&self) -> AccountView {
        AccountView {
            amount: Balance::from_yoctonear(self.amount),
            locked: Balance::ZERO,
            code_hash: self.code.as_ref().map(|code| code.hash).unwrap_or_default(),
            storage_usage: self.storage_usage,
            storage_paid_at: 0,
            global_contract_hash: None,
            global_contract_account_id: None,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    accounts: OrdMap<AccountId, Account>,
}

impl State {
    pub(crate) fn account(&self, id: &AccountId) -> Option<&Account> {
        self.accounts.get(id)
    }

    pub(crate) fn account_mut(&mut self, id: &AccountId) -> Option<&mut Account> {
        self.accounts.get_mut(id)
    }

    pub(crate) fn put(&mut self, id: AccountId, account: Account) {
        self.accounts.insert(id, account);
    }

    pub(crate) fn remove(&mut self, id: &AccountId) -> Option<Account> {
        self.accounts.remove(id)
    }

    pub(crate) fn accounts(&self) -> impl Iterator<Item = (&AccountId, &Account)> {
        self.accounts.iter()
    }
}
