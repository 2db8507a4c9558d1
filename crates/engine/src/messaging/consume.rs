//! Moves transfers of flows that events drive, by the messages that a consumer took.
//!
//! A message moves its transfer on in one unit with its inbox row, or not at all. One that arrives again,
//! late or out of order finds its row, or a transfer that has moved on.

use crate::commit::outcome::WriteOutcome;
use crate::controls::outstanding_calls::CallStart;
use crate::messaging::Messaging;
use crate::plan::plan_events::ConsumedStep;
use crate::plan::planner::{FuseMode, NextStep, Planned};
use crate::state::select::caught;
use crate::state::tasks::Background;
use kernel::answer::{Answer, Cause};
use kernel::flow::life::{ConsumerGroup, Step};
use kernel::flow::table::A;
use kernel::ids::{FlowId, Id, LedgerId, Millis};
use kernel::operation::Op;
use kernel::ports::Fut;
use kernel::ports::journal::Writing;
use kernel::ports::meter::Seen;
use kernel::record::Record;
use kernel::unit::Guard;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard, PoisonError};

/// The cause of a message whose transfer needs a row that another session has locked.
const LOCKED: &str = "LOCKED";

/// A message, as a consumer took it from its topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// The number that names the message, however often it comes.
    pub number: u128,
    /// The transfer that the message is about.
    pub transfer: Id,
}

/// The outcome of consuming a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consumption {
    /// Its transfer moved on, durably.
    Moved,
    /// The message was consumed before.
    Seen,
    /// Its transfer is in no state that the message moves. Should the transfer need it later, another one
    /// is sent.
    Passed,
    /// The outcome is not known, or nothing may move now: the message is consumed again.
    Failed(Cause),
    /// The message can never be consumed.
    Poison(&'static str),
}

impl Consumption {
    /// The label of the outcome in the metrics.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::Seen => "seen",
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::Poison(_) => "poison",
        }
    }
}

/// A transfer that a message may move.
#[derive(Debug, Clone)]
struct Driven {
    /// The place of the message among those that are consumed together.
    place: usize,
    record: Record,
    /// The inbox row that a unit must still write.
    inbox: Option<Guard>,
}

/// The call that is made by itself before a unit can be planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SeparateCall {
    /// None: the unit makes the call, or there is none.
    Nothing,
    Question(FlowId, A),
    /// A leg at an enlisted ledger, where units are not fused.
    Leg(FlowId, LedgerId),
}

type Result = std::result::Result<(Driven, Option<Answer>), (usize, Consumption)>;

impl Messaging {
    /// Consumes messages of one group in their order, and returns one result for each.
    pub async fn consume(
        self: &Arc<Self>,
        group: ConsumerGroup,
        messages: &[Received],
    ) -> Vec<Consumption> {
        let mut results = BTreeMap::new();
        let mut left: Vec<(usize, Received)> = messages.iter().copied().enumerate().collect();
        while !left.is_empty() {
            // one message of each transfer at a time: the next one finds what this one did
            let mut taken = BTreeSet::new();
            let (now, later) = left.into_iter().partition(|(_, one)| taken.insert(one.transfer));
            results.extend(self.consume_each(group, now).await);
            left = later;
        }
        results.into_values().collect()
    }

    /// When the scanner looks at a transfer again, should no message move it before.
    pub(crate) fn resend_due(&self, record: &Record) -> Millis {
        let (retries, random) =
            (record.head.retries.saturating_add(1), self.shared.parts.rng.next());
        self.shared
            .parts
            .journal
            .now()
            .saturating_add(self.shared.parts.settings.resend.wait(retries, random))
    }

    /// Consumes messages of which each names another transfer.
    async fn consume_each(
        self: &Arc<Self>,
        group: ConsumerGroup,
        messages: Vec<(usize, Received)>,
    ) -> Vec<(usize, Consumption)> {
        let failed = |cause: Cause| {
            messages.iter().map(|(n, _)| (*n, Consumption::Failed(cause.clone()))).collect()
        };
        if self.shared.controls.halted().is_some() {
            return failed(Cause::of(Cause::HALTED));
        }
        if self.shared.controls.stale() {
            return failed(Cause::of("LEASE_OVER"));
        }
        let ids = messages.iter().map(|(_, message)| message.transfer).collect();
        let records = match self.shared.parts.journal.get(ids).await {
            Ok(records) => records,
            Err(cause) => return failed(cause),
        };
        let mut records: BTreeMap<Id, Record> =
            records.into_iter().map(|record| (record.id, record)).collect();
        let (mut results, mut driven) = (Vec::new(), Vec::new());
        for (place, message) in messages {
            let inbox = Guard::Inbox { consumer: group.name, event: message.number };
            match self.moves_by(group, message, records.remove(&message.transfer)) {
                Ok(record) => driven.push(Driven { place, record, inbox: Some(inbox) }),
                Err(result) => results.push((place, result)),
            }
        }
        results.extend(self.drive(driven).await);
        results
    }

    /// The transfer of a message, where the message may move it now.
    fn moves_by(
        &self,
        group: ConsumerGroup,
        message: Received,
        record: Option<Record>,
    ) -> std::result::Result<Record, Consumption> {
        let record = record.ok_or(Consumption::Poison("UNKNOWN_TRANSFER"))?;
        let table = self.shared.plan.table(record.flow);
        if !table.consumers.contains(&group) {
            return Err(Consumption::Poison("FOREIGN_TRANSFER"));
        }
        // its inbox row would take the number of another transfer's message
        if !self.shared.plan.sends_number(&record, group.topic, message.number) {
            return Err(Consumption::Poison("FORGED"));
        }
        // what is paused is sent again when no pause stands
        let stands = || self.shared.controls.fuse_mode(&record).is_some();
        if stands() {
            self.hold_back(record.id);
            // who lifts a pause changes the controls first and looks then at what is held back
            if stands() {
                return Err(Consumption::Passed);
            }
        }
        if self.locked().contains(&record.id) {
            return Err(Consumption::Failed(Cause::of(LOCKED)));
        }
        if !self.shared.plan.is_moved_by(&record, group.topic) {
            return Err(Consumption::Passed);
        }
        Ok(record)
    }

    /// Moves each transfer as far as its message allows.
    async fn drive(self: &Arc<Self>, mut driven: Vec<Driven>) -> Vec<(usize, Consumption)> {
        let mut results = Vec::with_capacity(driven.len());
        if self.shared.parts.settings.fuse_mode() == FuseMode::Plain {
            let (claims, mut calls): (Vec<_>, Vec<_>) = driven.into_iter().partition(|one| {
                let step = self.shared.plan.table(one.record.flow).step(one.record.head.state);
                matches!(step, Step::Claim { .. })
            });
            let claims = claims.into_iter().map(|one| (one, None)).collect();
            for claimed in self.write_moves(claims).await {
                match claimed {
                    Ok(one) => calls.push(one),
                    Err(result) => results.push(result),
                }
            }
            driven = calls;
        }
        let mut moves = Vec::with_capacity(driven.len());
        for result in self.answers(driven).await {
            match result {
                Ok(one) => moves.push(one),
                Err(result) => results.push(result),
            }
        }
        let written = self.write_moves(moves).await.into_iter();
        results.extend(written.map(|result| {
            result.map_or_else(|failed| failed, |one| (one.place, Consumption::Moved))
        }));
        results
    }

    /// Asks the questions that the units need, and makes the calls, in one call for all that ask the same.
    async fn answers(self: &Arc<Self>, driven: Vec<Driven>) -> Vec<Result> {
        let mut together: BTreeMap<SeparateCall, Vec<Driven>> = BTreeMap::new();
        for one in driven {
            together.entry(self.separate_call(&one.record)).or_default().push(one);
        }
        let mut results = Vec::new();
        for (call, driven) in together {
            let calling: Vec<Record> =
                driven.iter().map(|one| self.shared.plan.calling(&one.record)).collect();
            let begun = self.shared.parts.clock.ticks();
            let replies = match call {
                SeparateCall::Nothing => {
                    results.extend(driven.into_iter().map(|one| Ok((one, None))));
                    continue;
                }
                SeparateCall::Question(flow, act) => self.replies(flow, act, &calling).await,
                SeparateCall::Leg(flow, ledger) => {
                    let ops = calling.iter().filter_map(|r| self.shared.plan.calls_op(r)).collect();
                    let ops: Arc<[Op]> = ops;
                    // until every leg that waits has a ticket of its own: a HALT waits for them all
                    let ticket =
                        self.shared.calls.begin(CallStart::Calls(flow, ledger, ops.clone()));
                    let begun = self.legs(flow, ledger, &calling, ops).await;
                    let answers = begun.map(|begun| self.without_waiting(ledger, &driven, begun));
                    drop(ticket);
                    answers
                }
            };
            let nanos = self.shared.parts.clock.ticks().saturating_sub(begun);
            for (n, one) in driven.into_iter().enumerate() {
                let answer = replies.as_ref().map(|all| all.get(n).cloned());
                let answer = answer.unwrap_or_else(|cause| Some(Answer::Unknown(cause.clone())));
                let answer = answer.unwrap_or(Answer::Unknown(Cause::of("BAD_REPLY")));
                if let Some(record) = calling.get(n) {
                    self.shared.seen(record, &answer, nanos);
                    results.push(self.judged(one, record, answer));
                }
            }
        }
        results
    }

    fn separate_call(&self, record: &Record) -> SeparateCall {
        if let Some(act) = self.shared.plan.question_of(record) {
            return SeparateCall::Question(record.flow, act);
        }
        let plain = self.shared.parts.settings.fuse_mode() == FuseMode::Plain;
        match self.shared.plan.calls(record).filter(|_| plain) {
            Some(ledger) => SeparateCall::Leg(record.flow, ledger),
            None => SeparateCall::Nothing,
        }
    }

    async fn replies(
        &self,
        flow: FlowId,
        act: A,
        records: &[Record],
    ) -> std::result::Result<Vec<Answer>, Cause> {
        let table = self.shared.plan.table(flow);
        let port =
            self.shared.parts.facts.get(table.flow).cloned().ok_or(Cause::of("NO_FACT_SOURCE"))?;
        let reply = caught(async { port.ask(table.act(act).name, records).await }).await;
        reply.ok_or(Cause::of("PANIC"))
    }

    async fn legs(
        &self,
        flow: FlowId,
        ledger: LedgerId,
        records: &[Record],
        ops: Arc<[Op]>,
    ) -> std::result::Result<Vec<(Op, Writing<Answer>)>, Cause> {
        if ops.len() != records.len() {
            return Err(Cause::of("NO_OPERATION"));
        }
        let port = self.shared.ledger(ledger).ok_or(Cause::of("NO_LEDGER"))?;
        let known = self.shared.controls.call(flow, ledger).ok_or(Cause::of("NOT_ADOPTED"))?;
        let reply = caught(async { port.begin(known, ops.clone()).await }).await;
        let begun =
            self.ledgers.verify_identity(ledger, known, reply.ok_or(Cause::of("PANIC"))?)?;
        Ok(ops.iter().cloned().zip(begun).collect())
    }

    /// The answers that are there. A leg that waits for a row that another session has locked counts as a failure
    /// of its message; every other message goes on.
    fn without_waiting(
        self: &Arc<Self>,
        ledger: LedgerId,
        driven: &[Driven],
        begun: Vec<(Op, Writing<Answer>)>,
    ) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(begun.len());
        for (one, (op, writing)) in driven.iter().zip(begun) {
            answers.push(match writing {
                Writing::Over(answer) => answer,
                Writing::Waits(answer) => {
                    let call = CallStart::Calls(one.record.flow, ledger, [op].into());
                    self.wait_for_leg(&one.record, call, answer);
                    Answer::Unknown(Cause::of(LOCKED))
                }
            });
        }
        answers
    }

    /// Waits for a leg by itself. Its ledger stores the answer, and the message that makes the call again gets it:
    /// until then none makes it for the transfer.
    fn wait_for_leg(
        self: &Arc<Self>,
        record: &Record,
        call: CallStart,
        answer: Fut<'static, Answer>,
    ) {
        let waiting = record.clone();
        let waits = async move {
            let _stored = answer.await;
            // a claim by itself has consumed its message
            Some(waiting)
        };
        self.wait_while_locked(record.id, Some(call), Box::pin(waits));
    }

    /// Waits for a row that another session has locked, in a task of its own. Until then no message writes for the
    /// transfer again. `waits` gives the transfer whose message is sent again behind it, where one is.
    fn wait_while_locked(
        self: &Arc<Self>,
        id: Id,
        call: Option<CallStart>,
        waits: Fut<'static, Option<Record>>,
    ) {
        let ticket = call.map(|call| self.shared.calls.begin(call));
        let messaging = self.clone();
        self.locked().insert(id);
        let task = async move {
            let again = waits.await;
            drop(ticket);
            messaging.locked().remove(&id);
            if let Some(record) = again {
                messaging.send_again_soon(&record);
            }
        };
        self.shared.parts.spawn.spawn(Background::Write.task(), Box::pin(task));
    }

    /// The transfer with an answer that leads on, or the reason why its message is consumed again.
    fn judged(&self, one: Driven, calling: &Record, answer: Answer) -> Result {
        if let Some(why) = self.shared.plan.contradicts(calling, &answer) {
            self.cases.contradicted(calling, why);
            return Err((one.place, Consumption::Failed(Cause::of(Cause::CONTRADICTION))));
        }
        match answer {
            Answer::Done(_) | Answer::Rejected(..) => Ok((one, Some(answer))),
            Answer::Dead(_) => Err((one.place, Consumption::Failed(Cause::of("NO_SUCH_STEP")))),
            Answer::Unknown(cause) => Err((one.place, Consumption::Failed(cause))),
        }
    }

    /// Writes the unit of each, and returns those that moved, as they stand then.
    async fn write_moves(
        self: &Arc<Self>,
        moves: Vec<(Driven, Option<Answer>)>,
    ) -> Vec<std::result::Result<Driven, (usize, Consumption)>> {
        let mut results = Vec::with_capacity(moves.len());
        let (mut drafts, mut pending) = (Vec::new(), Vec::new());
        for (one, answer) in moves {
            let step = ConsumedStep {
                inbox: one.inbox.clone(),
                answer: answer.as_ref(),
                fuse_mode: self.shared.parts.settings.fuse_mode(),
                due: self.resend_due(&one.record),
            };
            match self.shared.plan.consumed(&one.record, step) {
                Some(Planned { unit, next, .. }) => {
                    drafts.push(unit.into());
                    pending.push((one, next));
                }
                None => results.push(Err((one.place, Consumption::Passed))),
            }
        }
        let begun = self.shared.writer.begin(drafts).await;
        for ((one, next), writing) in pending.into_iter().zip(begun) {
            results.push(match writing {
                Writing::Over(outcome) => self.moved(one, next, outcome),
                Writing::Waits(outcome) => Err(self.wait_for_move(one, next, outcome)),
            });
        }
        results
    }

    /// The transfer as it stands after its write, or the reason why its message is consumed again.
    fn moved(
        &self,
        one: Driven,
        next: NextStep,
        outcome: WriteOutcome,
    ) -> std::result::Result<Driven, (usize, Consumption)> {
        let cause = match outcome {
            WriteOutcome::Done(written) => {
                let head = next.by(written.fork.as_ref());
                let mut record = one.record;
                (record.head, record.updated_at) = (head, written.at);
                self.moved_on(&record);
                return Ok(Driven { place: one.place, record, inbox: None });
            }
            WriteOutcome::Lost(Guard::Inbox { .. }) => return Err((one.place, Consumption::Seen)),
            WriteOutcome::Lost(Guard::NotHalted) => Cause::of(Cause::HALTED),
            // it is read again, and what stands then decides
            WriteOutcome::Lost(_) => Cause::of("MOVED"),
            WriteOutcome::NotWritten(why) => why.cause,
        };
        Err((one.place, Consumption::Failed(cause)))
    }

    /// Waits for a row that another session has locked; every other message goes on. Until the write has ended
    /// no message writes for the transfer again.
    fn wait_for_move(
        self: &Arc<Self>,
        one: Driven,
        next: NextStep,
        outcome: Fut<'static, WriteOutcome>,
    ) -> (usize, Consumption) {
        let (messaging, place, id) = (self.clone(), one.place, one.record.id);
        let waits = async move {
            let step = messaging.shared.plan.table(one.record.flow).step(one.record.head.state);
            let claims = matches!(step, Step::Claim { .. })
                && messaging.shared.parts.settings.fuse_mode() == FuseMode::Plain;
            let moved = messaging.moved(one, next, outcome.await);
            // its message is consumed, and another one makes the call
            moved.ok().filter(|_| claims).map(|moved| moved.record)
        };
        self.wait_while_locked(id, None, Box::pin(waits));
        (place, Consumption::Failed(Cause::of(LOCKED)))
    }

    /// The transfers whose write waits for a row that another session has locked.
    fn locked(&self) -> MutexGuard<'_, BTreeSet<Id>> {
        self.locked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a transfer that has ended, and answers the callers that wait for it.
    fn moved_on(&self, record: &Record) {
        let table = self.shared.plan.table(record.flow);
        if !table.ends(record.head.state) {
            return;
        }
        self.shared.parts.meter.see(Seen::Ended {
            flow: table.flow,
            state: table.state(record.head.state).name,
            took: record.updated_at.saturating_sub(record.created_at),
        });
        self.in_flight.one_fewer();
        self.shared.waiters.tell(record.clone());
    }
}
