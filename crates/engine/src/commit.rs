//! One journal write for many transfers, and where each goes after it.

use crate::Engine;
use crate::late::Late;
use crate::limits;
use crate::order::{Opening, Order};
use crate::plan::{Leads, Planned, Reach};
use crate::tasks::Background;
use crate::wire::Begun;
use kernel::answer::{Answer, Cause, Evidence};
use kernel::code::Code;
use kernel::ids::{Id, LedgerId};
use kernel::ports::Fut;
use kernel::ports::journal::Writing;
use kernel::ports::ledger::Known;
use kernel::ports::meter::Seen;
use kernel::record::{Facts, Record};
use kernel::unit::{Guard, Hold, Unit, Written, Wrote};
use std::sync::Arc;

/// What a unit is about, so that one that was not written can be planned again.
#[derive(Debug)]
pub(crate) enum Why {
    /// A transfer begins; somebody waits for it.
    Opens(Order),
    /// A transfer is opened and left to the scanner; somebody waits for it.
    Parks(Order),
    /// A ledger answered.
    Answered(Answer),
    /// A call at an enlisted ledger, or a state that calls nobody.
    Moves,
    /// The next attempt was put at a later time, in this worker's own ring.
    Later,
    /// It was given up to whoever asks the journal.
    Freed,
}

/// A record with the unit that is to be written for it.
#[derive(Debug)]
pub(crate) struct Job {
    pub record: Record,
    pub unit: Unit,
    pub leads: Leads,
    /// See [`Planned::relies`].
    pub relies: Vec<LedgerId>,
    /// As whom the ledger was asked that answered: an answer is never one of who it is taken for later.
    pub heard: Option<(LedgerId, Known)>,
    /// The refusal or cause that the unit puts.
    pub error: Option<Evidence>,
    pub why: Why,
    /// How often this was planned again after an unknown outcome.
    pub again: u8,
}

impl Job {
    pub(crate) fn new(record: Record, planned: Planned, why: Why) -> Self {
        let error = match &why {
            Why::Answered(Answer::Rejected(evidence, _)) => Some(evidence.clone()),
            Why::Answered(_)
            | Why::Opens(_)
            | Why::Parks(_)
            | Why::Moves
            | Why::Later
            | Why::Freed => None,
        };
        let Planned { mut unit, leads, relies } = planned;
        if let Why::Opens(order) | Why::Parks(order) = &why {
            // beside the binding, so that a replay is a replay, whatever was moved that day
            let binds = |guard: &Guard| matches!(guard, Guard::Unbound { .. });
            let at = unit.guards.iter().position(binds).map_or(0, |n| n.saturating_add(1));
            drop(unit.guards.splice(at..at, order.unbound(&record)));
        }
        Self { record, unit, leads, relies, heard: None, error, why, again: 0 }
    }
}

/// What is left of a job while its unit is with the journal.
struct Kept {
    record: Record,
    leads: Leads,
    heard: Option<(LedgerId, Known)>,
    error: Option<Evidence>,
    why: Why,
    again: u8,
}

/// What a round of writing leaves to do.
#[derive(Default)]
struct Rest {
    moved: Vec<Record>,
    again: Vec<Job>,
    unsure: Vec<(Kept, Cause)>,
    lost: Vec<Id>,
    late: Vec<Late>,
    full: bool,
}

impl Engine {
    /// Writes every unit, carries on those that moved and plans again those that could not be
    /// written. Returns when each is out of the caller's hands.
    pub(crate) async fn commit(self: &Arc<Self>, mut jobs: Vec<Job>) {
        while !jobs.is_empty() {
            let mut units = Vec::with_capacity(jobs.len());
            let mut kept = Vec::with_capacity(jobs.len());
            let known = self.gate.all_known();
            for Job { record, mut unit, leads, relies, heard, error, why, again } in jobs {
                self.vouch(&mut unit, &relies, (heard, &known));
                units.push(unit);
                kept.push(Kept { record, leads, heard, error, why, again });
            }
            let ticket = self.wire.begin(Begun::Write);
            let begun = self.parts.journal.begin(units).await;
            let mut over = Vec::with_capacity(kept.len());
            for (kept, writing) in kept.into_iter().zip(begun) {
                match writing {
                    Writing::Over(wrote) => over.push((kept, wrote)),
                    Writing::Waits(wrote) => self.wait_for_write(kept, wrote),
                }
            }
            drop(ticket);
            jobs = self.written_over(over).await;
        }
    }

    /// One that waits for somebody else's row, beside its neighbours, which go on.
    fn wait_for_write(self: &Arc<Self>, kept: Kept, wrote: Fut<'static, Wrote>) {
        let (engine, ticket) = (self.clone(), self.wire.begin(Begun::Write));
        let waits = async move {
            let wrote = wrote.await;
            drop(ticket);
            let jobs = engine.written_over(vec![(kept, wrote)]).await;
            engine.commit(jobs).await;
        };
        self.parts.spawn.spawn(Background::Write.task(), Box::pin(waits));
    }

    /// What became of units: those that moved are carried on. Gives back what is to be written next.
    async fn written_over(self: &Arc<Self>, over: Vec<(Kept, Wrote)>) -> Vec<Job> {
        let mut rest = Rest::default();
        for (kept, wrote) in over {
            self.settle(kept, wrote, &mut rest);
        }
        self.too_late(std::mem::take(&mut rest.late)).await;
        self.reread(&mut rest).await;
        let mut jobs = rest.again;
        jobs.extend(self.advance(rest.moved));
        if rest.full {
            self.parts.clock.sleep(self.parts.settings.backoff.base).await;
        }
        jobs
    }

    /// What became of one unit.
    fn settle(self: &Arc<Self>, mut kept: Kept, wrote: Wrote, rest: &mut Rest) {
        match wrote {
            Wrote::Written(written) => {
                self.room(true);
                if let Some(record) = self.written(kept, written) {
                    rest.moved.push(record);
                }
            }
            Wrote::Lost(Guard::NotHalted) => {
                self.gate.is_halted("the journal is halted".into());
                match kept.why {
                    Why::Opens(order) | Why::Parks(order) => order.refuse(Code::Halted),
                    Why::Answered(_) => rest.again.extend(self.again(kept, Reach::NoClaim)),
                    Why::Moves | Why::Later | Why::Freed => rest.moved.push(kept.record),
                }
            }
            Wrote::Lost(Guard::Owner { .. }) => {
                self.retired();
                match kept.why {
                    Why::Opens(order) | Why::Parks(order) => {
                        order.answer(Opening::Unknown(Cause::of("RETIRED")));
                    }
                    // whoever owns the core now goes on with it
                    Why::Answered(_) | Why::Moves | Why::Later | Why::Freed => {
                        self.release(kept.record.id);
                    }
                }
            }
            Wrote::Lost(Guard::Incarnation { ledger, known }) => {
                self.overtook(ledger, known);
                self.relied(ledger, kept, rest);
            }
            Wrote::Lost(guard) => match kept.why {
                // an id that exists or lies below the horizon: another one
                why @ (Why::Opens(_) | Why::Parks(_)) if matches!(guard, Guard::Fresh(_)) => {
                    kept.why = why;
                    // ... unless it may be this very transfer, written by a unit nobody heard of
                    if kept.again > 0 {
                        rest.unsure.push((kept, Cause::of("ID_TAKEN")));
                    } else {
                        kept.record.id = self.mint();
                        let reach = self.reach(&kept.record);
                        rest.again.extend(self.again(kept, reach));
                    }
                }
                Why::Opens(order) | Why::Parks(order) => match limits::exceeded(&guard) {
                    Some(code) => order.refuse(code),
                    None => order.answer(Opening::Bound),
                },
                // another worker moved it: what stands in the journal counts
                Why::Answered(_) | Why::Moves | Why::Later | Why::Freed => {
                    rest.late.extend(self.late(&kept));
                    rest.lost.push(kept.record.id);
                }
            },
            Wrote::Full => {
                rest.full = true;
                self.room(false);
                match kept.why {
                    Why::Opens(order) | Why::Parks(order) => order.refuse(Code::Overloaded),
                    Why::Answered(_) | Why::Moves | Why::Later | Why::Freed => {
                        rest.unsure.push((kept, Cause::of("FULL")));
                    }
                }
            }
            Wrote::Unknown(cause) => {
                tracing::warn!(transfer = %kept.record.id, %cause, "a write's outcome is unknown");
                if cause.class == "CONTRADICTION" {
                    self.contradicted(&kept.record, &cause.to_string());
                }
                rest.late.extend(self.late(&kept));
                rest.unsure.push((kept, cause));
            }
        }
    }

    /// A unit that relied on another incarnation of this ledger than the journal means.
    fn relied(&self, ledger: LedgerId, kept: Kept, rest: &mut Rest) {
        rest.late.extend(self.late(&kept));
        match &kept.why {
            // what it answered it will answer again, where it is the right one
            Why::Answered(_) if self.plan.calls(&kept.record) == Some(ledger) => {
                rest.moved.push(kept.record);
            }
            // nothing is claimed before it is known at whom; all else counts
            Why::Opens(_) | Why::Parks(_) | Why::Answered(_) => {
                // it was not written for sure: the next one is the first that may be unknown
                let again = kept.again;
                rest.again.extend(self.again(kept, Reach::NoClaim).map(|job| Job { again, ..job }));
            }
            Why::Moves | Why::Later | Why::Freed => {
                rest.again.push(self.postponed(kept.record, &Cause::of("WRONG_LEDGER")));
            }
        }
    }

    /// The answer of a unit that may not have been written, since another one may stand in its place.
    fn late(&self, kept: &Kept) -> Option<Late> {
        let Why::Answered(answer) = &kept.why else { return None };
        let (ledger, operation) = self.plan.operation(&kept.record, answer)?;
        Some(Late { record: kept.record.clone(), ledger, operation })
    }

    /// The record as the written unit left it; `None` where it is no longer in our hands.
    fn written(&self, kept: Kept, written: Written) -> Option<Record> {
        let Kept { mut record, leads, error, why, .. } = kept;
        record.error = error.or(record.error);
        let before = record.head;
        record.head = match &written.fork {
            Some(Answer::Done(_)) => leads.done.unwrap_or(leads.straight),
            Some(Answer::Rejected(evidence, _)) => {
                record.error = Some(evidence.clone());
                leads.rejected.unwrap_or(leads.straight)
            }
            Some(Answer::Dead(_) | Answer::Unknown(_)) | None => leads.straight,
        };
        record.updated_at = written.at;
        let opens = matches!(why, Why::Opens(_) | Why::Parks(_));
        self.note_sends((!opens).then_some(before), &record);
        match why {
            Why::Opens(order) => {
                record.serial = written.serial;
                record.created_at = written.at;
                self.hold(record.id);
                self.opened(&record, order);
            }
            Why::Parks(order) => {
                record.serial = written.serial;
                record.created_at = written.at;
                self.opened(&record, order);
                return None;
            }
            Why::Freed => return self.give_up(record),
            Why::Answered(_) | Why::Moves | Why::Later => {}
        }
        Some(record)
    }

    /// A transfer is durable: whoever waits is told, and may go on waiting for its end.
    fn opened(&self, record: &Record, order: Order) {
        self.counted();
        let most = self.parts.settings.limits.warn_per_minute;
        if most > 0 {
            self.paces.see(record.terms.user, record.created_at, most);
        }
        self.parts.meter.see(Seen::Opened { flow: self.plan.table(record.flow).flow });
        self.wait_for(record.id, order.ended);
        // nobody listens any more where the caller went away
        let _gone = order.opened.send(Opening::Opened(record.clone()));
    }

    /// Plans the same thing again with another reach.
    fn again(&self, kept: Kept, reach: Reach) -> Option<Job> {
        let Kept { record, heard, why, again, .. } = kept;
        let facts = Facts::new();
        let planned = match &why {
            Why::Opens(order) => Some(self.plan.open(&record, reach, &facts, order.quota.as_ref())),
            Why::Answered(answer) => self.plan.answered(&record, answer, reach, &facts),
            Why::Moves => self.plan.resume(&record, reach, &facts),
            Why::Parks(order) => Some(self.parking(&record, order)),
            Why::Later | Why::Freed => None,
        }?;
        let again = again.saturating_add(1);
        Some(Job { heard, again, ..Job::new(record, planned, why) })
    }

    /// Asks the journal after units whose outcome nobody knows, and after records that others
    /// moved; what it says counts.
    async fn reread(&self, rest: &mut Rest) {
        if rest.unsure.is_empty() && rest.lost.is_empty() {
            return;
        }
        let ids =
            rest.unsure.iter().map(|(kept, _)| kept.record.id).chain(rest.lost.iter().copied());
        let stored = self.read(ids.collect()).await;
        let found = |id: Id| stored.iter().find(|record| record.id == id).cloned();
        for id in std::mem::take(&mut rest.lost) {
            match found(id) {
                // where nobody else could have: a person did, and it goes on here
                Some(record) => rest.moved.extend(self.let_go(record)),
                None => {
                    self.release(id);
                }
            }
        }
        for (kept, cause) in std::mem::take(&mut rest.unsure) {
            self.resolve(found(kept.record.id), kept, &cause, rest);
        }
    }

    /// What the journal holds of these. A journal that does not answer has said nothing, least of
    /// all that there is nothing: it is asked until it answers.
    pub(crate) async fn read(&self, ids: Vec<Id>) -> Vec<Record> {
        loop {
            match self.parts.journal.get(ids.clone()).await {
                Ok(stored) => return stored,
                Err(cause) => tracing::error!(%cause, "the journal does not answer"),
            }
            self.parts.clock.sleep(self.parts.settings.backoff.base).await;
        }
    }

    /// One unit of unknown outcome, and what stands in the journal under its id.
    fn resolve(&self, stored: Option<Record>, kept: Kept, cause: &Cause, rest: &mut Rest) {
        let opens = matches!(kept.why, Why::Opens(_) | Why::Parks(_));
        let stands = stored.filter(|stored| {
            let same = stored.terms == kept.record.terms;
            same && (opens || stored.head.version != kept.record.head.version)
        });
        match (stands, kept.why) {
            // it was written after all
            (Some(record), Why::Opens(order)) => {
                self.hold(record.id);
                self.opened(&record, order);
                rest.moved.push(record);
            }
            (Some(record), Why::Parks(order)) => self.opened(&record, order),
            (Some(record), _) => rest.moved.push(record),
            (None, why @ (Why::Opens(_) | Why::Parks(_))) if kept.again == 0 => {
                let kept = Kept { why, ..kept };
                rest.again.extend(self.again(kept, Reach::Plain));
            }
            (None, Why::Opens(order)) => {
                self.maybe_opened(&kept.record);
                order.answer(Opening::Unknown(cause.clone()));
            }
            // should it be there after all, it is anybody's
            (None, Why::Parks(order)) => order.answer(Opening::Unknown(cause.clone())),
            // the answer alone, without the call that was fused to it
            (None, why @ Why::Answered(_)) if kept.again == 0 => {
                let kept = Kept { why, ..kept };
                rest.again.extend(self.again(kept, Reach::Plain));
            }
            // the same call again later: it repeats what the ledger stored
            (None, Why::Answered(_) | Why::Moves) => {
                rest.again.push(self.postponed(kept.record, cause));
            }
            // even that could not be written: this process alone knows when
            (None, Why::Later | Why::Freed) => {
                let mut record = kept.record;
                record.head.due_at = Some(self.due(record.head.retries));
                rest.moved.push(record);
            }
        }
    }

    /// Sends each record to where its new state is worked on. Gives back the writes that free
    /// those for which there is no room.
    pub(crate) fn advance(self: &Arc<Self>, records: Vec<Record>) -> Vec<Job> {
        let mut jobs = Vec::new();
        for record in records {
            let record = self.held.newest(record);
            if self.plan.table(record.flow).ends(record.head.state) {
                self.ended(record);
                continue;
            }
            for over in self.station(&record).ring.offer([record]) {
                let cause = Cause::of("OVERFLOW");
                let planned = self.plan.later(&over, &cause, self.due(0), Hold::Free);
                jobs.push(Job::new(over, planned, Why::Freed));
            }
        }
        jobs
    }

    fn ended(&self, record: Record) {
        let table = self.plan.table(record.flow);
        self.parts.meter.see(Seen::Ended {
            flow: table.flow,
            state: table.state(record.head.state).name,
            took: record.updated_at.saturating_sub(record.created_at),
        });
        self.closed(record.id);
        self.waiting.tell(record);
    }
}
