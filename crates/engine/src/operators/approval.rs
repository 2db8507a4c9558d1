//! Executes what needs the approval of a second person: verdicts, the resume from HALT, the end of a
//! chain's stop, deposits above a bound, and the freeing of an account by the person who barred it.

use crate::operators::Operators;
use crate::operators::action_context::{ActionContext, Stop};
use crate::operators::pause::lost;
use crate::operators::verdict::{VerdictContext, decides};
use crate::operators::{ActionResult, Actor, Objection, Verdict};
use crate::state::accepted::AcceptedBreaks;
use kernel::answer::Cause;
use kernel::ids::{Id, Millis};
use kernel::operators::{
    Accepted, Approval, ApprovalStatus, Proposal, Proposed, ProposedCancel, ProposedResume,
    ProposedVerdict,
};
use kernel::ports::journal::ServiceStatus;
use kernel::principal::same_person;
use kernel::reconcile;
use kernel::unit::{Guard, Put, Unit};
use serde_json::Value;

/// How often a resume is tried again where halts are raised one after the other during it.
const TRIES: usize = 20;

/// The objection to a resume that names another halt.
fn other_halt() -> Stop {
    let why = "it was halted again: that takes a proposal and a proof of its own".to_owned();
    Objection::NotPossible(why).into()
}

/// The objection to a stored proposal that this release does not read, as one of a former release.
pub(super) fn older_form() -> Stop {
    let why = "it was proposed in the form of another release: reject it, and propose it again";
    Objection::NotPossible(why.to_owned()).into()
}

impl Operators {
    /// The number of the last halt that is in force.
    fn halt_in_force(&self, status: &ServiceStatus) -> Result<u64, Objection> {
        let stored = status.halted.as_ref().map(|_| status.halts);
        stored.ok_or_else(|| {
            let why = match self.shared.controls.stores_halt() {
                true => "the HALT is not stored yet: repeat this in a moment",
                false => "nothing is halted",
            };
            Objection::NotPossible(why.to_owned())
        })
    }

    /// Proposes a verdict or, with four eyes off, gives it.
    pub(super) async fn resolve_by_hand(
        &self,
        context: &ActionContext,
        id: Id,
        verdict: Verdict,
        evidence: &Value,
    ) -> Result<(ActionResult, Millis), Stop> {
        let record = self.open_transfer(id).await?;
        self.check_verdict(&record, verdict)?;
        let state = self.shared.plan.table(record.flow).state(record.head.state).name;
        let entered = self.entered(id).await?;
        if !context.proposes {
            let judgement = VerdictContext { id, verdict, state: state.into(), entered };
            return self.judge(context, &judgement).await;
        }
        // the stay in the state, and so the call, that it answers: no later one with the same name
        let (state, evidence) = (state.into(), evidence.clone());
        let value = if self.shared.plan.cancels(&record) {
            self.never_sent(&record).await?;
            let cancel = ProposedCancel { answer: verdict, state, entered, evidence };
            Proposed::Cancel(cancel)
        } else {
            let (ledger, op) = self.open_call(&record)?;
            let leg = op.key.leg;
            let verdict =
                ProposedVerdict { answer: verdict, state, entered, ledger, leg, evidence };
            Proposed::Verdict(verdict)
        };
        let proposal = self.proposal(context, &value);
        let outcome = ActionResult::Proposed { approval: proposal.id };
        let puts = |_: &_| vec![Put::Propose(proposal.clone())];
        let (_, outcome, at) = self.write_with_event(context, id, outcome, puts).await?;
        Ok((outcome, at))
    }

    pub(super) fn proposal(&self, context: &ActionContext, value: &Proposed) -> Proposal {
        let Actor { caller, reason, .. } = context.actor.clone();
        let (kind, subject) = (context.kind, context.subject.clone());
        let value = value.stored();
        let lasts = self.shared.parts.settings.approval_ms;
        Proposal { id: self.shared.mint(), kind, subject, value, reason, caller, lasts }
    }

    /// Proposes the resume from HALT or, with four eyes off, executes it. A proposal names the last halt
    /// that is in force, by its number.
    pub(super) async fn resume_by_hand(
        &self,
        context: &ActionContext,
        accept: &[Accepted],
    ) -> Result<(ActionResult, Millis), Stop> {
        for _ in 0..TRIES {
            let halt = self.halt_in_force(&self.shared.parts.journal.service_status().await?)?;
            let resume = ProposedResume { halt, accept: accept.to_vec() };
            if !context.proposes {
                return self.lift(context, &resume).await;
            }
            let proposal = self.proposal(context, &Proposed::Resume(resume));
            let outcome = ActionResult::Proposed { approval: proposal.id };
            let puts = vec![Put::Propose(proposal), context.action(&outcome)];
            let unit = Unit::guarded(vec![Guard::Halt(halt)], puts);
            match self.write_unit(unit).await? {
                Ok(at) => return Ok((outcome, at)),
                Err(Guard::Halt(_)) => {}
                Err(guard) => return Err(lost(&guard)),
            }
        }
        Err(Cause::of("MOVES").into())
    }

    /// Lifts the halt of this number, after a proof from the beginning. A break that was not accepted with
    /// the same key and amount keeps the halt. The proposal named the number, it was in force when the
    /// proof began, and the unit guards it: no halt is lifted that any process raised since.
    async fn lift(
        &self,
        context: &ActionContext,
        &ProposedResume { halt, ref accept }: &ProposedResume,
    ) -> Result<(ActionResult, Millis), Stop> {
        let status = self.shared.parts.journal.service_status().await?;
        if self.halt_in_force(&status)? != halt {
            return Err(other_halt());
        }
        let accepted = AcceptedBreaks::read(&*self.shared.parts.journal, &status).await?.named;
        let mut report = self.reconciler.prove(accept).await?;
        if let Some((ledger, cause)) = report.unproven() {
            let why = format!("{} cannot be proven now: {cause}", ledger.name());
            return Err(Objection::NotPossible(why).into());
        }
        let strange = report.accept(accept);
        if !strange.is_empty() {
            // what is accepted before it is broken excuses a loss that is yet to come
            let why = format!("no such break with that amount: {}", strange.join(", "));
            return Err(Objection::NotPossible(why).into());
        }
        if !report.ok {
            return Err(Objection::Breaks(report.breaks).into());
        }
        let losses = self.accepted_losses(accept).await?;
        if let Some(why) = self.ledgers.would_halt(accept, &losses).await {
            return Err(Objection::NotPossible(why).into());
        }
        let approval = context.approval;
        let outcome = ActionResult::Resumed { accepted: accept.to_vec() };
        let mut puts = vec![Put::Resume { accepted: reconcile::rows(&accepted, accept) }];
        puts.extend(self.adopts_after_loss(&losses).await?);
        puts.extend(approval.map(|id| decides(context, id, ApprovalStatus::Approved)));
        puts.push(context.action(&outcome));
        let mut guards: Vec<Guard> = vec![Guard::Halt(halt)];
        guards.extend(approval.map(Guard::Pending));
        guards.extend(losses.iter().flat_map(|loss| self.guards_of(loss)));
        match self.write_unit(Unit::guarded(guards, puts)).await? {
            Ok(at) => {
                self.reconciler.forgive(report).await;
                self.status.refresh().await?;
                self.ledgers.adopts().await;
                match self.shared.halted() {
                    Some(why) => {
                        let why = format!("it was resumed, and halted again: {why}");
                        Err(Objection::NotPossible(why).into())
                    }
                    None => Ok((outcome, at)),
                }
            }
            Err(Guard::Halt(_)) => Err(other_halt()),
            Err(Guard::Incarnation { ledger, .. }) => {
                let why = format!("{} was adopted meanwhile: propose again", ledger.name());
                Err(Objection::NotPossible(why).into())
            }
            Err(guard) => Err(lost(&guard)),
        }
    }

    pub(super) async fn pending(&self, id: Id) -> Result<Approval, Stop> {
        let found = self.shared.parts.journal.approval(id).await?;
        let approval = found.ok_or(Objection::NotFound("approval"))?;
        match approval.stand {
            ApprovalStatus::Pending => Ok(approval),
            stand @ (ApprovalStatus::Approved
            | ApprovalStatus::Rejected
            | ApprovalStatus::Superseded
            | ApprovalStatus::Lapsed) => Err(Objection::Decided(stand).into()),
        }
    }

    pub(super) async fn approve(
        &self,
        context: &ActionContext,
        id: Id,
    ) -> Result<(ActionResult, Millis), Stop> {
        let approval = self.pending(id).await?;
        if same_person(&context.actor.caller, &approval.caller) {
            return Err(Objection::SamePerson.into());
        }
        match Proposed::read(&approval).ok_or_else(older_form)? {
            Proposed::Resume(resume) => self.lift(context, &resume).await,
            Proposed::Lift(lift) => self.approve_lift(context, id, &lift).await,
            Proposed::Unpause(unpause) => self.approve_unpause(context, id, unpause.pause).await,
            Proposed::Status(status) => {
                self.approve_status(context, id, &approval.subject, &status).await
            }
            Proposed::AccountStatus(status) => {
                self.approve_account_status(context, id, &approval.subject, &status).await
            }
            Proposed::Acceptance(acceptance) => self.accept_withdrawal(context, &acceptance).await,
            Proposed::Release(release) => {
                let transfer = approval.subject.parse().map_err(|_| older_form())?;
                self.release_refund(context, transfer, &release).await
            }
            Proposed::Movement(proposed) => {
                self.approve_movement(context, &approval, &proposed).await
            }
            Proposed::Verdict(ProposedVerdict { answer: verdict, state, entered, .. })
            | Proposed::Cancel(ProposedCancel { answer: verdict, state, entered, .. }) => {
                let transfer = approval.subject.parse().map_err(|_| older_form())?;
                let judgement = VerdictContext { id: transfer, verdict, state, entered };
                self.judge(context, &judgement).await
            }
        }
    }

    /// Refuses a proposal; its proposer may take it back.
    pub(super) async fn decline(
        &self,
        context: &ActionContext,
        id: Id,
    ) -> Result<(ActionResult, Millis), Stop> {
        let approval = self.pending(id).await?;
        let decide = decides(context, id, ApprovalStatus::Rejected);
        let transfer = approval.subject.parse().ok();
        if let Some(transfer) = transfer
            && self.open_transfer(transfer).await.is_ok()
        {
            let puts = |_: &_| vec![decide.clone()];
            let done = self.write_with_event(context, transfer, ActionResult::Refused, puts).await;
            let (_, outcome, at) = done?;
            return Ok((outcome, at));
        }
        self.write_unguarded(context, vec![decide], ActionResult::Refused).await
    }
}
