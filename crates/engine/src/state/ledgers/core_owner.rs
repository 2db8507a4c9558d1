//! Makes this process the owner of the ledger cores that run inside it (`ledgers.md` §2). Each start raises
//! the owner's epoch, and the epoch guards every unit that claims at the core or stores a receipt of it.

use crate::commit::outcome::{WriteOutcome, write_beside};
use crate::state::parts::Parts;
use kernel::answer::Cause;
use kernel::ids::LedgerId;
use kernel::operation::Identity;
use kernel::ports::journal::ServiceStatus;
use kernel::ports::ledger::Reply;
use kernel::unit::{Guard, Put, Unit};
use std::collections::BTreeMap;

/// The epoch of a process that owns no core: it writes no unit that claims at one.
const NEVER: u64 = 1 << 62;
/// How often a start looks again for the owner of a core, where other processes take it over at the same
/// moment.
const TRIES: usize = 100;

/// Checks before anything is written that this process may take over its cores.
///
/// # Errors
/// `OWNED`: another one is at work. Otherwise the cause for which it is not known.
pub(crate) async fn fits(parts: &Parts, status: &ServiceStatus) -> Result<(), Cause> {
    for ledger in &parts.cores {
        let identity = identity(parts, *ledger).await?;
        refused(parts, status, *ledger, identity)?;
    }
    Ok(())
}

/// The identity of a core of this process.
async fn identity(parts: &Parts, ledger: LedgerId) -> Result<Identity, Cause> {
    let found = parts.ledgers.iter().find(|port| port.id() == ledger);
    match found.ok_or(Cause::of("NO_LEDGER"))?.hello().await {
        Reply::Answered(known, ()) | Reply::OtherLedger(known) => Ok(known.identity),
        Reply::NoAnswer(cause) => Err(cause),
    }
}

/// Refuses while another process owns a core of another identity, and while other workers use a core that
/// is none of ours: they would raise a HALT for a mistake of this process.
fn refused(
    parts: &Parts,
    status: &ServiceStatus,
    ledger: LedgerId,
    identity: Identity,
) -> Result<(), Cause> {
    let owned =
        status.owners.iter().any(|o| o.ledger == ledger && o.identity != identity && o.lives);
    let other = status.ledger(ledger).is_some_and(|known| known.identity != identity);
    let used = other && status.workers.iter().any(|worker| *worker != parts.worker);
    let why = match (owned, used) {
        (true, _) => format!("another process owns the {} core of this journal", ledger.name()),
        (false, true) => {
            format!("the other processes of this journal use another {} core", ledger.name())
        }
        (false, false) => return Ok(()),
    };
    Err(Cause::because("OWNED", why))
}

/// Takes over the cores of this process, each with its epoch. Where that fails, it gives its lease back, so
/// that no worker waits for one that never worked.
///
/// # Errors
/// `OWNED`: another one is at work. Otherwise the cause for which it is not known.
pub(crate) async fn taken_over(
    parts: &Parts,
    status: &ServiceStatus,
) -> Result<BTreeMap<LedgerId, u64>, Cause> {
    let taken = take_all(parts, status).await;
    if taken.is_err() {
        let left = parts.journal.end_lease(parts.worker).await;
        tracing::debug!(?left, "not started");
    }
    taken
}

async fn take_all(parts: &Parts, status: &ServiceStatus) -> Result<BTreeMap<LedgerId, u64>, Cause> {
    let mut epochs = BTreeMap::new();
    for ledger in &parts.cores {
        let identity = identity(parts, *ledger).await?;
        epochs.insert(*ledger, take_over(parts, status.clone(), *ledger, identity).await?);
    }
    Ok(epochs)
}

async fn take_over(
    parts: &Parts,
    mut status: ServiceStatus,
    ledger: LedgerId,
    identity: Identity,
) -> Result<u64, Cause> {
    for _ in 0..TRIES {
        let owner = status.owners.iter().find(|owner| owner.ledger == ledger);
        if let Some(owner) = owner
            && owner.worker == parts.worker
            && owner.identity == identity
        {
            return Ok(owner.epoch);
        }
        refused(parts, &status, ledger, identity)?;
        if status.ledger(ledger).is_some_and(|known| known.identity != identity) {
            // no live process owns the right one: the check of its identity halts
            return Ok(NEVER);
        }
        let epoch = owner.map_or(0, |owner| owner.epoch);
        let guard = Guard::Owner { ledger, epoch };
        let own = Put::Own { ledger, worker: parts.worker, identity };
        match write_beside(&*parts.journal, Unit::guarded(vec![guard], vec![own])).await {
            WriteOutcome::Done(_) => {
                let epoch = epoch.saturating_add(1);
                tracing::info!(ledger = ledger.name(), epoch, "the core is ours");
                return Ok(epoch);
            }
            WriteOutcome::NotWritten(why) if why.refused.is_some() => return Err(why.cause),
            WriteOutcome::Lost(_) | WriteOutcome::NotWritten(_) => {}
        }
        parts.clock.sleep(parts.settings.backoff.base).await;
        status = parts.journal.service_status().await?;
    }
    Err(Cause::of("OWNER_UNKNOWN"))
}
