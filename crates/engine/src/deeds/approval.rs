//! What takes effect when another person approves: verdicts, and the resume from HALT.

use super::doing::{Doing, Stop};
use super::{Actor, Objection, Outcome, Verdict, json};
use crate::Engine;
use crate::verdict::{Judgement, approves, moved};
use kernel::answer::Cause;
use kernel::ids::{Id, Millis};
use kernel::people::{Accepted, Approval, Proposal, Stand};
use kernel::principal::same_person;
use kernel::unit::{Guard, Put, Unit};
use serde_json::{Value, json};
use std::sync::{Arc, PoisonError};

impl Engine {
    /// A verdict: proposed, or with four eyes off given.
    pub(super) async fn resolve_by_hand(
        self: &Arc<Self>,
        doing: &Doing,
        id: Id,
        (verdict, evidence): (Verdict, &Value),
    ) -> Result<(Outcome, Millis), Stop> {
        let record = self.open_transfer(id).await?;
        self.may_be(&record, verdict)?;
        let state = self.plan.table(record.flow).state(record.head.state).name;
        if !self.parts.settings.four_eyes {
            let judgement = Judgement { id, verdict, state: state.into() };
            return self.judge(doing, None, &judgement).await;
        }
        let value = json!({ "answer": verdict.name(), "state": state, "evidence": evidence });
        let proposal = self.proposal(doing, value);
        let outcome = Outcome::Proposed { approval: proposal.id };
        let puts = |_: &_| vec![Put::Propose(proposal.clone())];
        let (_, outcome, at) = self.touched(doing, id, outcome, puts).await?;
        Ok((outcome, at))
    }

    fn proposal(&self, doing: &Doing, value: Value) -> Proposal {
        let Actor { caller, reason, .. } = doing.actor.clone();
        let (kind, subject) = (doing.kind, doing.subject.clone());
        let value = value.to_string().into();
        Proposal { id: self.mint(), kind, subject, value, reason, caller }
    }

    /// The resume from HALT: proposed, or with four eyes off ordered.
    pub(super) async fn resume_by_hand(
        self: &Arc<Self>,
        doing: &Doing,
        accept: &[Accepted],
    ) -> Result<(Outcome, Millis), Stop> {
        if self.parts.journal.standing().await?.halted.is_none() {
            return Err(Objection::NotPossible("nothing is halted".to_owned()).into());
        }
        if !self.parts.settings.four_eyes {
            return self.lift(doing, None, accept).await;
        }
        let proposal = self.proposal(doing, json!({ "accept": json::breaks(accept) }));
        let outcome = Outcome::Proposed { approval: proposal.id };
        self.plainly(doing, vec![Put::Propose(proposal)], outcome).await
    }

    /// Lifts HALT over a proof from the beginning. A break that was not accepted, with the same key
    /// and amount, keeps it.
    async fn lift(
        self: &Arc<Self>,
        doing: &Doing,
        approval: Option<Id>,
        accept: &[Accepted],
    ) -> Result<(Outcome, Millis), Stop> {
        let halts = self.gate.halts();
        let standing = self.parts.journal.standing().await?;
        if standing.halted.is_none() {
            return Err(Objection::NotPossible("nothing is halted".to_owned()).into());
        }
        let mut report = self.prove().await?;
        let is_there =
            |a: &&Accepted| report.breaks.iter().any(|b| *b.key == *a.key && b.amount == a.amount);
        let strange: Vec<&str> =
            accept.iter().filter(|a| !is_there(a)).map(|accepted| &*accepted.key).collect();
        if !strange.is_empty() {
            // what is accepted before it is broken excuses a loss that is yet to come
            let why = format!("no such break with that amount: {}", strange.join(", "));
            return Err(Objection::NotPossible(why).into());
        }
        report.excuse(&[accept, &standing.accepted].concat());
        if !report.ok {
            return Err(Objection::Breaks(report.breaks).into());
        }
        if self.gate.halts() != halts {
            return Err(Objection::NotPossible("it was halted again meanwhile".to_owned()).into());
        }
        let outcome = Outcome::Resumed { accepted: accept.to_vec() };
        let mut puts = vec![Put::Resume { accepted: accept.to_vec() }];
        puts.extend(approval.map(|id| approves(doing, id)));
        puts.push(doing.action(&outcome));
        let guards = approval.map(Guard::Pending).into_iter().collect();
        match self.wrote(doing, Unit::guarded(guards, puts)).await? {
            Ok(at) => {
                *self.report.lock().unwrap_or_else(PoisonError::into_inner) = Some(report.into());
                self.halted_again(halts).await;
                self.refresh().await?;
                Ok((outcome, at))
            }
            Err(guard) => Err(moved(&guard).err().unwrap_or(Stop::Acted)),
        }
    }

    /// A halt that came between the proof and the resume found the journal halted and changed
    /// nothing there: it is written again, before anything moves.
    async fn halted_again(&self, halts: u64) {
        if self.gate.halts() != halts
            && let Some(reason) = self.halted()
        {
            self.insist(vec![Put::Halt { reason }]).await;
        }
    }

    async fn pending(&self, id: Id) -> Result<Approval, Stop> {
        let found = self.parts.journal.approval(id).await?;
        let approval = found.ok_or(Objection::NotFound("approval"))?;
        match approval.stand {
            Stand::Pending => Ok(approval),
            stand @ (Stand::Approved | Stand::Rejected) => Err(Objection::Decided(stand).into()),
        }
    }

    pub(super) async fn approve(
        self: &Arc<Self>,
        doing: &Doing,
        id: Id,
    ) -> Result<(Outcome, Millis), Stop> {
        let approval = self.pending(id).await?;
        if same_person(&doing.actor.caller, &approval.caller) {
            return Err(Objection::SamePerson.into());
        }
        let unreadable = || Stop::from(Cause::of("STORED_PROPOSAL"));
        let value = json::read(&approval.value).ok_or_else(unreadable)?;
        match &*approval.kind {
            "RESUME" => {
                let accept = value.get("accept").and_then(json::accepted);
                self.lift(doing, Some(id), &accept.ok_or_else(unreadable)?).await
            }
            "RESOLVE" => {
                let text = |name| value.get(name).and_then(Value::as_str);
                let verdict = text("answer").and_then(Verdict::parse).ok_or_else(unreadable)?;
                let state = text("state").ok_or_else(unreadable)?.into();
                let transfer = approval.subject.parse().map_err(|_| unreadable())?;
                let judgement = Judgement { id: transfer, verdict, state };
                self.judge(doing, Some(id), &judgement).await
            }
            _ => Err(unreadable()),
        }
    }

    /// Refuses a proposal; whoever made it may take it back.
    pub(super) async fn decline(
        self: &Arc<Self>,
        doing: &Doing,
        id: Id,
    ) -> Result<(Outcome, Millis), Stop> {
        let approval = self.pending(id).await?;
        let caller = doing.actor.caller.clone();
        let decide = Put::Decide { id, stand: Stand::Rejected, caller };
        let transfer = approval.subject.parse().ok();
        if let Some(transfer) = transfer
            && self.open_transfer(transfer).await.is_ok()
        {
            let puts = |_: &_| vec![decide.clone()];
            let done = self.touched(doing, transfer, Outcome::Declined, puts).await;
            let (_, outcome, at) = done?;
            return Ok((outcome, at));
        }
        self.plainly(doing, vec![decide], Outcome::Declined).await
    }
}
