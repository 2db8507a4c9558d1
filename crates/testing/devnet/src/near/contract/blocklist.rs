//! Accounts that the token refuses, as contracts with a blocklist do: a transfer to one of them fails, and so does its
//! registration. Views of it go on.

use super::session::{Session, Stop};
use near_primitives::types::AccountId;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The methods of the token that it refuses for them.
const REFUSED: [&str; 3] = ["ft_transfer", "ft_transfer_call", "storage_deposit"];

/// Whom a call is about.
#[derive(Deserialize)]
struct Named {
    receiver_id: Option<AccountId>,
    account_id: Option<AccountId>,
}

#[derive(Debug, Default)]
pub(crate) struct Blocklist(Mutex<BTreeSet<AccountId>>);

impl Blocklist {
    pub(crate) fn add(&self, account: AccountId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(account);
    }

    /// Whether a call may go on.
    ///
    /// # Errors
    /// What the contract panics with.
    pub(super) fn admits(&self, method: &str, session: &Session) -> Result<(), Stop> {
        let blocked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if blocked.is_empty() || session.context.view || !REFUSED.contains(&method) {
            return Ok(());
        }
        let Ok(named) = serde_json::from_slice::<Named>(&session.context.input) else {
            return Ok(());
        };
        let found = [named.receiver_id, named.account_id].into_iter().flatten();
        match found.into_iter().find(|account| blocked.contains(account)) {
            Some(account) => Err(Stop::Panic(format!("Account {account} is on the blocklist"))),
            None => Ok(()),
        }
    }
}
