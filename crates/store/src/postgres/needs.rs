//! Which rows a group of items names: what is read, and locked, before anything is decided.

use super::work::{Common, Item};
use crate::rules::{ALL, Spend};
use kernel::ids::{AssetId, FlowId, Id, UserId};
use kernel::people::Count;
use kernel::record::{Account, Record};
use kernel::unit::{Guard, Op, Put, Then, Unit};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A client's key: flow, scope, key.
pub(crate) type Bound = (FlowId, Arc<str>, Arc<str>);

/// Sorted, so that whoever waits for locks waits in one order.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// Transfers that must be there, or may be.
    pub(crate) seats: BTreeSet<Id>,
    /// Transfers that nobody has looked for: their ids are fresh.
    pub(crate) fresh: BTreeSet<Id>,
    /// Keys that nobody has looked for.
    pub(crate) keys: BTreeSet<Bound>,
    /// Balances.
    pub(crate) purses: BTreeSet<(UserId, AssetId)>,
    /// Transfers whose operations matter.
    pub(crate) legs: BTreeSet<Id>,
    /// Days.
    pub(crate) days: BTreeSet<Spend>,
    /// The most transfers that are opened.
    pub(crate) opens: u64,
}

/// What a unit opens.
fn opened(unit: &Unit) -> Vec<&Record> {
    unit.thens()
        .flat_map(|then| &then.puts)
        .filter_map(|put| if let Put::Open(record) = put { Some(record) } else { None })
        .collect()
}

impl Needs {
    /// What these items name. `believe`: a transfer that is opened is taken for new, its key for
    /// unbound; writing it finds out.
    pub(crate) fn of<'i>(items: impl Iterator<Item = &'i Item>, believe: bool) -> Self {
        let mut needs = Self::default();
        for item in items {
            match item {
                Item::Unit(unit, _) => needs.unit(unit, believe),
                Item::Leg(op, _) => needs.op(op),
            }
        }
        if believe {
            let fresh = std::mem::take(&mut needs.fresh);
            needs.seats.retain(|id| !fresh.contains(id));
            needs.legs.retain(|id| !fresh.contains(id));
            needs.fresh = fresh;
        } else {
            needs.seats.append(&mut needs.fresh);
        }
        needs
    }

    /// What one unit names.
    pub(crate) fn unit(&mut self, unit: &Unit, believe: bool) {
        let opens = opened(unit);
        for guard in &unit.guards {
            match guard {
                Guard::Fresh(id) if opens.iter().any(|record| record.id == *id) => {
                    self.fresh.insert(*id);
                }
                Guard::Fresh(id) | Guard::Transfer { id, .. } => {
                    self.seats.insert(*id);
                }
                Guard::Unbound { flow, scope, key } => {
                    let binds = |record: &&Record| {
                        let of = record.terms.binding.as_ref();
                        record.flow == *flow
                            && of.is_some_and(|b| (&b.scope, &b.key) == (scope, key))
                    };
                    // writing what binds it finds out
                    if !believe || !opens.iter().any(binds) {
                        self.keys.insert((*flow, scope.clone(), key.clone()));
                    }
                }
                Guard::DayCount { user, day, .. } => {
                    self.days.insert((*day, *user, ALL));
                }
                Guard::DayAmount { count, .. } => self.count(count),
                Guard::NotHalted
                | Guard::Halt(_)
                | Guard::Incarnation { .. }
                | Guard::Owner { .. }
                | Guard::Attempt { .. }
                | Guard::Resource { .. }
                | Guard::Inbox { .. }
                | Guard::AtMost { .. }
                | Guard::Unacted { .. }
                | Guard::Pending(_) => {}
            }
        }
        unit.thens().for_each(|then| self.then(then, believe));
        if let Some(fork) = &unit.then.fork {
            self.op(&fork.op);
        }
    }

    fn then(&mut self, then: &Then, believe: bool) {
        for put in then.puts.iter().filter_map(Common::of) {
            match put {
                Common::Open(record) => {
                    self.opens = self.opens.saturating_add(1);
                    self.fresh.insert(record.id);
                    if let (Some(binding), false) = (&record.terms.binding, believe) {
                        let bound = (record.flow, binding.scope.clone(), binding.key.clone());
                        self.keys.insert(bound);
                    }
                }
                Common::Head(id) => {
                    self.seats.insert(id);
                }
                Common::Receipt(operation) => {
                    self.legs.insert(operation.op.key.id);
                }
                Common::Count(count) => self.count(count),
            }
        }
        self.seats.extend(then.events.iter().map(|event| event.id));
        then.ops.iter().for_each(|(_, op)| self.op(op));
    }

    pub(crate) fn op(&mut self, op: &Op) {
        self.legs.insert(op.key.id);
        if let Account::User(user) = op.account {
            self.purses.insert((user, op.asset));
        }
    }

    fn count(&mut self, count: &Count) {
        self.days.insert((count.day, count.user, ALL));
        self.days.insert((count.day, count.user, count.asset));
    }
}
