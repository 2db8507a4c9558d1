//! The ledger's own door: whatever reaches a ledger goes through it, and the oracles see what was
//! answered and what came of it.

use super::witness::Witness;
use crate::shell::{LedgerShell, Shell};
use kernel::answer::Answer;
use kernel::ids::LedgerId;
use kernel::ports::Fut;
use kernel::ports::ledger::{Heard, Known, Ledger, StatusChange, Stored};
use kernel::unit::{Key, Op};
use std::sync::Arc;

struct Door {
    inner: Arc<dyn Ledger>,
    witness: Witness,
}

/// The ledger, watched.
pub(super) fn door(inner: Arc<dyn Ledger>, witness: Witness) -> Arc<dyn Ledger> {
    Arc::new(Shell(Door { inner, witness }))
}

/// Shows the oracles what an outside ledger stored since they last looked. One that is part of the
/// journal's writes is seen there.
pub(super) async fn show(ledger: &dyn Ledger, witness: &Witness) {
    if ledger.enlist().is_some() {
        return;
    }
    if witness.barred() {
        if let Heard::Said(known, ()) = ledger.hello().await {
            witness.stands_at(known.highest);
        }
        return;
    }
    let id = ledger.id();
    let Heard::Said(_, new) = ledger.operations(witness.cursor(id), usize::MAX).await else {
        return;
    };
    if let Heard::Said(_, books) = ledger.totals().await {
        witness.stored(id, &new, &books);
    }
}

impl LedgerShell for Door {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Heard<Vec<Answer>>> {
        Box::pin(async move {
            let heard = self.inner.execute(known, ops.clone()).await;
            show(&*self.inner, &self.witness).await;
            if let Heard::Said(_, answers) = &heard {
                self.witness.answered(LedgerShell::id(self), &ops, answers);
            }
            heard
        })
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        Box::pin(async move {
            let heard = self.inner.fence(known, key).await;
            show(&*self.inner, &self.witness).await;
            heard
        })
    }

    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Heard<bool>> {
        Box::pin(async move {
            let heard = self.inner.status(known, change).await;
            show(&*self.inner, &self.witness).await;
            heard
        })
    }

    fn id(&self) -> LedgerId {
        self.inner.id()
    }
}
