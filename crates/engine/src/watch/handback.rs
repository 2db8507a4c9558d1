//! Gives the transfers of a ledger that this worker cannot reach back to the journal, while other workers
//! may reach it. A worker with a wrong token lives and renews its lease, so without this its transfers
//! would wait as long as it lives.

use crate::drive::jobs::{CommitReason, Job};
use crate::watch::Recovery;
use kernel::ids::LedgerId;
use kernel::ports::journal::ServiceStatus;
use kernel::record::Record;

impl Recovery {
    /// Frees some of the transfers that wait here for ledgers that this worker does not reach. Each comes
    /// back with its backoff, to the worker that asks the journal first.
    pub(crate) async fn give_back(&self, status: &ServiceStatus) {
        let others = status.workers.iter().any(|worker| *worker != self.shared.parts.worker);
        if !others || self.shared.controls.stale() {
            return;
        }
        let stations: Vec<_> = self.pipeline.stations().values().cloned().collect();
        for station in stations {
            let Some(ledger) = station.place.ledger().filter(|ledger| self.unreached(*ledger))
            else {
                continue;
            };
            // what is stopped waits for persons, wherever it is held
            if self.shared.controls.is_stopped(station.place.flow, ledger) {
                continue;
            }
            let records = station.queue.some(self.shared.parts.settings.batch_max);
            if records.is_empty() {
                continue;
            }
            let transfers = records.len();
            tracing::warn!(ledger = ledger.name(), transfers, "not reached: they are given back");
            let jobs = records.into_iter().map(|record| self.given_back(record)).collect();
            self.pipeline.commit(jobs).await;
        }
    }

    /// True where the ledger has not answered this process for as long as a dead worker would keep its
    /// transfers. A ledger in the simple form answers only calls, so its silence says nothing.
    fn unreached(&self, ledger: LedgerId) -> bool {
        self.shared.plan.named(ledger)
            && self.probes.silent_for(ledger, self.shared.parts.settings.lease_ms)
    }

    /// Frees a record for which no call was made: its retries are not counted, and its last cause stays.
    fn given_back(&self, record: Record) -> Job {
        let due = self.shared.due(record.head.retries);
        let due = record.head.due_at.filter(|later| *later > due).unwrap_or(due);
        let planned = self.shared.plan.freed(&record, due);
        Job::new(record, planned, CommitReason::Freed)
    }
}
