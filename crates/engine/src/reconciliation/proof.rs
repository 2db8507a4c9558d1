//! Proves conservation for a resume, stores how far the proof has come, and keeps the breaks that persons
//! accepted.

use crate::reconciliation::task::CONSERVATION;
use crate::reconciliation::{Checker, PROVEN, Progress, Proven, Reconciler, Report};
use crate::state::accepted::AcceptedBreaks;
use kernel::answer::Cause;
use kernel::operators::Accepted;
use kernel::ports::journal::ServiceStatus;
use kernel::reconcile;
use kernel::unit::{Guard, Put, Unit};
use std::sync::{Mutex, PoisonError};

impl Reconciler {
    /// Forgets the breaks of the last HALT, since money moves again: the next HALT is for all of its own
    /// breaks.
    pub(crate) fn forget_halts(&self) {
        self.halted_for.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Sets the last report, which persons have seen; the checker goes on behind it.
    pub(crate) async fn forgive(&self, report: Report) {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = Some(report.into());
        self.checker.lock().await.forgive();
    }

    /// Makes a proof for a resume: every transfer and operation above those that were proven, and the sums
    /// since the last count of all rows. After a break or a restore it counts all rows itself, and every
    /// account; otherwise a background task does that after the resume. It may take long; `proving` says
    /// how far it is.
    ///
    /// Where a ledger could not be proven, the report says so and replaces nothing.
    ///
    /// # Errors
    /// The cause for which the journal did not answer; nothing is known then.
    pub(crate) async fn prove(&self, accept: &[Accepted]) -> Result<Report, Cause> {
        let (journal, ledgers) = (&*self.shared.parts.journal, &self.shared.parts.ledgers);
        let status = journal.service_status().await?;
        // another process may have found what was not in order: it stored that less is proven
        let stored = self.stored_proof(&status);
        let mut own = self.checker.lock().await.proven().least(&stored);
        // what broke may be what only the count of all rows shows, and what was restored is new to us
        let full = |kind: &str| kind == CONSERVATION || kind == "RESTORED";
        if journal.open_cases().await?.iter().any(|case| full(&case.kind)) {
            own = own.uncounted();
        }
        // a ledger that lost its last operations may have lost others
        if accept.iter().any(|accepted| reconcile::accepted_loss(accepted).is_some()) {
            own = own.relisted();
        }
        let mut fresh = Checker::behind(own);
        fresh.know(&status);
        let _guard = self.proving.show(fresh.progress());
        let mut report = fresh.round(journal, ledgers, &self.shared.plan.flows).await?;
        if report.unproven().is_some() {
            return Ok(report);
        }
        report.excuse(&self.accepted().await?);
        let mut checker = self.checker.lock().await;
        report.round = checker.replaced(fresh);
        Ok(report)
    }

    /// The breaks of conservation that two persons accepted until now.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub(super) async fn accepted(&self) -> Result<AcceptedBreaks, Cause> {
        let journal = &*self.shared.parts.journal;
        AcceptedBreaks::read(journal, &journal.service_status().await?).await
    }

    /// How far the present proof for a resume is: the number of the transfer to which it has come, and that
    /// of the last one.
    pub fn proving(&self) -> Option<(u64, u64)> {
        self.proving.progress()
    }

    /// How far the stored proof had come.
    fn stored_proof(&self, status: &ServiceStatus) -> Proven {
        Proven::read(status.proven.as_deref(), &self.shared.parts.seal_key)
    }

    /// Stores how far the proof has come where it is worth a write, and never under HALT.
    pub(crate) async fn store_proven(&self, checker: &mut Checker) {
        let now = self.shared.parts.journal.now();
        let proven = checker.proven();
        if !checker.stores(now, &proven) || self.shared.halted().is_some() {
            return;
        }
        let unit = Unit::guarded(vec![Guard::NotHalted], vec![self.proven_put(&proven)]);
        // where it is not known whether it is written, a proof begins earlier, and the next one is
        let _stored = self.shared.writer.write(unit).await;
        checker.stored_at(now, proven);
    }

    /// Stores less of the proof after something was not in order, and no count of all rows. Returns the put
    /// for the HALT's unit; none where that is stored already.
    pub(crate) async fn store_less(&self, checker: &mut Checker) -> Vec<Put> {
        let Ok(status) = self.shared.parts.journal.service_status().await else {
            return Vec::new();
        };
        let stored = self.stored_proof(&status);
        let least = checker.proven().least(&stored).uncounted();
        if least == stored {
            return Vec::new();
        }
        let put = self.proven_put(&least);
        let _stored = self.shared.writer.write(Unit::puts(vec![put.clone()])).await;
        checker.stored_at(self.shared.parts.journal.now(), least);
        // once more in the HALT's unit, since another process may store more until that is written
        vec![put]
    }

    /// The proof to store where a ledger gives numbers again that the proof had passed.
    pub(crate) async fn proven_less(&self, status: &ServiceStatus) -> Put {
        let least = self.checker.lock().await.proven().least(&self.stored_proof(status));
        self.proven_put(&least)
    }

    fn proven_put(&self, proven: &Proven) -> Put {
        let value = proven.text(&self.shared.parts.seal_key).into();
        Put::Resource { name: PROVEN.into(), value }
    }
}

/// The present proof for a resume, for callers that wait for it.
#[derive(Debug, Default)]
pub(crate) struct ProofUnderWay(Mutex<Option<Progress>>);

/// Shows the proof for as long as this value lives.
#[derive(Debug)]
pub(crate) struct ProgressGuard<'a>(&'a ProofUnderWay);

impl Drop for ProgressGuard<'_> {
    fn drop(&mut self) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl ProofUnderWay {
    fn show(&self, progress: Progress) -> ProgressGuard<'_> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
        ProgressGuard(self)
    }

    /// How far it is: the number of the transfer to which it has come, and that of the last one.
    pub(crate) fn progress(&self) -> Option<(u64, u64)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Progress::position)
    }
}
