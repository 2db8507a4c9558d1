//! The innermost wrapper of a ledger: it reports every call with its answer and its effect to the oracles.

use super::oracles::Oracles;
use kernel::answer::Answer;
use kernel::ids::LedgerId;
use kernel::operation::{Key, Known, Op};
use kernel::ports::Fut;
use kernel::ports::ledger::{Ledger, Reply, StatusChange, Stored};
use std::sync::Arc;
use testkit::wrapper::{LedgerWrapper, Wrapper};

struct ObservedLedger {
    inner: Arc<dyn Ledger>,
    oracles: Oracles,
}

pub(super) fn observed(inner: Arc<dyn Ledger>, oracles: Oracles) -> Arc<dyn Ledger> {
    Arc::new(Wrapper(ObservedLedger { inner, oracles }))
}

/// Shows the oracles what an outside ledger stored since they last looked. One that is part of the
/// journal's writes is seen there.
pub(super) async fn show(ledger: &dyn Ledger, oracles: &Oracles) {
    if ledger.enlist().is_some() {
        return;
    }
    if oracles.barred() {
        if let Reply::Answered(known, ()) = ledger.hello().await {
            oracles.highest_is(known.highest);
        }
        return;
    }
    let id = ledger.id();
    let Reply::Answered(_, new) = ledger.operations(oracles.cursor(id), usize::MAX).await else {
        return;
    };
    if let Reply::Answered(_, books) = ledger.totals().await {
        oracles.stored(id, &new, &books);
    }
}

impl LedgerWrapper for ObservedLedger {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(async move {
            let reply = self.inner.execute(known, ops.clone()).await;
            show(&*self.inner, &self.oracles).await;
            if let Reply::Answered(_, answers) = &reply {
                self.oracles.answered(LedgerWrapper::id(self), &ops, answers);
            }
            reply
        })
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        Box::pin(async move {
            let reply = self.inner.fence(known, key).await;
            show(&*self.inner, &self.oracles).await;
            reply
        })
    }

    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Reply<bool>> {
        Box::pin(async move {
            let reply = self.inner.status(known, change).await;
            show(&*self.inner, &self.oracles).await;
            reply
        })
    }

    fn id(&self) -> LedgerId {
        self.inner.id()
    }
}
