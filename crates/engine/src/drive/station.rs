//! Stations call ledgers for the transfers of one (flow, state, system), so that a sick ledger holds up no
//! other.
//!
//! A worker of a station takes what has come, makes one call for the whole batch, and writes the answers
//! with the next claims in one journal write. Each station has two workers, so that one calls while the
//! other writes.

use crate::commit::outcome::WriteOutcome;
use crate::controls::outstanding_calls::CallStart;
use crate::drive::Pipeline;
use crate::drive::jobs::{CommitReason, Job};
use crate::plan::planner::FuseMode;
use crate::state::queue::{Batch, Queue};
use crate::state::select::caught;
use crate::state::tasks::Background;
use kernel::answer::{Answer, Cause};
use kernel::flow::table::S;
use kernel::ids::{FlowId, LedgerId};
use kernel::operation::{Known, Op};
use kernel::operators::{Case, Severity, Subject};
use kernel::ports::Fut;
use kernel::ports::journal::Writing;
use kernel::ports::ledger::{EarlierSends, Reply};
use kernel::ports::meter::Seen;
use kernel::record::{Record, System};
use kernel::unit::{Event, Hold};
use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};

/// How many batches of one station are on their way at the same time.
const WORKERS: usize = 2;
/// After this many unknown answers in company a record is called alone: it may be the one that spoils its
/// batches.
pub(crate) const CALLED_ALONE_AFTER: u32 = 3;

/// New transfers take a station's room divided by this at most: the rest is for those that are on their way.
pub(crate) const NEW_TRANSFERS_DIVISOR: usize = 2;

/// The place at which a record is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StationKey {
    pub flow: FlowId,
    pub state: S,
    /// The ledger that the state calls, or the chain for which its claims are gathered; `None` where the
    /// state does neither.
    pub system: Option<System>,
}

impl StationKey {
    /// The ledger that the state calls.
    pub(crate) const fn ledger(&self) -> Option<LedgerId> {
        match self.system {
            Some(System::Ledger(ledger)) => Some(ledger),
            Some(System::Chain(_)) | None => None,
        }
    }
}

/// One call of a batch at a ledger.
#[derive(Debug, Clone, Copy)]
struct LedgerCall {
    ledger: LedgerId,
    known: Known,
    /// When it began, by the clock's ticks.
    begun: u64,
    /// It failed as a whole: in the long run its records are called one by one.
    splits: bool,
}

#[derive(Debug)]
pub(crate) struct Station {
    pub place: StationKey,
    /// Flow, state and system, as a metric label.
    pub name: String,
    pub queue: Queue,
}

impl Pipeline {
    /// The station of a record. It is made, with its workers, where it is not there yet.
    pub(crate) fn station(self: &Arc<Self>, record: &Record) -> Arc<Station> {
        let system = self.shared.plan.station_system(record);
        let place = StationKey { flow: record.flow, state: record.head.state, system };
        let mut stations = self.stations();
        if let Some(station) = stations.get(&place) {
            return station.clone();
        }
        let table = self.shared.plan.table(place.flow);
        let of = system.map_or("none", System::name);
        let name = format!("{}/{}/{of}", table.flow, table.state(place.state).name);
        let queue = Queue::new(self.shared.parts.settings.ring);
        let station = Arc::new(Station { place, name, queue });
        stations.insert(place, station.clone());
        for _ in 0..WORKERS {
            let (pipeline, station) = (self.clone(), station.clone());
            let worker = async move {
                match place.system {
                    Some(System::Chain(chain)) => pipeline.run_gatherer(&station, chain).await,
                    Some(System::Ledger(_)) | None => pipeline.run_calls(&station).await,
                }
            };
            self.shared.parts.spawn.spawn(Background::Station.task(), Box::pin(worker));
        }
        station
    }

    pub(crate) fn stations(&self) -> MutexGuard<'_, BTreeMap<StationKey, Arc<Station>>> {
        self.stations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many more transfers of a flow find room here, should all of them wait at one station.
    pub(crate) fn room_for(&self, flow: FlowId) -> usize {
        let stations = self.stations();
        let of_flow = stations.values().filter(|station| station.place.flow == flow);
        let waiting = of_flow.map(|station| station.queue.taken()).sum();
        self.shared.parts.settings.ring.saturating_sub(waiting)
    }

    /// True while there is little room for this flow. New transfers are then left in the journal, and asked
    /// for once there is room again; the room is for those that are on their way.
    pub(crate) fn congested(&self, flow: FlowId) -> bool {
        self.room_for(flow) <= self.shared.parts.settings.ring / NEW_TRANSFERS_DIVISOR
    }

    /// Measures how many records wait at stations.
    pub(crate) fn queues(&self) {
        let mut unknown: BTreeMap<(FlowId, LedgerId), usize> = BTreeMap::new();
        for station in self.stations().values() {
            let items = station.queue.len();
            self.shared.parts.meter.see(Seen::Queue { station: &station.name, items });
            if let Some(ledger) = station.place.ledger() {
                let open = unknown.entry((station.place.flow, ledger)).or_default();
                *open = open.saturating_add(station.queue.retried());
            }
        }
        for ((flow, ledger), open) in unknown {
            let (flow, system) = (self.shared.plan.table(flow).flow, ledger.name());
            self.shared.parts.meter.see(Seen::UnknownOpen { flow, system, open });
        }
    }

    async fn run_calls(self: &Arc<Self>, station: &Station) {
        let cap = self.shared.parts.settings.batch_max;
        loop {
            self.passage(&station.place).await;
            let (journal, clock) = (&*self.shared.parts.journal, &*self.shared.parts.clock);
            let batch = station.queue.take(cap, journal, clock).await;
            let (records, alone) = match batch {
                Batch::Many(records) => (records, false),
                Batch::Alone(record) => (vec![record], true),
            };
            let mut records = self.unbarred(records).await;
            // the flags may have changed while nothing was there to do
            if !self.open(&station.place) {
                let freed = self.advance(records);
                self.commit(freed).await;
            } else if !alone && !records.is_empty() {
                let items = records.len();
                self.shared.parts.meter.see(Seen::Batch { station: &station.name, items });
                self.work(station, records).await;
            } else if let Some(record) = records.pop() {
                self.alone(station, record).await;
            }
        }
    }

    /// Whether calls (or, where the state makes no call, claims) of this place may be made now.
    pub(crate) fn open(&self, place: &StationKey) -> bool {
        match place.system {
            Some(System::Ledger(ledger)) => self.shared.controls.call(place.flow, ledger).is_some(),
            Some(System::Chain(chain)) => self.shared.controls.sends(place.flow, chain),
            None if self.asks(place) => self.shared.controls.takes(place.flow),
            None => self.shared.controls.claims(place.flow),
        }
    }

    /// Waits until calls or claims of this place may be made.
    pub(crate) async fn passage(&self, place: &StationKey) {
        match place.system {
            Some(System::Ledger(ledger)) => {
                self.shared.controls.wait(place.flow, ledger).await;
            }
            Some(System::Chain(chain)) => self.shared.controls.wait_sends(place.flow, chain).await,
            None if self.asks(place) => self.shared.controls.wait_takes(place.flow).await,
            None => self.shared.controls.wait_claims(place.flow).await,
        }
    }

    /// Works on a record that may have killed a worker: the journal knows before that it is tried.
    async fn alone(self: &Arc<Self>, station: &Station, record: Record) {
        if let Some(record) = self.tried_alone(record).await {
            self.work(station, vec![record]).await;
        }
    }

    /// Marks a record in the journal as tried alone; `None`: it is no longer in our workers.
    pub(crate) async fn tried_alone(self: &Arc<Self>, record: Record) -> Option<Record> {
        if self.chains.is_isolated(record.id) {
            // it spoiled an attempt, and no process died of it
            return Some(record);
        }
        let planned = self.shared.plan.trial(&record, true);
        let wait = self.shared.parts.settings.backoff.base;
        if let WriteOutcome::Done(_) = self.shared.writer.insist(planned.unit, wait).await {
            let (before, head) = (record.head, planned.next.otherwise);
            let record = Record { head, ..record };
            self.sends.note_taken_over(Some(before), &record);
            return Some(record);
        }
        let moved = self.moved_elsewhere(vec![record.id]).await;
        let freed = self.advance(moved);
        self.commit(freed).await;
        None
    }

    /// Makes the calls of a batch and writes their answers.
    async fn work(self: &Arc<Self>, station: &Station, records: Vec<Record>) {
        // whatever brought a record here: its call is made at the ledger of its own state, or not
        let (records, astray): (Vec<Record>, Vec<Record>) =
            records.into_iter().partition(|record| record.head.state == station.place.state);
        if !astray.is_empty() {
            let freed = self.advance(astray);
            Box::pin(self.commit(freed)).await;
        }
        if records.is_empty() {
            return;
        }
        let ledger = station.place.ledger();
        let enlisted = ledger.is_none_or(|ledger| self.shared.plan.enlisted(ledger));
        let fused = self.shared.parts.settings.fuse;
        let jobs = match ledger {
            Some(ledger) if !(enlisted && fused) => self.call(ledger, records).await,
            Some(ledger) => {
                let (mut jobs, apart) = self.moves(records);
                jobs.extend(self.call(ledger, apart).await);
                jobs
            }
            None => self.inside(&station.place, records).await,
        };
        self.commit(jobs).await;
    }

    /// The jobs of states that make no call and of calls that are part of a unit, and the records whose
    /// call must be made by itself, since one of their ledgers is paused.
    pub(crate) fn moves(self: &Arc<Self>, records: Vec<Record>) -> (Vec<Job>, Vec<Record>) {
        let (mut jobs, mut back) = (Vec::with_capacity(records.len()), Vec::new());
        let mut apart = Vec::new();
        for record in records {
            let fuse_mode = self.shared.fuse_mode(&record);
            match self.shared.plan.resume(&record, fuse_mode, None) {
                Some(planned) => jobs.push(Job::new(record, planned, CommitReason::Moves)),
                // back at its station it would be here again at once, for as long as that stands
                None if fuse_mode == FuseMode::Plain
                    && self.shared.plan.calls(&record).is_some() =>
                {
                    apart.push(record);
                }
                // something was stopped since the gate was asked
                None if fuse_mode != self.shared.parts.settings.fuse_mode() => back.push(record),
                // a rule that reads the record alone says not yet
                None => jobs.extend(self.keep_waiting(record)),
            }
        }
        jobs.extend(self.advance(back));
        (jobs, apart)
    }

    /// Makes one call for the whole batch.
    async fn call(self: &Arc<Self>, ledger: LedgerId, records: Vec<Record>) -> Vec<Job> {
        let (records, mut jobs) = self.take_over(ledger, records).await;
        let Some(flow) = records.first().map(|record| record.flow) else { return jobs };
        let ops: Arc<[Op]> = records.iter().filter_map(|r| self.shared.plan.calls_op(r)).collect();
        let asked = ops.len();
        // the ticket first: a task that stops money finds every call that began before
        let ticket = self.shared.calls.begin(CallStart::Calls(flow, ledger, ops.clone()));
        let port = self.shared.ledger(ledger);
        let (Some(port), Some(known)) = (port, self.shared.controls.call(flow, ledger)) else {
            jobs.extend(self.advance(records));
            return jobs;
        };
        let begun = self.shared.parts.clock.ticks();
        let reply = if self.shared.plan.simple(ledger) {
            let earlier: Arc<[EarlierSends]> =
                records.iter().map(|record| self.sends.begin(record)).collect();
            let over = |answers: Vec<Answer>| answers.into_iter().map(Writing::Over).collect();
            caught(async { port.execute_after(known, ops.clone(), earlier).await.map(over) }).await
        } else {
            caught(async { port.begin(known, ops.clone()).await }).await
        };
        let (answers, whole) = self.answers_of(ledger, known, reply, asked);
        let call = LedgerCall { ledger, known, begun, splits: whole && records.len() > 1 };
        let (begun, cause) = match answers {
            Ok(begun) => (begun, Cause::of("BAD_REPLY")),
            Err(cause) => (Vec::new(), cause),
        };
        let mut begun = ops.iter().zip(begun);
        for record in records {
            match begun.next() {
                Some((op, Writing::Waits(answer))) => {
                    self.wait_for_leg(call, record, op.clone(), answer);
                }
                Some((_, Writing::Over(answer))) => jobs.push(self.called(call, record, answer)),
                None => jobs.push(self.called(call, record, Answer::Unknown(cause.clone()))),
            }
        }
        drop(ticket);
        jobs
    }

    /// The unit that the answer to a call leads to.
    fn called(&self, call: LedgerCall, mut record: Record, answer: Answer) -> Job {
        let nanos = self.shared.parts.clock.ticks().saturating_sub(call.begun);
        self.shared.seen(&record, &answer, nanos);
        // a batch that fails as a whole is split: at once after a panic, else in the long run
        let panicked = matches!(&answer, Answer::Unknown(cause) if cause.class == "PANIC");
        let goes_alone = call.splits && record.head.retries >= CALLED_ALONE_AFTER;
        record.head.alone = panicked || goes_alone;
        let answered_as = Some((call.ledger, call.known));
        Job { answered_as, ..self.answered(record, answer) }
    }

    /// Waits for a leg that needs a row that another session has locked; the rest of its batch goes on.
    fn wait_for_leg(
        self: &Arc<Self>,
        call: LedgerCall,
        record: Record,
        op: Op,
        answer: Fut<'static, Answer>,
    ) {
        let begun = CallStart::Calls(record.flow, call.ledger, [op].into());
        let (pipeline, ticket) = (self.clone(), self.shared.calls.begin(begun));
        let waits = async move {
            let answer = answer.await;
            drop(ticket);
            let job = pipeline.called(call, record, answer);
            pipeline.commit(vec![job]).await;
        };
        self.shared.parts.spawn.spawn(Background::Write.task(), Box::pin(waits));
    }

    /// The answers in a ledger's reply to the batch; true where the batch failed as a whole.
    fn answers_of(
        &self,
        ledger: LedgerId,
        known: Known,
        reply: Option<Reply<Vec<Writing<Answer>>>>,
        asked: usize,
    ) -> (Result<Vec<Writing<Answer>>, Cause>, bool) {
        let Some(reply) = reply else { return (Err(Cause::of("PANIC")), true) };
        match self.ledgers.verify_identity(ledger, known, reply) {
            Ok(answers) if answers.len() == asked => (Ok(answers), false),
            Ok(_) => (Err(Cause::of("BAD_REPLY")), true),
            Err(cause) => {
                // that one was not asked at all: no item of the batch is to blame
                let whole = cause.class != "WRONG_LEDGER";
                (Err(cause), whole)
            }
        }
    }

    /// The unit that one answer leads to.
    pub(crate) fn answered(&self, record: Record, answer: Answer) -> Job {
        if let Some(why) = self.shared.plan.contradicts(&record, &answer) {
            self.cases.contradicted(&record, why);
            return self.left(record, &Cause::of(Cause::CONTRADICTION));
        }
        if self.shared.plan.irreversible(&record, &answer) {
            self.cases.case(Case {
                kind: "IRREVERSIBLE",
                severity: Severity::Critical,
                subject: Subject::Transfer(record.id),
                facts: "the target refused and the source cannot give back".into(),
            });
            return self.left(record, &Cause::of("IRREVERSIBLE"));
        }
        match self.shared.plan.answered(&record, &answer, self.shared.fuse_mode(&record)) {
            Some(planned) => Job::new(record, planned, CommitReason::Answered(answer)),
            None => match &answer {
                Answer::Unknown(cause) => self.postponed(record, cause),
                Answer::Done(_) | Answer::Rejected(..) | Answer::Dead(_) => {
                    self.postponed(record, &Cause::of("NO_SUCH_STEP"))
                }
            },
        }
    }

    /// Puts off a record that only a person ends. Until then it is asked again like any other, but from the
    /// journal: in a queue it would hold the place of one that can go on.
    fn left(&self, record: Record, cause: &Cause) -> Job {
        let record = self.count_unknown(record, cause);
        let planned = self.shared.plan.later(
            &record,
            cause,
            self.shared.due(record.head.retries),
            Hold::Free,
        );
        Job::new(record, planned, CommitReason::Freed)
    }

    /// Puts off a record whose outcome is not known: the same call is made again later, for ever.
    pub(crate) fn postponed(&self, record: Record, cause: &Cause) -> Job {
        let trouble = self.trouble_begins(&record, cause);
        let record = self.count_unknown(record, cause);
        let mut planned = self.shared.plan.later(
            &record,
            cause,
            self.shared.due(record.head.retries),
            Hold::Mine,
        );
        // in the unit that counts: a later try of the episode writes no line
        planned.unit.then.events.extend(trouble);
        Job::new(record, planned, CommitReason::Later)
    }

    /// The line about the providers of its chain that hold a record up from this try on; `None`: they do not, or did
    /// before in its state.
    pub(crate) fn trouble_begins(&self, record: &Record, cause: &Cause) -> Option<Event> {
        if record.head.retries > 0 {
            return None;
        }
        self.chains.trouble_event(record, cause)
    }

    /// Counts one more unknown answer.
    fn count_unknown(&self, mut record: Record, cause: &Cause) -> Record {
        if cause.class == Cause::HALTED {
            // the journal halted before this process read of it. Nothing is wrong with the transfer: it
            // is called again after the resume, and is not stuck because of it
            self.shared.controls.is_halted("the journal is halted".into());
            return record;
        }
        let table = self.shared.plan.table(record.flow);
        if let Some(act) = table.makes(record.head.state) {
            self.shared.parts.meter.see(Seen::Retry { flow: table.flow, act: table.act(act).name });
        }
        record.head.retries = record.head.retries.saturating_add(1);
        if cause.class != "PANIC" {
            record.head.deaths = 0;
        }
        record
    }

    /// Takes over the records whose open call others may have sent, and returns all that may be sent now.
    /// The others wait, or are another worker's.
    pub(crate) async fn take_over(
        self: &Arc<Self>,
        ledger: LedgerId,
        records: Vec<Record>,
    ) -> (Vec<Record>, Vec<Job>) {
        if !self.shared.plan.simple(ledger) {
            return (records, Vec::new());
        }
        let own = |record: &Record| self.sends.knows(record);
        let (mut ready, strange): (Vec<Record>, Vec<Record>) = records.into_iter().partition(own);
        if strange.is_empty() {
            return (ready, Vec::new());
        }
        let planned: Vec<_> =
            strange.iter().map(|record| self.shared.plan.taken_over(record)).collect();
        let drafts = planned.iter().map(|planned| planned.unit.clone().into()).collect();
        let outcomes = self.shared.writer.write_all(drafts).await;
        let (mut jobs, mut lost) = (Vec::new(), Vec::new());
        for ((record, planned), outcome) in strange.into_iter().zip(planned).zip(outcomes) {
            match outcome {
                // where it is read back, another worker may have written the same: it does not know either
                WriteOutcome::Done(_) => {
                    let record = Record { head: planned.next.otherwise, ..record };
                    self.sends.note_taken_over(None, &record);
                    ready.push(record);
                }
                WriteOutcome::Lost(_) => lost.push(record.id),
                WriteOutcome::NotWritten(_) => {
                    jobs.push(self.postponed(record, &Cause::of("NOT_TAKEN_OVER")));
                }
            }
        }
        let moved = self.moved_elsewhere(lost).await;
        jobs.extend(self.advance(moved));
        (ready, jobs)
    }
}
