//! Closes proposals that wait although what they are about was done meanwhile, or is no longer what it was: another
//! person freed the account, lifted the pause or booked the movement, or the transfer went on by itself.
//!
//! A HALT and the end of one close the proposals of a resume in their own unit.

use crate::operators::account_status::SET_AGAIN;
use crate::operators::action_context::{ActionContext, Stop};
use crate::operators::chain_money::ACCEPTED;
use crate::operators::{Actor, Objection, Operators};
use crate::plan::chain_stop::stops_name;
use kernel::answer::Cause;
use kernel::ids::{ChainId, Id};
use kernel::operators::{
    ACCOUNT_STATUS, Approval, ENGINE, Proposed, ProposedCancel, ProposedLift, ProposedRelease,
    ProposedVerdict, STATUS, SUPERSEDE,
};
use kernel::ports::journal::ServiceStatus;
use std::sync::Arc;

/// The state of a proposal to lift a pause that is lifted.
pub(super) const RESUMED: &str = "RESUMED";
/// The state of a proposal to lift a stop for which the engine had one more reason since.
pub(super) const STOPPED_AGAIN: &str = "STOPPED_AGAIN";
/// The state of a proposal whose movement is booked, or its reference taken by another.
pub(super) const BOOKED: &str = "BOOKED";

impl Operators {
    /// Closes every proposal that waits for nothing any more. What cannot be closed now is closed by the next round.
    pub(super) async fn close_outdated(&self) {
        if let Err(cause) = self.supersede_outdated().await {
            tracing::warn!(%cause, "proposals whose matter is over could not be closed");
        }
    }

    /// Closes them, each with an action of the engine's own.
    async fn supersede_outdated(&self) -> Result<(), Cause> {
        let journal = &self.shared.parts.journal;
        let pending = journal.pending_approvals().await?;
        if pending.is_empty() {
            return Ok(());
        }
        let status = journal.service_status().await?;
        for approval in pending {
            let Some(state) = self.outdated(&approval, &status).await? else { continue };
            let id = approval.id;
            let reason = "what it proposes was done meanwhile, or is no longer what it was";
            let context = ActionContext {
                actor: Actor {
                    caller: ENGINE.into(),
                    key: id.to_string().into(),
                    reason: reason.into(),
                },
                kind: SUPERSEDE,
                subject: format!("approval/{id}").into(),
                value: "{}".into(),
                proposes: false,
                approval: Some(id),
            };
            match self.supersede_proposal(&context, id, &state).await {
                // a person, or another process, has just decided it
                Ok(_) | Err(Stop::KeyUsed | Stop::Objection(Objection::NotPossible(_))) => {}
                Err(Stop::Objection(Objection::Unknown(cause))) => return Err(cause),
                Err(Stop::Objection(objection)) => {
                    return Err(Cause::because("NOT_WRITTEN", format!("{objection:?}")));
                }
            }
        }
        Ok(())
    }

    /// The state that the matter of a proposal has come to; `None` where it is still what was proposed.
    async fn outdated(
        &self,
        approval: &Approval,
        status: &ServiceStatus,
    ) -> Result<Option<Arc<str>>, Cause> {
        let Some(proposed) = Proposed::read(approval) else { return Ok(None) };
        let since = |over: bool, state: &str| Ok(over.then(|| state.into()));
        match proposed {
            // the journal closes it in the unit of the halt or the resume
            Proposed::Resume(_) => Ok(None),
            Proposed::Acceptance(acceptance) => {
                let row = self.shared.parts.journal.resource(acceptance.withdrawal).await?;
                since(row.is_some_and(|row| row.version != acceptance.version), ACCEPTED)
            }
            Proposed::Release(ProposedRelease { state, entered, .. })
            | Proposed::Verdict(ProposedVerdict { state, entered, .. })
            | Proposed::Cancel(ProposedCancel { state, entered, .. }) => {
                let Ok(transfer) = approval.subject.parse() else { return Ok(None) };
                self.moved_since(transfer, &state, entered).await
            }
            Proposed::Movement(proposed) => {
                let Some(movement) = proposed.movement(approval, &self.shared.assets()) else {
                    return Ok(None);
                };
                since(self.shared.parts.world.booked(movement).await?.is_some(), BOOKED)
            }
            Proposed::Lift(lift) => self.lift_outdated(&lift, status).await,
            Proposed::Unpause(unpause) => since(!stands(status, unpause.pause), RESUMED),
            Proposed::Status(change) => {
                let trail = self.status_trail(STATUS, &approval.subject).await?;
                since(trail.set != change.set, SET_AGAIN)
            }
            Proposed::AccountStatus(change) => {
                let trail = self.status_trail(ACCOUNT_STATUS, &approval.subject).await?;
                since(trail.set != change.set, SET_AGAIN)
            }
        }
    }

    /// The state of a transfer that has left the stay in the state that was meant.
    async fn moved_since(
        &self,
        transfer: Id,
        state: &str,
        entered: u32,
    ) -> Result<Option<Arc<str>>, Cause> {
        let found = self.shared.parts.journal.get(vec![transfer]).await?.pop();
        let Some(record) = found else { return Ok(None) };
        let now = self.shared.plan.table(record.flow).state(record.head.state).name;
        let stays = now == state && self.entered(transfer).await? == entered;
        Ok((!stays).then(|| now.into()))
    }

    /// The state of a stop of a chain that is lifted, or for which there was one more reason.
    async fn lift_outdated(
        &self,
        lift: &ProposedLift,
        status: &ServiceStatus,
    ) -> Result<Option<Arc<str>>, Cause> {
        if !stands(status, lift.pause) {
            return Ok(Some(RESUMED.into()));
        }
        let Some(chain) = ChainId::parse(&lift.chain) else { return Ok(None) };
        let counted = self.shared.parts.journal.resource(stops_name(chain)).await?;
        let stops = counted.map_or(0, |row| row.version);
        Ok((stops != lift.stops).then(|| STOPPED_AGAIN.into()))
    }
}

/// Whether the pause of that number is in force.
fn stands(status: &ServiceStatus, pause: u64) -> bool {
    status.paused.iter().any(|paused| paused.number == pause)
}
