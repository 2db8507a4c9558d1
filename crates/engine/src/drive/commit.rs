//! Writes the units of many transfers in one journal write. Then it brings each transfer to its next
//! station, or plans its unit again.

use crate::drive::Pipeline;
use crate::drive::station::{Station, StationKey};
use crate::plan::planner::{FuseMode, NextStep, Planned};
use crate::plan::quota::Quota;
use crate::state::controls::limits;
use crate::state::create_request::{CreateRequest, OpenResult};
use crate::state::late_answers::Late;
use crate::state::ledgers::outstanding_calls::CallStart;
use crate::state::tasks::Background;
use kernel::agreed::Agreed;
use kernel::answer::{Answer, Cause, Evidence};
use kernel::code::Code;
use kernel::ids::{Id, LedgerId};
use kernel::operation::Known;
use kernel::ports::Fut;
use kernel::ports::journal::Writing;
use kernel::ports::meter::Seen;
use kernel::record::Record;
use kernel::unit::{Guard, Hold, Put, Unit, Written, Wrote};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The reason of a unit, by which one that was not written can be planned again.
#[derive(Debug)]
pub(crate) enum CommitReason {
    /// A transfer begins; its caller waits.
    Opens(CreateRequest),
    /// A transfer is opened and left to the scanner; its caller waits.
    Parks(CreateRequest),
    Answered(Answer),
    /// A call at an enlisted ledger, or a state that makes no call.
    Moves,
    /// The next try is put off to a later time, in this worker's own queue.
    Later,
    /// The record is given up: the scanner of any worker may take it.
    Freed,
}

/// A record with the unit to write for it.
#[derive(Debug)]
pub(crate) struct Job {
    pub record: Record,
    pub unit: Unit,
    pub next: NextStep,
    pub depends_on: Vec<LedgerId>,
    /// The incarnation of the ledger that answered: an answer never counts for another one.
    pub answered_as: Option<(LedgerId, Known)>,
    /// The refusal or cause that the unit puts.
    pub error: Option<Evidence>,
    pub reason: CommitReason,
    /// How often this was planned again after an unknown outcome.
    pub again: u8,
}

impl Job {
    pub(crate) fn new(record: Record, planned: Planned, reason: CommitReason) -> Self {
        let error = match &reason {
            CommitReason::Answered(Answer::Rejected(evidence, _)) => Some(evidence.clone()),
            CommitReason::Answered(_)
            | CommitReason::Opens(_)
            | CommitReason::Parks(_)
            | CommitReason::Moves
            | CommitReason::Later
            | CommitReason::Freed => None,
        };
        let Planned { mut unit, next, depends_on } = planned;
        if let CommitReason::Opens(order) | CommitReason::Parks(order) = &reason {
            // beside the binding, so that a replay is a replay, whatever was moved that day
            let binds = |guard: &Guard| matches!(guard, Guard::Unbound { .. });
            let at = unit.guards.iter().position(binds).map_or(0, |n| n.saturating_add(1));
            drop(unit.guards.splice(at..at, order.guards(&record)));
        }
        Self { record, unit, next, depends_on, answered_as: None, error, reason, again: 0 }
    }
}

/// The rest of a job while the journal writes its unit.
struct PendingWrite {
    record: Record,
    next: NextStep,
    answered_as: Option<(LedgerId, Known)>,
    error: Option<Evidence>,
    /// What the unit agrees for the transfer.
    agreed: Option<Arc<Agreed>>,
    reason: CommitReason,
    again: u8,
}

/// What a round of writing leaves to do.
#[derive(Default)]
struct Rest {
    moved: Vec<Record>,
    again: Vec<Job>,
    unsure: Vec<(PendingWrite, Cause)>,
    lost: Vec<Id>,
    late: Vec<Late>,
    full: bool,
}

impl Pipeline {
    /// Writes every unit, goes on with the records that moved, and plans those again that could not be
    /// written. Returns when each is out of the caller's workers.
    pub(crate) async fn commit(self: &Arc<Self>, mut jobs: Vec<Job>) {
        while !jobs.is_empty() {
            let mut units = Vec::with_capacity(jobs.len());
            let mut pending = Vec::with_capacity(jobs.len());
            let known = self.shared.controls.all_known();
            for Job { record, mut unit, next, depends_on, answered_as, error, reason, again } in
                jobs
            {
                self.ledgers.ledger_guard(&mut unit, &depends_on, answered_as, &known);
                let agreed = unit.agrees(record.id).cloned();
                units.push(unit);
                pending.push(PendingWrite {
                    record,
                    next,
                    answered_as,
                    error,
                    agreed,
                    reason,
                    again,
                });
            }
            let ticket = self.shared.calls.begin(CallStart::Write);
            let emits = self.messaging.publishes() && units.iter().any(Unit::emits);
            let begun = self.shared.parts.journal.begin(units).await;
            if emits {
                self.messaging.outbox_written();
            }
            let mut over = Vec::with_capacity(pending.len());
            for (pending, writing) in pending.into_iter().zip(begun) {
                match writing {
                    Writing::Over(wrote) => over.push((pending, wrote)),
                    Writing::Waits(wrote) => self.wait_for_write(pending, wrote),
                }
            }
            drop(ticket);
            jobs = self.written_over(over).await;
        }
    }

    /// Waits for a row that another session has locked; the other units of the batch go on.
    fn wait_for_write(self: &Arc<Self>, pending: PendingWrite, wrote: Fut<'static, Wrote>) {
        let (pipeline, ticket) = (self.clone(), self.shared.calls.begin(CallStart::Write));
        let waits = async move {
            let wrote = wrote.await;
            drop(ticket);
            let jobs = pipeline.written_over(vec![(pending, wrote)]).await;
            pipeline.commit(jobs).await;
        };
        self.shared.parts.spawn.spawn(Background::Write.task(), Box::pin(waits));
    }

    /// Takes the outcome of each unit and goes on with those that moved. Returns the units to write next.
    async fn written_over(self: &Arc<Self>, over: Vec<(PendingWrite, Wrote)>) -> Vec<Job> {
        let mut rest = Rest::default();
        for (pending, wrote) in over {
            self.settle(pending, wrote, &mut rest);
        }
        self.cases.too_late(std::mem::take(&mut rest.late)).await;
        self.reread(&mut rest).await;
        let mut jobs = rest.again;
        jobs.extend(self.advance(rest.moved));
        if rest.full {
            self.shared.parts.clock.sleep(self.shared.parts.settings.backoff.base).await;
        }
        jobs
    }

    /// Takes the outcome of one unit.
    fn settle(&self, pending: PendingWrite, wrote: Wrote, rest: &mut Rest) {
        match wrote {
            Wrote::Written(written) => {
                self.shared.room(true);
                if let Some(record) = self.written(pending, written) {
                    rest.moved.push(record);
                }
            }
            Wrote::Lost(Guard::NotHalted) => {
                self.shared.controls.is_halted("the journal is halted".into());
                match pending.reason {
                    CommitReason::Opens(order) | CommitReason::Parks(order) => {
                        self.not_opened(&pending.record, pending.again, order, Code::Halted);
                    }
                    CommitReason::Answered(_) => {
                        rest.again.extend(self.replan(pending, FuseMode::NoClaim))
                    }
                    CommitReason::Moves | CommitReason::Later | CommitReason::Freed => {
                        rest.moved.push(pending.record)
                    }
                }
            }
            Wrote::Lost(Guard::Owner { .. }) => {
                self.ledgers.retired();
                match pending.reason {
                    CommitReason::Opens(order) | CommitReason::Parks(order) => {
                        order.answer(OpenResult::Unknown(Cause::of("RETIRED")));
                    }
                    // the owner of the core now goes on with it
                    CommitReason::Answered(_)
                    | CommitReason::Moves
                    | CommitReason::Later
                    | CommitReason::Freed => {
                        self.in_flight.release(pending.record.id);
                    }
                }
            }
            Wrote::Lost(Guard::Incarnation { ledger, known }) => {
                self.ledgers.note_new_incarnation(ledger, known);
                self.replan_for_incarnation(ledger, pending, rest);
            }
            Wrote::Lost(guard) => self.lost(pending, &guard, rest),
            Wrote::Full => {
                rest.full = true;
                self.shared.room(false);
                match pending.reason {
                    CommitReason::Opens(order) | CommitReason::Parks(order) => {
                        self.not_opened(&pending.record, pending.again, order, Code::Overloaded);
                    }
                    CommitReason::Answered(_)
                    | CommitReason::Moves
                    | CommitReason::Later
                    | CommitReason::Freed => {
                        rest.unsure.push((pending, Cause::of("FULL")));
                    }
                }
            }
            Wrote::Unknown(cause) => {
                tracing::warn!(transfer = %pending.record.id, %cause, "a write's outcome is unknown");
                if cause.class == "CONTRADICTION" {
                    self.cases.contradicted(&pending.record, &cause.to_string());
                }
                rest.late.extend(self.late(&pending));
                rest.unsure.push((pending, cause));
            }
        }
    }

    /// Refuses an opening that was not written. An earlier write of the same transfer whose outcome is not
    /// known may still be made: then the caller hears that, and the transfer is watched.
    fn not_opened(&self, record: &Record, again: u8, order: CreateRequest, code: Code) {
        if again == 0 {
            order.refuse(code);
        } else {
            self.in_flight.maybe_held(record.id, record.head.version);
            order.answer(OpenResult::Unknown(Cause::of(code.name())));
        }
    }

    /// A guard of the unit failed: the transfer or its key is not as it was.
    fn lost(&self, mut pending: PendingWrite, guard: &Guard, rest: &mut Rest) {
        match pending.reason {
            // an id that exists or lies below the horizon: another one
            reason @ (CommitReason::Opens(_) | CommitReason::Parks(_))
                if matches!(guard, Guard::Fresh(_)) =>
            {
                pending.reason = reason;
                // ... unless it may be this very transfer, written by a unit whose outcome is not known
                if pending.again > 0 {
                    rest.unsure.push((pending, Cause::of("ID_TAKEN")));
                } else {
                    let Record { flow, terms, id, .. } = &pending.record;
                    pending.record.id = self.shared.mint_for(*flow, terms, Some(*id));
                    let fuse_mode = self.shared.fuse_mode(&pending.record);
                    rest.again.extend(self.replan(pending, fuse_mode));
                }
            }
            CommitReason::Opens(order) | CommitReason::Parks(order) => {
                let code = limits::exceeded(guard).or_else(|| outdated(guard));
                match code {
                    Some(code) => self.not_opened(&pending.record, pending.again, order, code),
                    None => order.answer(OpenResult::Bound),
                }
            }
            // another worker moved it: what stands in the journal counts
            CommitReason::Answered(_)
            | CommitReason::Moves
            | CommitReason::Later
            | CommitReason::Freed => {
                rest.late.extend(self.late(&pending));
                rest.lost.push(pending.record.id);
            }
        }
    }

    /// The journal has another incarnation of the ledger than the one that the unit relied on.
    fn replan_for_incarnation(&self, ledger: LedgerId, pending: PendingWrite, rest: &mut Rest) {
        rest.late.extend(self.late(&pending));
        match &pending.reason {
            // what it answered it will answer again, where it is the right one
            CommitReason::Answered(_)
                if self.shared.plan.calls(&pending.record) == Some(ledger) =>
            {
                rest.moved.push(pending.record);
            }
            // nothing is claimed before it is known at whom; all else counts
            CommitReason::Opens(_) | CommitReason::Parks(_) | CommitReason::Answered(_) => {
                // it was not written for sure: the next one is the first that may be unknown
                let again = pending.again;
                rest.again.extend(
                    self.replan(pending, FuseMode::NoClaim).map(|job| Job { again, ..job }),
                );
            }
            CommitReason::Moves | CommitReason::Later | CommitReason::Freed => {
                rest.again.push(self.postponed(pending.record, &Cause::of("WRONG_LEDGER")));
            }
        }
    }

    /// Keeps the answer of a unit that may not have been written, since another answer may be stored in its
    /// place.
    fn late(&self, pending: &PendingWrite) -> Option<Late> {
        let CommitReason::Answered(answer) = &pending.reason else { return None };
        let (ledger, operation) = self.shared.plan.operation(&pending.record, answer)?;
        Some(Late { record: pending.record.clone(), ledger, operation })
    }

    /// The record as the written unit left it; `None` where it is no longer in our workers.
    fn written(&self, pending: PendingWrite, written: Written) -> Option<Record> {
        let PendingWrite { mut record, next, error, agreed, reason, .. } = pending;
        record.error = error.or(record.error);
        record.agreed = agreed.or(record.agreed);
        let before = record.head;
        record.head = next.by(written.fork.as_ref());
        if let Some(Answer::Rejected(evidence, _)) = &written.fork {
            record.error = Some(evidence.clone());
        }
        record.updated_at = written.at;
        let opens = matches!(reason, CommitReason::Opens(_) | CommitReason::Parks(_));
        self.sends.note_sends((!opens).then_some(before), &record);
        match reason {
            CommitReason::Opens(order) => {
                record.serial = written.serial;
                record.created_at = written.at;
                self.in_flight.hold(record.id);
                self.opened(&record, order);
            }
            CommitReason::Parks(order) => {
                record.serial = written.serial;
                record.created_at = written.at;
                self.opened(&record, order);
                return None;
            }
            CommitReason::Freed => return self.in_flight.give_up(record),
            CommitReason::Answered(_) | CommitReason::Moves | CommitReason::Later => {}
        }
        Some(record)
    }

    /// Tells the caller that a transfer is durable; the caller may go on waiting for the end.
    fn opened(&self, record: &Record, order: CreateRequest) {
        self.in_flight.counted();
        let most = self.shared.parts.settings.limits.warn_per_minute;
        if let Some(user) = record.terms.owner.user().filter(|_| most > 0) {
            self.limits.rates.see(user, record.created_at, most);
        }
        let table = self.shared.plan.table(record.flow);
        let (flow, state) = (table.flow, table.state(table.start).name);
        self.shared.parts.meter.see(Seen::Opened { flow, state });
        self.shared.wait_for(record.id, order.ended);
        // the receiver is gone where the caller went away
        let _gone = order.opened.send(OpenResult::Opened(record.clone()));
    }

    /// Plans the same step again in another fuse mode.
    fn replan(&self, pending: PendingWrite, fuse_mode: FuseMode) -> Option<Job> {
        let PendingWrite { record, answered_as, reason, again, .. } = pending;
        let planned = match &reason {
            CommitReason::Opens(order) => {
                Some(self.shared.plan.open(&record, fuse_mode, order.quota.as_ref()))
            }
            CommitReason::Answered(answer) => self.shared.plan.answered(&record, answer, fuse_mode),
            CommitReason::Moves => self.shared.plan.resume(&record, fuse_mode, None),
            CommitReason::Parks(order) => Some(self.parking(&record, order.quota.as_ref())),
            CommitReason::Later | CommitReason::Freed => None,
        }?;
        let again = again.saturating_add(1);
        Some(Job { answered_as, again, ..Job::new(record, planned, reason) })
    }

    /// Asks the journal after units without a clear outcome, and after records that others moved: the
    /// journal is right.
    async fn reread(&self, rest: &mut Rest) {
        if rest.unsure.is_empty() && rest.lost.is_empty() {
            return;
        }
        let ids = rest
            .unsure
            .iter()
            .map(|(pending, _)| pending.record.id)
            .chain(rest.lost.iter().copied());
        let stored = self.shared.read(ids.collect()).await;
        let found = |id: Id| stored.iter().find(|record| record.id == id).cloned();
        for id in std::mem::take(&mut rest.lost) {
            match found(id) {
                // where no other worker could have: an operator's action did, and it goes on here
                Some(record) => rest.moved.extend(self.in_flight.release_all(record)),
                None => {
                    self.in_flight.release(id);
                }
            }
        }
        for (pending, cause) in std::mem::take(&mut rest.unsure) {
            self.resolve(found(pending.record.id), pending, &cause, rest);
        }
    }

    /// Compares one unit without a clear outcome with the record that the journal has under its id.
    fn resolve(
        &self,
        stored: Option<Record>,
        pending: PendingWrite,
        cause: &Cause,
        rest: &mut Rest,
    ) {
        let opens = matches!(pending.reason, CommitReason::Opens(_) | CommitReason::Parks(_));
        let stands = stored.filter(|stored| {
            let same = stored.terms == pending.record.terms;
            same && (opens || stored.head.version != pending.record.head.version)
        });
        match (stands, pending.reason) {
            // it was written after all, or before: an earlier request with its key, in the same
            // millisecond, has the same id, and its transfer is carried already
            (Some(record), CommitReason::Opens(order)) if self.in_flight.hold(record.id) => {
                self.opened(&record, order);
                rest.moved.push(record);
            }
            (Some(_), CommitReason::Opens(order)) => order.answer(OpenResult::Bound),
            (Some(record), CommitReason::Parks(order)) => self.opened(&record, order),
            (Some(record), _) => rest.moved.push(record),
            (None, reason @ (CommitReason::Opens(_) | CommitReason::Parks(_)))
                if pending.again == 0 =>
            {
                let pending = PendingWrite { reason, ..pending };
                rest.again.extend(self.replan(pending, FuseMode::Plain));
            }
            (None, CommitReason::Opens(order)) => {
                self.in_flight.maybe_held(pending.record.id, pending.record.head.version);
                order.answer(OpenResult::Unknown(cause.clone()));
            }
            // should it be there after all, any worker may take it
            (None, CommitReason::Parks(order)) => order.answer(OpenResult::Unknown(cause.clone())),
            // the answer alone, without the call that was fused to it
            (None, reason @ CommitReason::Answered(_)) if pending.again == 0 => {
                let pending = PendingWrite { reason, ..pending };
                rest.again.extend(self.replan(pending, FuseMode::Plain));
            }
            // the same call again later: it repeats what the ledger stored
            (None, CommitReason::Answered(_) | CommitReason::Moves) => {
                rest.again.push(self.postponed(pending.record, cause));
            }
            // even that could not be written: this process alone knows when
            (None, CommitReason::Later | CommitReason::Freed) => {
                let mut record = pending.record;
                record.head.due_at = Some(self.shared.due(record.head.retries));
                rest.moved.push(record);
            }
        }
    }

    /// Brings each record to the station of its new state. Returns the writes that free those for which
    /// there is no room.
    pub(crate) fn advance(self: &Arc<Self>, records: Vec<Record>) -> Vec<Job> {
        let mut jobs = Vec::new();
        let mut arriving: BTreeMap<StationKey, Vec<Record>> = BTreeMap::new();
        for record in records {
            let record = self.in_flight.newest(record);
            if self.shared.plan.table(record.flow).ends(record.head.state) {
                self.in_flight.ended(record);
                continue;
            }
            if self.shared.follows_events(record.flow) {
                // messages move it, and the journal knows when to send one again
                self.in_flight.release(record.id);
                continue;
            }
            if self.shared.plan.in_attempt(&record) {
                self.chains.in_an_attempt(&record);
                continue;
            }
            let station = self.station(&record);
            if !self.in_flight.not_yet.holds_back(&record) {
                arriving.entry(station.place).or_default().push(record);
            } else if let Some(over) = station.ring.keep(record) {
                jobs.push(self.overflowed(&station, over));
            }
        }
        // those that come to one station arrive together: its worker would begin with the first one alone
        for records in arriving.into_values() {
            let Some(station) = records.first().map(|record| self.station(record)) else {
                continue;
            };
            let over = station.ring.offer(records).into_iter();
            jobs.extend(over.map(|record| self.overflowed(&station, record)));
        }
        jobs
    }

    /// Gives a record back to the journal for which a station has no room.
    pub(crate) fn overflowed(&self, station: &Station, record: Record) -> Job {
        let cause = Cause::of("OVERFLOW");
        // the longer the queue, the later there is room
        let batches = station.ring.len().checked_div(self.shared.parts.settings.batch_max);
        let batches = u32::try_from(batches.unwrap_or_default()).unwrap_or(u32::MAX);
        let planned = self.shared.plan.later(&record, &cause, self.shared.due(batches), Hold::Free);
        Job::new(record, planned, CommitReason::Freed)
    }

    /// Plans the write that gives a record back.
    pub(crate) fn parking(&self, record: &Record, quota: Option<&Quota>) -> Planned {
        let mut planned = self.shared.plan.open(record, FuseMode::NoClaim, quota);
        // where a message drives it on, it is looked at when that may be lost
        let due = if self.shared.follows_events(record.flow) {
            self.messaging.resend_due(record)
        } else {
            self.shared.parts.journal.now()
        };
        planned.next.otherwise.due_at = Some(due);
        planned.unit.then.puts.push(Put::Head {
            id: record.id,
            head: planned.next.otherwise,
            error: None,
            hold: Hold::Free,
        });
        planned
    }
}

/// The refusal of an opening that relied on a row which another process changed since this one started; `None` for
/// another guard.
fn outdated(guard: &Guard) -> Option<Code> {
    let Guard::Resource { name, .. } = guard else { return None };
    tracing::error!(
        row = &**name,
        "nothing is opened here: the row was changed since this process started"
    );
    Some(Code::Overloaded)
}
