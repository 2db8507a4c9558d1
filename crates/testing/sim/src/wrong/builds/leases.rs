//! Wrong builds of workers that share a journal with others.

use super::Lie;
use crate::world::Sim;
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::ids::{Millis, WorkerId};
use kernel::operation::{Known, Op};
use kernel::ports::Fut;
use kernel::ports::journal::{Due, DueQuery, Journal, Lease};
use kernel::ports::ledger::{Ledger, Reply};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::wrapper::{JournalWrapper, LedgerWrapper, Wrapper};

/// No worker goes on with what a dead worker held.
pub(super) fn dead_workers_transfers_stay() -> Lie {
    Lie::journal(|_, inner| Arc::new(Wrapper(NoOrphans(inner))))
}

struct NoOrphans(Arc<dyn Journal>);

impl JournalWrapper for NoOrphans {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn due(&self, worker: WorkerId, query: DueQuery) -> Fut<'_, Result<Vec<Due>, Cause>> {
        Box::pin(async move {
            let mut due = self.0.due(worker, query).await?;
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
        Arc::new(Wrapper(GivesUp { inner, lost: lost.clone() }))
    };
    let journal = move |_: &Sim, inner| -> Arc<dyn Journal> {
        Arc::new(Wrapper(Leases { inner, lost: seen.clone(), begun: AtomicBool::new(false) }))
    };
    Lie { near: Some(Box::new(near)), ..Lie::journal(journal) }
}

struct Leases {
    inner: Arc<dyn Journal>,
    lost: Arc<AtomicBool>,
    begun: AtomicBool,
}

impl JournalWrapper for Leases {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }
    fn renew_lease(
        &self,
        w: WorkerId,
        length: Millis,
        n: Option<u64>,
    ) -> Fut<'_, Result<Lease, Cause>> {
        Box::pin(async move {
            let lease = self.inner.renew_lease(w, length, n).await?;
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

impl LedgerWrapper for GivesUp {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(async move {
            let reply = self.inner.execute(known, ops.clone()).await;
            let refused = || Answer::Rejected(Evidence::code("LEASE"), Receipt::default());
            match reply {
                Reply::NoAnswer(_) if self.lost.load(Ordering::SeqCst) => {
                    Reply::Answered(known, ops.iter().map(|_| refused()).collect())
                }
                reply @ (Reply::Answered(..) | Reply::OtherLedger(_) | Reply::NoAnswer(_)) => reply,
            }
        })
    }
}
