//! Pauses and unpauses flows, ledgers, assets and accounts, and raises HALT on command.

use crate::chains::stops::is_engine_stop;
use crate::drive::lane_watch::is_lane_pause;
use crate::operators::Operators;
use crate::operators::action_context::{ActionContext, Stop};
use crate::operators::superseded::{RESUMED, STOPPED_AGAIN};
use crate::operators::verdict::decides;
use crate::operators::{ActionResult, AdminAction, Objection, OutstandingCall};
use crate::plan::chain_stop::stops_name;
use crate::state::select::{First, race};
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::{ChainId, Id, Millis};
use kernel::operators::{
    ActionSubject, ApprovalStatus, Paused, Proposed, ProposedLift, ProposedUnpause, Scope,
};
use kernel::ports::journal::ServiceStatus;
use kernel::ports::meter::Seen;
use kernel::principal::same_person;
use kernel::unit::{Guard, Put, Unit};

/// The most calls on the wire that a result names.
const NAMED: usize = 100;

impl Operators {
    pub(super) async fn pause(
        &self,
        context: &ActionContext,
        scope: Scope,
    ) -> Result<(ActionResult, Millis), Stop> {
        let known = match scope {
            Scope::Flow(flow) => self.shared.offers(flow),
            Scope::Ledger(ledger) | Scope::Account(_, ledger) => {
                self.shared.ledger(ledger).is_some()
            }
            Scope::Chain(chain) => self.chains.pool(chain).is_some(),
            Scope::Asset(asset) => self.shared.assets().iter().any(|known| known.id == asset),
            Scope::Group(name) => {
                let offered =
                    self.shared.parts.offered.iter().map(|flow| self.shared.plan.table(*flow));
                offered.flat_map(kernel::flow::table::Table::groups).any(|known| known == name)
            }
            Scope::Transfer(id) => return self.pause_transfer(context, id).await,
        };
        if !known {
            return Err(Objection::NotFound(scope.kind()).into());
        }
        let (reason, caller) = (context.actor.reason.clone(), context.actor.caller.clone());
        let puts = vec![Put::Pause { scope, reason, caller }];
        let done =
            self.write_unguarded(context, puts, ActionResult::Paused { number: None }).await?;
        self.status.refresh().await?;
        Ok(done)
    }

    /// Waits until no form is signed or sent any more on a paused chain, at most as long as for an opening.
    /// The controls follow the pause already, so nothing begins later.
    ///
    /// # Errors
    /// `NOT_QUIET`; the pause stands, and a repeat with the same key waits again.
    pub(super) async fn chain_is_quiet(&self, action: &AdminAction) -> Result<(), Objection> {
        let ActionSubject::Scope(Scope::Chain(chain)) = action.row().subject else { return Ok(()) };
        let quiet = self.shared.calls.quiet_at(chain, self.shared.calls.mark());
        let timeout = self.shared.parts.clock.sleep(self.shared.parts.settings.open_timeout_ms);
        match race(quiet, timeout).await {
            First::Left(()) => Ok(()),
            First::Right(()) => {
                let why = "the pause stands, and a form is still being signed or sent";
                Err(Objection::Unknown(Cause::because("NOT_QUIET", why)))
            }
        }
    }

    pub(super) async fn unpause(
        &self,
        context: &ActionContext,
        number: u64,
    ) -> Result<(ActionResult, Millis), Stop> {
        let status = self.shared.parts.journal.service_status().await?;
        let found = status.paused.iter().find(|paused| paused.number == number);
        let paused = found.ok_or(Objection::NotFound("pause"))?;
        let scope = paused.scope;
        if self.shared.parts.settings.four_eyes {
            match scope {
                Scope::Chain(chain) if is_engine_stop(paused) => {
                    return self.propose_lift(context, chain, number).await;
                }
                Scope::Account(..) if same_person(&paused.caller, &context.actor.caller) => {
                    return self.propose_unpause(context, paused).await;
                }
                Scope::Flow(_)
                | Scope::Ledger(_)
                | Scope::Chain(_)
                | Scope::Asset(_)
                | Scope::Account(..)
                | Scope::Transfer(_)
                | Scope::Group(_) => {}
            }
        }
        if let Scope::Chain(chain) = scope
            && is_lane_pause(paused, chain)
        {
            return self.accept_lanes(context, chain, number).await;
        }
        let unpause = || vec![Put::Unpause(number)];
        let open = match scope {
            // one that ended meanwhile has no use for the line in its history
            Scope::Transfer(id) => self.open_transfer(id).await.is_ok().then_some(id),
            Scope::Flow(_)
            | Scope::Ledger(_)
            | Scope::Chain(_)
            | Scope::Asset(_)
            | Scope::Account(..)
            | Scope::Group(_) => None,
        };
        let done = match open {
            Some(id) => {
                let (_, outcome, at) = self
                    .write_with_event(context, id, ActionResult::Unpaused, |_| unpause())
                    .await?;
                (outcome, at)
            }
            None => self.write_unguarded(context, unpause(), ActionResult::Unpaused).await?,
        };
        self.status.refresh().await?;
        Ok(done)
    }

    /// Lifts the pause of lanes that are ahead by one person's word: what was seen of them is accepted.
    async fn accept_lanes(
        &self,
        context: &ActionContext,
        chain: ChainId,
        number: u64,
    ) -> Result<(ActionResult, Millis), Stop> {
        let mut unit = self.chains.accepts_lanes(chain).await?;
        let outcome = ActionResult::Unpaused;
        unit.then.puts.extend([Put::Unpause(number), context.action(&outcome)]);
        match self.write_unit(unit).await? {
            Ok(at) => {
                self.status.refresh().await?;
                Ok((outcome, at))
            }
            Err(Guard::Resource { .. }) => {
                let why = "a key did more since you looked: look at the case, then ask again";
                Err(Objection::NotPossible(why.to_owned()).into())
            }
            Err(guard) => Err(lost(&guard)),
        }
    }

    /// Proposes to lift a stop that the engine itself set: another person must approve.
    async fn propose_lift(
        &self,
        context: &ActionContext,
        chain: ChainId,
        number: u64,
    ) -> Result<(ActionResult, Millis), Stop> {
        // the count before the reason: what stops the chain in between is none of this proposal's
        let counted = self.shared.parts.journal.resource(stops_name(chain)).await?;
        let stops = counted.map_or(0, |row| row.version);
        let status = self.shared.parts.journal.service_status().await?;
        let found = status.paused.iter().find(|paused| paused.number == number);
        let stop = found.ok_or(Objection::NotFound("pause"))?.reason.clone();
        let chain = chain.name().into();
        let lift = ProposedLift { pause: number, chain, stop, stops };
        self.proposes(context, &Proposed::Lift(lift)).await
    }

    /// Proposes to lift a pause of an account that the same person set: another person must approve.
    async fn propose_unpause(
        &self,
        context: &ActionContext,
        paused: &Paused,
    ) -> Result<(ActionResult, Millis), Stop> {
        let account = ActionSubject::Scope(paused.scope);
        let account = account.spelled(&self.shared.plan.flows, &self.shared.assets()).into();
        let (pause, stop) = (paused.number, paused.reason.clone());
        let unpause = ProposedUnpause { pause, account, stop };
        self.proposes(context, &Proposed::Unpause(unpause)).await
    }

    /// Lifts a pause of an account after the person who set it proposed that. Its number is never another's.
    pub(super) async fn approve_unpause(
        &self,
        context: &ActionContext,
        approval: Id,
        pause: u64,
    ) -> Result<(ActionResult, Millis), Stop> {
        let status = self.shared.parts.journal.service_status().await?;
        if !status.paused.iter().any(|paused| paused.number == pause) {
            return self.supersede_proposal(context, approval, RESUMED).await;
        }
        let outcome = ActionResult::Unpaused;
        let decide = decides(context, approval, ApprovalStatus::Approved);
        let puts = vec![Put::Unpause(pause), decide];
        let done = self.write_decision(context, approval, puts, outcome).await?;
        self.status.refresh().await?;
        Ok(done)
    }

    /// Lifts a stop after another person proposed that, for the reasons that were known then. Where a
    /// reason came since, persons must look at it first.
    pub(super) async fn approve_lift(
        &self,
        context: &ActionContext,
        approval: Id,
        lift: &ProposedLift,
    ) -> Result<(ActionResult, Millis), Stop> {
        let status = self.shared.parts.journal.service_status().await?;
        let found = status.paused.iter().find(|paused| paused.number == lift.pause);
        let Some(Scope::Chain(chain)) = found.map(|paused| paused.scope) else {
            return self.supersede_proposal(context, approval, RESUMED).await;
        };
        let (name, version) = (stops_name(chain), lift.stops);
        let mut unit = match found.filter(|paused| is_lane_pause(paused, chain)) {
            Some(_) => self.chains.accepts_lanes(chain).await?,
            None => Unit::default(),
        };
        unit.guards.extend([Guard::Pending(approval), Guard::Resource { name, version }]);
        let outcome = ActionResult::Unpaused;
        unit.then.puts.extend([
            Put::Unpause(lift.pause),
            decides(context, approval, ApprovalStatus::Approved),
            context.action(&outcome),
        ]);
        match self.write_unit(unit).await? {
            Ok(at) => {
                self.status.refresh().await?;
                Ok((outcome, at))
            }
            Err(Guard::Resource { .. }) => {
                self.supersede_proposal(context, approval, STOPPED_AGAIN).await
            }
            Err(guard) => Err(lost(&guard)),
        }
    }

    /// Closes a proposal whose matter is no longer what it was.
    pub(super) async fn supersede_proposal(
        &self,
        context: &ActionContext,
        approval: Id,
        state: &str,
    ) -> Result<(ActionResult, Millis), Stop> {
        let outcome = ActionResult::Superseded { state: state.into() };
        let decide = decides(context, approval, ApprovalStatus::Superseded);
        self.write_decision(context, approval, vec![decide], outcome).await
    }

    /// Writes what is decided about a proposal that waits, with the action.
    pub(super) async fn write_decision(
        &self,
        context: &ActionContext,
        approval: Id,
        mut puts: Vec<Put>,
        outcome: ActionResult,
    ) -> Result<(ActionResult, Millis), Stop> {
        puts.push(context.action(&outcome));
        let unit = Unit::guarded(vec![Guard::Pending(approval)], puts);
        match self.write_unit(unit).await? {
            Ok(at) => Ok((outcome, at)),
            Err(guard) => Err(lost(&guard)),
        }
    }

    /// The number of a person's pause, as long as it is in force.
    pub(super) async fn pause_number(
        &self,
        context: &ActionContext,
        action: &AdminAction,
    ) -> Result<Option<u64>, Objection> {
        let ActionSubject::Scope(scope) = action.row().subject else { return Ok(None) };
        let status =
            self.shared.parts.journal.service_status().await.map_err(Objection::Unknown)?;
        let mine =
            |paused: &&Paused| paused.scope == scope && paused.caller == context.actor.caller;
        Ok(status.paused.iter().find(mine).map(|paused| paused.number))
    }

    /// Stops all money: in RAM before the write, so that whatever began before is on the wire then, and the
    /// result names it.
    pub(super) async fn halt_by_hand(
        &self,
        context: &ActionContext,
    ) -> Result<(ActionResult, Millis), Stop> {
        let reason = context.actor.reason.clone();
        self.shared.controls.halt(reason.clone());
        let (on_wire, calls) = self.on_wire();
        let outcome =
            ActionResult::Halted { halt: None, on_wire, calls, quiet: false, stored: true };
        let halt = Put::Halt { reason };
        let wrote = loop {
            match self.write_unit(Unit::puts(vec![halt.clone(), context.action(&outcome)])).await {
                // a halt does not wait for room or for a better moment
                Err(Stop::Objection(Objection::Code(Code::Overloaded) | Objection::Unknown(_))) => {
                    self.shared.parts.clock.sleep(self.shared.parts.settings.backoff.base).await;
                }
                wrote => break wrote,
            }
        };
        self.shared.controls.halt_stored();
        let at = match wrote {
            Ok(Ok(at)) => at,
            Ok(Err(guard)) => return Err(lost(&guard)),
            Err(stop) => {
                // the key was used meanwhile: what the journal says counts
                self.status.refresh().await?;
                return Err(stop);
            }
        };
        tracing::error!(calls, "HALT by hand: no money moves until persons resume");
        self.shared.parts.meter.see(Seen::Halted(true));
        Ok((outcome, at))
    }

    /// The first calls that are on the wire, and the number of all.
    fn on_wire(&self) -> (Vec<OutstandingCall>, usize) {
        let mut on_wire = self.shared.calls.calls();
        let calls = on_wire.len();
        on_wire.truncate(NAMED);
        (on_wire, calls)
    }

    /// The HALT of this process that the journal does not have yet.
    pub(super) fn unstored_halt(&self) -> Option<ActionResult> {
        self.shared.controls.stores_halt().then(|| {
            let (on_wire, calls) = self.on_wire();
            ActionResult::Halted { halt: None, on_wire, calls, quiet: false, stored: false }
        })
    }

    /// The number of the halt that is in force, and whether everything has ended that began before it, at
    /// every live worker, and every ledger that keeps numbers has this one. It waits as long as for an
    /// opening. The journal says which halt is in force: where a HALT's key is repeated, persons may have
    /// resumed since, and this process may not have read of the HALT at all.
    pub(super) async fn halt_is_quiet(&self) -> (Option<u64>, bool) {
        let mut number = None;
        let quiet = async {
            loop {
                // the gate follows before the mark is taken: what begins later meets it closed
                if let Ok(status) = self.status.refresh().await {
                    number = status.halted.as_ref().map(|_| status.halts);
                    if number.is_none() {
                        return false;
                    }
                    self.shared.calls.quiet(self.shared.calls.mark()).await;
                    let told = self.notices.tell_all(&status).await;
                    self.lease_keeper.others_obey(status.halts).await;
                    // one number at both ends: no resume came between
                    let after = self.shared.parts.journal.service_status().await;
                    let same = |s: ServiceStatus| s.halted.is_some() && s.halts == status.halts;
                    if told && after.is_ok_and(same) {
                        return true;
                    }
                }
                self.shared.parts.clock.sleep(self.shared.parts.settings.backoff.base).await;
            }
        };
        let timeout = self.shared.parts.clock.sleep(self.shared.parts.settings.open_timeout_ms);
        let quiet = matches!(race(quiet, timeout).await, First::Left(true));
        (number, quiet)
    }
}

/// A guard that no schedule of ours fails.
pub(super) fn lost(guard: &Guard) -> Stop {
    Cause::because("LOST", format!("{guard:?}")).into()
}
