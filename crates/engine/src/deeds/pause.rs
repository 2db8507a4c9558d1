//! Pauses of flows, ledgers, assets and accounts, HALT by hand, and accounts' status.

use super::doing::{Doing, Stop};
use super::{Deed, Objection, Outcome};
use crate::Engine;
use crate::race::{First, race};
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::{Id, LedgerId, Millis, UserId};
use kernel::people::Scope;
use kernel::ports::journal::Standing;
use kernel::ports::ledger::{AccountStatus, StatusChange};
use kernel::ports::meter::Seen;
use kernel::principal::action_key;
use kernel::unit::{Guard, Put, Unit};
use std::sync::Arc;

/// So many of the calls that were on the wire are named.
const NAMED: usize = 100;

impl Engine {
    pub(super) async fn pause(
        self: &Arc<Self>,
        doing: &Doing,
        scope: Scope,
    ) -> Result<(Outcome, Millis), Stop> {
        let known = match scope {
            Scope::Flow(flow) => usize::from(flow.0) < self.plan.flows.0.len(),
            Scope::Ledger(ledger) | Scope::Account(_, ledger) => self.ledger(ledger).is_some(),
            // no flow of this release has one
            Scope::Chain(_) => false,
            Scope::Asset(asset) => self.assets().iter().any(|known| known.id == asset),
            Scope::Transfer(id) => return self.pause_transfer(doing, id).await,
        };
        if !known {
            return Err(Objection::NotFound(scope.kind()).into());
        }
        let (reason, caller) = (doing.actor.reason.clone(), doing.actor.caller.clone());
        let puts = vec![Put::Pause { scope, reason, caller }];
        let done = self.plainly(doing, puts, Outcome::Paused(None)).await?;
        self.refresh().await?;
        Ok(done)
    }

    pub(super) async fn unpause(
        self: &Arc<Self>,
        doing: &Doing,
        number: u64,
    ) -> Result<(Outcome, Millis), Stop> {
        let standing = self.parts.journal.standing().await?;
        let found = standing.paused.iter().find(|paused| paused.number == number);
        let scope = found.ok_or(Objection::NotFound("pause"))?.scope;
        let lifted = || vec![Put::Unpause(number)];
        let open = match scope {
            // one that ended meanwhile has no use for the line in its history
            Scope::Transfer(id) => self.open_transfer(id).await.is_ok().then_some(id),
            Scope::Flow(_)
            | Scope::Ledger(_)
            | Scope::Chain(_)
            | Scope::Asset(_)
            | Scope::Account(..) => None,
        };
        let done = match open {
            Some(id) => {
                let (_, outcome, at) =
                    self.touched(doing, id, Outcome::Lifted, |_| lifted()).await?;
                (outcome, at)
            }
            None => self.plainly(doing, lifted(), Outcome::Lifted).await?,
        };
        self.refresh().await?;
        Ok(done)
    }

    /// The number of a person's pause, as long as it stands.
    pub(super) async fn pause_number(
        &self,
        doing: &Doing,
        deed: &Deed,
    ) -> Result<Option<u64>, Objection> {
        let Some(scope) = scope(deed) else { return Ok(None) };
        let standing = self.parts.journal.standing().await.map_err(Objection::Unknown)?;
        let mine = |paused: &&kernel::people::Paused| {
            paused.scope == scope && paused.caller == doing.actor.caller
        };
        Ok(standing.paused.iter().find(mine).map(|paused| paused.number))
    }

    /// Stops all money. The gate is closed before it is written, so that whatever passed it is on
    /// the wire then, and is named.
    pub(super) async fn halt_by_hand(
        self: &Arc<Self>,
        doing: &Doing,
    ) -> Result<(Outcome, Millis), Stop> {
        let reason = doing.actor.reason.clone();
        self.gate.halt(reason.clone());
        let mut on_wire = self.wire.calls();
        let calls = on_wire.len();
        on_wire.truncate(NAMED);
        let outcome = Outcome::Halted { halt: None, on_wire, calls, quiet: false };
        let halt = Put::Halt { reason };
        let wrote = loop {
            match self.wrote(doing, Unit::puts(vec![halt.clone(), doing.action(&outcome)])).await {
                // a halt does not wait for room or for a better moment
                Err(Stop::Objection(Objection::Code(Code::Overloaded) | Objection::Unknown(_))) => {
                    self.parts.clock.sleep(self.parts.settings.backoff.base).await;
                }
                wrote => break wrote,
            }
        };
        self.gate.halt_stored();
        let at = match wrote {
            Ok(Ok(at)) => at,
            Ok(Err(guard)) => return Err(lost(&guard)),
            Err(stop) => {
                // the key was used meanwhile: what the journal says counts
                self.refresh().await?;
                return Err(stop);
            }
        };
        tracing::error!(calls, "HALT by hand: no money moves until persons resume");
        self.parts.meter.see(Seen::Halted(true));
        Ok((outcome, at))
    }

    /// The number of the halt that stands, and whether everything ended that had begun before it, at
    /// every live worker; waited for as long as for an opening. The journal says what stands: where a
    /// HALT's key is repeated, persons may have resumed since, and this process may not have read of the
    /// HALT at all.
    pub(super) async fn halt_is_quiet(self: &Arc<Self>) -> (Option<u64>, bool) {
        let mut number = None;
        let quiet = async {
            loop {
                // the gate follows before the mark is taken: what begins later meets it closed
                if let Ok(standing) = self.refresh().await {
                    number = standing.halted.as_ref().map(|_| standing.halts);
                    if number.is_none() {
                        return false;
                    }
                    self.wire.quiet(self.wire.mark()).await;
                    self.others_obey().await;
                    // one number at both ends: no resume came between
                    let after = self.parts.journal.standing().await;
                    let same = |s: Standing| s.halted.is_some() && s.halts == standing.halts;
                    if after.is_ok_and(same) {
                        return true;
                    }
                }
                self.parts.clock.sleep(self.parts.settings.backoff.base).await;
            }
        };
        let patience = self.parts.clock.sleep(self.parts.settings.open_timeout_ms);
        let quiet = matches!(race(quiet, patience).await, First::Left(true));
        (number, quiet)
    }

    pub(super) async fn status_by_hand(
        self: &Arc<Self>,
        doing: &Doing,
        (ledger, user, status): (LedgerId, UserId, AccountStatus),
    ) -> Result<(Outcome, Millis), Stop> {
        if self.ledger(ledger).is_none() {
            return Err(Objection::NotFound("ledger").into());
        }
        let caller = doing.actor.caller.clone();
        // the ledger has its own memory of keys, so that a crash between the two is no second change
        let key = action_key(&caller, &doing.actor.key).into();
        let reason = doing.actor.reason.clone();
        let change = StatusChange { user, status, reason, caller, key };
        if !self.set_status(ledger, change).await? {
            return Err(Objection::NotFound("account").into());
        }
        self.plainly(doing, Vec::new(), Outcome::StatusSet).await
    }
}

/// A guard that no schedule of ours fails.
pub(super) fn lost(guard: &Guard) -> Stop {
    Cause::because("LOST", format!("{guard:?}")).into()
}

fn scope(deed: &Deed) -> Option<Scope> {
    let transfer = |id: Id| Some(Scope::Transfer(id));
    match deed {
        Deed::Pause(scope) => Some(*scope),
        Deed::PauseTransfer(id) => transfer(*id),
        Deed::Retry(_)
        | Deed::Ask(_)
        | Deed::ResumeTransfer(_)
        | Deed::Resolve { .. }
        | Deed::Halt
        | Deed::Resume { .. }
        | Deed::Unpause(_)
        | Deed::Status { .. }
        | Deed::AddAsset(_)
        | Deed::ChangeAsset(_)
        | Deed::Approve(_)
        | Deed::Reject(_)
        | Deed::Assign { .. }
        | Deed::Comment { .. } => None,
    }
}
