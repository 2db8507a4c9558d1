//! Books deposits and withdrawals above what one operator may book on a day: one person proposes, another
//! approves.

use super::action_context::{ActionContext, Stop};
use super::{ActionResult, Actor, AdminAction, Objection};
use crate::controls::outstanding_calls::CallStart;
use crate::operators::Operators;
use crate::operators::approval::older_form;
use crate::operators::superseded::BOOKED;
use crate::operators::verdict::decides;
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::{Id, Millis};
use kernel::money::Amount;
use kernel::operators::{Approval, ApprovalStatus, Proposed, ProposedMovement};
use kernel::ports::ledger::{Approved, Authority, Direction, External, Moved};
use kernel::unit::Put;
use std::sync::Arc;

/// How often one movement is proposed again, after a proposal of it was refused or lapsed.
const PROPOSALS: u32 = 100;

impl Operators {
    /// Whose word books an operator's movement: up to the asset's bound, or the one of all assets without
    /// their own, the word of one person.
    pub(crate) fn authority(&self, movement: &External) -> Authority {
        let settings = &self.shared.parts.settings;
        let assets = self.shared.assets();
        let Some(asset) = assets.iter().find(|asset| asset.id == movement.asset) else {
            return Authority::Alone;
        };
        let default = || Some(settings.movement_default).filter(|units| *units > 0);
        let own = settings.movement_limits.get(&asset.symbol).cloned();
        let Some(text) = own.or_else(|| default().map(|units| units.to_string())) else {
            return Authority::Alone;
        };
        // of an asset that was added since the start, whose decimals the bound does not fit: nothing
        Authority::UpTo(asset.amount(&text).unwrap_or(Amount::ZERO))
    }

    /// Proposes a movement that its caller alone may not book, and returns the proposal. A repeat gets the
    /// same proposal for as long as it may be decided.
    ///
    /// # Errors
    /// [`Objection`].
    pub async fn propose_movement(self: &Arc<Self>, movement: &External) -> Result<Id, Objection> {
        let External { reference, user, number, asset, amount, reason, caller, .. } = movement;
        let account = number.as_ref().map_or_else(|| user.to_string(), |of| format!("{user}/{of}"));
        for n in 0..PROPOSALS {
            let kind = if movement.direction.is_in() { "deposit" } else { "withdrawal" };
            let key = format!("{kind}/{reference}/{account}/{asset}/{amount}/{n}");
            let actor = Actor { caller: caller.clone(), key: key.into(), reason: reason.clone() };
            let proposed = ProposedMovement::of(movement, &self.shared.assets());
            let performed = self.execute(actor, AdminAction::Movement(proposed)).await?;
            let ActionResult::Proposed { approval } = performed.outcome else {
                return Err(Objection::Unknown(Cause::of("STORED_RESULT")));
            };
            if !performed.replayed {
                return Ok(approval);
            }
            let found = self.shared.parts.journal.approval(approval).await;
            match found.map_err(Objection::Unknown)?.map(|found| found.stand) {
                Some(
                    ApprovalStatus::Rejected | ApprovalStatus::Superseded | ApprovalStatus::Lapsed,
                ) => {}
                // an approved one is booked: a repeat of the movement says so
                Some(ApprovalStatus::Pending | ApprovalStatus::Approved) | None => {
                    return Ok(approval);
                }
            }
        }
        Err(Objection::NotPossible("it was proposed a hundred times: take another ref".to_owned()))
    }

    pub(super) async fn movement_by_hand(
        &self,
        context: &ActionContext,
        proposed: &ProposedMovement,
    ) -> Result<(ActionResult, Millis), Stop> {
        let proposal = self.proposal(context, &Proposed::Movement(proposed.clone()));
        let outcome = ActionResult::Proposed { approval: proposal.id };
        self.write_unguarded(context, vec![Put::Propose(proposal)], outcome).await
    }

    /// Books the proposed movement and decides the proposal, in one transaction.
    pub(super) async fn approve_movement(
        &self,
        context: &ActionContext,
        approval: &Approval,
        proposed: &ProposedMovement,
    ) -> Result<(ActionResult, Millis), Stop> {
        let movement = proposed.movement(approval, &self.shared.assets());
        let movement = movement.ok_or_else(older_form)?;
        let reference = movement.reference.clone();
        let outcome = match movement.direction {
            Direction::In => ActionResult::Deposited { reference },
            Direction::Out => ActionResult::Withdrawn { reference },
        };
        let approved = Approved { proposal: approval.id, action: context.row(&outcome) };
        let ticket = self.shared.calls.begin(CallStart::Write);
        let authority = Authority::Approved(Box::new(approved));
        let moved = self.shared.parts.world.book(movement, authority).await;
        drop(ticket);
        match moved {
            Ok(Moved::Done { at, replayed: false, .. }) => Ok((outcome, at)),
            // another movement took that reference meanwhile; or this approval did, at another process
            Ok(Moved::Done { replayed: true, .. } | Moved::Conflict(_)) => {
                self.key_unused(context).await?;
                let decide = decides(context, approval.id, ApprovalStatus::Superseded);
                self.write_unguarded(
                    context,
                    vec![decide],
                    ActionResult::Superseded { state: BOOKED.into() },
                )
                .await
            }
            Ok(Moved::Refused(Code::DuplicateRequest)) => Err(Stop::KeyUsed),
            Ok(Moved::Refused(Code::AlreadyDecided)) => {
                self.key_unused(context).await?;
                self.pending(approval.id).await?;
                Err(Cause::of("MOVES").into())
            }
            Ok(Moved::Refused(code)) => Err(Objection::Code(code).into()),
            Err(cause) if matches!(cause.class, "DISK_FULL" | "NOT_WRITABLE") => {
                Err(Objection::Code(Code::Overloaded).into())
            }
            Err(cause) if cause.class == Cause::BAD_VALUE => {
                Err(Objection::Code(Code::BadRequest).into())
            }
            Err(cause) => match self.past_action_at(context).await? {
                Some(at) => Ok((outcome, at)),
                None => Err(cause.into()),
            },
        }
    }

    /// The time at which the key did something.
    async fn past_action_at(&self, context: &ActionContext) -> Result<Option<Millis>, Stop> {
        let Actor { caller, key, .. } = context.actor.clone();
        Ok(self.shared.parts.journal.past_action(caller, key).await?.map(|past| past.at))
    }

    async fn key_unused(&self, context: &ActionContext) -> Result<(), Stop> {
        if self.past_action_at(context).await?.is_some() { Err(Stop::KeyUsed) } else { Ok(()) }
    }

    /// Books external money under a ticket: a HALT answers that all is quiet only once it has ended. The
    /// transaction that books it decides whether it may be booked, and on its caller's word alone:
    /// `SECOND_PERSON_REQUIRED` above the bound of a person's day.
    ///
    /// # Errors
    /// The cause for which the outcome is not known; repeat it with the same reference.
    pub async fn book(&self, movement: External) -> Result<Moved, Cause> {
        let authority = self.authority(&movement);
        let _ticket = self.shared.calls.begin(CallStart::Write);
        self.shared.parts.world.book(movement, authority).await
    }
}
