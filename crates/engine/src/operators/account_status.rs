//! Sets the status of users' accounts at their ledgers, and finds who barred an account: with four eyes that
//! person does not free it alone.

use crate::operators::Operators;
use crate::operators::action_context::{ActionContext, Stop};
use crate::operators::status_intents::{KnownStatus, StatusAction, StatusIntent, TRIES};
use crate::operators::verdict::decides;
use crate::operators::{ActionResult, Actor, Objection};
use kernel::answer::Cause;
use kernel::ids::{Id, LedgerId, Millis, UserId};
use kernel::operators::{ApprovalStatus, PastAction, Proposed, ProposedStatus, STATUS};
use kernel::ports::ledger::AccountStatus;
use kernel::principal::same_person;
use kernel::unit::{Guard, Put};
use serde_json::Value;
use std::sync::Arc;

/// The status under which nothing is barred, as both kinds of accounts spell it.
const FREE: &str = AccountStatus::Active.name();
/// The state of a proposal whose account was set anew since.
pub(super) const SET_AGAIN: &str = "SET_AGAIN";

/// The actions on which the present status of an account stands.
#[derive(Debug, Default)]
pub(super) struct StatusTrail {
    /// The number of the last action that set it; 0: no operator ever did.
    pub set: u64,
    /// The reason of that action.
    pub reason: Arc<str>,
    /// The changes since the account was last free, newest first.
    bars: Vec<Bar>,
}

/// A change that barred something.
#[derive(Debug)]
struct Bar {
    status: String,
    caller: Arc<str>,
}

impl StatusTrail {
    /// True where the account would be freed of what this person barred. `above` says which statuses bar more
    /// than the one that is asked for.
    pub(super) fn frees_own_bar(&self, caller: &str, above: impl Fn(&str) -> bool) -> bool {
        let freed = self.bars.first().is_some_and(|bar| above(&bar.status));
        let own = |bar: &Bar| above(&bar.status) && same_person(&bar.caller, caller);
        freed && self.bars.iter().any(own)
    }
}

impl Operators {
    /// The actions of this kind on which the status of an account stands.
    pub(super) async fn status_trail(
        &self,
        kind: &'static str,
        subject: &Arc<str>,
    ) -> Result<StatusTrail, Cause> {
        let mut trail = StatusTrail::default();
        for action in self.shared.parts.journal.actions_on(kind, subject.clone()).await? {
            if !self.took_effect(&action).await? {
                continue;
            }
            if trail.set == 0 {
                (trail.set, trail.reason) = (action.number, action.reason.clone());
            }
            let status = status_of(&action);
            if status == FREE {
                break;
            }
            trail.bars.push(Bar { status, caller: action.caller });
        }
        Ok(trail)
    }

    /// False for what was only proposed: another person has not approved it.
    async fn took_effect(&self, action: &PastAction) -> Result<bool, Cause> {
        let Some(ActionResult::Proposed { approval }) = ActionResult::read(&action.result) else {
            return Ok(true);
        };
        let found = self.shared.parts.journal.approval(approval).await?;
        Ok(found.is_some_and(|found| found.stand == ApprovalStatus::Approved))
    }

    pub(super) async fn status_by_hand(
        &self,
        context: &ActionContext,
        ledger: LedgerId,
        user: UserId,
        status: AccountStatus,
    ) -> Result<(ActionResult, Millis), Stop> {
        if self.shared.ledger(ledger).is_none() {
            return Err(Objection::NotFound("ledger").into());
        }
        let (subject, value) = (context.subject.clone(), context.value.clone());
        let action = Some(StatusAction { subject: subject.clone(), value });
        let Actor { caller, key, .. } = context.actor.clone();
        let unused = [Guard::NoPastAction { caller: caller.clone(), key: key.clone() }];
        let actor = context.actor.clone();
        let intent = StatusIntent { ledger, user, status, actor, action };
        let above = |word: &str| AccountStatus::parse(word).is_some_and(|barred| barred > status);
        for _ in 0..TRIES {
            let trail = self.status_trail(STATUS, &subject).await?;
            let four_eyes = self.shared.parts.settings.four_eyes;
            if four_eyes && trail.frees_own_bar(&caller, above) {
                let StatusTrail { set, reason: stop, .. } = trail;
                let value = ProposedStatus { user_id: user, ledger, status, set, stop };
                return self.proposes(context, &Proposed::Status(value)).await;
            }
            // a bar of the caller's own may have been on its way until now
            let known = KnownStatus { subject: subject.clone(), set: trail.set };
            let written = self.write_status_intent(intent.clone(), &known, &unused, &[]).await?;
            if written.is_none() {
                continue;
            }
            self.carry_out_statuses(Some((ledger, user))).await?;
            return match self.shared.parts.journal.past_action(caller.clone(), key.clone()).await? {
                Some(past) => Ok((ActionResult::StatusSet, past.at)),
                None => Err(Objection::NotFound("account").into()),
            };
        }
        Err(Cause::of("MOVES").into())
    }

    /// Frees an account for which a person who barred it proposed that, where its status is still the one
    /// that both persons knew. The decision is written first: what is rejected meanwhile frees nothing.
    pub(super) async fn approve_status(
        &self,
        context: &ActionContext,
        approval: Id,
        subject: &Arc<str>,
        proposed: &ProposedStatus,
    ) -> Result<(ActionResult, Millis), Stop> {
        let ProposedStatus { user_id: user, ledger, status, set, .. } = *proposed;
        let outcome = ActionResult::StatusSet;
        let decide = decides(context, approval, ApprovalStatus::Approved);
        let puts = [decide, context.action(&outcome)];
        let actor = context.actor.clone();
        let intent = StatusIntent { ledger, user, status, actor, action: None };
        let pending = [Guard::Pending(approval)];
        let known = KnownStatus { subject: subject.clone(), set };
        let Some(at) = self.write_status_intent(intent, &known, &pending, &puts).await? else {
            return self.supersede_proposal(context, approval, SET_AGAIN).await;
        };
        self.carry_out_statuses(Some((ledger, user))).await?;
        Ok((outcome, at))
    }

    /// Writes a proposal that nothing but the key guards.
    pub(super) async fn proposes(
        &self,
        context: &ActionContext,
        value: &Proposed,
    ) -> Result<(ActionResult, Millis), Stop> {
        let proposal = self.proposal(context, value);
        let outcome = ActionResult::Proposed { approval: proposal.id };
        self.write_unguarded(context, vec![Put::Propose(proposal)], outcome).await
    }
}

/// The status that a change asked for.
fn status_of(action: &PastAction) -> String {
    let value: Option<Value> = serde_json::from_str(&action.value).ok();
    let status = value.as_ref().and_then(|value| value.get("status")?.as_str());
    status.unwrap_or_default().to_owned()
}
