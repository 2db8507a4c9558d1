//! Accounts that the token refuses, as contracts with a blocklist do: a transfer to one of them fails, and so does its
//! registration. A token in trouble refuses every account, with words of its own. Views go on.

use super::session::{Session, Stop};
use near_primitives::types::AccountId;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The methods of the token that it refuses for them.
const REFUSED: [&str; 3] = ["ft_transfer", "ft_transfer_call", "storage_deposit"];

/// Whom a call is about.
#[derive(Deserialize)]
struct Named {
    receiver_id: Option<AccountId>,
    account_id: Option<AccountId>,
}

#[derive(Debug, Default)]
struct Refused {
    accounts: BTreeSet<AccountId>,
    /// What every call panics with.
    every_account: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Blocklist(Mutex<Refused>);

impl Blocklist {
    fn refused(&self) -> MutexGuard<'_, Refused> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, account: AccountId) {
        self.refused().accounts.insert(account);
    }

    pub(crate) fn every_account(&self, words: Option<&str>) {
        self.refused().every_account = words.map(str::to_owned);
    }

    /// Whether a call may go on.
    ///
    /// # Errors
    /// What the contract panics with.
    pub(super) fn admits(&self, method: &str, session: &Session) -> Result<(), Stop> {
        let refused = self.refused();
        if session.context.view || !REFUSED.contains(&method) {
            return Ok(());
        }
        if let Some(words) = &refused.every_account {
            return Err(Stop::Panic(words.clone()));
        }
        let Ok(named) = serde_json::from_slice::<Named>(&session.context.input) else {
            return Ok(());
        };
        let found = [named.receiver_id, named.account_id].into_iter().flatten();
        match found.into_iter().find(|account| refused.accounts.contains(account)) {
            Some(account) => Err(Stop::Panic(format!("Account {account} is on the blocklist"))),
            None => Ok(()),
        }
    }
}
