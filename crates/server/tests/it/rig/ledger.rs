//! A ledger's port with the hand on it.

use super::control::Control;
use super::points::{At, Fault};
use kernel::answer::{Answer, Cause};
use kernel::ports::Fut;
use kernel::ports::ledger::{External, Heard, Known, Ledger, Moved, World};
use kernel::unit::Op;
use sim::shell::LedgerShell;
use std::sync::Arc;

/// What nobody heard of.
pub(crate) const LOST: Cause = Cause::of("TIMEOUT");

/// A real ledger behind a port that may be hindered.
pub(crate) struct Watched {
    pub inner: Arc<dyn Ledger>,
    pub control: Arc<Control>,
}

impl LedgerShell for Watched {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
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

    fn booked(&self, movement: External) -> Fut<'_, Result<Option<Moved>, Cause>> {
        self.inner.booked(movement)
    }
}
