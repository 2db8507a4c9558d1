//! Items that met a row in somebody else's hands, gathered by account: each account's wait together
//! for one turn, and no account waits behind another.

use super::needs::Needs;
use super::work::Item;
use kernel::ids::{AssetId, Id, UserId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// What an item waits for: its balance, or its transfer where it touches none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Account {
    /// One asset of a user.
    Purse(UserId, AssetId),
    /// A transfer.
    Transfer(Id),
}

/// The most items that wait together.
const MOST: usize = 1_024;

/// See the module.
#[derive(Default)]
pub(crate) struct Patience {
    state: Mutex<State>,
    more: Notify,
}

#[derive(Default)]
struct State {
    waiting: BTreeMap<Account, Vec<Item>>,
    /// In a lane's hands: what comes meanwhile gathers.
    busy: BTreeSet<Account>,
    /// The last account that was given out: turns go round.
    last: Option<Account>,
    /// Nobody asks any more.
    closed: bool,
}

impl Patience {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, items: Vec<Item>) {
        if items.is_empty() {
            return;
        }
        let mut state = self.state();
        for item in items {
            state.waiting.entry(account(&item)).or_default().push(item);
        }
        drop(state);
        self.more.notify_waiters();
    }

    /// The next account's items, once there are some; `None`: it is closed.
    pub(crate) async fn next(&self) -> Option<(Account, Vec<Item>)> {
        loop {
            let more = self.more.notified();
            tokio::pin!(more);
            // whoever adds from here on wakes this one
            more.as_mut().enable();
            {
                let mut state = self.state();
                if let Some(found) = state.take() {
                    return Some(found);
                }
                if state.closed {
                    return None;
                }
            }
            more.await;
        }
    }

    /// What waits is still served; nothing comes any more.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.more.notify_waiters();
    }

    /// The account's turn is over.
    pub(crate) fn done(&self, account: Account) {
        self.state().busy.remove(&account);
        self.more.notify_waiters();
    }
}

impl State {
    fn take(&mut self) -> Option<(Account, Vec<Item>)> {
        let free = |account: &&Account| !self.busy.contains(account);
        let last = self.last;
        let later =
            self.waiting.keys().filter(free).find(|account| last.is_none_or(|l| **account > l));
        let account = *later.or_else(|| self.waiting.keys().find(free))?;
        let mut items = self.waiting.remove(&account)?;
        if items.len() > MOST {
            self.waiting.insert(account, items.split_off(MOST));
        }
        self.busy.insert(account);
        self.last = Some(account);
        Some((account, items))
    }
}

fn account(item: &Item) -> Account {
    let needs = Needs::of(std::iter::once(item), false);
    let transfer = needs.seats.first().or_else(|| needs.legs.first()).copied().unwrap_or_default();
    match needs.purses.first() {
        Some((user, asset)) => Account::Purse(*user, *asset),
        None => Account::Transfer(transfer),
    }
}
