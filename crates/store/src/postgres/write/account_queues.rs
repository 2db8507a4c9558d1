//! Queues the items that wait to be written, by account, for the lanes. No two groups of this process
//! name the same account, and an item whose rows another transaction holds waits for its turn on a
//! connection of its own.
//!
//! A key in another open transaction shows only where a write inserts a row beside it, and there a
//! whole batch waits. So an item with such a key waits in the key's own queue until the key is free:
//! even where clients repeat it, it holds up neither a group nor the rest of its account.

use super::work::WorkItem;
use crate::postgres::named_values;
use kernel::attempt::AttemptId;
use kernel::ids::{AssetId, Id, UserId};
use kernel::operation::Op;
use kernel::record;
use kernel::unit::{Guard, Put, Unit};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// The key of an item's queue: its balance, or its transfer where it touches no balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum QueueKey {
    /// One asset of a user.
    Balance(UserId, AssetId),
    Transfer(Id),
    /// A numbered account, by its number's hash: two of the same hash only share a line.
    Account(u64),
    /// A counter or a resource, by its full name's hash.
    Named(u64),
    Attempt(AttemptId),
    /// A client's key that is in another open transaction, by its hash: two of the same
    /// number only share a line.
    ClientKey(u64),
}

/// The most items of one turn: as many numbers as one block has (`transfer_blocks`).
pub(crate) const MOST: usize = 1_024;

#[derive(Default)]
pub(crate) struct AccountQueues {
    state: Mutex<QueueState>,
    /// A lane may have something to do.
    ready: Notify,
    /// A connection that waits for others' rows may.
    locked: Notify,
}

#[derive(Default)]
struct QueueState {
    /// In the order in which they came.
    ready: VecDeque<WorkItem>,
    /// Accounts in the hands of a lane's group.
    in_flight: HashMap<QueueKey, InFlight>,
    /// Accounts whose rows another transaction holds.
    locked: BTreeMap<QueueKey, LockedItems>,
    /// Those of them that a connection waits for; their new items gather meanwhile.
    busy: BTreeSet<QueueKey>,
    /// Keys that another transaction holds, by their hashes.
    keys: BTreeSet<u64>,
    /// The last of them that was given out: turns go round.
    last: Option<QueueKey>,
    batches: u64,
    /// No caller is left.
    closed: bool,
}

/// An account in a group.
struct InFlight {
    group: u64,
    later: Vec<WorkItem>,
}

/// The items of an account whose rows another transaction holds.
#[derive(Default)]
struct LockedItems {
    /// Those that had a turn, or several.
    tried: Vec<WorkItem>,
    /// How long these turns waited.
    waited: Duration,
    /// Those that came since: their own wait begins behind the others.
    fresh: Vec<WorkItem>,
}

/// The items that one lane writes together.
pub(crate) struct Batch {
    pub(crate) items: Vec<WorkItem>,
    pub(crate) accounts: Vec<QueueKey>,
}

/// An account whose rows another transaction held, with its items.
pub(crate) struct Turn {
    pub(crate) account: QueueKey,
    pub(crate) items: Vec<WorkItem>,
    /// The number of accounts that wait for a turn, with this one.
    pub(crate) waiting: u32,
    /// How long the turns before this one waited for the account.
    pub(crate) waited: Duration,
}

impl AccountQueues {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Items that no writer has tried yet.
    pub(crate) fn add(&self, items: impl IntoIterator<Item = WorkItem>) {
        let mut state = self.state();
        for item in items {
            state.enqueue(item);
        }
        let waits_for_lock = !state.locked.is_empty();
        drop(state);
        self.ready.notify_one();
        if waits_for_lock {
            self.locked.notify_waiters();
        }
    }

    /// Items that met a row which another transaction holds.
    pub(crate) fn locked(&self, items: Vec<WorkItem>) {
        if items.is_empty() {
            return;
        }
        let mut state = self.state();
        for item in items {
            state.park(account(&item), item);
        }
        drop(state);
        self.locked.notify_waiters();
    }

    /// An item that waited, alone, for what another transaction inserts.
    pub(crate) fn stuck(&self, item: WorkItem) {
        let mut state = self.state();
        state.keys.extend(key(&item));
        let account = state.line(&item);
        state.park(account, item);
        drop(state);
        self.locked.notify_waiters();
    }

    /// The items that a lane may write now; `None`: the queue is closed.
    pub(crate) async fn next_batch(&self) -> Option<Batch> {
        loop {
            let more = self.ready.notified();
            {
                let mut state = self.state();
                let group = state.take_batch();
                if !group.items.is_empty() {
                    let rest = !state.ready.is_empty();
                    let waits_for_lock = !state.locked.is_empty();
                    drop(state);
                    if waits_for_lock {
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

    /// The batch's items have their answers, or wait for another transaction.
    pub(crate) fn written(&self, accounts: Vec<QueueKey>) {
        let mut state = self.state();
        for account in accounts.into_iter().rev() {
            let Some(in_flight) = state.in_flight.remove(&account) else { continue };
            if state.waits_for_lock(&account) {
                in_flight.later.into_iter().for_each(|item| state.park(account, item));
            } else {
                // they are older than what is there
                in_flight.later.into_iter().rev().for_each(|item| state.ready.push_front(item));
            }
        }
        drop(state);
        self.ready.notify_one();
        self.locked.notify_waiters();
    }

    /// The next account whose rows others held, once there is one; `None`: it is closed.
    pub(crate) async fn turn(&self) -> Option<Turn> {
        loop {
            // an item that is added from here on wakes this one
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

    /// The account is still held: its items wait for another turn, and the others have theirs before.
    pub(crate) fn requeue(&self, turn: Turn, waited: Duration) {
        let Turn { account, items, .. } = turn;
        let mut state = self.state();
        state.busy.remove(&account);
        let locked = state.locked.entry(account).or_default();
        (locked.tried, locked.waited) = (items, waited);
        drop(state);
        self.locked.notify_waiters();
    }

    /// The account's turns are over; `free`: no other transaction holds it any more.
    pub(crate) fn over(&self, account: QueueKey, free: bool) {
        let mut state = self.state();
        state.busy.remove(&account);
        if let (QueueKey::ClientKey(key), true) = (account, free) {
            state.keys.remove(&key);
        }
        drop(state);
        self.locked.notify_waiters();
    }

    /// Closes the queue: waiting items are still written, and no new item comes.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        // a permit for one lane, which passes it on
        self.ready.notify_one();
        self.ready.notify_waiters();
        self.locked.notify_waiters();
    }
}

impl QueueState {
    /// The queue of an item.
    fn line(&self, item: &WorkItem) -> QueueKey {
        if self.keys.is_empty() {
            return account(item);
        }
        let in_flight = key(item).filter(|key| self.keys.contains(key));
        in_flight.map_or_else(|| account(item), QueueKey::ClientKey)
    }

    /// True where another transaction holds the account's rows, so that its items wait.
    fn waits_for_lock(&self, account: &QueueKey) -> bool {
        matches!(account, QueueKey::ClientKey(_))
            || self.busy.contains(account)
            || self.locked.contains_key(account)
    }

    /// Puts an item aside until its account's turn; the others of its call do not wait.
    fn park(&mut self, account: QueueKey, item: WorkItem) {
        self.locked.entry(account).or_default().fresh.push(item.waits());
    }

    fn enqueue(&mut self, item: WorkItem) {
        let account = self.line(&item);
        if self.waits_for_lock(&account) {
            self.park(account, item);
        } else if let Some(in_flight) = self.in_flight.get_mut(&account) {
            in_flight.later.push(item);
        } else {
            self.ready.push_back(item);
        }
    }

    fn take_batch(&mut self) -> Batch {
        self.batches = self.batches.wrapping_add(1);
        let group = self.batches;
        let (mut items, mut accounts) = (Vec::new(), Vec::new());
        while items.len() < MOST
            && let Some(item) = self.ready.pop_front()
        {
            let account = self.line(&item);
            if self.waits_for_lock(&account) {
                self.park(account, item);
                continue;
            }
            let in_flight = self.in_flight.entry(account).or_insert_with(|| {
                accounts.push(account);
                InFlight { group, later: Vec::new() }
            });
            if in_flight.group == group {
                items.push(item);
            } else {
                in_flight.later.push(item);
            }
        }
        Batch { items, accounts }
    }

    fn turn(&mut self) -> Option<Turn> {
        let free = |account: &&QueueKey| !self.busy.contains(account);
        let last = self.last;
        let later =
            self.locked.keys().filter(free).find(|account| last.is_none_or(|l| **account > l));
        let account = *later.or_else(|| self.locked.keys().find(free))?;
        let waiting = u32::try_from(self.locked.len()).unwrap_or(u32::MAX);
        let LockedItems { tried, waited, mut fresh } = self.locked.remove(&account)?;
        let (items, waited) = if tried.is_empty() {
            let rest = fresh.split_off(if fresh.len() < MOST { fresh.len() } else { MOST });
            (std::mem::replace(&mut fresh, rest), Duration::ZERO)
        } else {
            (tried, waited)
        };
        if !fresh.is_empty() {
            self.locked.insert(account, LockedItems { fresh, ..LockedItems::default() });
        }
        self.busy.insert(account);
        self.last = Some(account);
        Some(Turn { account, items, waiting, waited })
    }
}

/// The hash of the client's key that an item binds.
fn key(item: &WorkItem) -> Option<u64> {
    item.key().map(|key| BuildHasherDefault::<DefaultHasher>::default().hash_one(key))
}

/// A balance comes first: it is what many transfers share. This is only where an item waits:
/// whether what else it names is held is found out when it is written.
fn account(item: &WorkItem) -> QueueKey {
    let (op, guards) = match item {
        WorkItem::Leg(asked, _) => (Some(&asked.op), [].as_slice()),
        WorkItem::Unit(unit, _) => {
            let fork = unit.then.fork.as_deref().map(|fork| &fork.op);
            let op = fork.or_else(|| unit.then.ops.first().map(|(_, op)| op));
            (op, unit.guards.as_slice())
        }
    };
    if let Some(Op { account: record::Account::User(user), asset, .. }) = op {
        return QueueKey::Balance(*user, *asset);
    }
    if let Some(Op { account: record::Account::Named(number), other: Some(_), .. }) = op {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(number);
        return QueueKey::Account(hash);
    }
    if let WorkItem::Unit(unit, _) = item
        && let Some(key) = shared(unit)
    {
        return key;
    }
    let named = guards.iter().find_map(|guard| {
        if let Guard::Fresh(id) | Guard::Transfer { id, .. } = guard { Some(*id) } else { None }
    });
    QueueKey::Transfer(op.map(|op| op.key.id).or(named).unwrap_or_default())
}

/// What a unit shares with others besides an account: a counter before a resource, a resource before
/// an attempt, as more units share it.
fn shared(unit: &Unit) -> Option<QueueKey> {
    let name =
        |name: &str| QueueKey::Named(BuildHasherDefault::<DefaultHasher>::default().hash_one(name));
    let counter = unit.guards.iter().find_map(|guard| {
        let (Guard::AtMost { name, .. } | Guard::AtLeast { name, .. }) = guard else { return None };
        Some(&**name)
    });
    let taken = || {
        unit.then.puts.iter().find_map(|put| {
            let (Put::Add { counter: name, .. }
            | Put::Take { counter: name, .. }
            | Put::Raise { name, .. }) = put
            else {
                return None;
            };
            Some(&**name)
        })
    };
    if let Some(counter) = counter.or_else(taken) {
        return Some(name(&named_values::counter(counter)));
    }
    let mut attempt = None;
    for guard in &unit.guards {
        if let Guard::Resource { name: of, .. } = guard {
            return Some(name(&named_values::resource(of)));
        }
        if let Guard::Attempt { id, .. } = guard {
            attempt = Some(QueueKey::Attempt(*id));
        }
    }
    attempt
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::write::work::{ItemReply, replies};
    use kernel::ids::FlowId;
    use kernel::unit::Unit;

    fn items<const N: usize>(keys: [&str; N]) -> Vec<WorkItem> {
        let (replies, _answers) = replies(N);
        let unit = |key: &str| {
            let (scope, key) = ("test|1".into(), key.into());
            Unit::guarded(vec![Guard::Unbound { flow: FlowId(0), scope, key }], Vec::new())
        };
        keys.map(unit)
            .into_iter()
            .map(Box::new)
            .zip(replies)
            .map(|(unit, reply)| WorkItem::Unit(unit, ItemReply::Grouped(reply)))
            .collect()
    }

    /// How many items a lane would get.
    fn take_batch(queues: &AccountQueues) -> usize {
        let Batch { items, accounts } = queues.state().take_batch();
        queues.written(accounts);
        items.len()
    }

    /// Turns red where a key that another transaction holds comes before a writer each time that it
    /// is asked for (run: `over` that forgets it always), and where it never does again.
    #[test]
    fn a_locked_key_waits_in_its_own_queue_until_it_is_free() {
        let queues = AccountQueues::default();
        items(["held"]).into_iter().for_each(|item| queues.stuck(item));
        for _ in 0..3 {
            queues.add(items(["held", "free", "held"]));
            assert_eq!(take_batch(&queues), 1);
            let line = queues.state().turn().expect("its turn").account;
            assert!(matches!(line, QueueKey::ClientKey(_)) && queues.state().turn().is_none());
            queues.over(line, false);
        }
        queues.add(items(["held"]));
        let turn = queues.state().turn().expect("its turn");
        assert_eq!((turn.items.len(), turn.waiting), (1, 1));
        queues.over(turn.account, true);
        queues.add(items(["held", "free"]));
        assert_eq!(take_batch(&queues), 2);
    }

    /// Turns red where an account that stays held is given out again before another one that waits, where its turns
    /// do not add up, and where they count for what came later.
    #[test]
    fn a_held_account_has_its_next_turn_behind_the_others() {
        let queues = AccountQueues::default();
        let turn = || queues.state().turn().expect("a turn");
        items(["one", "two"]).into_iter().for_each(|item| queues.stuck(item));
        let first = turn();
        let account = first.account;
        queues.requeue(first, Duration::from_millis(500));
        let other = turn();
        assert_ne!(other.account, account);
        items(["one", "two"]).into_iter().for_each(|item| queues.stuck(item));
        let again = turn();
        let waited = Duration::from_millis(500);
        assert_eq!((again.account, again.waited, again.items.len()), (account, waited, 1));
        queues.over(account, true);
        queues.over(other.account, true);
        // what came meanwhile has a wait of its own
        let fresh = [turn(), turn()];
        assert!(fresh.iter().all(|turn| turn.waited.is_zero() && turn.items.len() == 1));
    }
}
