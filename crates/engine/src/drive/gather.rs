//! Gathers the facts of a rule, and asks a flow's questions, in the states that look outside without an
//! effect.
//!
//! *Not yet* is no answer: nothing is written and nothing is counted. The record waits in its worker's own
//! heap, at longer and longer intervals; after a crash the scanner finds it as open work.

use crate::drive::Pipeline;
use crate::drive::jobs::{CommitReason, Job};
use crate::drive::station::{CALLED_ALONE_AFTER, StationKey};
use crate::state::select::caught;
use kernel::answer::{Answer, Cause};
use kernel::flow::life::Step;
use kernel::flow::table::{A, R};
use kernel::ports::facts::{FactSource, Gathered};
use kernel::record::{Facts, Record};
use std::sync::Arc;

/// The answers of a port to a batch, and whether the batch failed as a whole.
struct BatchReply<T> {
    items: Result<Vec<T>, Cause>,
    whole: bool,
}

impl<T> BatchReply<T> {
    fn of(reply: Option<Vec<T>>, asked: usize) -> Self {
        let items = match reply {
            Some(items) if items.len() == asked => Ok(items),
            Some(_) => Err(Cause::of("BAD_REPLY")),
            None => Err(Cause::of("PANIC")),
        };
        Self { whole: items.is_err(), items }
    }

    /// Each record with its answer.
    fn each(self, records: Vec<Record>) -> Vec<(Record, Result<T, Cause>)> {
        let mut items = self.items.map(Vec::into_iter);
        let with_item = |record| {
            let item = match &mut items {
                Ok(items) => items.next().ok_or(Cause::of("BAD_REPLY")),
                Err(cause) => Err(cause.clone()),
            };
            (record, item)
        };
        records.into_iter().map(with_item).collect()
    }
}

impl Pipeline {
    fn fact_source(&self, place: &StationKey) -> Option<Arc<dyn FactSource>> {
        self.shared.parts.facts.get(self.shared.plan.table(place.flow).flow).cloned()
    }

    /// True where the state asks a question, which has no effect and goes on under HALT.
    pub(crate) fn asks(&self, place: &StationKey) -> bool {
        self.shared.plan.table(place.flow).asks(place.state).is_some()
    }

    /// The units of records whose states call no ledger.
    pub(crate) async fn inside(
        self: &Arc<Self>,
        at: &StationKey,
        records: Vec<Record>,
    ) -> Vec<Job> {
        let table = self.shared.plan.table(at.flow);
        match (table.gathers(at.state), table.asks(at.state)) {
            (Some(rule), _) => self.decide(at, rule, records).await,
            (None, Some(act)) => self.question(at, act, records).await,
            (None, None) => self.moves(records).0,
        }
    }

    /// Gathers the facts of a rule for the whole batch, and decides each record by its own facts.
    async fn decide(self: &Arc<Self>, at: &StationKey, rule: R, records: Vec<Record>) -> Vec<Job> {
        let name = self.shared.plan.table(at.flow).rules.get(usize::from(rule)).copied();
        let (Some(port), Some(name)) = (self.fact_source(at), name) else {
            return self.unlearned(records);
        };
        let reply = caught(async { port.facts(name, &records).await }).await;
        let reply = BatchReply::of(reply, records.len());
        let (company, whole) = (records.len() > 1, reply.whole);
        let mut jobs = Vec::with_capacity(records.len());
        for (record, item) in reply.each(records) {
            match item {
                Ok(Gathered::Facts(facts)) => jobs.extend(self.decided(record, &facts)),
                Ok(Gathered::Unknown(cause)) => jobs.push(self.unanswered(record, &cause, false)),
                Err(cause) => jobs.push(self.unanswered(record, &cause, company && whole)),
            }
        }
        jobs
    }

    /// The unit of one decision; `None` where the rule says *not yet*.
    fn decided(self: &Arc<Self>, record: Record, facts: &Facts) -> Option<Job> {
        match self.shared.plan.resume(&record, self.shared.fuse_mode(&record), Some(facts)) {
            Some(planned) => Some(Job::new(record, planned, CommitReason::Moves)),
            None => self.keep_waiting(record),
        }
    }

    /// Asks one question about every record of the batch.
    async fn question(&self, at: &StationKey, act: A, records: Vec<Record>) -> Vec<Job> {
        let Some(port) = self.fact_source(at) else { return self.unlearned(records) };
        let name = self.shared.plan.table(at.flow).act(act).name;
        let begun = self.shared.parts.clock.ticks();
        let reply = caught(async { port.ask(name, &records).await }).await;
        let nanos = self.shared.parts.clock.ticks().saturating_sub(begun);
        let reply = BatchReply::of(reply, records.len());
        let (company, whole) = (records.len() > 1, reply.whole);
        let mut jobs = Vec::with_capacity(records.len());
        for (record, item) in reply.each(records) {
            let answer = item.unwrap_or_else(Answer::Unknown);
            self.shared.seen(&record, &answer, nanos);
            jobs.push(match &answer {
                Answer::Unknown(cause) if cause.class != Cause::CONTRADICTION => {
                    self.unanswered(record, cause, company && whole)
                }
                Answer::Done(_) | Answer::Rejected(..) | Answer::Dead(_) | Answer::Unknown(_) => {
                    self.answered(record, answer)
                }
            });
        }
        jobs
    }

    /// Counts an unknown answer. A batch that failed as a whole is split as calls are: at once after a
    /// panic, else after several failures.
    fn unanswered(&self, mut record: Record, cause: &Cause, split: bool) -> Job {
        self.in_flight.not_yet.forget(record.id);
        let goes_alone = split && record.head.retries >= CALLED_ALONE_AFTER;
        record.head.alone = cause.class == "PANIC" || goes_alone;
        self.postponed(record, cause)
    }

    /// The cause for a flow without its port. The start refuses such a flow, so this one is not offered.
    fn unlearned(&self, records: Vec<Record>) -> Vec<Job> {
        let cause = Cause::of("NO_FACT_SOURCE");
        records.into_iter().map(|record| self.postponed(record, &cause)).collect()
    }

    /// Lets a record wait after *not yet*, without a trace. Where the record was marked as tried alone, it
    /// has proven itself, and the mark is taken away so that no later restart counts it.
    pub(crate) fn keep_waiting(self: &Arc<Self>, mut record: Record) -> Option<Job> {
        if !matches!(
            self.shared.plan.table(record.flow).step(record.head.state),
            Step::Decide { .. }
        ) {
            return Some(self.postponed(record, &Cause::of("NO_SUCH_STEP")));
        }
        let times = self.in_flight.not_yet.count(record.id, record.head.state);
        let due = self.shared.due(times);
        if record.head.alone || record.head.deaths > 0 {
            let planned = self.shared.plan.survived(&record, due);
            return Some(Job::new(record, planned, CommitReason::Later));
        }
        record.head.due_at = Some(due);
        self.advance(vec![record]).pop()
    }
}
