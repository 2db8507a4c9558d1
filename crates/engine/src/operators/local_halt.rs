//! Writes a HALT into a store beside its servers, for the command on the machine: no engine runs there, and no token is
//! asked for.

use crate::commit::outcome::{WriteOutcome, write_beside};
use crate::operators::{ActionContext, ActionResult, Actor, AdminAction};
use kernel::answer::Cause;
use kernel::ids::{Millis, WorkerId};
use kernel::ports::clock::{Clock, TICKS};
use kernel::ports::journal::{Journal, OtherLease};
use kernel::unit::{Put, Unit};
use std::collections::BTreeMap;

/// How often the leases of the workers are read.
const ASK: Millis = 200;
/// How much longer than a lease is waited for a worker that was about to renew it.
const MARGIN: Millis = 1_000;

/// Writes what a HALT by an operator writes: the HALT and its row of the audit, in one unit. The processes of the same
/// database follow it as any HALT that another process raised. Returns the number of the last halt in force.
///
/// # Errors
/// The cause for which it is not known whether it is written. The same again is a HALT of its own, and does no harm.
pub async fn halt_store(journal: &dyn Journal, actor: Actor) -> Result<u64, Cause> {
    let halt = Put::Halt { reason: actor.reason.clone() };
    let (on_wire, calls) = (Vec::new(), 0);
    let result = ActionResult::Halted { halt: None, on_wire, calls, quiet: false, stored: true };
    let action = ActionContext::beside(actor, &AdminAction::Halt).action(&result);
    match write_beside(journal, Unit::puts(vec![halt, action])).await {
        WriteOutcome::Done(_) => Ok(journal.service_status().await?.halts),
        WriteOutcome::Lost(guard) => Err(Cause::because("LOST", format!("{guard:?}"))),
        WriteOutcome::NotWritten(why) => Err(why.cause),
    }
}

/// Waits until every worker obeys a HALT, at most until the lease of each that has not said so would have ended. Returns
/// how many renewed their leases meanwhile and have not said so.
///
/// # Errors
/// The cause for which the journal does not answer; the HALT stands.
pub async fn wait_for_workers(
    journal: &dyn Journal,
    clock: &dyn Clock,
    halt: u64,
) -> Result<usize, Cause> {
    let (begun, none) = (clock.ticks(), WorkerId(0));
    let first = journal.other_leases(none).await?;
    let longest = first.iter().map(|lease| lease.length).max().unwrap_or_default();
    let renewals: BTreeMap<WorkerId, u64> =
        first.iter().map(|lease| (lease.worker, lease.renewal)).collect();
    let ends = longest.saturating_add(MARGIN).saturating_mul(TICKS);
    loop {
        let mut left = journal.other_leases(none).await?;
        left.retain(|lease| lease.obeys < halt);
        let passed = clock.ticks().saturating_sub(begun);
        if left.is_empty() || passed >= ends {
            // one that did not renew its lease has lost it
            let renewed = |lease: &&OtherLease| renewals.get(&lease.worker) != Some(&lease.renewal);
            return Ok(left.iter().filter(renewed).count());
        }
        clock.sleep(ASK).await;
    }
}
