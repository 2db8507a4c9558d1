//! How one unit becomes rows: guards first, then the enlisted operations are decided, then written.

use super::funding::{NewOperation, Undo};
use super::group::Group;
use super::text;
use super::touch::Touches;
use kernel::answer::{Answer, Cause, Evidence};
use kernel::ids::LedgerId;
use kernel::money::Amount;
use kernel::unit::{Fork, Guard, Put, Then, Unit, Written, Wrote};
use rusqlite::params;

/// What guards leave behind once their unit is written.
#[derive(Default)]
struct Marks {
    /// Counters and what they grow by.
    additions: Vec<(String, u128)>,
    /// The key of the transfer that is opened was looked for.
    unbound: bool,
    /// Events that were seen.
    inbox: Vec<(&'static str, String)>,
}

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
        let chosen = decided.as_ref().and_then(|(fork, answer)| chosen(fork, answer));
        let mut no = self.taken(&unit.then, &marks)?;
        if no.is_none() {
            no = self.collect(&unit.then, &mut touches, None)?;
        }
        if let (None, Some(then)) = (&no, chosen) {
            no = self.collect(then, &mut touches, evidence(decided.as_ref()))?;
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

    fn holds(
        &mut self,
        guard: &Guard,
        touches: &mut Touches,
        marks: &mut Marks,
    ) -> rusqlite::Result<bool> {
        Ok(match guard {
            Guard::NotHalted => !self.lane.halted,
            Guard::Fresh(id) => {
                let below = self.lane.horizon.is_some_and(|horizon| *id <= horizon);
                !below && self.standing(*id, touches)?.is_none()
            }
            Guard::Unbound { flow, scope, key } => {
                marks.unbound = true;
                !self.bound(*flow, scope, key)?
            }
            Guard::Transfer { id, state, version } => {
                let code =
                    |row: &super::touch::Standing| self.flows.table(row.flow).state(*state).code;
                let row = self.standing(*id, touches)?;
                row.is_some_and(|row| row.version == *version && row.code == code(&row))
            }
            Guard::Attempt { id, version } => self.attempt_version(*id)? == *version,
            Guard::Resource { name, version } => {
                let stored = self.value(&format!("resource/{name}"))?;
                stored.map_or(0, |(_, version)| version) == i64::from(*version)
            }
            Guard::Inbox { consumer, event } => {
                let event = format!("{event:032x}");
                let sql = "SELECT 1 FROM inbox WHERE consumer = ? AND event_id = ?";
                let seen = self.db.prepare_cached(sql)?.exists(params![consumer, event])?;
                let twice = marks.inbox.iter().any(|(c, e)| c == consumer && *e == event);
                marks.inbox.push((consumer, event));
                !seen && !twice
            }
            Guard::Incarnation { ledger, known } => {
                let stored = super::read::current(self.db, *ledger)?;
                let who =
                    |known: &kernel::ports::ledger::Known| (known.identity, known.incarnation);
                stored.as_ref().map(who) == known.as_ref().map(who)
            }
            Guard::AtMost { name, n, limit } => {
                let name = format!("counter/{name}");
                let mine = marks.additions.iter().filter(|(other, _)| *other == name);
                let mine: u128 = mine.map(|(_, n)| n).sum();
                let sum =
                    self.counter(&name)?.checked_add(mine).and_then(|sum| sum.checked_add(*n));
                marks.additions.push((name, *n));
                sum.is_some_and(|sum| sum <= *limit)
            }
        })
    }

    fn mark(&self, marks: Marks) -> rusqlite::Result<()> {
        for (name, n) in marks.additions {
            let sum = self.counter(&name)?.saturating_add(n);
            self.set(&name, &text::amount(Amount(sum)))?;
        }
        let sql = "INSERT INTO inbox (consumer, event_id, at) VALUES (?, ?, ?)";
        for (consumer, event) in marks.inbox {
            self.db.prepare_cached(sql)?.execute(params![consumer, event, text::int(self.at)])?;
        }
        Ok(())
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
        let Some(on) = chosen(fork, &answer) else {
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
                Put::Adopt { .. }
                | Put::Attempt(_)
                | Put::Form(..)
                | Put::Resource { .. }
                | Put::Raise { .. }
                | Put::Horizon(_)
                | Put::Case(_)
                | Put::Halt { .. }
                | Put::Pause { .. } => {}
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

/// The continuation that an answer chooses.
fn chosen<'u>(fork: &'u Fork, answer: &Answer) -> Option<&'u Then> {
    match answer {
        Answer::Done(_) => Some(&fork.done),
        Answer::Rejected(..) => fork.rejected.as_ref(),
        Answer::Dead(_) | Answer::Unknown(_) => None,
    }
}

/// The refusal that the chosen continuation is completed with.
fn evidence<'a>(decided: Option<&'a (&Fork, Answer)>) -> Option<&'a Evidence> {
    match decided {
        Some((_, Answer::Rejected(why, _))) => Some(why),
        _ => None,
    }
}
