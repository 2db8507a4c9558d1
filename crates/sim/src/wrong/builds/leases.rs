//! Lies about what a worker may believe where others share the journal.

use super::Lie;
use crate::shell::{JournalShell, LedgerShell, Shell};
use crate::world::Sim;
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::ids::{Millis, WorkerId};
use kernel::ports::Fut;
use kernel::ports::journal::{Due, Journal, Lease};
use kernel::ports::ledger::{Heard, Known, Ledger};
use kernel::unit::{Guard, Op, Unit, Wrote};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A write compares where a transfer stands, and not which version of it.
pub(super) fn version_forgotten() -> Lie {
    Lie::journal(|_, inner| Arc::new(Shell(NoVersion(inner))))
}

struct NoVersion(Arc<dyn Journal>);

impl JournalShell for NoVersion {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            for guard in units.iter_mut().flat_map(|unit| &mut unit.guards) {
                let Guard::Transfer { id, state, version } = guard else { continue };
                let Ok(stored) = self.0.get(vec![*id]).await else { continue };
                for record in stored.iter().filter(|record| record.head.state == *state) {
                    *version = record.head.version;
                }
            }
            self.0.write(units).await
        })
    }
}

/// Nobody goes on with what a dead worker held.
pub(super) fn nobody_inherits() -> Lie {
    Lie::journal(|_, inner| Arc::new(Shell(NoOrphans(inner))))
}

struct NoOrphans(Arc<dyn Journal>);

impl JournalShell for NoOrphans {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn due(&self, worker: WorkerId, limit: usize) -> Fut<'_, Result<Vec<Due>, Cause>> {
        Box::pin(async move {
            let mut due = self.0.due(worker, limit).await?;
            due.retain(|due| !matches!(due, Due::Orphan(_)));
            Ok(due)
        })
    }
}

/// After a lease was lost, what is unknown is taken for refused.
pub(super) fn lost_is_refused() -> Lie {
    let lost = Arc::new(AtomicBool::new(false));
    let seen = lost.clone();
    let near = move |_: &Sim, inner| -> Arc<dyn Ledger> {
        Arc::new(Shell(GivesUp { inner, lost: lost.clone() }))
    };
    let journal = move |_: &Sim, inner| -> Arc<dyn Journal> {
        Arc::new(Shell(Leases { inner, lost: seen.clone(), begun: AtomicBool::new(false) }))
    };
    Lie { near: Some(Box::new(near)), ..Lie::journal(journal) }
}

struct Leases {
    inner: Arc<dyn Journal>,
    lost: Arc<AtomicBool>,
    begun: AtomicBool,
}

impl JournalShell for Leases {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }
    fn alive(&self, w: WorkerId, length: Millis, n: Option<u64>) -> Fut<'_, Result<Lease, Cause>> {
        Box::pin(async move {
            let lease = self.inner.alive(w, length, n).await?;
            let begun = self.begun.swap(true, Ordering::SeqCst);
            self.lost.fetch_or(begun && lease.lost, Ordering::SeqCst);
            Ok(lease)
        })
    }
}

struct GivesUp {
    inner: Arc<dyn Ledger>,
    lost: Arc<AtomicBool>,
}

impl LedgerShell for GivesUp {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Heard<Vec<Answer>>> {
        Box::pin(async move {
            let heard = self.inner.execute(known, ops.clone()).await;
            let refused = || Answer::Rejected(Evidence::code("LEASE"), Receipt::default());
            match heard {
                Heard::Nothing(_) if self.lost.load(Ordering::SeqCst) => {
                    Heard::Said(known, ops.iter().map(|_| refused()).collect())
                }
                heard @ (Heard::Said(..) | Heard::Wrong(_) | Heard::Nothing(_)) => heard,
            }
        })
    }
}
