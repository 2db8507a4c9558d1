//! Lies about the Spot core as a whole: there are two, or it is taken for whatever it is found.

use super::Lie;
use crate::shell::{JournalShell, LedgerShell, Shell};
use kernel::answer::{Answer, Cause};
use kernel::ports::Fut;
use kernel::ports::journal::{Journal, Standing};
use kernel::ports::ledger::{Heard, Known, Ledger};
use kernel::unit::{Guard, Op, Unit, Wrote};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Two cores over one folder, taken for one.
pub fn two(first: Arc<dyn Ledger>, second: Arc<dyn Ledger>) -> Arc<dyn Ledger> {
    Arc::new(Shell(Two { first, second, turn: AtomicBool::new(false) }))
}

/// Every other call goes to the second core, in the name of the first.
struct Two {
    first: Arc<dyn Ledger>,
    second: Arc<dyn Ledger>,
    turn: AtomicBool,
}

impl LedgerShell for Two {
    fn inner(&self) -> &dyn Ledger {
        &*self.first
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Heard<Vec<Answer>>> {
        if !self.turn.fetch_xor(true, Ordering::SeqCst) {
            return self.first.execute(known, ops);
        }
        Box::pin(async move {
            let Heard::Said(second, ()) = self.second.hello().await else {
                return Heard::Nothing(Cause::of("TIMEOUT"));
            };
            match self.second.execute(second, ops).await {
                Heard::Said(_, answers) => Heard::Said(known, answers),
                heard @ (Heard::Wrong(_) | Heard::Nothing(_)) => heard,
            }
        })
    }
}

/// Whatever folder there is, an empty one too, is taken for the right one.
pub(super) fn opens_anything() -> Lie {
    let journal = |_: &_, inner| -> Arc<dyn Journal> { Arc::new(Shell(NeverMet(inner))) };
    Lie { opens_anything: true, ..Lie::journal(journal) }
}

/// Knows no ledger, and takes each for a new one.
struct NeverMet(Arc<dyn Journal>);

impl JournalShell for NeverMet {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn standing(&self) -> Fut<'_, Result<Standing, Cause>> {
        Box::pin(async move {
            let standing = self.0.standing().await?;
            Ok(Standing { ledgers: Vec::new(), ..standing })
        })
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        for unit in &mut units {
            unit.guards.retain(|guard| !matches!(guard, Guard::Incarnation { .. }));
        }
        self.0.write(units)
    }
}
