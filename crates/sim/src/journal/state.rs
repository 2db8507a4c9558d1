//! Everything that was written, and how a unit is added to it: decided first, then written whole.

use super::hands::Hands;
use crate::books::{Before, Books};
use crate::suite::ledger::Profile;
use kernel::answer::{Answer, Cause, Evidence};
use kernel::attempt::{Attempt, AttemptId};
use kernel::audit::{Entry, Hash, UnitDigest, genesis, link};
use kernel::ids::{FlowId, Id, LedgerId, Millis, Serial};
use kernel::money::Asset;
use kernel::ports::journal::{Count, Linked, Standing};
use kernel::ports::ledger::{Incarnation, Known};
use kernel::record::{Head, Record};
use kernel::table::Flows;
use kernel::unit::{
    Case, Event, Fork, Guard, Hold, Key, Op, Operation, Outgoing, Put, Then, Unit, Written, Wrote,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type BindingKey = (FlowId, Arc<str>, Arc<str>);

#[derive(Debug, Clone)]
pub(super) struct State {
    pub flows: Arc<Flows>,
    pub last: Millis,
    pub books: Books,
    pub transfers: BTreeMap<Id, Record>,
    pub by_serial: BTreeMap<Serial, Id>,
    pub bindings: BTreeMap<BindingKey, Id>,
    pub history: BTreeMap<Id, Vec<Linked>>,
    pub open: BTreeSet<Id>,
    pub due: BTreeMap<Id, Millis>,
    pub receipts: BTreeMap<(LedgerId, Key), Operation>,
    pub cases: Vec<Case>,
    ledgers: BTreeMap<LedgerId, (Known, BTreeSet<Incarnation>)>,
    horizon: Option<Id>,
    halted: Option<Arc<str>>,
    paused: BTreeMap<FlowId, Arc<str>>,
    counters: BTreeMap<Arc<str>, u128>,
    resources: BTreeMap<Arc<str>, (u32, Arc<str>)>,
    attempts: BTreeMap<AttemptId, Attempt>,
    inbox: BTreeSet<(&'static str, u128)>,
    outbox: Vec<Outgoing>,
    /// One row per group write: how many entries, and their digest.
    audit: Vec<(u32, Hash)>,
}

/// What a unit comes to once its operations are decided.
struct Decided {
    /// Its own part, then the way that its fork chose.
    parts: Vec<Then>,
    fork: Option<Answer>,
}

impl State {
    pub(super) fn new(flows: Arc<Flows>) -> Self {
        Self {
            flows,
            last: 0,
            books: Books::new(Profile::FUNDING),
            transfers: BTreeMap::new(),
            by_serial: BTreeMap::new(),
            bindings: BTreeMap::new(),
            history: BTreeMap::new(),
            open: BTreeSet::new(),
            due: BTreeMap::new(),
            receipts: BTreeMap::new(),
            cases: Vec::new(),
            ledgers: BTreeMap::new(),
            horizon: None,
            halted: None,
            paused: BTreeMap::new(),
            counters: BTreeMap::new(),
            resources: BTreeMap::new(),
            attempts: BTreeMap::new(),
            inbox: BTreeSet::new(),
            outbox: Vec::new(),
            audit: Vec::new(),
        }
    }

    /// A group: each unit for itself, in order.
    pub(super) fn group(&mut self, hands: &mut Hands, units: Vec<Unit>, at: Millis) -> Vec<Wrote> {
        let mut digest = UnitDigest::default();
        let wrote = units.into_iter().map(|unit| self.unit(hands, &mut digest, unit, at)).collect();
        if digest.count > 0 {
            let n = u64::try_from(self.audit.len()).unwrap_or(u64::MAX);
            self.audit.push((digest.count, digest.finish(0, n)));
        }
        wrote
    }

    fn unit(
        &mut self,
        hands: &mut Hands,
        digest: &mut UnitDigest,
        unit: Unit,
        at: Millis,
    ) -> Wrote {
        if let Some(guard) = unit.guards.iter().find(|guard| !self.holds(guard)) {
            return Wrote::Lost(guard.clone());
        }
        let mut undo = Vec::new();
        let decided = self.decide(unit.then, &mut undo).map_err(Wrote::Unknown);
        let decided = decided.and_then(|decided| match self.objection(&decided.parts) {
            Some(objection) => Err(objection),
            None => Ok(decided),
        });
        let Decided { parts, fork } = match decided {
            Ok(decided) => decided,
            Err(wrote) => {
                for before in undo.into_iter().rev() {
                    self.books.undo(before);
                }
                return wrote;
            }
        };
        for guard in unit.guards {
            self.count(guard);
        }
        let mut serial = None;
        for part in parts {
            for put in part.puts {
                serial = self.put(hands, put, at).or(serial);
            }
            for event in part.events {
                digest.push(self.event(event, at));
            }
            self.outbox.extend(part.outbox);
        }
        Wrote::Written(Written { at, serial, fork })
    }

    fn holds(&self, guard: &Guard) -> bool {
        match guard {
            Guard::Fresh(id) => {
                !self.transfers.contains_key(id) && self.horizon.is_none_or(|h| *id > h)
            }
            Guard::Unbound { flow, scope, key } => {
                !self.bindings.contains_key(&(*flow, scope.clone(), key.clone()))
            }
            Guard::Transfer { id, state, version } => self
                .transfers
                .get(id)
                .is_some_and(|r| (r.head.state, r.head.version) == (*state, *version)),
            Guard::Attempt { id, version } => {
                self.attempts.get(id).map_or(0, |a| a.version) == *version
            }
            Guard::Resource { name, version } => {
                self.resources.get(name).map_or(0, |r| r.0) == *version
            }
            Guard::Inbox { consumer, event } => !self.inbox.contains(&(*consumer, *event)),
            Guard::NotHalted => self.halted.is_none(),
            Guard::Incarnation { ledger, known } => {
                let who = |known: &Known| (known.identity, known.incarnation);
                let stored = self.ledgers.get(ledger).map(|(stored, _)| who(stored));
                stored == known.as_ref().map(who)
            }
            Guard::AtMost { name, n, limit } => {
                let sum = self.counters.get(name).copied().unwrap_or(0).checked_add(*n);
                sum.is_some_and(|sum| sum <= *limit)
            }
        }
    }

    /// What a guard that held writes by itself.
    fn count(&mut self, guard: Guard) {
        match guard {
            Guard::AtMost { name, n, .. } => {
                let counter = self.counters.entry(name).or_insert(0);
                *counter = counter.saturating_add(n);
            }
            Guard::Inbox { consumer, event } => {
                self.inbox.insert((consumer, event));
            }
            Guard::Fresh(_)
            | Guard::Unbound { .. }
            | Guard::Transfer { .. }
            | Guard::Attempt { .. }
            | Guard::Resource { .. }
            | Guard::NotHalted
            | Guard::Incarnation { .. } => {}
        }
    }

    /// Decides every operation of a unit; what was done by then is in `undo`.
    fn decide(&mut self, mut then: Then, undo: &mut Vec<Before>) -> Result<Decided, Cause> {
        self.settle(&mut then, undo)?;
        let Some(fork) = then.fork.take() else {
            return Ok(Decided { parts: vec![then], fork: None });
        };
        let Fork { ledger, op, done, rejected } = *fork;
        let answer = self.operate(ledger, &op, undo)?;
        let mut way = match &answer {
            Answer::Done(_) => done,
            Answer::Rejected(evidence, _) => {
                let way = rejected.ok_or_else(|| Cause::because("REFUSED", evidence.code.as_ref()));
                completed(way?, evidence)
            }
            Answer::Dead(_) => return Err(Cause::of("DEAD")),
            Answer::Unknown(cause) => return Err(cause.clone()),
        };
        self.settle(&mut way, undo)?;
        Ok(Decided { parts: vec![then, way], fork: Some(answer) })
    }

    /// The operations that cannot be refused.
    fn settle(&mut self, then: &mut Then, undo: &mut Vec<Before>) -> Result<(), Cause> {
        for (ledger, op) in std::mem::take(&mut then.ops) {
            match self.operate(ledger, &op, undo)? {
                Answer::Done(_) => {}
                Answer::Unknown(cause) => return Err(cause),
                Answer::Rejected(why, _) | Answer::Dead(why) => {
                    return Err(Cause::because("REFUSED", why.code.as_ref()));
                }
            }
        }
        Ok(())
    }

    fn operate(
        &mut self,
        ledger: LedgerId,
        op: &Op,
        undo: &mut Vec<Before>,
    ) -> Result<Answer, Cause> {
        if ledger != LedgerId::FUNDING {
            return Err(Cause::of("NOT_ENLISTED"));
        }
        let (answer, before) = self.books.decide(op);
        undo.extend(before);
        Ok(answer)
    }

    /// What of a unit can never be written beside what is there.
    fn objection(&self, parts: &[Then]) -> Option<Wrote> {
        let unknown = |class| Some(Wrote::Unknown(Cause::of(class)));
        let mut opened = BTreeSet::new();
        for put in parts.iter().flat_map(|part| &part.puts) {
            match put {
                Put::Open(record) => {
                    if self.transfers.contains_key(&record.id) || !opened.insert(record.id) {
                        return Some(Wrote::Lost(Guard::Fresh(record.id)));
                    }
                    let guard =
                        bound(record).map(|(flow, scope, key)| Guard::Unbound { flow, scope, key });
                    if let Some(guard) = guard.filter(|guard| !self.holds(guard)) {
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
                Put::Adopt { ledger, known } => {
                    let (incarnation, stored) = (known.incarnation, self.ledgers.get(ledger));
                    let former = |(now, all): &(Known, BTreeSet<Incarnation>)| {
                        now.incarnation != incarnation && all.contains(&incarnation)
                    };
                    if stored.is_some_and(former) {
                        return unknown("SUPERSEDED");
                    }
                }
                Put::Attempt(_)
                | Put::Form(..)
                | Put::Resource { .. }
                | Put::Raise { .. }
                | Put::Horizon(_)
                | Put::Case(_)
                | Put::Halt { .. }
                | Put::Pause { .. } => {}
            }
        }
        None
    }

    fn put(&mut self, hands: &mut Hands, put: Put, at: Millis) -> Option<Serial> {
        match put {
            Put::Open(record) => return Some(self.insert(record, at)),
            Put::Head { id, head, error, hold } => self.head(hands, (id, head, hold), error, at),
            Put::Receipt { ledger, operation } => {
                if let Some((known, _)) = self.ledgers.get_mut(&ledger) {
                    known.highest = higher(known.highest, operation.seq);
                }
                self.receipts.insert((ledger, operation.op.key), operation);
            }
            Put::Attempt(attempt) => {
                self.attempts.insert(attempt.id, attempt);
            }
            Put::Form(id, form) => {
                if let Some(attempt) = self.attempts.get_mut(&id) {
                    attempt.version += 1;
                    attempt.forms.push(form);
                }
            }
            Put::Resource { name, value } => {
                let version = self.resources.get(&name).map_or(0, |r| r.0);
                self.resources.insert(name, (version + 1, value));
            }
            Put::Raise { name, to } => {
                let counter = self.counters.entry(name).or_insert(0);
                *counter = higher(*counter, to);
            }
            Put::Adopt { ledger, known } => {
                let slot = self.ledgers.entry(ledger).or_insert((known, BTreeSet::new()));
                slot.0 = Known { highest: higher(slot.0.highest, known.highest), ..known };
                slot.1.insert(known.incarnation);
            }
            Put::Horizon(id) => self.horizon = Some(self.horizon.map_or(id, |h| higher(h, id))),
            Put::Case(case) => self.cases.push(case),
            Put::Halt { reason } => {
                self.halted.get_or_insert(reason);
            }
            Put::Pause { flow, reason } => {
                self.paused.entry(flow).or_insert(reason);
            }
        }
        None
    }

    fn insert(&mut self, record: Record, at: Millis) -> Serial {
        let last = self.by_serial.last_key_value().map_or(0, |(serial, _)| serial.0);
        let (id, serial) = (record.id, Serial(last + 1));
        if let Some(key) = bound(&record) {
            self.bindings.insert(key, id);
        }
        self.by_serial.insert(serial, id);
        self.open.insert(id);
        let record = Record { serial: Some(serial), created_at: at, updated_at: at, ..record };
        self.transfers.insert(id, record);
        serial
    }

    fn head(
        &mut self,
        hands: &mut Hands,
        (id, head, hold): (Id, Head, Hold),
        error: Option<Evidence>,
        at: Millis,
    ) {
        let Some(record) = self.transfers.get_mut(&id) else { return };
        record.head = head;
        record.updated_at = at;
        record.error = error.or_else(|| record.error.take());
        if self.flows.table(record.flow).ends(head.state) {
            self.open.remove(&id);
            self.due.remove(&id);
            hands.ended(id);
            return;
        }
        match head.due_at {
            Some(due) => self.due.insert(id, due),
            None => self.due.remove(&id),
        };
        hands.timed(id, head.due_at, hold);
    }

    /// Adds an event to its chain; its hash.
    fn event(&mut self, event: Event, at: Millis) -> Hash {
        let flow = self.transfers.get(&event.id).map_or(FlowId(0), |record| record.flow);
        let table = self.flows.table(flow);
        let history = self.history.entry(event.id).or_default();
        let entry = Entry {
            seq: u32::try_from(history.len()).unwrap_or(u32::MAX),
            at,
            from: event.from.map(|s| table.state(s).code),
            to: table.state(event.to).code,
            event: event.what.to_owned(),
            caller: event.caller.as_deref().map(str::to_owned),
            detail: event.detail.as_deref().map(str::to_owned),
        };
        let prev = history.last().map_or_else(|| genesis(event.id), |linked| linked.hash);
        let hash = link(prev, &entry);
        history.push(Linked { entry, prev, hash });
        hash
    }

    pub(super) fn opens(&self) -> impl Iterator<Item = &Record> {
        self.open.iter().filter_map(|id| self.transfers.get(id))
    }

    pub(super) fn counts(&self) -> Vec<Count> {
        let mut counts: BTreeMap<_, Count> = BTreeMap::new();
        for record in self.opens() {
            let (flow, state, oldest) = (record.flow, record.head.state, record.created_at);
            let fresh = Count { flow, state, transfers: 0, oldest };
            let count = counts.entry((flow, state)).or_insert(fresh);
            count.transfers += 1;
            count.oldest = if oldest < count.oldest { oldest } else { count.oldest };
        }
        counts.into_values().collect()
    }

    pub(super) fn standing(&self) -> Standing {
        Standing {
            halted: self.halted.clone(),
            paused: self.paused.iter().map(|(flow, why)| (*flow, why.clone())).collect(),
            assets: Asset::fresh(),
            ledgers: self.ledgers.iter().map(|(ledger, (known, _))| (*ledger, *known)).collect(),
            horizon: self.horizon,
        }
    }
}

fn bound(record: &Record) -> Option<BindingKey> {
    let binding = record.terms.binding.as_ref()?;
    Some((record.flow, binding.scope.clone(), binding.key.clone()))
}

/// A refused way with what only the answer knows.
fn completed(mut way: Then, why: &Evidence) -> Then {
    for put in &mut way.puts {
        if let Put::Head { error: error @ None, .. } = put {
            *error = Some(why.clone());
        }
    }
    if let Some(event) = way.events.iter_mut().find(|event| event.detail.is_none()) {
        event.detail = Some(why.code.as_ref().into());
    }
    way
}

fn higher<T: PartialOrd>(a: T, b: T) -> T {
    if a > b { a } else { b }
}
