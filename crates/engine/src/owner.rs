//! The owner of a core that runs inside this process (`ledgers.md` §2): an epoch, raised at its
//! start, guards every unit that claims at the core or stores a receipt of it.

use crate::{Engine, Parts};
use kernel::answer::Cause;
use kernel::ids::LedgerId;
use kernel::ports::journal::Standing;
use kernel::ports::ledger::{Heard, Identity};
use kernel::unit::{Guard, Put, Unit, Wrote};
use std::collections::BTreeMap;

/// The epoch of who owns nothing: no unit that claims at the core is written.
const NEVER: u64 = 1 << 62;
/// So often a start looks again at who owns the core, where others take it at the same moment.
const TRIES: usize = 100;

/// Looks whether the cores of this process may be taken over, before anything is written.
///
/// # Errors
/// `OWNED`: another one is at work. Otherwise the cause for which nobody knows.
pub(crate) async fn fits(parts: &Parts, standing: &Standing) -> Result<(), Cause> {
    for ledger in &parts.cores {
        let identity = identity(parts, *ledger).await?;
        refused(parts, standing, *ledger, identity)?;
    }
    Ok(())
}

/// Who the core of this process is.
async fn identity(parts: &Parts, ledger: LedgerId) -> Result<Identity, Cause> {
    let found = parts.ledgers.iter().find(|port| port.id() == ledger);
    match found.ok_or(Cause::of("NO_LEDGER"))?.hello().await {
        Heard::Said(known, ()) | Heard::Wrong(known) => Ok(known.identity),
        Heard::Nothing(cause) => Err(cause),
    }
}

/// Refuses while another process owns a core of another identity, and while others work with one that
/// is in none of them: a HALT would be theirs, for a mistake of this process.
fn refused(
    parts: &Parts,
    standing: &Standing,
    ledger: LedgerId,
    identity: Identity,
) -> Result<(), Cause> {
    let owned =
        standing.owners.iter().any(|o| o.ledger == ledger && o.identity != identity && o.lives);
    let other = standing.ledger(ledger).is_some_and(|known| known.identity != identity);
    let used = other && standing.workers.iter().any(|worker| *worker != parts.worker);
    let why = match (owned, used) {
        (true, _) => format!("another process owns the {} core of this journal", ledger.name()),
        (false, true) => {
            format!("the other processes of this journal use another {} core", ledger.name())
        }
        (false, false) => return Ok(()),
    };
    Err(Cause::because("OWNED", why))
}

/// Takes over the cores of this process, each with its epoch; where that fails, its lease is given
/// back: nobody waits for one that never worked.
///
/// # Errors
/// `OWNED`: another one is at work. Otherwise the cause for which nobody knows.
pub(crate) async fn taken_over(
    parts: &Parts,
    standing: &Standing,
) -> Result<BTreeMap<LedgerId, u64>, Cause> {
    let taken = take_all(parts, standing).await;
    if taken.is_err() {
        let left = parts.journal.leave(parts.worker).await;
        tracing::debug!(?left, "not started");
    }
    taken
}

async fn take_all(parts: &Parts, standing: &Standing) -> Result<BTreeMap<LedgerId, u64>, Cause> {
    let mut epochs = BTreeMap::new();
    for ledger in &parts.cores {
        let identity = identity(parts, *ledger).await?;
        epochs.insert(*ledger, take_over(parts, standing.clone(), *ledger, identity).await?);
    }
    Ok(epochs)
}

async fn take_over(
    parts: &Parts,
    mut standing: Standing,
    ledger: LedgerId,
    identity: Identity,
) -> Result<u64, Cause> {
    for _ in 0..TRIES {
        let owner = standing.owners.iter().find(|owner| owner.ledger == ledger);
        if let Some(owner) = owner
            && owner.worker == parts.worker
            && owner.identity == identity
        {
            return Ok(owner.epoch);
        }
        refused(parts, &standing, ledger, identity)?;
        if standing.ledger(ledger).is_some_and(|known| known.identity != identity) {
            // nobody lives who owns the right one: whoever looks at its identity halts
            return Ok(NEVER);
        }
        let epoch = owner.map_or(0, |owner| owner.epoch);
        let guard = Guard::Owner { ledger, epoch };
        let own = Put::Own { ledger, worker: parts.worker, identity };
        let wrote = parts.journal.write(vec![Unit::guarded(vec![guard], vec![own])]).await;
        match wrote.first() {
            Some(Wrote::Written(_)) => {
                let epoch = epoch.saturating_add(1);
                tracing::info!(ledger = ledger.name(), epoch, "the core is ours");
                return Ok(epoch);
            }
            Some(Wrote::Lost(_) | Wrote::Unknown(_)) => {}
            Some(Wrote::Full) | None => return Err(Cause::of("FULL")),
        }
        parts.clock.sleep(parts.settings.backoff.base).await;
        standing = parts.journal.standing().await?;
    }
    Err(Cause::of("OWNER_UNCLEAR"))
}

impl Engine {
    /// Another process took over a core of this one: nothing is begun here any more, and the process
    /// ends.
    pub(crate) fn retired(&self) {
        if self.gate.retire() {
            (self.parts.retire)(
                "another process took over a core that runs in this one".to_owned(),
            );
        }
    }
}
