//! Executes verdicts: an operator says what an open call came to, and the ledger alone must bear it out
//! (`design.md` §5).
//!
//! A verdict is an answer to the open call and takes that answer's edge. The engine asks the ledger, and
//! fences the call where asking is not enough, when the verdict takes effect and never before.

use crate::commit::outcome::UnitDraft;
use crate::controls::outstanding_calls::CallStart;
use crate::operators::Operators;
use crate::operators::cancel::cancellable;
use crate::operators::{ActionContext, ActionResult, Objection, Stop, StoredAnswer, Verdict};
use crate::plan::guards::at_state;
use crate::plan::planner::{FENCED, FuseMode, Planned};
use crate::state::late_answers::Late;
use crate::state::select::caught;
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::code::Code;
use kernel::flow::life::Step;
use kernel::ids::{Id, LedgerId, Millis};
use kernel::operation::{Op, Operation, StoredOutcome as Ended};
use kernel::operators::ApprovalStatus;
use kernel::ports::ledger::{LedgerForm, Stored};
use kernel::record::Record;
use kernel::unit::{Event, Guard, Put, Then, Unit};
use std::sync::Arc;

/// A transfer that moves this often while a verdict takes effect needs no verdict.
const TRIES: usize = 20;

/// A verdict while it takes effect.
#[derive(Debug, Clone)]
pub(crate) struct VerdictContext {
    pub id: Id,
    pub verdict: Verdict,
    /// The name of the state whose call it answers.
    pub state: Arc<str>,
    /// The place in the history of the event that led to the state: the stay that the verdict is about.
    pub entered: u32,
}

/// The unit of a verdict that the ledger bears out.
pub(super) struct VerdictUnit {
    pub planned: Planned,
    /// The action's event in the history, where it is not written yet.
    pub line: Option<Event>,
    pub outcome: ActionResult,
    /// The refusal that it leads to.
    pub error: Option<Evidence>,
}

impl Operators {
    /// Checks that such a verdict can ever be given for the call that the record waits for.
    pub(crate) fn check_verdict(&self, record: &Record, verdict: Verdict) -> Result<(), Objection> {
        if self.shared.plan.cancels(record) {
            return cancellable(verdict);
        }
        let (ledger, op) = self.open_call(record)?;
        let invalid = |why: &str| Err(Objection::Invalid(why.to_owned()));
        let push = matches!(
            self.shared.plan.table(record.flow).step(record.head.state),
            Step::Push { .. }
        );
        let refused = Answer::Rejected(Evidence::code(FENCED), Receipt::default());
        match verdict {
            Verdict::Done => Ok(()),
            Verdict::Dead => invalid("no ledger calls an operation dead: it is done or refused"),
            Verdict::Rejected if push || !op.key.leg.refusable() => {
                invalid("what gives money back cannot be refused: only `done` answers it")
            }
            Verdict::Rejected if self.shared.plan.irreversible(record, &refused) => {
                let why = format!(
                    "the source cannot give back, so a refusal of {} would strand the money",
                    ledger.name()
                );
                Err(Objection::NotPossible(why))
            }
            Verdict::Rejected => Ok(()),
        }
    }

    /// Gives a transfer's open call the answer that its ledger bears out.
    pub(crate) async fn judge(
        &self,
        context: &ActionContext,
        judgement: &VerdictContext,
    ) -> Result<(ActionResult, Millis), Stop> {
        // the fence's intent is this action's line in the history, and its only one
        let mut told = false;
        let mut late = None;
        for _ in 0..TRIES {
            let found = self.shared.parts.journal.get(vec![judgement.id]).await?.pop();
            let record = found.ok_or(Objection::NotFound("transfer"))?;
            let state = self.shared.plan.table(record.flow).state(record.head.state).name;
            // read after the record, whose version guards what is written: nothing is missing in it
            let entered = self.entered(judgement.id).await?;
            if state != &*judgement.state || entered != judgement.entered {
                self.cases.too_late(late.into_iter().collect()).await;
                return self.superseded(context, state).await;
            }
            self.check_verdict(&record, judgement.verdict)?;
            if self.shared.plan.cancels(&record) {
                if let Some(done) = self.cancel(context, &record).await? {
                    return Ok(done);
                }
                continue;
            }
            let (ledger, op) = self.open_call(&record)?;
            let held = match self.stored_answer(ledger, &op, judgement.verdict).await? {
                Some(operation) => Some(operation),
                None => {
                    let fenced = self.fence_call(context, &record, ledger, &op).await?;
                    told |= fenced.is_some();
                    fenced
                }
            };
            let Some(operation) = held else { continue };
            let line = (!told).then(|| context.event(&record));
            late = Some(Late { record: record.clone(), ledger, operation: operation.clone() });
            if let Some(done) = self.take_edge(context, &record, line, operation).await? {
                return Ok(done);
            }
        }
        Err(Cause::of("MOVES").into())
    }

    /// The place in a transfer's history of the event that led to its present state. A transfer that left
    /// the state and came back waits for another answer, under another claim.
    pub(crate) async fn entered(&self, id: Id) -> Result<u32, Cause> {
        let history = self.shared.parts.journal.history(id).await?;
        let mut entries = history.iter().map(|linked| &linked.entry);
        let led = entries.rfind(|entry| entry.from != Some(entry.to));
        led.map(|entry| entry.seq).ok_or(Cause::of("NO_HISTORY"))
    }

    /// The answer that the ledger has stored under the open call's key, where that bears the verdict out;
    /// `None` where it has stored nothing and the verdict needs a fence.
    async fn stored_answer(
        &self,
        ledger: LedgerId,
        op: &Op,
        verdict: Verdict,
    ) -> Result<Option<Operation>, Stop> {
        let name = ledger.name();
        let not = |why: String| Err(Objection::NotPossible(why).into());
        let operation = match self.query_stored(ledger, op.key).await? {
            Stored::Found(operation) => operation,
            Stored::Nothing if verdict == Verdict::Done => {
                return not(format!(
                    "{name} holds nothing under this key: only its own DONE counts"
                ));
            }
            Stored::Nothing => return Ok(None),
        };
        match &operation.outcome {
            Ended::Fenced | Ended::Rejected(_) if verdict == Verdict::Done => {
                not(format!("{name} holds a refusal under this key; its repeat will take it"))
            }
            // it names the key alone
            Ended::Done | Ended::Rejected(_) if self.shared.plan.simple(ledger) => {
                if operation.op.key != op.key {
                    return not(format!("{name} speaks of another operation"));
                }
                Ok(Some(Operation { op: op.clone(), ..operation }))
            }
            Ended::Fenced | Ended::Done | Ended::Rejected(_) => {
                check_operation(name, op, operation).map(Some)
            }
        }
    }

    /// Fences the open call. That is an effect, so its intent is in the history before it, and HALT forbids
    /// it. `None`: the transfer moved before.
    async fn fence_call(
        &self,
        context: &ActionContext,
        record: &Record,
        ledger: LedgerId,
        op: &Op,
    ) -> Result<Option<Operation>, Stop> {
        let port = self.shared.ledger(ledger).ok_or(Objection::NotFound("ledger"))?;
        if port.form() == LedgerForm::Simple {
            let name = ledger.name();
            let why = format!("{name} cannot be fenced and holds nothing: wait and ask again");
            return Err(Objection::NotPossible(why).into());
        }
        let ticket = self.shared.calls.begin(CallStart::Fence(ledger, op.key));
        let Some(known) = self.shared.controls.fence(ledger) else {
            return Err(self.unfenced(ledger));
        };
        let mut guards = vec![at_state(record), Guard::NotHalted];
        guards.extend(context.approval.map(Guard::Pending));
        let intent = Then { events: vec![context.event(record)], ..Then::default() };
        match self.write_unit(Unit { guards, then: intent }).await? {
            Ok(_) => {}
            Err(Guard::NotHalted) => return Err(Objection::Code(Code::Halted).into()),
            Err(guard) => return moved(&guard).map(|()| None),
        }
        let reply = caught(async { port.fence(known, op.key).await }).await;
        drop(ticket);
        let reply = reply.ok_or(Cause::of("PANIC"))?;
        let stored = match self.ledgers.verify_identity(ledger, known, reply) {
            // it was halted since the intent was written: nothing is fenced
            Err(cause) if cause.class == Cause::HALTED => {
                return Err(Objection::Code(Code::Halted).into());
            }
            stored => stored?,
        };
        match stored {
            Stored::Found(operation) => check_operation(ledger.name(), op, operation).map(Some),
            Stored::Nothing => Err(Cause::of("BAD_REPLY").into()),
        }
    }

    /// Why a ledger may not be fenced now.
    fn unfenced(&self, ledger: LedgerId) -> Stop {
        if self.shared.halted().is_some() {
            return Objection::Code(Code::Halted).into();
        }
        let why = format!("{} is paused, or its identity is not known yet", ledger.name());
        Objection::NotPossible(why).into()
    }

    /// Takes the edge of the ledger's answer, in one unit with the action and its event in the history,
    /// where that is not written yet. `None`: the transfer moved before.
    async fn take_edge(
        &self,
        context: &ActionContext,
        record: &Record,
        line: Option<Event>,
        operation: Operation,
    ) -> Result<Option<(ActionResult, Millis)>, Stop> {
        let receipt = Receipt::seq(operation.seq);
        let (verdict, answer, said) = match operation.outcome {
            Ended::Done => {
                (Verdict::Done, Answer::Done(receipt), StoredAnswer::Done { seq: operation.seq })
            }
            Ended::Fenced => {
                let answer = Answer::Rejected(Evidence::code(FENCED), receipt);
                (Verdict::Rejected, answer, StoredAnswer::Fenced)
            }
            Ended::Rejected(why) => {
                let answer = Answer::Rejected(why.clone(), receipt);
                (Verdict::Rejected, answer, StoredAnswer::Rejected(why))
            }
        };
        // under HALT an answer is recorded, and nothing is claimed
        let fuse_mode = self.shared.controls.fuse_mode(record).unwrap_or(FuseMode::Plain);
        let planned = self.shared.plan.answered(record, &answer, fuse_mode);
        let planned = planned
            .ok_or_else(|| Objection::NotPossible("the state takes no such answer".to_owned()))?;
        let outcome = self.resolved(record, &planned, verdict, said);
        let error = if let Answer::Rejected(why, _) = answer { Some(why) } else { None };
        let taken = VerdictUnit { planned, line, outcome, error };
        self.write_verdict(context, record, taken).await
    }

    /// The result of a verdict, by the state that it leads to.
    pub(super) fn resolved(
        &self,
        record: &Record,
        planned: &Planned,
        verdict: Verdict,
        said: StoredAnswer,
    ) -> ActionResult {
        let table = self.shared.plan.table(record.flow);
        let state = table.state(planned.next.otherwise.state).name.into();
        ActionResult::Resolved { verdict, said, state }
    }

    /// Writes the edge of a verdict with the action, its event in the history and the decision of its
    /// proposal, and goes on with the transfer. `None`: a guard failed, since something moved before.
    pub(super) async fn write_verdict(
        &self,
        context: &ActionContext,
        record: &Record,
        VerdictUnit { mut planned, line, outcome, error }: VerdictUnit,
    ) -> Result<Option<(ActionResult, Millis)>, Stop> {
        planned.unit.guards.extend(context.approval.map(Guard::Pending));
        planned.unit.then.puts.iter_mut().for_each(|put| self.for_others(record, put));
        planned.unit.then.events.splice(0..0, line);
        let approves = context.approval.map(|id| decides(context, id, ApprovalStatus::Approved));
        planned.unit.then.puts.extend(approves);
        planned.unit.then.puts.push(context.action(&outcome));
        let Planned { unit, next, depends_on } = planned;
        match self.write_unit(UnitDraft { unit, depends_on, answered_as: None }).await? {
            Ok(at) => {
                let mut record = record.clone();
                let before = record.head;
                record.head = next.otherwise;
                record.updated_at = at;
                self.sends.note_sends(Some(before), &record);
                record.error = error.or(record.error);
                self.pipeline.reassign(vec![record]).await;
                Ok(Some((outcome, at)))
            }
            Err(Guard::Incarnation { .. }) => Err(Cause::of("WRONG_LEDGER").into()),
            // halted, or the engine had one more reason to stop the chain: it is looked at again
            Err(Guard::NotHalted | Guard::Resource { .. }) => Ok(None),
            Err(guard) => moved(&guard).map(|()| None),
        }
    }

    /// Decides that a verdict is superseded: the transfer went on before it.
    pub(super) async fn superseded(
        &self,
        context: &ActionContext,
        state: &str,
    ) -> Result<(ActionResult, Millis), Stop> {
        let Some(id) = context.approval else {
            return Err(Objection::NotPossible(format!("it has gone on to {state}")).into());
        };
        let outcome = ActionResult::Superseded { state: state.into() };
        let puts = vec![decides(context, id, ApprovalStatus::Superseded), context.action(&outcome)];
        let unit = Unit::guarded(vec![Guard::Pending(id)], puts);
        match self.write_unit(unit).await? {
            Ok(at) => Ok((outcome, at)),
            Err(guard) => Err(moved(&guard).err().unwrap_or(Stop::KeyUsed)),
        }
    }
}

/// Checks that the stored operation is that of the open call. A fence knows only the key.
fn check_operation(name: &str, op: &Op, operation: Operation) -> Result<Operation, Stop> {
    if operation.outcome == Ended::Fenced || operation.op == *op {
        return Ok(operation);
    }
    let why = format!("{name} holds another operation under this key");
    Err(Objection::NotPossible(why).into())
}

/// The result of a person's decision.
pub(crate) fn decides(context: &ActionContext, id: Id, stand: ApprovalStatus) -> Put {
    Put::Decide { id, stand, caller: context.actor.caller.clone() }
}

/// Whether a failed guard means that the transfer moved; any other is an error.
pub(crate) fn moved(guard: &Guard) -> Result<(), Stop> {
    if matches!(guard, Guard::Transfer { .. }) {
        return Ok(());
    }
    Err(Cause::because("LOST", format!("{guard:?}")).into())
}
