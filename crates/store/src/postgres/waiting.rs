//! What waits to be written, by account: no two groups of this process name the same account, and
//! what somebody else holds waits for its turn on a connection of its own.
//!
//! A key in somebody's open transaction shows only where a row is inserted beside it, and there a
//! whole group waits. So whoever asks for such a key stands in the key's own line until it is free:
//! asked for again and again, it holds up neither a group nor the rest of its account.

use super::work::Item;
use kernel::ids::{AssetId, Id, UserId};
use kernel::record;
use kernel::unit::{Guard, Op};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// What an item stands in line for: its balance, or its transfer where it touches none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Account {
    /// One asset of a user.
    Purse(UserId, AssetId),
    /// A transfer.
    Transfer(Id),
    /// A client's key that is in somebody else's open transaction, by its hash: two of the same
    /// number only share a line.
    Key(u64),
}

/// The most items of one turn: as many numbers as one block has (`transfer_blocks`).
pub(crate) const MOST: usize = 1_024;

/// See the module.
#[derive(Default)]
pub(crate) struct Waiting {
    state: Mutex<State>,
    /// A lane may have something to do.
    ready: Notify,
    /// A connection that waits for others' rows may.
    locked: Notify,
}

#[derive(Default)]
struct State {
    /// In the order in which they came.
    ready: VecDeque<Item>,
    /// Accounts in the hands of a lane's group.
    held: HashMap<Account, Held>,
    /// Accounts whose rows somebody else holds.
    locked: BTreeMap<Account, Vec<Item>>,
    /// Those of them that a connection waits for: what comes meanwhile gathers.
    busy: BTreeSet<Account>,
    /// Keys that somebody else holds, by their hashes.
    keys: BTreeSet<u64>,
    /// The last of them that was given out: turns go round.
    last: Option<Account>,
    /// Groups so far.
    groups: u64,
    /// Nobody asks any more.
    closed: bool,
}

/// An account in a group.
struct Held {
    group: u64,
    /// What came meanwhile.
    later: Vec<Item>,
}

/// What one lane writes together.
pub(crate) struct Group {
    pub(crate) items: Vec<Item>,
    pub(crate) accounts: Vec<Account>,
}

impl Waiting {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Items that nobody has tried yet.
    pub(crate) fn add(&self, items: impl IntoIterator<Item = Item>) {
        let mut state = self.state();
        for item in items {
            state.sort(item);
        }
        let patient = !state.locked.is_empty();
        drop(state);
        self.ready.notify_one();
        if patient {
            self.locked.notify_waiters();
        }
    }

    /// Items that met a row in somebody else's hands.
    pub(crate) fn locked(&self, items: Vec<Item>) {
        if items.is_empty() {
            return;
        }
        let mut state = self.state();
        for item in items {
            state.gather(account(&item), item);
        }
        drop(state);
        self.locked.notify_waiters();
    }

    /// An item that waited, alone, for what somebody else inserts.
    pub(crate) fn stuck(&self, item: Item) {
        let mut state = self.state();
        state.keys.extend(key(&item));
        let account = state.line(&item);
        state.gather(account, item);
        drop(state);
        self.locked.notify_waiters();
    }

    /// Everything that a lane may write now; `None`: it is closed.
    pub(crate) async fn group(&self) -> Option<Group> {
        loop {
            let more = self.ready.notified();
            {
                let mut state = self.state();
                let group = state.group();
                if !group.items.is_empty() {
                    let rest = !state.ready.is_empty();
                    let patient = !state.locked.is_empty();
                    drop(state);
                    if patient {
                        self.locked.notify_waiters();
                    }
                    if rest {
                        self.ready.notify_one();
                    }
                    return Some(group);
                }
                if state.closed {
                    return None;
                }
            }
            more.await;
        }
    }

    /// The group's items have their answers, or wait for somebody else.
    pub(crate) fn written(&self, accounts: Vec<Account>) {
        let mut state = self.state();
        for account in accounts.into_iter().rev() {
            let Some(held) = state.held.remove(&account) else { continue };
            if state.patient(&account) {
                held.later.into_iter().for_each(|item| state.gather(account, item));
            } else {
                // they are older than what is there
                held.later.into_iter().rev().for_each(|item| state.ready.push_front(item));
            }
        }
        drop(state);
        self.ready.notify_one();
        self.locked.notify_waiters();
    }

    /// The next account whose rows others held, once there is one; `None`: it is closed.
    pub(crate) async fn turn(&self) -> Option<(Account, Vec<Item>)> {
        loop {
            // whoever adds from here on wakes this one
            let more = self.locked.notified();
            {
                let mut state = self.state();
                if let Some(found) = state.turn() {
                    return Some(found);
                }
                if state.closed {
                    return None;
                }
            }
            more.await;
        }
    }

    /// The account's turn is over; `free`: nobody else holds it any more.
    pub(crate) fn over(&self, account: Account, free: bool) {
        let mut state = self.state();
        state.busy.remove(&account);
        if let (Account::Key(key), true) = (account, free) {
            state.keys.remove(&key);
        }
        drop(state);
        self.locked.notify_waiters();
    }

    /// What waits is still served; nothing comes any more.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        // a permit for one lane, which passes it on
        self.ready.notify_one();
        self.ready.notify_waiters();
        self.locked.notify_waiters();
    }
}

impl State {
    /// Where an item stands.
    fn line(&self, item: &Item) -> Account {
        if self.keys.is_empty() {
            return account(item);
        }
        let held = key(item).filter(|key| self.keys.contains(key));
        held.map_or_else(|| account(item), Account::Key)
    }

    /// Others hold it, and its items wait for them.
    fn patient(&self, account: &Account) -> bool {
        matches!(account, Account::Key(_))
            || self.busy.contains(account)
            || self.locked.contains_key(account)
    }

    /// It waits for its account's turn, and the others of its call do not.
    fn gather(&mut self, account: Account, item: Item) {
        self.locked.entry(account).or_default().push(item.waits());
    }

    fn sort(&mut self, item: Item) {
        let account = self.line(&item);
        if self.patient(&account) {
            self.gather(account, item);
        } else if let Some(held) = self.held.get_mut(&account) {
            held.later.push(item);
        } else {
            self.ready.push_back(item);
        }
    }

    fn group(&mut self) -> Group {
        self.groups = self.groups.wrapping_add(1);
        let group = self.groups;
        let (mut items, mut accounts) = (Vec::new(), Vec::new());
        while items.len() < MOST
            && let Some(item) = self.ready.pop_front()
        {
            let account = self.line(&item);
            if self.patient(&account) {
                self.gather(account, item);
                continue;
            }
            let held = self.held.entry(account).or_insert_with(|| {
                accounts.push(account);
                Held { group, later: Vec::new() }
            });
            if held.group == group {
                items.push(item);
            } else {
                held.later.push(item);
            }
        }
        Group { items, accounts }
    }

    fn turn(&mut self) -> Option<(Account, Vec<Item>)> {
        let free = |account: &&Account| !self.busy.contains(account);
        let last = self.last;
        let later =
            self.locked.keys().filter(free).find(|account| last.is_none_or(|l| **account > l));
        let account = *later.or_else(|| self.locked.keys().find(free))?;
        let mut items = self.locked.remove(&account)?;
        if items.len() > MOST {
            self.locked.insert(account, items.split_off(MOST));
        }
        self.busy.insert(account);
        self.last = Some(account);
        Some((account, items))
    }
}

/// The hash of the client's key that an item binds.
fn key(item: &Item) -> Option<u64> {
    item.key().map(|key| BuildHasherDefault::<DefaultHasher>::default().hash_one(key))
}

/// A balance comes first: it is what many transfers share. This is only where an item waits: whether
/// what else it names is held is found out when it is written.
fn account(item: &Item) -> Account {
    let (op, guards) = match item {
        Item::Leg(op, _) => (Some(op), [].as_slice()),
        Item::Unit(unit, _) => {
            let fork = unit.then.fork.as_deref().map(|fork| &fork.op);
            let op = fork.or_else(|| unit.then.ops.first().map(|(_, op)| op));
            (op, unit.guards.as_slice())
        }
    };
    if let Some(Op { account: record::Account::User(user), asset, .. }) = op {
        return Account::Purse(*user, *asset);
    }
    let named = guards.iter().find_map(|guard| {
        if let Guard::Fresh(id) | Guard::Transfer { id, .. } = guard { Some(*id) } else { None }
    });
    Account::Transfer(op.map(|op| op.key.id).or(named).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::work::{Teller, replies};
    use super::*;
    use kernel::ids::FlowId;
    use kernel::unit::Unit;

    fn items<const N: usize>(keys: [&str; N]) -> Vec<Item> {
        let (replies, _nobody) = replies(N);
        let unit = |key: &str| {
            let (scope, key) = ("test|1".into(), key.into());
            Unit::guarded(vec![Guard::Unbound { flow: FlowId(0), scope, key }], Vec::new())
        };
        keys.map(unit)
            .into_iter()
            .map(Box::new)
            .zip(replies)
            .map(|(unit, reply)| Item::Unit(unit, Teller::Together(reply)))
            .collect()
    }

    /// How many items a lane would get.
    fn group(waiting: &Waiting) -> usize {
        let Group { items, accounts } = waiting.state().group();
        waiting.written(accounts);
        items.len()
    }

    /// Turns red where a key that somebody holds comes before a lane each time that it is asked for
    /// (run: `over` that forgets it always), and where it never does again.
    #[test]
    fn a_key_that_somebody_holds_waits_in_its_own_line_until_it_is_free() {
        let waiting = Waiting::default();
        items(["held"]).into_iter().for_each(|item| waiting.stuck(item));
        for _ in 0..3 {
            waiting.add(items(["held", "free", "held"]));
            assert_eq!(group(&waiting), 1);
            let (line, _) = waiting.state().turn().expect("its turn");
            assert!(matches!(line, Account::Key(_)) && waiting.state().turn().is_none());
            waiting.over(line, false);
        }
        waiting.add(items(["held"]));
        let (line, held) = waiting.state().turn().expect("its turn");
        assert_eq!(held.len(), 1);
        waiting.over(line, true);
        waiting.add(items(["held", "free"]));
        assert_eq!(group(&waiting), 2);
    }
}
