//! What a worker gives back that cannot reach a ledger, while others may: one whose token for it is
//! wrong lives, and renews its lease, but what it holds would wait for as long as it does.

use crate::Engine;
use crate::commit::{Job, Why};
use kernel::answer::Cause;
use kernel::ids::LedgerId;
use kernel::record::Record;
use kernel::unit::Hold;
use std::sync::Arc;

impl Engine {
    /// The ledgers that have not answered this process for as long as a dead worker would keep what it
    /// held. Where nobody shares the journal there is nobody to give anything to.
    pub(crate) fn unreached(&self) -> Vec<LedgerId> {
        if !self.lease.ends() {
            return Vec::new();
        }
        let (now, most) = (self.parts.journal.now(), self.parts.settings.lease_ms);
        let deaf = |ledger: &LedgerId| {
            self.pulses.since(*ledger).is_some_and(|since| now.saturating_sub(since) >= most)
        };
        self.outside().into_iter().filter(deaf).collect()
    }

    /// Frees what waits here for a ledger that is not reached: it comes back with its backoff, to
    /// whoever asks the journal first.
    pub(crate) async fn give_back(self: &Arc<Self>) {
        let unreached = self.unreached();
        // what is stopped waits for persons, wherever it is held
        if unreached.is_empty() || self.halted().is_some() || self.gate.stale() {
            return;
        }
        let stations: Vec<_> = self.stations().values().cloned().collect();
        for station in stations {
            let Some(ledger) = station.place.ledger.filter(|l| unreached.contains(l)) else {
                continue;
            };
            let records = station.ring.empty();
            if records.is_empty() {
                continue;
            }
            let transfers = records.len();
            tracing::warn!(ledger = ledger.name(), transfers, "not reached: they are given back");
            let jobs = records.into_iter().map(|record| self.given_back(record)).collect();
            self.commit(jobs).await;
        }
    }

    /// One that was to wait still is not to be asked sooner for that.
    fn given_back(&self, record: Record) -> Job {
        let cause = Cause::of("LEDGER_SILENT");
        match record.head.due_at {
            Some(due) if due > self.parts.journal.now() => {
                let planned = self.plan.later(&record, &cause, due, Hold::Free);
                Job::new(record, planned, Why::Freed)
            }
            Some(_) | None => self.left(record, &cause),
        }
    }
}
