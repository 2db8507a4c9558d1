//! Executes an action once for each (caller, key), whether or not the caller waits for the result. It is
//! the one entry to all actions.

use crate::operators::Operators;
use crate::operators::action_context::{ActionContext, Stop};
use crate::operators::{ActionResult, Actor, AdminAction, Objection, PerformedAction};
use crate::state::select::{First, race};
use crate::state::tasks::Background;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::operators::{Note, PastAction};
use kernel::unit::Put;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::oneshot;

/// How long a resume waits before its caller is told how far the proof is, and a HALT before its caller is told that it is
/// not stored.
const PROGRESS_AFTER: Millis = 10_000;
/// How often a key is looked up again that was used meanwhile.
const LOOKS: usize = 3;

impl Operators {
    /// Executes a person's action, with its row in the audit. A repeat under the same key gets the result
    /// of the first. The action goes on when the caller goes away.
    ///
    /// # Errors
    /// [`Objection`]; after `Unknown` the caller repeats with the same key.
    pub async fn execute(
        self: &Arc<Self>,
        actor: Actor,
        action: AdminAction,
    ) -> Result<PerformedAction, Objection> {
        let proves = matches!(action, AdminAction::Approve(_) | AdminAction::Resume { .. });
        let halts = matches!(action, AdminAction::Halt);
        let (say, hear) = oneshot::channel();
        let operators = self.clone();
        let run = async move {
            let came_to = operators.once(actor, action).await;
            // the receiver is gone where the caller went away
            let _gone = say.send(came_to);
        };
        self.shared.parts.spawn.spawn(Background::Action.task(), Box::pin(run));
        let mut hear = hear;
        loop {
            match race(&mut hear, self.shared.parts.clock.sleep(PROGRESS_AFTER)).await {
                First::Left(came_to) => {
                    let gone = |_| Err(Objection::Unknown(Cause::of("ACTION_GONE")));
                    return came_to.unwrap_or_else(gone);
                }
                First::Right(()) => {
                    // a proof, or a disk without room, may take hours: a repeat under the same key asks again
                    let far = match (halts, proves) {
                        (true, _) => self.unstored_halt(),
                        (_, true) => {
                            let proving = self.reconciler.proving();
                            proving.map(|(at, of)| ActionResult::Proving { at, of })
                        }
                        (false, false) => None,
                    };
                    if let Some(outcome) = far {
                        let at = self.shared.parts.journal.now();
                        return Ok(PerformedAction { outcome, at, replayed: false });
                    }
                }
            }
        }
    }

    async fn once(&self, actor: Actor, action: AdminAction) -> Result<PerformedAction, Objection> {
        let _turn = self.turns.take(&actor).await;
        let context = ActionContext::of(&self.shared, actor, &action);
        for _ in 0..LOOKS {
            let (caller, key) = (context.actor.caller.clone(), context.actor.key.clone());
            let past = self
                .shared
                .parts
                .journal
                .past_action(caller, key)
                .await
                .map_err(Objection::Unknown)?;
            if let Some(past) = past {
                return self.repeated(&context, &action, past).await;
            }
            match self.perform(&context, &action).await {
                Ok((outcome, at)) => {
                    tracing::info!(
                        kind = context.kind,
                        subject = %context.subject,
                        caller = %context.actor.caller,
                        reason = %context.actor.reason,
                        "done"
                    );
                    let outcome = self.completed(&context, &action, outcome).await;
                    // behind the rest: no HALT waits for it before it says what is on the wire
                    self.close_outdated().await;
                    return Ok(PerformedAction { outcome: outcome?, at, replayed: false });
                }
                Err(Stop::KeyUsed) => {}
                Err(Stop::Objection(objection)) => return Err(objection),
            }
        }
        Err(Objection::Unknown(Cause::of("KEY_IN_USE")))
    }

    /// The action that a key did before, where it did one.
    async fn repeated(
        &self,
        context: &ActionContext,
        action: &AdminAction,
        past: PastAction,
    ) -> Result<PerformedAction, Objection> {
        let read = |text: &str| serde_json::from_str::<Value>(text).ok();
        let value = read(&past.value) == read(&context.value);
        let differs = [
            ("kind", *past.kind != *context.kind),
            ("subject", past.subject != context.subject),
            ("value", !value),
        ];
        let differs: Vec<_> =
            differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect();
        if !differs.is_empty() {
            return Err(Objection::Mismatch(differs));
        }
        let outcome = ActionResult::read(&past.result);
        let outcome = outcome.ok_or(Objection::Unknown(Cause::of("STORED_RESULT")))?;
        let outcome = self.completed(context, action, outcome).await?;
        Ok(PerformedAction { outcome, at: past.at, replayed: true })
    }

    /// Adds to a result what is true of it now: a pause's number, whether a HALT is in force, and whether
    /// the calls on the wire have ended.
    async fn completed(
        &self,
        context: &ActionContext,
        action: &AdminAction,
        outcome: ActionResult,
    ) -> Result<ActionResult, Objection> {
        match outcome {
            ActionResult::Paused { .. } => {
                let number = self.pause_number(context, action).await?;
                if number.is_some() {
                    self.chain_is_quiet(action).await?;
                }
                Ok(ActionResult::Paused { number })
            }
            ActionResult::Halted { on_wire, calls, .. } => {
                let (halt, quiet) = self.halt_is_quiet().await;
                Ok(ActionResult::Halted { halt, on_wire, calls, quiet, stored: true })
            }
            ActionResult::Retried
            | ActionResult::Asked { .. }
            | ActionResult::Unpaused
            | ActionResult::Proposed { .. }
            | ActionResult::Proving { .. }
            | ActionResult::Resumed { .. }
            | ActionResult::Deposited { .. }
            | ActionResult::Withdrawn { .. }
            | ActionResult::Resolved { .. }
            | ActionResult::Superseded { .. }
            | ActionResult::Refused
            | ActionResult::LaneRetired { .. }
            | ActionResult::LaneGone { .. }
            | ActionResult::WithdrawalAccepted
            | ActionResult::RefundReleased { .. }
            | ActionResult::StatusSet
            | ActionResult::Asset { .. }
            | ActionResult::NumberedAccount { .. }
            | ActionResult::Webhook { .. }
            | ActionResult::WebhookDeleted
            | ActionResult::Unparked
            | ActionResult::Redriven { .. }
            | ActionResult::Reemitted { .. }
            | ActionResult::Sought { .. }
            | ActionResult::Noted => Ok(outcome),
        }
    }

    async fn perform(
        &self,
        context: &ActionContext,
        action: &AdminAction,
    ) -> Result<(ActionResult, Millis), Stop> {
        match action {
            AdminAction::Retry(id) => self.retry(context, *id).await,
            AdminAction::Ask(id) => self.ask(context, *id).await,
            AdminAction::PauseTransfer(id) => self.pause_transfer(context, *id).await,
            AdminAction::ResumeTransfer(id) => self.resume_transfer(context, *id).await,
            AdminAction::NoteTransfer { id, .. } => self.note_transfer(context, *id).await,
            AdminAction::Resolve { id, verdict, evidence } => {
                self.resolve_by_hand(context, *id, *verdict, evidence).await
            }
            AdminAction::Halt => self.halt_by_hand(context).await,
            AdminAction::Resume { accept } => self.resume_by_hand(context, accept).await,
            AdminAction::Pause(scope) => self.pause(context, *scope).await,
            AdminAction::Unpause(number) => self.unpause(context, *number).await,
            AdminAction::RetireLane(of) => self.retire_lane(context, of).await,
            AdminAction::ProveLaneGone(of) => self.prove_lane_gone(context, of).await,
            AdminAction::AcceptWithdrawal(name) => self.accept_by_hand(context, name).await,
            AdminAction::ReleaseRefund(id) => self.release_by_hand(context, *id).await,
            AdminAction::Status { ledger, user, status } => {
                self.status_by_hand(context, *ledger, *user, *status).await
            }
            AdminAction::OpenAccount(new) => self.open_account(context, new).await,
            AdminAction::AccountStatus { number, status } => {
                self.set_account_status(context, number, *status).await
            }
            AdminAction::AddAsset(asset) => self.add_asset(context, asset).await,
            AdminAction::ChangeAsset(change) => self.change_asset(context, change).await,
            AdminAction::Unpark { group, topic, key } => {
                self.unpark_by_hand(context, [group, topic, key].map(Clone::clone)).await
            }
            AdminAction::Redrive(redrive) => self.redrive_by_hand(context, redrive).await,
            AdminAction::Reemit(range) => self.reemit_by_hand(context, *range).await,
            AdminAction::Seek { group, to } => self.seek_by_hand(context, group, *to).await,
            AdminAction::Movement(proposed) => self.movement_by_hand(context, proposed).await,
            AdminAction::Approve(id) => self.approve(context, *id).await,
            AdminAction::Reject(id) => self.decline(context, *id).await,
            AdminAction::Assign { case, to } => {
                self.note(context, *case, Note::Assigned(to.clone())).await
            }
            AdminAction::Comment { case, text } => {
                self.note(context, *case, Note::Comment(text.clone())).await
            }
            AdminAction::Webhook(action) => self.webhook(context, action).await,
        }
    }

    async fn note(
        &self,
        context: &ActionContext,
        case: u64,
        note: Note,
    ) -> Result<(ActionResult, Millis), Stop> {
        let open = self.shared.parts.journal.open_cases().await?;
        if !open.iter().any(|open| open.number == case) {
            return Err(Objection::NotFound("case").into());
        }
        let put = Put::Note { case, caller: context.actor.caller.clone(), note };
        self.write_unguarded(context, vec![put], ActionResult::Noted).await
    }
}
