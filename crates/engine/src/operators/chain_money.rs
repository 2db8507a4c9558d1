//! Decides about money on chains: accepts a payment from a vault that no attempt made, and allows one more refund of a
//! transfer whose money is held.

use crate::operators::action_context::{ActionContext, Stop};
use crate::operators::pause::lost;
use crate::operators::transfer::now;
use crate::operators::verdict::decides;
use crate::operators::{ActionResult, Objection, Operators};
use crate::plan::guards::at_state;
use kernel::answer::Cause;
use kernel::books::ChainBook;
use kernel::books::vault::Withdrawal;
use kernel::ids::{Id, Millis};
use kernel::operators::release::{release_name, release_value};
use kernel::operators::{ApprovalStatus, Proposed, ProposedAcceptance, ProposedRelease};
use kernel::record::Record;
use kernel::unit::{Guard, Hold, Put, Then, Unit};
use std::sync::Arc;

/// A transfer that moves this often while it is released needs no release.
const TRIES: usize = 20;

/// The state of a proposal whose withdrawal is accepted.
pub(super) const ACCEPTED: &str = "ACCEPTED";

impl Operators {
    /// Proposes to accept a withdrawal or, with four eyes off, accepts it.
    pub(super) async fn accept_by_hand(
        &self,
        context: &ActionContext,
        name: &Arc<str>,
    ) -> Result<(ActionResult, Millis), Stop> {
        let (version, withdrawal) = self.withdrawal(name).await?;
        if let Some(by) = &withdrawal.accepted_by {
            return Err(Objection::NotPossible(format!("{by} accepted it already")).into());
        }
        let assets = self.shared.assets();
        let asset = assets.iter().find(|asset| asset.id == withdrawal.asset);
        let asset = asset.ok_or(Objection::NotFound("asset"))?;
        let acceptance = ProposedAcceptance {
            withdrawal: name.clone(),
            version,
            asset: asset.symbol.clone(),
            amount: withdrawal.amount.decimal(asset.precision),
            facts: withdrawal.facts.clone(),
        };
        match context.proposes {
            true => self.proposes(context, &Proposed::Acceptance(acceptance)).await,
            false => self.accept_withdrawal(context, &acceptance).await,
        }
    }

    /// Takes the withdrawal from the inventory, once.
    pub(super) async fn accept_withdrawal(
        &self,
        context: &ActionContext,
        acceptance: &ProposedAcceptance,
    ) -> Result<(ActionResult, Millis), Stop> {
        let (name, version) = (acceptance.withdrawal.clone(), acceptance.version);
        let (_, withdrawal) = self.withdrawal(&name).await?;
        let counter = ChainBook::Inventory.counter(withdrawal.chain, withdrawal.asset);
        let accepted_by = Some(context.actor.caller.clone());
        let (n, value) = (withdrawal.amount.0, Withdrawal { accepted_by, ..withdrawal }.value());
        let outcome = ActionResult::WithdrawalAccepted;
        let mut puts = vec![Put::Take { counter, n }, Put::Resource { name: name.clone(), value }];
        puts.extend(context.approval.map(|id| decides(context, id, ApprovalStatus::Approved)));
        puts.push(context.action(&outcome));
        let mut guards = vec![Guard::Resource { name, version }];
        guards.extend(context.approval.map(Guard::Pending));
        match (self.write_unit(Unit::guarded(guards, puts)).await?, context.approval) {
            (Ok(at), _) => Ok((outcome, at)),
            (Err(Guard::Resource { .. }), Some(approval)) => {
                self.supersede_proposal(context, approval, ACCEPTED).await
            }
            (Err(Guard::Resource { .. }), None) => {
                Err(Objection::NotPossible("another person accepted it".to_owned()).into())
            }
            (Err(Guard::AtLeast { .. }), _) => {
                let why = "the inventory has less: what is owed and reserved is not the service's to \
                           give. Fund the vault first";
                Err(Objection::NotPossible(why.to_owned()).into())
            }
            (Err(guard), _) => Err(lost(&guard)),
        }
    }

    /// The row of a withdrawal, with its version.
    pub(super) async fn withdrawal(&self, name: &Arc<str>) -> Result<(u32, Withdrawal), Stop> {
        let row = self.shared.parts.journal.resource(name.clone()).await?;
        let row = row.ok_or(Objection::NotFound("withdrawal"))?;
        Ok((row.version, Withdrawal::read(&row)?))
    }
}

impl Operators {
    /// Proposes to release a refund or, with four eyes off, releases it.
    pub(super) async fn release_by_hand(
        &self,
        context: &ActionContext,
        id: Id,
    ) -> Result<(ActionResult, Millis), Stop> {
        let release = self.releasable(&self.open_transfer(id).await?).await?;
        if !context.proposes {
            return self.release_refund(context, id, &release).await;
        }
        let proposal = self.proposal(context, &Proposed::Release(release));
        let outcome = ActionResult::Proposed { approval: proposal.id };
        let puts = |_: &Record| vec![Put::Propose(proposal.clone())];
        let (_, outcome, at) = self.write_with_event(context, id, outcome, puts).await?;
        Ok((outcome, at))
    }

    /// What a release of this transfer is of.
    async fn releasable(&self, record: &Record) -> Result<ProposedRelease, Stop> {
        let state = self.shared.plan.table(record.flow).state(record.head.state);
        let Some(refusals) = state.releases else {
            let why = format!("{}: only money that is held is released", state.name);
            return Err(Objection::NotPossible(why).into());
        };
        // read after the record, whose version guards what is written: nothing is missing in it
        let history = self.shared.parts.journal.history(record.id).await?;
        let refused = history.iter().filter(|one| refusals.contains(&&*one.entry.event)).count();
        let refusals = u64::try_from(refused).map_err(|_| Cause::of("COUNT"))?;
        let entered = self.entered(record.id).await?;
        Ok(ProposedRelease { state: state.name.into(), entered, refusals })
    }

    /// Stores the release, and has the rule of the state asked now. A transfer that left the stay that was meant is not
    /// released.
    pub(super) async fn release_refund(
        &self,
        context: &ActionContext,
        id: Id,
        release: &ProposedRelease,
    ) -> Result<(ActionResult, Millis), Stop> {
        for _ in 0..TRIES {
            let found = self.shared.parts.journal.get(vec![id]).await?.pop();
            let mut record = found.ok_or(Objection::NotFound("transfer"))?;
            let state = self.shared.plan.table(record.flow).state(record.head.state).name;
            if state != &*release.state || self.entered(id).await? != release.entered {
                return self.superseded(context, state).await;
            }
            let outcome = ActionResult::RefundReleased { refusals: release.refusals };
            let before = record.head;
            let mut due = Put::Head { id, head: now(before), error: None, hold: Hold::Mine };
            self.for_others(&record, &mut due);
            let value = release_value(release.refusals);
            let mut puts = vec![due, Put::Resource { name: release_name(id), value }];
            puts.extend(context.approval.map(|id| decides(context, id, ApprovalStatus::Approved)));
            puts.push(context.action(&outcome));
            let mut guards = vec![at_state(&record)];
            guards.extend(context.approval.map(Guard::Pending));
            let events = vec![context.event(&record)];
            let unit = Unit { guards, then: Then { puts, events, ..Then::default() } };
            match self.write_unit(unit).await? {
                Ok(at) => {
                    record.head = now(before);
                    self.sends.note_sends(Some(before), &record);
                    self.pipeline.reassign(vec![record]).await;
                    return Ok((outcome, at));
                }
                Err(Guard::Transfer { .. }) => {}
                Err(guard) => return Err(lost(&guard)),
            }
        }
        Err(Cause::of("MOVES").into())
    }
}
