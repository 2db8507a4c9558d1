//! Writes the puts of a decided unit to the state.

use super::{BindingKey, State};
use kernel::answer::Evidence;
use kernel::audit::{Entry, Hash, UnitDigest, birth, genesis};
use kernel::ids::{FlowId, Id, LedgerId, Millis, Serial, WorkerId};
use kernel::operation::Known;
use kernel::operators::Halt;
use kernel::ports::journal::Owner;
use kernel::ports::ledger::External;
use kernel::record::{Head, Record};
use kernel::unit::{Event, Hold, Put};
use std::collections::BTreeSet;
use std::sync::Arc;

impl State {
    pub(super) fn put(
        &mut self,
        worker: WorkerId,
        digest: &mut UnitDigest,
        put: Put,
        at: Millis,
    ) -> Option<Serial> {
        self.log.add(&put, self.halted.is_some());
        match put {
            Put::Open(record) => return Some(self.insert(worker, record, at)),
            Put::Head { id, head, error, hold } => self.head(worker, (id, head, hold), error, at),
            Put::Receipt { ledger, operation } => {
                if let Some((known, _)) = self.ledgers.get_mut(&ledger) {
                    known.highest = higher(known.highest, operation.seq);
                }
                self.receipts.insert((ledger, operation.op.key), operation);
            }
            put @ (Put::Attempt(_) | Put::AttemptHead { .. } | Put::Form(..)) => {
                self.put_attempt(worker, put);
            }
            Put::Resource { name, value } => self.resource(name, value),
            Put::Adopt { ledger, known } => {
                let slot = self.ledgers.entry(ledger).or_insert((known, BTreeSet::new()));
                slot.0 = Known { highest: higher(slot.0.highest, known.highest), ..known };
                slot.1.insert(known.incarnation);
            }
            Put::AdoptAfterLoss { ledger, known } => {
                let slot = self.ledgers.entry(ledger).or_insert((known, BTreeSet::new()));
                slot.0 = known;
                slot.1.insert(known.incarnation);
            }
            Put::Own { ledger, worker, identity } => {
                let epoch = self.epoch(ledger).saturating_add(1);
                if let Some(former) = self.owners.get(&ledger).filter(|o| o.worker != worker) {
                    self.leases.expired(former.worker);
                }
                let owner = Owner { ledger, epoch, worker, identity, lives: false };
                self.owners.insert(ledger, owner);
            }
            Put::Horizon(id) => self.horizon = Some(self.horizon.map_or(id, |h| higher(h, id))),
            Put::Case(case) => self.operators.case(case, at),
            Put::Close { kind, subject, fact } => self.operators.close((&kind, subject), fact, at),
            Put::Note { case, caller, note } => self.operators.note(case, caller, note, at),
            Put::Halt { reason } => self.halt(reason, at),
            Put::Resume { accepted } => {
                self.halted = None;
                let stand = self.halts.iter_mut().filter(|halt| halt.resumed_at.is_none());
                stand.for_each(|halt| halt.resumed_at = Some(at));
                self.operators.accept(accepted);
            }
            Put::Pause { scope, reason, caller } => self.operators.pause(scope, reason, caller, at),
            Put::Unpause(number) => self.operators.paused.retain(|paused| paused.number != number),
            Put::Action(action) => digest.push(self.action(action, at)),
            Put::Propose(proposal) => self.operators.propose(proposal, at),
            Put::Decide { id, stand, caller } => self.operators.decide(id, stand, caller, at),
            Put::Asset(asset) => self.asset(asset),
            // the plan of the unit has what becomes of them
            Put::Account { .. }
            | Put::Raise { .. }
            | Put::Add { .. }
            | Put::Take { .. }
            | Put::Count(_)
            | Put::Uncount(_) => {}
            // nothing of this journal shows a case that is closed, but the oracles
            Put::ForgetCases(_) => {}
            Put::ForgetDays(before) => {
                self.operators.forget_days(before);
                for (from, to) in External::forgotten_counters(before) {
                    self.counters.retain(|name, _| **name < *from || **name >= *to);
                }
            }
        }
        None
    }

    /// The next halt. The first reason stays.
    fn halt(&mut self, reason: Arc<str>, at: Millis) {
        let number = self.halts().saturating_add(1);
        self.halts.push(Halt { number, reason: reason.clone(), at, resumed_at: None });
        self.halted.get_or_insert(reason);
    }

    /// How often the core of a ledger was taken over.
    pub(super) fn epoch(&self, ledger: LedgerId) -> u64 {
        self.owners.get(&ledger).map_or(0, |owner| owner.epoch)
    }

    /// A resource's next version.
    pub(super) fn resource(&mut self, name: Arc<str>, value: Arc<str>) {
        let version = self.resources.get(&name).map_or(0, |r| r.0);
        self.resources.insert(name, (version + 1, value));
    }

    fn insert(&mut self, worker: WorkerId, record: Record, at: Millis) -> Serial {
        let last = self.by_serial.last_key_value().map_or(0, |(serial, _)| serial.0);
        let (id, serial) = (record.id, Serial(last + 1));
        self.touched.push(id);
        if let Some(key) = bound(&record) {
            self.bindings.insert(key, id);
        }
        self.by_serial.insert(serial, id);
        self.open.insert(id);
        self.leases.moved(worker, id, None, Hold::Mine);
        // what is agreed comes with an event
        let (serial_of, agreed) = (Some(serial), None);
        let record = Record { serial: serial_of, created_at: at, updated_at: at, agreed, ..record };
        self.transfers.insert(id, record);
        serial
    }

    fn head(
        &mut self,
        worker: WorkerId,
        (id, head, hold): (Id, Head, Hold),
        error: Option<Evidence>,
        at: Millis,
    ) {
        let Some(record) = self.transfers.get_mut(&id) else { return };
        self.touched.push(id);
        record.head = head;
        record.updated_at = at;
        record.error = error.or_else(|| record.error.take());
        if self.flows.table(record.flow).ends(head.state) {
            self.open.remove(&id);
            self.due.remove(&id);
            self.leases.ended(id);
            return;
        }
        match head.due_at {
            Some(due) => self.due.insert(id, due),
            None => self.due.remove(&id),
        };
        self.leases.moved(worker, id, head.due_at, hold);
    }

    /// Stores what an event agrees; its hash. What was said before in its unit is stored already.
    fn agree(&mut self, event: &Event) -> Option<Hash> {
        let record = self.transfers.get_mut(&event.id)?;
        let agreed = event.agreed.as_ref().filter(|_| record.agreed.is_none())?;
        record.agreed = Some(agreed.clone());
        Some(agreed.hash())
    }

    /// Adds an event to its chain; its hash.
    pub(super) fn event(&mut self, event: Event, at: Millis) -> Hash {
        let agreed = self.agree(&event);
        let record = self.transfers.get(&event.id);
        let table = self.flows.table(record.map_or(FlowId(0), |record| record.flow));
        let start = record.map_or_else(
            || genesis(event.id),
            |record| birth(record.id, table.flow, &record.terms),
        );
        let (from, to) = (event.from.map(|s| table.state(s).code), table.state(event.to).code);
        self.link(event.id, start, |seq| Entry {
            seq,
            at,
            from,
            to,
            event: event.what.to_owned(),
            caller: event.caller.as_deref().map(str::to_owned),
            detail: event.detail.as_deref().map(str::to_owned),
            agreed,
        })
    }
}

pub(in crate::journal) fn bound(record: &Record) -> Option<BindingKey> {
    let binding = record.terms.binding.as_ref()?;
    Some((record.flow, binding.scope.clone(), binding.key.clone()))
}

pub(super) fn higher<T: PartialOrd>(a: T, b: T) -> T {
    if a > b { a } else { b }
}
