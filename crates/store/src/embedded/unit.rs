//! How one unit becomes rows: guards first, then the enlisted operations are decided, then written.

use super::funding::{NewOperation, Undo};
use super::group::Group;
use super::guards::Marks;
use super::people::Said;
use super::touch::Touches;
use kernel::answer::{Answer, Cause, Evidence};
use kernel::ids::LedgerId;
use kernel::people::Stand;
use kernel::unit::{Fork, Guard, Put, Then, Unit, Written, Wrote};

impl Group<'_> {
    /// Writes a unit, or says why nothing of it was written. An error of SQLite leaves the
    /// transaction to be rolled back.
    pub(super) fn apply(&mut self, unit: &Unit) -> rusqlite::Result<Wrote> {
        let mut touches = Touches::default();
        let mut marks = Marks::default();
        for guard in &unit.guards {
            if !self.holds(guard, &mut touches, &mut marks)? {
                return Ok(Wrote::Lost(guard.clone()));
            }
        }
        let (mut new, mut undo) = (Vec::new(), Undo::default());
        let decided = match self.decide_all(&unit.then, &mut new, &mut undo)? {
            Ok(decided) => decided,
            Err(cause) => {
                self.books.restore(undo);
                return Ok(Wrote::Unknown(cause));
            }
        };
        let chosen = decided.as_ref().and_then(|(fork, answer)| fork.chosen(answer));
        let mut said = Said::default();
        let mut no = self.taken(&unit.then, &marks)?;
        if no.is_none() {
            no = self.collect(&unit.then, &mut touches, &mut said, None)?;
        }
        if let (None, Some(then)) = (&no, chosen) {
            no = self.collect(then, &mut touches, &mut said, evidence(decided.as_ref()))?;
        }
        if let Some(no) = no {
            self.books.restore(undo);
            return Ok(no);
        }
        for NewOperation { operation } in &new {
            self.store(LedgerId::FUNDING, operation)?;
        }
        self.mark(marks)?;
        for then in std::iter::once(&unit.then).chain(chosen) {
            for put in &then.puts {
                self.put(put)?;
            }
            for message in &then.outbox {
                self.message(message)?;
            }
        }
        let serial = self.flush(touches)?;
        let fork = decided.map(|(_, answer)| answer);
        Ok(Wrote::Written(Written { at: self.at, serial, fork }))
    }

    /// Decides settles, the fork, and what its continuation settles. The cause for which the unit
    /// is not written is the inner error.
    fn decide_all<'u>(
        &mut self,
        then: &'u Then,
        new: &mut Vec<NewOperation>,
        undo: &mut Undo,
    ) -> rusqlite::Result<Result<Option<(&'u Fork, Answer)>, Cause>> {
        if let Some(cause) = self.settle(then, new, undo)? {
            return Ok(Err(cause));
        }
        let Some(fork) = &then.fork else { return Ok(Ok(None)) };
        if fork.ledger != LedgerId::FUNDING {
            return Ok(Err(Cause::of("NOT_ENLISTED")));
        }
        let answer = self.decide(&fork.op, new, undo)?;
        let Some(on) = fork.chosen(&answer) else {
            return Ok(Err(match answer {
                Answer::Unknown(cause) => cause,
                Answer::Done(_) | Answer::Rejected(..) | Answer::Dead(_) => {
                    Cause::because("CONTRADICTION", "an answer that the fork does not spell")
                }
            }));
        };
        Ok(match self.settle(on, new, undo)? {
            Some(cause) => Err(cause),
            None => Ok(Some((fork, answer))),
        })
    }

    fn settle(
        &mut self,
        then: &Then,
        new: &mut Vec<NewOperation>,
        undo: &mut Undo,
    ) -> rusqlite::Result<Option<Cause>> {
        for (ledger, op) in &then.ops {
            if *ledger != LedgerId::FUNDING {
                return Ok(Some(Cause::of("NOT_ENLISTED")));
            }
            match self.decide(op, new, undo)? {
                Answer::Done(_) => {}
                Answer::Unknown(cause) => return Ok(Some(cause)),
                Answer::Rejected(..) | Answer::Dead(_) => {
                    return Ok(Some(Cause::because("CONTRADICTION", "a settle was refused")));
                }
            }
        }
        Ok(None)
    }

    /// A unit that opens a transfer without looking for its key first. Some: the key is bound.
    fn taken(&self, then: &Then, marks: &Marks) -> rusqlite::Result<Option<Wrote>> {
        if marks.unbound {
            return Ok(None);
        }
        for put in &then.puts {
            if let Put::Open(record) = put
                && let Some(binding) = &record.terms.binding
                && self.bound(record.flow, &binding.scope, &binding.key)?
            {
                let (scope, key) = (binding.scope.clone(), binding.key.clone());
                return Ok(Some(Wrote::Lost(Guard::Unbound { flow: record.flow, scope, key })));
            }
        }
        Ok(None)
    }

    /// Gathers what happens to transfers. Some: the unit must not be written.
    fn collect(
        &mut self,
        then: &Then,
        touches: &mut Touches,
        said: &mut Said,
        refusal: Option<&Evidence>,
    ) -> rusqlite::Result<Option<Wrote>> {
        for put in &then.puts {
            match put {
                Put::Open(record) => touches.open(record.clone()),
                Put::Head { id, head, error, hold } => {
                    self.standing(*id, touches)?;
                    let error = error.as_ref().or(refusal);
                    if !touches.head(*id, *head, error, *hold) {
                        return Ok(Some(Wrote::Unknown(Cause::of("NO_SUCH_TRANSFER"))));
                    }
                }
                Put::Receipt { ledger, operation } => {
                    let legs = self.legs(*ledger, operation.op.key.id)?;
                    if legs.contradict(operation) {
                        let cause = Cause::because("CONTRADICTION", "another receipt is stored");
                        return Ok(Some(Wrote::Unknown(cause)));
                    }
                }
                Put::Adopt { ledger, known } if self.superseded(*ledger, known)? => {
                    return Ok(Some(Wrote::Unknown(Cause::of("SUPERSEDED"))));
                }
                Put::Action(action) => {
                    if !said.act(action) || self.has_acted(&action.caller, &action.key)? {
                        let (caller, key) = (action.caller.clone(), action.key.clone());
                        return Ok(Some(Wrote::Lost(Guard::Unacted { caller, key })));
                    }
                }
                Put::Propose(proposal) => {
                    if !said.propose(proposal.id) || self.stand(proposal.id)?.is_some() {
                        let cause = Cause::because("CONTRADICTION", "the approval's id is taken");
                        return Ok(Some(Wrote::Unknown(cause)));
                    }
                }
                Put::Decide { id, .. } => {
                    let pending = said.proposed(*id) || self.stand(*id)? == Some(Stand::Pending);
                    if !said.decide(*id) || !pending {
                        return Ok(Some(Wrote::Lost(Guard::Pending(*id))));
                    }
                }
                Put::Adopt { .. }
                | Put::Own { .. }
                | Put::Attempt(_)
                | Put::Form(..)
                | Put::Resource { .. }
                | Put::Raise { .. }
                | Put::Horizon(_)
                | Put::Case(_)
                | Put::Close { .. }
                | Put::Note { .. }
                | Put::Halt { .. }
                | Put::Resume { .. }
                | Put::Pause { .. }
                | Put::Unpause(_)
                | Put::Asset(_)
                | Put::Count(_)
                | Put::Uncount(_)
                | Put::ForgetDays(_) => {}
            }
        }
        let mut refusal = refusal.map(|why| why.code.as_ref());
        for event in &then.events {
            self.standing(event.id, touches)?;
            let detail = event.detail.as_deref().or_else(|| refusal.take());
            touches.event(event, detail);
        }
        Ok(None)
    }
}

/// The refusal that the chosen continuation is completed with.
fn evidence<'a>(decided: Option<&'a (&Fork, Answer)>) -> Option<&'a Evidence> {
    match decided {
        Some((_, Answer::Rejected(why, _))) => Some(why),
        _ => None,
    }
}
