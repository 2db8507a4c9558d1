//! What a case says of the accounts on a simulated chain: which exist, and which transactions that name them fail or are
//! lost.

use super::state::SimChain;
use super::transaction::Effect;

impl SimChain {
    /// An account that can hold the token.
    pub fn register(&self, account: &str) {
        self.now().registered.insert(account.into());
    }

    /// Every transaction that pays this account fails.
    pub fn spoil(&self, account: &str) {
        self.spoils_first(account, usize::MAX);
    }

    /// The first `times` transactions that pay this account fail.
    pub fn spoils_first(&self, account: &str, times: usize) {
        self.now().spoils.insert(account.into(), times);
    }

    /// The first `forms` forms that pay this account never come to a block.
    pub fn loses_payments(&self, account: &str, forms: usize) {
        self.now().loses.insert((Effect::Pays, account.into()), forms);
    }

    /// The first `forms` forms that call back what this account was paid never come to a block.
    pub fn loses_voids(&self, account: &str, forms: usize) {
        self.now().loses.insert((Effect::Voids, account.into()), forms);
    }

    /// The first `forms` forms that take in what this account sent never come to a block.
    pub fn loses_credits(&self, account: &str, forms: usize) {
        self.now().loses.insert((Effect::Credits, account.into()), forms);
    }

    /// What this account sends us cannot be taken in: it called it back.
    pub fn revokes(&self, account: &str) {
        self.now().revokes.insert(account.into());
    }

    /// This account takes nothing that it is paid: never (`for_good`), or not before it is called back.
    pub fn sleeps(&self, account: &str, for_good: bool) {
        self.now().sleeps.insert(account.into(), for_good);
    }
}
