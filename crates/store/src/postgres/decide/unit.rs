//! How one unit becomes changes: guards first, then the enlisted operations are decided, then what
//! they choose is gathered.

use super::legs::of;
use super::touch::Touches;
use crate::postgres::board::{Board, Stop, Undo};
use crate::postgres::needs::ALL;
use kernel::answer::{Answer, Cause, Evidence};
use kernel::ids::{Id, LedgerId};
use kernel::money::Amount;
use kernel::people::{Count, Spent};
use kernel::table::Flows;
use kernel::unit::{Fork, Guard, Put, Then, Unit, Written, Wrote};

/// What settles and the fork came to; the error: why the unit is not written.
type Decided<'u> = Result<Option<(&'u Fork, Answer)>, Cause>;

impl Board {
    /// Decides a unit, or says why nothing of it is written.
    pub(crate) fn unit(&mut self, flows: &Flows, unit: &Unit) -> Result<Wrote, Stop> {
        if named(unit).any(|id| self.changes.touched.contains(&id)) {
            return Err(Stop::Again);
        }
        let mut undo = Undo::default();
        match self.weighed(flows, unit, &mut undo) {
            Ok(Wrote::Written(written)) => {
                self.keep(undo);
                Ok(Wrote::Written(written))
            }
            other => {
                self.restore(undo);
                other
            }
        }
    }

    fn weighed(&mut self, flows: &Flows, unit: &Unit, undo: &mut Undo) -> Result<Wrote, Stop> {
        for guard in &unit.guards {
            if !self.holds(flows, guard)? {
                return Ok(Wrote::Lost(guard.clone()));
            }
        }
        let decided = match self.decide_all(&unit.then, undo)? {
            Ok(decided) => decided,
            Err(cause) => return Ok(Wrote::Unknown(cause)),
        };
        let chosen = decided.as_ref().and_then(|(fork, answer)| fork.chosen(answer));
        let refusal = match decided.as_ref() {
            Some((_, Answer::Rejected(why, _))) => Some(why),
            Some((_, Answer::Done(_) | Answer::Dead(_) | Answer::Unknown(_))) | None => None,
        };
        let mut touches = Touches::default();
        let parts = [Some((&unit.then, None)), chosen.map(|then| (then, refusal))];
        for (then, refusal) in parts.iter().flatten() {
            if let Some(no) = self.collect(then, &mut touches, *refusal, undo)? {
                return Ok(no);
            }
        }
        let serial = self.flush(flows, touches)?;
        for (then, _) in parts.iter().flatten() {
            self.changes.outbox.extend(then.outbox.iter().cloned());
            self.receipts(then);
        }
        let fork = decided.map(|(_, answer)| answer);
        Ok(Wrote::Written(Written { at: self.at, serial, fork }))
    }

    /// Decides settles, the fork, and what its continuation settles.
    fn decide_all<'u>(&mut self, then: &'u Then, undo: &mut Undo) -> Result<Decided<'u>, Stop> {
        if let Some(cause) = self.settle(then, undo)? {
            return Ok(Err(cause));
        }
        let Some(fork) = &then.fork else { return Ok(Ok(None)) };
        if fork.ledger != LedgerId::FUNDING {
            return Ok(Err(Cause::of("NOT_ENLISTED")));
        }
        let answer = self.decide(&fork.op, undo)?;
        let Some(on) = fork.chosen(&answer) else {
            return Ok(Err(match answer {
                Answer::Unknown(cause) => cause,
                Answer::Done(_) | Answer::Rejected(..) | Answer::Dead(_) => {
                    Cause::because("CONTRADICTION", "an answer that the fork does not spell")
                }
            }));
        };
        Ok(match self.settle(on, undo)? {
            Some(cause) => Err(cause),
            None => Ok(Some((fork, answer))),
        })
    }

    fn settle(&mut self, then: &Then, undo: &mut Undo) -> Result<Option<Cause>, Stop> {
        for (ledger, op) in &then.ops {
            if *ledger != LedgerId::FUNDING {
                return Ok(Some(Cause::of("NOT_ENLISTED")));
            }
            match self.decide(op, undo)? {
                Answer::Done(_) => {}
                Answer::Unknown(cause) => return Ok(Some(cause)),
                Answer::Rejected(..) | Answer::Dead(_) => {
                    return Ok(Some(Cause::because("CONTRADICTION", "a settle was refused")));
                }
            }
        }
        Ok(None)
    }

    /// Gathers what happens to transfers and counts. Some: the unit must not be written.
    fn collect(
        &mut self,
        then: &Then,
        touches: &mut Touches,
        refusal: Option<&Evidence>,
        undo: &mut Undo,
    ) -> Result<Option<Wrote>, Stop> {
        for put in &then.puts {
            match put {
                Put::Open(record) => {
                    if let Some(binding) = &record.terms.binding {
                        let (flow, scope, key) =
                            (record.flow, binding.scope.clone(), binding.key.clone());
                        let bound = (flow, scope.clone(), key.clone());
                        if self.changes.bound.contains(&bound) {
                            return Err(Stop::Again);
                        }
                        if self.bound.contains(&bound) {
                            return Ok(Some(Wrote::Lost(Guard::Unbound { flow, scope, key })));
                        }
                    }
                    if self.standing(record.id)?.is_some() {
                        return Ok(Some(Wrote::Lost(Guard::Fresh(record.id))));
                    }
                    touches.open(record.clone());
                }
                Put::Head { id, head, error, hold } => {
                    let stored = self.standing(*id)?;
                    let error = error.as_ref().or(refusal);
                    if !touches.head((*id, stored), (*head, *hold), error) {
                        return Ok(Some(Wrote::Unknown(Cause::of("NO_SUCH_TRANSFER"))));
                    }
                }
                Put::Receipt { ledger, operation } => {
                    let legs = self.stored(*ledger, operation.op.key.id, undo);
                    let other = of(&legs, operation.op.key.leg);
                    if other.is_some_and(|stored| stored != operation) {
                        let cause = Cause::because("CONTRADICTION", "another receipt is stored");
                        return Ok(Some(Wrote::Unknown(cause)));
                    }
                }
                Put::Count(count) => self.count(count, true, undo)?,
                Put::Uncount(count) => self.count(count, false, undo)?,
                Put::Attempt(_)
                | Put::Form(..)
                | Put::Resource { .. }
                | Put::Raise { .. }
                | Put::Adopt { .. }
                | Put::Own { .. }
                | Put::Horizon(_)
                | Put::Case(_)
                | Put::Close { .. }
                | Put::Note { .. }
                | Put::Halt { .. }
                | Put::Resume { .. }
                | Put::Pause { .. }
                | Put::Unpause(_)
                | Put::Action(_)
                | Put::Propose(_)
                | Put::Decide { .. }
                | Put::Asset(_)
                | Put::ForgetDays(_) => {}
            }
        }
        let mut code = refusal.map(|why| why.code.as_ref());
        for event in &then.events {
            let detail = event.detail.as_deref().or_else(|| code.take());
            touches.event(self.standing(event.id)?, event, detail);
        }
        Ok(None)
    }

    /// The receipts of ledgers outside, each once.
    fn receipts(&mut self, then: &Then) {
        for put in &then.puts {
            let Put::Receipt { ledger, operation } = put else { continue };
            let highest = self.changes.highest.entry(*ledger).or_default();
            if *highest < operation.seq {
                *highest = operation.seq;
            }
            let legs = self.legs.entry(operation.op.key.id).or_default();
            let known =
                legs.iter().any(|(at, o)| at == ledger && o.op.key.leg == operation.op.key.leg);
            if !known {
                legs.push((*ledger, operation.clone()));
                self.changes.operations.push((*ledger, operation.clone()));
            }
        }
    }

    /// Raises or lowers both rows of a count, never below zero.
    fn count(&mut self, count: &Count, more: bool, undo: &mut Undo) -> Result<(), Stop> {
        let Count { user, day, asset, amount } = *count;
        for (asset, amount) in [(ALL, Amount::ZERO), (asset, amount)] {
            let spent = self.spent((day, user, asset))?;
            let now = if more {
                Spent {
                    transfers: spent.transfers.saturating_add(1),
                    amount: spent.amount.plus(amount).unwrap_or(Amount(u128::MAX)),
                }
            } else {
                Spent {
                    transfers: spent.transfers.saturating_sub(1),
                    amount: spent.amount.minus(amount).unwrap_or(Amount::ZERO),
                }
            };
            self.spend(undo, (day, user, asset), now);
        }
        Ok(())
    }
}

/// Every transfer that a unit names.
fn named(unit: &Unit) -> impl Iterator<Item = Id> {
    let thens = unit.thens().flat_map(|then| {
        let events = then.events.iter().map(|event| event.id);
        let ops = then.ops.iter().map(|(_, op)| op.key.id);
        then.puts.iter().filter_map(Put::transfer).chain(events).chain(ops)
    });
    let guards = unit.guards.iter().filter_map(|guard| match guard {
        Guard::Fresh(id) | Guard::Transfer { id, .. } => Some(*id),
        Guard::Unbound { .. }
        | Guard::NotHalted
        | Guard::Incarnation { .. }
        | Guard::Owner { .. }
        | Guard::DayCount { .. }
        | Guard::DayAmount { .. }
        | Guard::Attempt { .. }
        | Guard::Resource { .. }
        | Guard::Inbox { .. }
        | Guard::AtMost { .. }
        | Guard::Unacted { .. }
        | Guard::Pending(_) => None,
    });
    guards.chain(thens).chain(unit.then.fork.iter().map(|fork| fork.op.key.id))
}
