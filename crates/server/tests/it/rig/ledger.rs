//! A ledger's port with the hand on it.

use super::control::Control;
use super::points::{At, Fault};
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::ports::Fut;
use kernel::ports::ledger::{
    Enlist, External, Heard, Holding, Known, Ledger, Moved, StatusChange, Stored, Totals, Whose,
    World,
};
use kernel::unit::{Key, Op, Operation};
use std::sync::Arc;

/// What nobody heard of.
pub(crate) const LOST: Cause = Cause::of("TIMEOUT");

/// A real ledger behind a port that may be hindered.
pub(crate) struct Watched {
    pub inner: Arc<dyn Ledger>,
    pub control: Arc<Control>,
}

impl Ledger for Watched {
    fn id(&self) -> LedgerId {
        self.inner.id()
    }

    fn hello(&self) -> Fut<'_, Heard<()>> {
        self.inner.hello()
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Heard<Vec<Answer>>> {
        Box::pin(async move {
            let (control, id) = (&self.control, self.inner.id());
            let has = |leg| ops.iter().any(|op| op.key.leg == leg);
            let here = |at| matches!(at, At::Call(ledger, leg) if ledger == id && has(leg));
            let watched = control.begin(true, here).await;
            let fault = control.fault(id, has);
            if fault == Some(Fault::LoseRequest) {
                control.end(watched).await;
                return Heard::Nothing(LOST);
            }
            if fault == Some(Fault::HangBefore) {
                control.healed().await;
                control.pass().await;
            }
            let heard = self.inner.execute(known, ops.clone()).await;
            control.end(watched).await;
            match fault {
                Some(Fault::LoseReply) => return Heard::Nothing(LOST),
                Some(Fault::HangAfter) => control.healed().await,
                _ => {}
            }
            heard
        })
    }

    fn query(&self, known: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        self.inner.query(known, key)
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        self.inner.fence(known, key)
    }

    fn totals(&self) -> Fut<'_, Heard<Vec<(AssetId, Totals)>>> {
        self.inner.totals()
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Heard<Vec<Operation>>> {
        self.inner.operations(after, limit)
    }

    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Heard<()>> {
        self.inner.horizon(known, id, open)
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Heard<Vec<Holding>>> {
        self.inner.accounts(whose)
    }

    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Heard<bool>> {
        self.inner.status(known, change)
    }

    fn enlist(&self) -> Option<&dyn Enlist> {
        self.inner.enlist()
    }
}

/// The world's port; a dead process books nothing.
pub(crate) struct Outside {
    pub inner: Arc<dyn World>,
    pub control: Arc<Control>,
}

impl World for Outside {
    fn external(&self, movement: External) -> Fut<'_, Result<Moved, Cause>> {
        Box::pin(async move {
            self.control.pass().await;
            self.inner.external(movement).await
        })
    }
}
