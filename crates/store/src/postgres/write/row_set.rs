//! Collects the rows that a group of items names: the writer reads and locks them before the rules
//! decide anything.

use super::work::{BatchablePut, WorkItem};
use crate::postgres::inbox::InboxKey;
use crate::postgres::named_values;
use kernel::attempt::AttemptId;
use kernel::ids::{AssetId, FlowId, Id, UserId};
use kernel::limits::DailyCount;
use kernel::operation::Op;
use kernel::ports::ledger::External;
use kernel::record::{Account, Record};
use kernel::rules::{ALL_ASSETS, LockKey, UsageKey};
use kernel::unit::{Guard, Put, Then, Unit};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A client's key: flow, scope, key.
pub(crate) type ClientKey = (FlowId, Arc<str>, Arc<str>);

/// Sorted, so that all writes wait for locks in one order.
#[derive(Debug, Default)]
pub(crate) struct RowSet {
    /// Transfers that must be there, or may be.
    pub(crate) transfers: BTreeSet<Id>,
    /// Transfers that were not looked for: their ids are fresh.
    pub(crate) fresh: BTreeSet<Id>,
    /// Keys that were not looked for.
    pub(crate) keys: BTreeSet<ClientKey>,
    pub(crate) balances: BTreeSet<(UserId, AssetId)>,
    /// Numbers of accounts at the accounts ledger.
    pub(crate) accounts: BTreeSet<Arc<str>>,
    /// Transfers whose operations matter.
    pub(crate) legs: BTreeSet<Id>,
    pub(crate) days: BTreeSet<UsageKey>,
    /// Events that must not have been had.
    pub(crate) inbox: BTreeSet<InboxKey>,
    pub(crate) attempts: BTreeSet<AttemptId>,
    /// Locks of chains that must never have been taken.
    pub(crate) locks: BTreeSet<LockKey>,
    /// Resources and counters, by their full names.
    pub(crate) named: BTreeSet<Arc<str>>,
    /// The most transfers that are opened.
    pub(crate) opens: u64,
    /// Some operation may be executed, also of a transfer whose operations are known without a look.
    pub(crate) operates: bool,
}

/// The transfers that a unit opens.
fn opened(unit: &Unit) -> Vec<&Record> {
    unit.thens()
        .flat_map(|then| &then.puts)
        .filter_map(|put| if let Put::Open(record) = put { Some(record) } else { None })
        .collect()
}

impl RowSet {
    /// The rows that these items name. `assume`: takes an opened transfer for new and its key for
    /// unbound; the write fails where they are not.
    pub(crate) fn of<'i>(items: impl Iterator<Item = &'i WorkItem>, assume: bool) -> Self {
        let mut row_set = Self::default();
        for item in items {
            match item {
                WorkItem::Unit(unit, _) => row_set.unit(unit, assume),
                WorkItem::Leg(asked, _) => row_set.op(&asked.op),
            }
        }
        if assume {
            let fresh = std::mem::take(&mut row_set.fresh);
            row_set.transfers.retain(|id| !fresh.contains(id));
            row_set.legs.retain(|id| !fresh.contains(id));
            row_set.fresh = fresh;
        } else {
            row_set.transfers.append(&mut row_set.fresh);
        }
        row_set
    }

    /// Adds the rows that one unit names.
    pub(crate) fn unit(&mut self, unit: &Unit, assume: bool) {
        let opens = opened(unit);
        for guard in &unit.guards {
            match guard {
                Guard::Fresh(id) if opens.iter().any(|record| record.id == *id) => {
                    self.fresh.insert(*id);
                }
                Guard::Fresh(id) | Guard::Transfer { id, .. } => {
                    self.transfers.insert(*id);
                }
                Guard::Unbound { flow, scope, key } => {
                    let binds = |record: &&Record| {
                        let of = record.terms.binding.as_ref();
                        record.flow == *flow
                            && of.is_some_and(|b| (&b.scope, &b.key) == (scope, key))
                    };
                    // writing what binds it finds out
                    if !assume || !opens.iter().any(binds) {
                        self.keys.insert((*flow, scope.clone(), key.clone()));
                    }
                }
                Guard::DayCount { user, day, .. } => {
                    self.days.insert((*day, *user, ALL_ASSETS));
                }
                Guard::DayAmount { count, .. } => self.count(count),
                Guard::Inbox { consumer, event } => {
                    self.inbox.insert((*consumer, *event));
                }
                Guard::Account { number, .. } => {
                    self.accounts.insert(number.clone());
                }
                Guard::Attempt { id, .. } => {
                    self.attempts.insert(*id);
                }
                Guard::LockFree { chain, lane, lock } => {
                    self.locks.insert((*chain, lane.clone(), lock.clone()));
                }
                Guard::Resource { name, .. } => {
                    self.named.insert(named_values::resource(name));
                }
                Guard::AtMost { name, .. } | Guard::AtLeast { name, .. } => {
                    self.named.insert(named_values::counter(name));
                }
                Guard::NotHalted
                | Guard::Halt(_)
                | Guard::Incarnation { .. }
                | Guard::Owner { .. }
                | Guard::NoPastAction { .. }
                | Guard::Pending(_) => {}
            }
        }
        unit.thens().for_each(|then| self.then(then, assume));
        if let Some(fork) = &unit.then.fork {
            self.op(&fork.op);
        }
    }

    fn then(&mut self, then: &Then, assume: bool) {
        for put in &then.puts {
            if let Put::Account { number, .. } = put {
                self.accounts.insert(number.clone());
            }
        }
        for put in then.puts.iter().filter_map(BatchablePut::of) {
            match put {
                BatchablePut::Open(record) => {
                    self.opens = self.opens.saturating_add(1);
                    self.fresh.insert(record.id);
                    if let (Some(binding), false) = (&record.terms.binding, assume) {
                        let bound = (record.flow, binding.scope.clone(), binding.key.clone());
                        self.keys.insert(bound);
                    }
                }
                BatchablePut::Head(id) => {
                    self.transfers.insert(id);
                }
                BatchablePut::Receipt(operation) => {
                    self.legs.insert(operation.op.key.id);
                }
                BatchablePut::Count(count) => self.count(count),
                BatchablePut::NewAttempt(attempt) => {
                    self.attempts.insert(attempt.id);
                    self.locks.insert((attempt.chain, attempt.lane.clone(), attempt.lock.clone()));
                    self.transfers.extend(attempt.members.iter().map(|member| member.id));
                }
                BatchablePut::Attempt(id) => {
                    self.attempts.insert(id);
                }
                BatchablePut::Resource(name) => {
                    self.named.insert(named_values::resource(name));
                }
                BatchablePut::Counter(name) => {
                    self.named.insert(named_values::counter(name));
                }
            }
        }
        self.transfers.extend(then.events.iter().map(|event| event.id));
        self.transfers.extend(then.outbox.iter().map(|message| message.id));
        then.ops.iter().for_each(|(_, op)| self.op(op));
    }

    pub(crate) fn op(&mut self, op: &Op) {
        self.legs.insert(op.key.id);
        self.operates = true;
        for account in std::iter::once(&op.account).chain(&op.other) {
            match account {
                Account::User(user) => drop(self.balances.insert((*user, op.asset))),
                Account::Named(number) => drop(self.accounts.insert(number.clone())),
                // no row is of an account that is agreed later: the rules refuse the operation
                Account::Unnamed => {}
            }
        }
    }

    pub(crate) fn movement(&mut self, movement: &External) {
        match &movement.number {
            None => drop(self.balances.insert((movement.user, movement.asset))),
            Some(number) => drop(self.accounts.insert(number.clone())),
        }
    }

    fn count(&mut self, count: &DailyCount) {
        self.days.insert((count.day, count.user, ALL_ASSETS));
        self.days.insert((count.day, count.user, count.asset));
    }
}
