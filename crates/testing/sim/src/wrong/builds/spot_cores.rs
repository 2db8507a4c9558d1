//! Wrong builds of the Spot core as a whole: there are two, or any folder is accepted as the right one.

use super::Lie;
use kernel::answer::{Answer, Cause};
use kernel::operation::{Known, Op};
use kernel::ports::Fut;
use kernel::ports::journal::{Journal, ServiceStatus};
use kernel::ports::ledger::{Ledger, Reply};
use kernel::unit::{Guard, Unit, Wrote};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::wrapper::{JournalWrapper, LedgerWrapper, Wrapper};

/// Two cores over one folder, taken for one.
pub fn two(first: Arc<dyn Ledger>, second: Arc<dyn Ledger>) -> Arc<dyn Ledger> {
    Arc::new(Wrapper(Two { first, second, turn: AtomicBool::new(false) }))
}

/// Every other call goes to the second core, in the name of the first.
struct Two {
    first: Arc<dyn Ledger>,
    second: Arc<dyn Ledger>,
    turn: AtomicBool,
}

impl LedgerWrapper for Two {
    fn inner(&self) -> &dyn Ledger {
        &*self.first
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        if !self.turn.fetch_xor(true, Ordering::SeqCst) {
            return self.first.execute(known, ops);
        }
        Box::pin(async move {
            let Reply::Answered(second, ()) = self.second.hello().await else {
                return Reply::NoAnswer(Cause::of("TIMEOUT"));
            };
            match self.second.execute(second, ops).await {
                Reply::Answered(_, answers) => Reply::Answered(known, answers),
                reply @ (Reply::OtherLedger(_) | Reply::NoAnswer(_)) => reply,
            }
        })
    }
}

/// Whatever folder there is, an empty one too, is taken for the right one.
pub(super) fn opens_anything() -> Lie {
    let journal = |_: &_, inner| -> Arc<dyn Journal> { Arc::new(Wrapper(NeverMet(inner))) };
    Lie { opens_anything: true, ..Lie::journal(journal) }
}

/// Knows no ledger, and takes each for a new one.
struct NeverMet(Arc<dyn Journal>);

impl JournalWrapper for NeverMet {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn service_status(&self) -> Fut<'_, Result<ServiceStatus, Cause>> {
        Box::pin(async move {
            let status = self.0.service_status().await?;
            Ok(ServiceStatus { ledgers: Vec::new(), ..status })
        })
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        for unit in &mut units {
            unit.guards.retain(|guard| !matches!(guard, Guard::Incarnation { .. }));
        }
        self.0.write(units)
    }
}
