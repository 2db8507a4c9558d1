//! Reads stored forms: derives from the bytes of each what it does, and refuses one that does not do
//! what its attempt says.

use super::NearLink;
use super::foreign::stored_transaction;
use super::tx::{self, BatchAction, ReadTransaction};
use kernel::answer::Cause;
use kernel::attempt::{Attempt, Form, Lock, Purpose};
use kernel::ids::Id;
use kernel::money::Amount;
use kernel::ports::chain::{FOREIGN_FORM, Payment};
use kernel::record::{Account, Record};

/// The nonce that a lock is.
///
/// # Errors
/// It is no nonce.
pub(super) fn nonce_of(lock: &Lock) -> Result<u64, Cause> {
    lock.on_chain().parse().map_err(|_| Cause::of("BAD_LOCK"))
}

fn foreign(what: &str) -> Cause {
    Cause::because(FOREIGN_FORM, what)
}

impl NearLink {
    /// Reads from the bytes of each form of an attempt what it does.
    ///
    /// # Errors
    /// `FOREIGN_FORM`: one of them is under another key or nonce, or pays something else than the members.
    pub(super) fn forms(&self, attempt: &Attempt) -> Result<Vec<ReadTransaction>, Cause> {
        let key = tx::key_of(&attempt.lane).ok_or_else(|| foreign("the lane is no key"))?;
        let nonce = nonce_of(&attempt.lock)?;
        let mut forms = Vec::with_capacity(attempt.forms.len());
        for form in &attempt.forms {
            let found = if form.bytes.is_empty() {
                stored_transaction(form, &self.settings.account, key, nonce)?
            } else {
                tx::read(&form.bytes)?
            };
            if found.key != key || found.nonce != nonce || *found.signer != *self.settings.account {
                return Err(foreign("a form is under another key or nonce"));
            }
            if *form.name != found.hash {
                return Err(foreign("a form has another name than its bytes"));
            }
            if !serves(form, &found, &attempt.members) {
                return Err(foreign("a form does something else than its attempt"));
            }
            forms.push(found);
        }
        Ok(forms)
    }

    /// The payments of a transaction, read from it.
    ///
    /// # Errors
    /// It calls a contract that is no token of the relay.
    pub(super) fn payments(&self, found: &ReadTransaction) -> Result<Vec<Payment>, Cause> {
        if found.actions == [BatchAction::Nothing] {
            return Ok(Vec::new());
        }
        let token = self.tokens.of_contract(&found.receiver);
        let asset = token.ok_or_else(|| foreign("a form calls an unknown contract"))?.token.asset;
        let payment = |action: &BatchAction| match action {
            BatchAction::Pay { receiver, amount, .. } => {
                let (account, amount) = (Account::Named(receiver.clone()), Amount(*amount));
                Ok(Payment { account, asset, amount })
            }
            BatchAction::Register { account, deposit }
                if *deposit <= self.settings.most_storage_deposit =>
            {
                let (account, amount) = (Account::Named(account.clone()), Amount::ZERO);
                Ok(Payment { account, asset, amount })
            }
            BatchAction::Register { .. } => Err(foreign("a deposit is above the limit")),
            BatchAction::Nothing => Err(foreign("an action is without effect")),
        };
        found.actions.iter().map(payment).collect()
    }
}

/// Whether a transaction is for these members, all of them in their sequence, or makes no payment at all. One
/// that another program signed may pay others between them.
fn serves(form: &Form, found: &ReadTransaction, members: &[Record]) -> bool {
    match form.purpose {
        Purpose::Void => found.actions == [BatchAction::Nothing],
        Purpose::Pay => {
            let mut actions = found.actions.iter();
            let signed_here = !form.bytes.is_empty();
            let names = |memo: &str, member: &Record| {
                // a transfer that a restored journal lost has another moment in its id than the one since
                let foreign = || memo.parse().is_ok_and(|id: Id| id.tag() == member.id.tag());
                memo == member.id.to_string() || !signed_here && foreign()
            };
            let is_of = |action: &BatchAction, member: &Record| match action {
                BatchAction::Pay { memo, .. } => {
                    names(memo, member) && matches_member(action, member)
                }
                BatchAction::Register { .. } | BatchAction::Nothing => {
                    matches_member(action, member)
                }
            };
            let all = members.iter().all(|member| actions.any(|action| is_of(action, member)));
            let right = found.actions.len() == members.len() || !signed_here && !members.is_empty();
            all && right
        }
    }
}

/// Whether an action does what a member waits for, whatever its memo says.
fn matches_member(action: &BatchAction, member: &Record) -> bool {
    let target = member.target();
    let named = |account| target.account == Account::Named(account);
    match action {
        BatchAction::Pay { receiver, amount, .. } => {
            named(receiver.clone()) && target.amount == Amount(*amount)
        }
        BatchAction::Register { account, .. } => named(account.clone()),
        BatchAction::Nothing => false,
    }
}
