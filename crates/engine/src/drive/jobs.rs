//! Writes the units of many transfers in one write. Then it brings each transfer to its next station, or plans its
//! unit again.

use crate::commit::outcome::{NotWritten, UnitDraft, WriteOutcome};
use crate::drive::Pipeline;
use crate::drive::station::{Station, StationKey};
use crate::plan::planner::{FuseMode, NextStep, Planned};
use crate::plan::quota::Quota;
use crate::state::create_request::{CreateRequest, OpenResult};
use crate::state::late_answers::Late;
use crate::state::limits;
use crate::state::tasks::Background;
use kernel::agreed::Agreed;
use kernel::answer::{Answer, Cause, Evidence};
use kernel::books::ChainBook;
use kernel::code::Code;
use kernel::ids::{Id, LedgerId};
use kernel::operation::Known;
use kernel::ports::Fut;
use kernel::ports::journal::Writing;
use kernel::ports::meter::Seen;
use kernel::record::Record;
use kernel::unit::{Guard, Hold, Put, Unit, Written};
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
        if let CommitReason::Opens(request) | CommitReason::Parks(request) = &reason {
            // beside the binding, so that a replay is a replay, whatever was moved that day
            let binds = |guard: &Guard| matches!(guard, Guard::Unbound { .. });
            let at = unit.guards.iter().position(binds).map_or(0, |n| n.saturating_add(1));
            drop(unit.guards.splice(at..at, request.guards(&record)));
        }
        Self { record, unit, next, depends_on, answered_as: None, error, reason, again: 0 }
    }
}

/// The rest of a job while its unit is being written.
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
    /// Openings whose id was taken after an earlier unit of theirs had no clear outcome.
    reopened: Vec<PendingWrite>,
    lost: Vec<Id>,
    /// Records whose payouts found no inventory.
    short: Vec<Record>,
    late: Vec<Late>,
    /// The store took none of some units.
    pauses: bool,
}

impl Pipeline {
    /// Writes every unit, goes on with the records that moved, and plans those again that could not be
    /// written. Returns when each is out of the caller's workers.
    pub(crate) async fn commit(self: &Arc<Self>, mut jobs: Vec<Job>) {
        while !jobs.is_empty() {
            let mut drafts = Vec::with_capacity(jobs.len());
            let mut pending = Vec::with_capacity(jobs.len());
            for Job { record, unit, next, depends_on, answered_as, error, reason, again } in jobs {
                let agreed = unit.agrees(record.id).cloned();
                drafts.push(UnitDraft { unit, depends_on, answered_as });
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
            let begun = self.shared.writer.begin(drafts).await;
            let mut over = Vec::with_capacity(pending.len());
            for (pending, writing) in pending.into_iter().zip(begun) {
                match writing {
                    Writing::Over(outcome) => over.push((pending, outcome)),
                    Writing::Waits(outcome) => self.wait_for_write(pending, outcome),
                }
            }
            jobs = self.written_over(over).await;
        }
    }

    /// Waits for a row that another session has locked; the other units of the batch go on.
    fn wait_for_write(
        self: &Arc<Self>,
        pending: PendingWrite,
        outcome: Fut<'static, WriteOutcome>,
    ) {
        let pipeline = self.clone();
        let waits = async move {
            let jobs = pipeline.written_over(vec![(pending, outcome.await)]).await;
            pipeline.commit(jobs).await;
        };
        self.shared.parts.spawn.spawn(Background::Write.task(), Box::pin(waits));
    }

    /// Takes the outcome of each unit and goes on with those that moved. Returns the units to write next.
    async fn written_over(self: &Arc<Self>, over: Vec<(PendingWrite, WriteOutcome)>) -> Vec<Job> {
        let mut rest = Rest::default();
        for (pending, outcome) in over {
            self.settle(pending, outcome, &mut rest);
        }
        self.cases.too_late(std::mem::take(&mut rest.late)).await;
        self.reread(&mut rest).await;
        let mut jobs = rest.again;
        jobs.extend(self.advance(rest.moved));
        jobs.extend(rest.short.into_iter().filter_map(|record| self.keep_waiting(record)));
        if rest.pauses {
            self.shared.parts.clock.sleep(self.shared.parts.settings.backoff.base).await;
        }
        jobs
    }

    /// Takes the outcome of one unit.
    fn settle(&self, pending: PendingWrite, outcome: WriteOutcome, rest: &mut Rest) {
        match outcome {
            WriteOutcome::Done(written) => rest.moved.extend(self.written(pending, written)),
            WriteOutcome::Lost(Guard::NotHalted) => self.halted(pending, rest),
            // the owner of the core now goes on with it
            WriteOutcome::Lost(Guard::Owner { .. }) => match pending.reason {
                CommitReason::Opens(request) | CommitReason::Parks(request) => {
                    request.answer(OpenResult::Unknown(Cause::of("RETIRED")));
                }
                CommitReason::Answered(_)
                | CommitReason::Moves
                | CommitReason::Later
                | CommitReason::Freed => {
                    self.in_flight.release(pending.record.id);
                }
            },
            WriteOutcome::Lost(Guard::Incarnation { ledger, .. }) => {
                self.replan_for_incarnation(ledger, pending, rest);
            }
            // the rule said yes, and the journal says not yet
            WriteOutcome::Lost(Guard::AtLeast { name, .. })
                if matches!(pending.reason, CommitReason::Moves)
                    && ChainBook::is_inventory(&name) =>
            {
                rest.short.push(pending.record);
            }
            WriteOutcome::Lost(guard) => self.lost(pending, &guard, rest),
            WriteOutcome::NotWritten(why) => self.not_written(pending, why, rest),
        }
    }

    /// The journal is halted: an opening is refused, an answer is recorded without a claim.
    fn halted(&self, pending: PendingWrite, rest: &mut Rest) {
        match pending.reason {
            CommitReason::Opens(request) | CommitReason::Parks(request) => {
                not_opened(pending.again, request, Code::Halted);
            }
            CommitReason::Answered(_) => rest.again.extend(self.replan(pending, FuseMode::NoClaim)),
            CommitReason::Moves | CommitReason::Later | CommitReason::Freed => {
                rest.moved.push(pending.record);
            }
        }
    }

    /// Goes on after a unit that the journal does not show.
    fn not_written(&self, pending: PendingWrite, why: NotWritten, rest: &mut Rest) {
        let NotWritten { cause, refused } = why;
        // the next try would meet the same at once
        rest.pauses |= refused.is_some();
        if refused.is_none() {
            rest.late.extend(self.late(&pending));
        }
        let first = pending.again == 0;
        match pending.reason {
            // once more without the call that was fused to it: that may be what hinders it
            CommitReason::Opens(_) | CommitReason::Parks(_) if first && refused.is_none() => {
                rest.again.extend(self.replan(pending, FuseMode::Plain));
            }
            CommitReason::Answered(_) if first => {
                rest.again.extend(self.replan(pending, FuseMode::Plain));
            }
            CommitReason::Opens(request) | CommitReason::Parks(request) => match refused {
                Some(code) => not_opened(pending.again, request, code),
                None => request.answer(OpenResult::Unknown(cause)),
            },
            // the same call again later: it repeats what the ledger stored
            CommitReason::Answered(_) | CommitReason::Moves => {
                rest.again.push(self.postponed(pending.record, &cause));
            }
            // even that could not be written: this process alone knows when
            CommitReason::Later | CommitReason::Freed => {
                let mut record = pending.record;
                record.head.due_at = Some(self.shared.due(record.head.retries));
                rest.moved.push(record);
            }
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
                    rest.reopened.push(pending);
                } else {
                    let Record { flow, terms, id, .. } = &pending.record;
                    pending.record.id = self.shared.mint_for(*flow, terms, Some(*id));
                    let fuse_mode = self.shared.fuse_mode(&pending.record);
                    rest.again.extend(self.replan(pending, fuse_mode));
                }
            }
            CommitReason::Opens(request) | CommitReason::Parks(request) => {
                let code = limits::exceeded(guard).or_else(|| outdated(guard));
                match code {
                    Some(code) => not_opened(pending.again, request, code),
                    None => request.answer(OpenResult::Bound),
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
            CommitReason::Opens(request) => {
                record.serial = written.serial;
                record.created_at = written.at;
                return self.begun(record, request);
            }
            CommitReason::Parks(request) => {
                record.serial = written.serial;
                record.created_at = written.at;
                self.opened(&record, request);
                return None;
            }
            CommitReason::Freed => return self.in_flight.give_up(record),
            CommitReason::Moves => self.in_flight.not_yet.forget(record.id),
            CommitReason::Answered(_) | CommitReason::Later => {}
        }
        Some(record)
    }

    /// Begins to carry a transfer that was opened. `None`: its workers have it already, since an earlier request with
    /// its key, in the same millisecond, has the same id.
    fn begun(&self, record: Record, request: CreateRequest) -> Option<Record> {
        if !self.in_flight.hold(record.id) {
            request.answer(OpenResult::Bound);
            return None;
        }
        self.opened(&record, request);
        Some(record)
    }

    /// Tells the caller that a transfer is durable; the caller may go on waiting for the end.
    fn opened(&self, record: &Record, request: CreateRequest) {
        self.in_flight.counted();
        let most = self.shared.parts.settings.limits.warn_per_minute;
        if let Some(user) = record.terms.owner.user().filter(|_| most > 0) {
            self.limits.rates.see(user, record.created_at, most);
        }
        let table = self.shared.plan.table(record.flow);
        let (flow, state) = (table.flow, table.state(table.start).name);
        self.shared.parts.meter.see(Seen::Opened { flow, state });
        self.shared.wait_for(record.id, request.ended);
        // the receiver is gone where the caller went away
        let _gone = request.opened.send(OpenResult::Opened(record.clone()));
    }

    /// Plans the same step again in another fuse mode.
    fn replan(&self, pending: PendingWrite, fuse_mode: FuseMode) -> Option<Job> {
        let PendingWrite { record, answered_as, reason, again, .. } = pending;
        let planned = match &reason {
            CommitReason::Opens(request) => {
                Some(self.shared.plan.open(&record, fuse_mode, request.quota.as_ref()))
            }
            CommitReason::Answered(answer) => self.shared.plan.answered(&record, answer, fuse_mode),
            CommitReason::Moves => self.shared.plan.resume(&record, fuse_mode, None),
            CommitReason::Parks(request) => Some(self.parking(&record, request.quota.as_ref())),
            CommitReason::Later | CommitReason::Freed => None,
        }?;
        let again = again.saturating_add(1);
        Some(Job { answered_as, again, ..Job::new(record, planned, reason) })
    }

    /// Asks the journal after records that others moved, and after openings that were lost behind one of their own:
    /// the journal is right.
    async fn reread(&self, rest: &mut Rest) {
        let moved = self.moved_elsewhere(std::mem::take(&mut rest.lost)).await;
        rest.moved.extend(moved);
        let reopened = rest.reopened.iter().map(|pending| pending.record.id);
        let stored = self.shared.read(reopened.collect()).await;
        let found = |id: Id| stored.iter().find(|record| record.id == id).cloned();
        for pending in std::mem::take(&mut rest.reopened) {
            let same = |stored: &Record| stored.terms == pending.record.terms;
            let found = found(pending.record.id).filter(same);
            match (found, pending.reason) {
                (Some(record), CommitReason::Opens(request)) => {
                    rest.moved.extend(self.begun(record, request));
                }
                (Some(record), CommitReason::Parks(request)) => self.opened(&record, request),
                (None, CommitReason::Opens(request) | CommitReason::Parks(request)) => {
                    request.answer(OpenResult::Unknown(Cause::of("ID_TAKEN")));
                }
                // no other unit is guarded by a free id
                (_, CommitReason::Answered(_))
                | (_, CommitReason::Moves | CommitReason::Later | CommitReason::Freed) => {}
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
            } else if let Some(over) = station.queue.keep(record) {
                jobs.push(self.overflowed(&station, over));
            }
        }
        // those that come to one station arrive together: its worker would begin with the first one alone
        for records in arriving.into_values() {
            let Some(station) = records.first().map(|record| self.station(record)) else {
                continue;
            };
            let over = station.queue.offer(records).into_iter();
            jobs.extend(over.map(|record| self.overflowed(&station, record)));
        }
        jobs
    }

    /// Gives a record back to the journal for which a station has no room.
    pub(crate) fn overflowed(&self, station: &Station, record: Record) -> Job {
        let cause = Cause::of("OVERFLOW");
        // the longer the queue, the later there is room
        let batches = station.queue.len().checked_div(self.shared.parts.settings.batch_max);
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

/// Refuses an opening that was not written. An earlier write of the same transfer whose outcome is not known may still
/// be made: then the caller hears that.
fn not_opened(again: u8, request: CreateRequest, code: Code) {
    if again == 0 {
        request.refuse(code);
    } else {
        request.answer(OpenResult::Unknown(Cause::of(code.name())));
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
