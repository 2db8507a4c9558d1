//! The one entry: once for each (caller, key), whether or not the caller waits for it.

use super::doing::{Doing, Stop};
use super::{Actor, Deed, Objection, Outcome, Performed, json};
use crate::Engine;
use crate::race::{First, race};
use crate::tasks::Background;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::people::{Acted, Note};
use kernel::unit::Put;
use std::sync::Arc;
use tokio::sync::oneshot;

/// After so long who resumes hears how far the proof is.
const PATIENCE: Millis = 10_000;
/// So often is a key looked up again that somebody used meanwhile.
const LOOKS: usize = 3;

impl Engine {
    /// Does what a person asks for, with its row in the audit. A repeat under the same key gets
    /// what the first came to. It goes on by itself when the caller goes away.
    ///
    /// # Errors
    /// [`Objection`]; after `Unknown` the caller repeats with the same key.
    pub async fn act(self: &Arc<Self>, actor: Actor, deed: Deed) -> Result<Performed, Objection> {
        let proves = matches!(deed, Deed::Approve(_) | Deed::Resume { .. });
        let (say, hear) = oneshot::channel();
        let engine = self.clone();
        let run = async move {
            let came_to = engine.once(actor, deed).await;
            // nobody listens any more where the caller went away
            let _gone = say.send(came_to);
        };
        self.parts.spawn.spawn(Background::Deed.task(), Box::pin(run));
        let mut hear = hear;
        loop {
            match race(&mut hear, self.parts.clock.sleep(PATIENCE)).await {
                First::Left(came_to) => {
                    let gone = |_| Err(Objection::Unknown(Cause::of("DEED_GONE")));
                    return came_to.unwrap_or_else(gone);
                }
                // a proof for a resume may take hours: a repeat under the same key asks again
                First::Right(()) => {
                    if let (true, Some((at, of))) = (proves, self.proving.progress()) {
                        let outcome = Outcome::Proving { at, of };
                        let at = self.parts.journal.now();
                        return Ok(Performed { outcome, at, replayed: false });
                    }
                }
            }
        }
    }

    async fn once(self: &Arc<Self>, actor: Actor, deed: Deed) -> Result<Performed, Objection> {
        let _turn = self.turns.take(&actor).await;
        let doing = Doing::of(self, actor, &deed);
        for _ in 0..LOOKS {
            let (caller, key) = (doing.actor.caller.clone(), doing.actor.key.clone());
            let acted = self.parts.journal.acted(caller, key).await.map_err(Objection::Unknown)?;
            if let Some(acted) = acted {
                return self.repeated(&doing, &deed, acted).await;
            }
            match self.perform(&doing, &deed).await {
                Ok((outcome, at)) => {
                    tracing::info!(
                        kind = doing.kind,
                        subject = %doing.subject,
                        caller = %doing.actor.caller,
                        reason = %doing.actor.reason,
                        "done"
                    );
                    let outcome = self.completed(&doing, &deed, outcome).await?;
                    return Ok(Performed { outcome, at, replayed: false });
                }
                Err(Stop::Acted) => {}
                Err(Stop::Objection(objection)) => return Err(objection),
            }
        }
        Err(Objection::Unknown(Cause::of("KEY_IN_USE")))
    }

    /// What a key did before.
    async fn repeated(
        self: &Arc<Self>,
        doing: &Doing,
        deed: &Deed,
        acted: Acted,
    ) -> Result<Performed, Objection> {
        let value = json::read(&acted.value) == json::read(&doing.value);
        let differs = [
            ("kind", *acted.kind != *doing.kind),
            ("subject", acted.subject != doing.subject),
            ("value", !value),
        ];
        let differs: Vec<_> =
            differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect();
        if !differs.is_empty() {
            return Err(Objection::Mismatch(differs));
        }
        let outcome = json::outcome(&acted.result);
        let outcome = outcome.ok_or(Objection::Unknown(Cause::of("STORED_RESULT")))?;
        let outcome = self.completed(doing, deed, outcome).await?;
        Ok(Performed { outcome, at: acted.at, replayed: true })
    }

    /// An outcome with what is true of it now: a pause's number, whether a HALT stands and what was on
    /// the wire ended.
    async fn completed(
        self: &Arc<Self>,
        doing: &Doing,
        deed: &Deed,
        outcome: Outcome,
    ) -> Result<Outcome, Objection> {
        match outcome {
            Outcome::Paused(_) => self.pause_number(doing, deed).await.map(Outcome::Paused),
            Outcome::Halted { on_wire, calls, .. } => {
                let (halt, quiet) = self.halt_is_quiet().await;
                Ok(Outcome::Halted { halt, on_wire, calls, quiet })
            }
            Outcome::Hastened
            | Outcome::Asked { .. }
            | Outcome::Lifted
            | Outcome::Proposed { .. }
            | Outcome::Proving { .. }
            | Outcome::Resumed { .. }
            | Outcome::Resolved { .. }
            | Outcome::Overtaken { .. }
            | Outcome::Declined
            | Outcome::StatusSet
            | Outcome::Asset(_)
            | Outcome::Noted => Ok(outcome),
        }
    }

    async fn perform(
        self: &Arc<Self>,
        doing: &Doing,
        deed: &Deed,
    ) -> Result<(Outcome, Millis), Stop> {
        match deed {
            Deed::Retry(id) => self.hasten(doing, *id).await,
            Deed::Ask(id) => self.ask(doing, *id).await,
            Deed::PauseTransfer(id) => self.pause_transfer(doing, *id).await,
            Deed::ResumeTransfer(id) => self.resume_transfer(doing, *id).await,
            Deed::Resolve { id, verdict, evidence } => {
                self.resolve_by_hand(doing, *id, (*verdict, evidence)).await
            }
            Deed::Halt => self.halt_by_hand(doing).await,
            Deed::Resume { accept } => self.resume_by_hand(doing, accept).await,
            Deed::Pause(scope) => self.pause(doing, *scope).await,
            Deed::Unpause(number) => self.unpause(doing, *number).await,
            Deed::Status { ledger, user, status } => {
                self.status_by_hand(doing, (*ledger, *user, *status)).await
            }
            Deed::AddAsset(asset) => self.add_asset(doing, asset).await,
            Deed::ChangeAsset(change) => self.change_asset(doing, change).await,
            Deed::Approve(id) => self.approve(doing, *id).await,
            Deed::Reject(id) => self.decline(doing, *id).await,
            Deed::Assign { case, to } => self.note(doing, *case, Note::Assigned(to.clone())).await,
            Deed::Comment { case, text } => {
                self.note(doing, *case, Note::Comment(text.clone())).await
            }
        }
    }

    async fn note(&self, doing: &Doing, case: u64, note: Note) -> Result<(Outcome, Millis), Stop> {
        let open = self.parts.journal.open_cases().await?;
        if !open.iter().any(|open| open.number == case) {
            return Err(Objection::NotFound("case").into());
        }
        let put = Put::Note { case, caller: doing.actor.caller.clone(), note };
        self.plainly(doing, vec![put], Outcome::Noted).await
    }
}
