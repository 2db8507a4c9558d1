//! How a unit is added to the state: its guards, its operations, and then all of it or nothing.

use super::State;
use crate::books::Before;
use kernel::answer::{Answer, Cause, Evidence};
use kernel::audit::UnitDigest;
use kernel::ids::{AssetId, Id, LedgerId, Millis, WorkerId};
use kernel::limits::DailyCount;
use kernel::operation::{Known, Op};
use kernel::unit::{Fork, Guard, Put, Then, Unit, Written, Wrote};
use std::collections::BTreeMap;

/// What a unit comes to once its operations are decided.
struct Decided {
    /// Its own part, then the branch that its fork chose.
    parts: Vec<Then>,
    fork: Option<Answer>,
}

impl State {
    /// A group: each unit for itself, in order.
    pub(in crate::journal) fn group(
        &mut self,
        worker: WorkerId,
        units: Vec<Unit>,
        at: Millis,
    ) -> Vec<Wrote> {
        let mut digest = UnitDigest::default();
        let wrote =
            units.into_iter().map(|unit| self.unit(worker, &mut digest, unit, at)).collect();
        self.digested(digest);
        wrote
    }

    /// The row of the audit for one write, where it has history.
    pub(super) fn digested(&mut self, digest: UnitDigest) {
        if digest.count > 0 {
            let n = u64::try_from(self.audit.len()).unwrap_or(u64::MAX);
            self.audited.0 += u64::from(digest.count);
            self.audit.push((digest.count, digest.finish(0, n)));
        }
    }

    fn unit(&mut self, worker: WorkerId, digest: &mut UnitDigest, unit: Unit, at: Millis) -> Wrote {
        for (n, guard) in unit.guards.iter().enumerate() {
            if !self.holds(unit.guards.get(..n).unwrap_or_default(), guard, at) {
                return Wrote::Lost(guard.clone());
            }
        }
        let mut undo = Vec::new();
        // only a few units are of numbered accounts
        let accounts = names_accounts(&unit).then(|| self.accounts.clone());
        let decided = self.decide(unit.then, &mut undo).map_err(Wrote::Unknown);
        let decided =
            decided.and_then(|decided| match self.objection(&unit.guards, &decided.parts, at) {
                Some(objection) => Err(objection),
                None => Ok(decided),
            });
        let Decided { parts, fork } = match decided {
            Ok(decided) => decided,
            Err(wrote) => {
                for before in undo.into_iter().rev() {
                    self.books.undo(before);
                }
                if let Some(before) = accounts {
                    self.accounts = before;
                }
                return wrote;
            }
        };
        for guard in unit.guards {
            self.count(guard);
        }
        let mut serial = None;
        let halts = |put: &Put| matches!(put, Put::Halt { .. } | Put::Resume { .. });
        let supersedes = parts.iter().flat_map(|part| &part.puts).any(halts);
        let stored: BTreeMap<Id, usize> = parts
            .iter()
            .flat_map(|part| &part.outbox)
            .map(|message| (message.id, self.entries(message.id).len()))
            .collect();
        for part in parts {
            let places = self.places(&part, &stored);
            for put in part.puts {
                serial = self.put(worker, digest, put, at).or(serial);
            }
            for event in part.events {
                digest.push(self.event(event, at));
            }
            for (message, place) in part.outbox.iter().zip(places) {
                self.emit(message, place, at);
            }
        }
        if supersedes {
            self.operators.supersede(at);
        }
        Wrote::Written(Written { at, serial, fork })
    }

    /// True where the guard holds, over what those before it in its unit take.
    pub(super) fn holds(&self, before: &[Guard], guard: &Guard, now: Millis) -> bool {
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
            Guard::Attempt { id, version } => self.attempts.stands(*id).0 == *version,
            Guard::LockFree { chain, lane, lock } => {
                self.attempts.is_free(&(*chain, lane.clone(), lock.clone()))
            }
            Guard::Resource { name, version } => {
                self.resources.get(name).map_or(0, |r| r.0) == *version
            }
            Guard::Inbox { consumer, event } => {
                !self.inbox.contains(&(*consumer, *event)) && !before.contains(guard)
            }
            Guard::Account { number, version } => {
                self.accounts.account(number).map_or(0, |account| account.version) == *version
            }
            Guard::NotHalted => self.halted.is_none(),
            Guard::Halt(number) => self.halted.is_some() && self.halts() == *number,
            Guard::Incarnation { ledger, known } => {
                let who = |known: &Known| (known.identity, known.incarnation);
                let stored = self.ledgers.get(ledger).map(|(stored, _)| who(stored));
                stored == known.as_ref().map(who)
            }
            Guard::Owner { ledger, epoch } => self.epoch(*ledger) == *epoch,
            Guard::AtMost { name, n, limit } => {
                let sum = added(before, name, self.counter(name)).checked_add(*n);
                sum.is_some_and(|sum| sum <= *limit)
            }
            Guard::AtLeast { name, n } => added(before, name, self.counter(name)) >= *n,
            Guard::DayCount { user, day, most } => {
                let spent = self.daily_usage(*user, *day, AssetId(0));
                spent.transfers.checked_add(1).is_some_and(|transfers| transfers <= *most)
            }
            Guard::DayAmount { count: DailyCount { user, day, asset, amount }, most } => {
                let sum = self.daily_usage(*user, *day, *asset).amount.plus(*amount);
                sum.is_some_and(|sum| sum <= *most)
            }
            Guard::NoPastAction { caller, key } => !self.operators.did(caller, key),
            Guard::Pending(id) => self.operators.pending(*id, now),
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
            | Guard::LockFree { .. }
            | Guard::AtLeast { .. }
            | Guard::Resource { .. }
            | Guard::Account { .. }
            | Guard::NotHalted
            | Guard::Halt(_)
            | Guard::Incarnation { .. }
            | Guard::Owner { .. }
            | Guard::DayCount { .. }
            | Guard::DayAmount { .. }
            | Guard::NoPastAction { .. }
            | Guard::Pending(_) => {}
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
        match ledger {
            LedgerId::FUNDING => {
                let (answer, before) = self.books.decide(op);
                undo.extend(before);
                Ok(answer)
            }
            LedgerId::ACCOUNT => Ok(self.accounts.decide(op)),
            _ => Err(Cause::of("NOT_ENLISTED")),
        }
    }
}

/// A counter with what guards that held add to it.
pub(super) fn added(guards: &[Guard], name: &str, sum: u128) -> u128 {
    let more = guards.iter().filter_map(|guard| {
        let Guard::AtMost { name: other, n, .. } = guard else { return None };
        (&**other == name).then_some(*n)
    });
    more.fold(sum, u128::saturating_add)
}

/// Whether a unit may change numbered accounts.
fn names_accounts(unit: &Unit) -> bool {
    let at = |ledger| ledger == LedgerId::ACCOUNT;
    let op = |then: &Then| then.ops.iter().any(|(ledger, _)| at(*ledger));
    let put = |then: &Then| then.puts.iter().any(|put| matches!(put, Put::Account { .. }));
    let fork = unit.then.fork.as_ref().is_some_and(|fork| at(fork.ledger));
    fork || unit.thens().any(|then| op(then) || put(then))
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
