//! Runs two background tasks: the proof of conservation, and the horizon.

use crate::reconciliation::Reconciler;
use crate::reconciliation::{Checker, Report};
use crate::state::tasks::Background;
use kernel::answer::Cause;
use kernel::ids::{Day, Id, Millis};
use kernel::operators::{Case, Severity, Subject};
use kernel::ports::clock::TICKS;
use kernel::ports::meter::Seen;
use kernel::unit::{Put, Unit};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use tokio::sync::MutexGuard;

/// The kind of the case that a break opens.
pub(crate) const CONSERVATION: &str = "CONSERVATION";
/// After a round the checker rests this many times as long as the round took, so that it never takes more
/// than a twentieth of a core (`ledgers.md` §3).
const REST: u64 = 19;
/// How far the horizon stays behind the journal's time: an hour (`ledgers.md` §2).
const BEHIND: Millis = 3_600_000;
/// How often the horizon is raised.
const RAISE: Millis = 60_000;

impl Reconciler {
    pub(crate) async fn run_checker(self: Arc<Self>) {
        loop {
            let begun = self.shared.parts.clock.ticks();
            // counting all rows, after a break, is no measure of what the next round takes; and new
            // transfers are looked at as fast as they come, or rounds would come ever more rarely
            let (rare, paced) = match self.check_now().await {
                Ok(report) => (report.ok && report.recounted, report.paced),
                Err(cause) => {
                    tracing::warn!(%cause, "conservation could not be checked");
                    (false, 0)
                }
            };
            if let Err(cause) = self.compare_vaults().await {
                tracing::warn!(%cause, "the vaults could not be compared with their books");
            }
            let paced = begun.saturating_add(paced.saturating_mul(TICKS));
            let now = self.shared.parts.clock.ticks();
            let begun = if rare || paced > now { now } else { paced };
            self.rest(begun, self.shared.parts.settings.conservation_interval_ms).await;
        }
    }

    /// Rests as long as a round that began then demands, and at least this long.
    async fn rest(&self, begun: u64, least: Millis) {
        let took = self.shared.parts.clock.ticks().saturating_sub(begun) / TICKS;
        let rest = took.saturating_mul(REST);
        self.shared.parts.clock.sleep(if rest > least { rest } else { least }).await;
    }

    /// Runs one round of the conservation check. A break halts the service before this returns.
    ///
    /// # Errors
    /// The cause for which a part did not answer; nothing is known then.
    pub async fn check_now(self: &Arc<Self>) -> Result<Arc<Report>, Cause> {
        let mut checker = self.checker.lock().await;
        let (journal, ledgers) = (&*self.shared.parts.journal, &self.shared.parts.ledgers);
        let mut report = checker.round(journal, ledgers, &self.shared.plan.flows).await?;
        report.excuse(&self.accepted().await?);
        self.conclude(checker, report).await
    }

    /// Counts all rows and compares every account, beside the rounds, which go on meanwhile. A break halts
    /// the service before this returns.
    ///
    /// # Errors
    /// As [`check_now`](Self::check_now).
    pub async fn count_now(self: &Arc<Self>) -> Result<Arc<Report>, Cause> {
        let mut fresh = Checker::behind(self.checker.lock().await.proven());
        fresh.count_all();
        let (journal, ledgers) = (&*self.shared.parts.journal, &self.shared.parts.ledgers);
        let mut report = fresh.round(journal, ledgers, &self.shared.plan.flows).await?;
        report.excuse(&self.accepted().await?);
        let mut checker = self.checker.lock().await;
        report.round = checker.takes_count(fresh);
        self.conclude(checker, report).await
    }

    /// Counts all rows in the background where it is time: after a start or a resume that believed the
    /// stored proof, and once a day.
    fn count_in_background(self: &Arc<Self>) {
        if self.counting.swap(true, Ordering::Relaxed) {
            return;
        }
        let reconciler = self.clone();
        let run = async move {
            if let Err(cause) = reconciler.count_now().await {
                tracing::warn!(%cause, "the rows could not be counted; it is tried again");
            }
            reconciler.counting.store(false, Ordering::Relaxed);
        };
        self.shared.parts.spawn.spawn(Background::Count.task(), Box::pin(run));
    }

    /// Acts on a report: stores how far the proof has come, and halts on a break.
    async fn conclude(
        self: &Arc<Self>,
        mut checker: MutexGuard<'_, Checker>,
        report: Report,
    ) -> Result<Arc<Report>, Cause> {
        let mut puts = Vec::new();
        if report.ok {
            self.store_proven(&mut checker).await;
            // a ledger that is silent could not list its accounts
            if report.unproven().is_none() && checker.wants_count(self.shared.parts.journal.now()) {
                self.count_in_background();
            }
        } else {
            // the operator of the HALT is told what the rows say
            checker.invalidate();
            puts = self.store_less(&mut checker).await;
        }
        drop(checker);
        let report = Arc::new(report);
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = Some(report.clone());
        self.measure(&report);
        for ledger in report.unconfigured() {
            self.cases.warn_of_unconfigured_ledger(ledger);
        }
        if !report.ok {
            let breaks: Vec<_> = report
                .breaks
                .iter()
                .take(20)
                .map(|b| format!("{} ({}): {}", b.key, b.amount, b.what))
                .collect();
            let facts = format!("conservation is broken: {}", breaks.join("; "));
            // under the HALT that was raised for the same breaks there is nothing new to say; a break
            // that came since a resume's proof began must keep it from lifting
            if self.raises_for(&report) || self.shared.halted().is_none() {
                self.kill_switch
                    .halt_with(CONSERVATION, Subject::Service, facts.into(), puts)
                    .await;
            } else {
                let (kind, severity) = (CONSERVATION, Severity::Critical);
                let (subject, facts) = (Subject::Service, facts.into());
                self.cases.case(Case { kind, severity, subject, facts });
            }
        }
        Ok(report)
    }

    /// Notes the breaks of a report. True where this process has not raised a HALT for all of them yet.
    fn raises_for(&self, report: &Report) -> bool {
        let mut halted_for = self.halted_for.lock().unwrap_or_else(PoisonError::into_inner);
        let before = halted_for.len();
        halted_for.extend(report.breaks.iter().map(|b| (b.key.clone(), b.amount)));
        halted_for.len() > before
    }

    /// Has the next round count every operation row again, as the background task does each day.
    pub async fn count_all(&self) {
        self.checker.lock().await.count_all();
    }

    /// The report of the last round.
    pub fn report(&self) -> Option<Arc<Report>> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn measure(&self, report: &Report) {
        for asset in self.shared.assets().iter() {
            let of = report.assets.iter().filter(|line| line.asset == asset.id);
            let (mut drift, mut in_flight) = (0_i128, 0_i128);
            for line in of {
                let t = line.totals;
                drift = drift
                    .saturating_add(t.users)
                    .saturating_add(t.frozen)
                    .saturating_add(t.clearing)
                    .saturating_add(t.world);
                in_flight = in_flight.saturating_add(t.clearing).saturating_add(t.frozen);
            }
            self.shared.parts.meter.see(Seen::Round { asset: asset.id, drift, in_flight });
        }
        self.shared.parts.meter.see(Seen::Halted(self.shared.halted().is_some()));
    }

    pub(crate) async fn run_horizon(self: Arc<Self>) {
        let mut begun = self.shared.parts.clock.ticks();
        loop {
            self.rest(begun, RAISE).await;
            begun = self.shared.parts.clock.ticks();
            if self.shared.halted().is_none()
                && let Err(cause) = self.raise_horizon().await
            {
                tracing::warn!(%cause, "the horizon could not be raised");
            }
        }
    }

    /// Raises the horizon in the journal before any ledger is told: a unit that would open a transfer at or
    /// below it fails.
    async fn raise_horizon(self: &Arc<Self>) -> Result<(), Cause> {
        let journal = &self.shared.parts.journal;
        let id = Id::floor(journal.now().saturating_sub(BEHIND));
        // a day that is over takes nothing any more; yesterday's may, of a ledger that was asked before
        // midnight
        let yesterday = Day(Day::of(journal.now()).0.saturating_sub(1));
        let unit = Unit::puts(vec![Put::Horizon(id), Put::ForgetDays(yesterday)]);
        self.shared.writer.write(unit).await.done("LOST")?;
        let open: Arc<[Id]> = journal.open_below(id).await?.into();
        // What ended before that list has all of its operations in this round. What ends after it
        // is on the list. So nothing is forgotten that was not proven.
        let proof = self.check_now().await?;
        if let Some((_, cause)) = proof.unproven() {
            return Err(cause.clone());
        }
        if !proof.ok {
            return Err(Cause::of("BROKEN"));
        }
        let mut told = Ok(());
        for ledger in &self.shared.parts.ledgers {
            let Some(known) = self.shared.controls.known(ledger.id()) else { continue };
            let reply = ledger.horizon(known, id, open.clone()).await;
            let said = self.ledgers.verify_identity(ledger.id(), known, reply);
            // one that does not answer keeps no other from forgetting
            told = told.and(said);
        }
        told
    }
}
