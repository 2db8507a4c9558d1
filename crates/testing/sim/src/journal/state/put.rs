//! What is written of a decided unit, and what of it can never be.

use super::attempts::AttemptWrites;
use super::operators::UnitWrites;
use super::unit::added;
use super::{BindingKey, State};
use kernel::accounts::NumberedAccount;
use kernel::agreed::Agreed;
use kernel::answer::{Cause, Evidence};
use kernel::audit::{Entry, Hash, UnitDigest, birth, genesis};
use kernel::ids::{FlowId, Id, LedgerId, Millis, Serial, WorkerId};
use kernel::money::Amount;
use kernel::operation::Known;
use kernel::operators::Halt;
use kernel::ports::journal::Owner;
use kernel::ports::ledger::External;
use kernel::record::{Head, Record};
use kernel::unit::{Event, Guard, Hold, Put, Then, Wrote};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl State {
    /// What of a unit can never be written beside what is there.
    pub(super) fn objection(
        &mut self,
        guards: &[Guard],
        parts: &[Then],
        now: Millis,
    ) -> Option<Wrote> {
        let unknown = |class| Some(Wrote::Unknown(Cause::of(class)));
        let (mut opened, mut said) = (BTreeSet::new(), UnitWrites::default());
        let mut writes = self.guarded(guards);
        for put in parts.iter().flat_map(|part| &part.puts) {
            match put {
                Put::Open(record) => {
                    let again = !opened.insert(record.id);
                    let twice = again.then_some(Guard::Fresh(record.id));
                    if let Some(guard) = twice.or_else(|| self.not_fresh(record, now)) {
                        return Some(Wrote::Lost(guard));
                    }
                }
                Put::Head { id, .. } => {
                    if !self.transfers.contains_key(id) && !opened.contains(id) {
                        return unknown("NO_SUCH_TRANSFER");
                    }
                }
                Put::Receipt { ledger, operation } => {
                    let stored = self.receipts.get(&(*ledger, operation.op.key));
                    if stored.is_some_and(|stored| stored != operation) {
                        return unknown("CONTRADICTION");
                    }
                }
                Put::Adopt { ledger, known } | Put::AdoptAfterLoss { ledger, known } => {
                    if self.superseded(*ledger, *known) {
                        return unknown("SUPERSEDED");
                    }
                }
                Put::Action(_) | Put::Propose(_) | Put::Decide { .. } => {
                    if let Some(lost) = self.operators.objection(put, &mut said, now) {
                        return Some(lost);
                    }
                }
                // put here, and taken back with the unit where anything else objects
                Put::Account { .. } => {
                    if let Some(cause) = wanted(put).and_then(|wanted| self.accounts.put(wanted)) {
                        return Some(Wrote::Unknown(cause));
                    }
                }
                Put::Attempt(_)
                | Put::AttemptHead { .. }
                | Put::Form(..)
                | Put::Raise { .. }
                | Put::Take { .. } => {
                    if let Some(lost) = self.attempt_objection(put, &mut writes) {
                        return Some(lost);
                    }
                }
                Put::Own { .. }
                | Put::Resource { .. }
                | Put::Horizon(_)
                | Put::Case(_)
                | Put::Close { .. }
                | Put::Note { .. }
                | Put::Halt { .. }
                | Put::Resume { .. }
                | Put::Pause { .. }
                | Put::Unpause(_)
                | Put::Count(_)
                | Put::Uncount(_)
                | Put::ForgetDays(_)
                | Put::Asset(_) => {}
            }
        }
        let wrong = self.agreed_wrongly(parts).or_else(|| self.about_nothing(parts, &opened));
        if let Some(class) = wrong {
            return unknown(class);
        }
        // a symbol that is taken shows only in the writing, after everything else was looked at
        let puts = parts.iter().flat_map(|part| &part.puts);
        let mut assets = puts.filter(|put| matches!(put, Put::Asset(_)));
        assets.find_map(|put| self.operators.objection(put, &mut said, now))
    }

    /// A message is about a transfer that is neither there nor opened.
    fn about_nothing(&self, parts: &[Then], opened: &BTreeSet<Id>) -> Option<&'static str> {
        let known = |id: &Id| self.transfers.contains_key(id) || opened.contains(id);
        let mut outbox = parts.iter().flat_map(|part| &part.outbox);
        outbox.any(|message| !known(&message.id)).then_some("NO_SUCH_TRANSFER")
    }

    /// Why what the unit agrees cannot be written: something was agreed before, it says two things, or it
    /// does not move the transfer.
    fn agreed_wrongly(&self, parts: &[Then]) -> Option<&'static str> {
        let mut own: BTreeMap<Id, &Arc<Agreed>> = BTreeMap::new();
        for event in parts.iter().flat_map(|part| &part.events) {
            let Some(agreed) = &event.agreed else { continue };
            let stored =
                self.transfers.get(&event.id).is_some_and(|record| record.agreed.is_some());
            if stored || *own.entry(event.id).or_insert(agreed) != agreed {
                return Some("CONTRADICTION");
            }
        }
        let moves = |put: &Put, id: &Id| {
            matches!(put, Put::Open(record) if record.id == *id)
                || matches!(put, Put::Head { id: head, .. } if head == id)
        };
        let moved = |id: &Id| parts.iter().flat_map(|part| &part.puts).any(|put| moves(put, id));
        own.keys().any(|id| !moved(id)).then_some("AGREED_UNMOVED")
    }

    /// What the guards of a unit leave in the counters that they name.
    fn guarded(&self, guards: &[Guard]) -> AttemptWrites {
        let mut writes = AttemptWrites::default();
        for guard in guards {
            if let Guard::AtMost { name, .. } = guard {
                writes.counters.insert(name.clone(), added(guards, name, self.counter(name)));
            }
        }
        writes
    }

    /// The guard that a new transfer breaks: its id or its key is taken.
    fn not_fresh(&self, record: &Record, now: Millis) -> Option<Guard> {
        if self.transfers.contains_key(&record.id) {
            return Some(Guard::Fresh(record.id));
        }
        let guard = bound(record).map(|(flow, scope, key)| Guard::Unbound { flow, scope, key });
        guard.filter(|guard| !self.holds(&[], guard, now))
    }

    /// Whether the journal took another incarnation of the ledger after this one.
    fn superseded(&self, ledger: LedgerId, known: Known) -> bool {
        self.ledgers.get(&ledger).is_some_and(|(now, all)| {
            now.incarnation != known.incarnation && all.contains(&known.incarnation)
        })
    }

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
            Put::Raise { name, to } => {
                let counter = self.counters.entry(name).or_insert(0);
                *counter = higher(*counter, to);
            }
            Put::Take { counter, n } => {
                let counter = self.counters.entry(counter).or_insert(0);
                *counter = counter.saturating_sub(n);
            }
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
            // it is there since nothing objected
            Put::Account { .. } => {}
            Put::Count(count) => self.operators.count(count),
            Put::Uncount(count) => self.operators.uncount(count),
            Put::ForgetDays(before) => {
                self.operators.forget_days(before);
                let (from, to) = External::forgotten_counters(before);
                self.counters.retain(|name, _| **name < *from || **name >= *to);
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

/// A numbered account as a unit wants it.
fn wanted(put: &Put) -> Option<NumberedAccount> {
    let Put::Account { number, owner, asset, status } = put else { return None };
    let (number, owner, asset, status) = (number.clone(), *owner, *asset, *status);
    Some(NumberedAccount { number, owner, asset, balance: Amount::ZERO, status, version: 0 })
}

fn bound(record: &Record) -> Option<BindingKey> {
    let binding = record.terms.binding.as_ref()?;
    Some((record.flow, binding.scope.clone(), binding.key.clone()))
}

fn higher<T: PartialOrd>(a: T, b: T) -> T {
    if a > b { a } else { b }
}
