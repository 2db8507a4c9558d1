//! The wrong builds that the campaign must find: each changes a real part of a run by at most 30 lines.

mod again;
mod answers;
mod found;
mod halts;
mod lagging;
mod leases;
mod operators;
mod results;
mod spot_cores;
mod units;

pub use found::{FOUND, Found, MANY, all};

use crate::world::Sim;
use kernel::answer::Answer;
use kernel::ids::LedgerId;
use kernel::operation::{Known, Op};
use kernel::ports::journal::Journal;
use kernel::ports::ledger::{Ledger, Reply};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use testkit::wrapper::LedgerWrapper;

/// What stands around a port of a process; the wall clock and the timers are its own.
type ProcessWrap<T> = Box<dyn Fn(&Sim, Arc<T>) -> Arc<T> + Send + Sync>;

/// What a wrong build does to the parts of one run. What it has to remember it keeps over all of
/// the run's processes.
#[derive(Default)]
pub struct Lie {
    /// Around a ledger, on the engine's side of the network.
    pub near: Option<ProcessWrap<dyn Ledger>>,
    /// Around a ledger itself.
    pub far: Option<ProcessWrap<dyn Ledger>>,
    /// Around the journal of each process.
    pub journal: Option<ProcessWrap<dyn Journal>>,
    /// The disk says that it synced, and did not.
    pub syncs_lie: bool,
    /// What the journal knows of Spot is kept from it when it opens.
    pub opens_anything: bool,
    /// Two cores are opened over one folder.
    pub two_cores: bool,
    /// Whether external money may be booked is asked of the process, not of the journal.
    pub books_beside: bool,
}

impl fmt::Debug for Lie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lie").finish_non_exhaustive()
    }
}

pub use spot_cores::two;

impl Lie {
    /// The lie of that name; `None` where there is none.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "no-idempotency" => results::none_kept(),
            "refusal-not-kept" => results::no_refusal_kept(),
            "results-expire" => results::kept_for_a_while(),
            "leg-forgotten" => results::by_transfer_alone(),
            "failed-after-retries" => answers::gives_up(),
            "order-of-states" => answers::by_number(),
            "checked-after-claim" => answers::checks_again(),
            "refund-refused" => answers::refuses_refunds(),
            "check-beside-the-unit" => units::check_beside(),
            "audit-beside-the-unit" => units::audit_beside(),
            "key-expires" => units::key_expires(),
            "answer-by-timer" => units::by_timer(),
            "settle-refused" => units::settle_refused(),
            "halt-loses-answers" => operators::halt_loses_answers(),
            "fence-at-proposal" => operators::fence_at_proposal(),
            "resume-of-another-halt" => halts::resume_of_another_halt(),
            "halt-compared-in-ram" => halts::halt_compared_in_ram(),
            "commit-not-replicated" => lagging::commit_not_replicated(),
            "movement-under-halt" => Self { books_beside: true, ..Self::default() },
            "syncs-lie" => Self { syncs_lie: true, ..Self::default() },
            "second-core" => Self { two_cores: true, ..Self::default() },
            "empty-folder" => spot_cores::opens_anything(),
            "dead-workers-transfers-stay" => leases::dead_workers_transfers_stay(),
            "lost-lease-is-refusal" => leases::lost_is_refused(),
            _ => return None,
        })
    }

    fn near(
        around: impl Fn(&Sim, Arc<dyn Ledger>) -> Arc<dyn Ledger> + Send + Sync + 'static,
    ) -> Self {
        Self { near: Some(Box::new(around)), ..Self::default() }
    }

    fn far(
        around: impl Fn(&Sim, Arc<dyn Ledger>) -> Arc<dyn Ledger> + Send + Sync + 'static,
    ) -> Self {
        let spot = move |sim: &Sim, inner: Arc<dyn Ledger>| match inner.id() == LedgerId::SPOT {
            true => around(sim, inner),
            false => inner,
        };
        Self { far: Some(Box::new(spot)), ..Self::default() }
    }

    fn journal(
        around: impl Fn(&Sim, Arc<dyn Journal>) -> Arc<dyn Journal> + Send + Sync + 'static,
    ) -> Self {
        Self { journal: Some(Box::new(around)), ..Self::default() }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks a ledger for the operations that have no answer of their own yet, and puts all answers in
/// order.
async fn woven<T: LedgerWrapper>(
    ledger: &T,
    known: Known,
    ops: Arc<[Op]>,
    own: Vec<Option<Answer>>,
) -> Reply<Vec<Answer>> {
    let open = ops.iter().zip(&own).filter(|(_, own)| own.is_none());
    let asked: Arc<[Op]> = open.map(|(op, _)| op.clone()).collect();
    if asked.is_empty() {
        return Reply::Answered(known, own.into_iter().flatten().collect());
    }
    match ledger.inner().execute(known, asked).await {
        Reply::Answered(said, answers) => {
            let mut answers = answers.into_iter();
            let each = own.into_iter().filter_map(|own| own.or_else(|| answers.next()));
            Reply::Answered(said, each.collect())
        }
        reply @ (Reply::OtherLedger(_) | Reply::NoAnswer(_)) => reply,
    }
}
