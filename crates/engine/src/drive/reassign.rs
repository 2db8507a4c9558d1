//! Brings records that another component wrote back to the workers: they replace the older ones there.

use crate::drive::Pipeline;
use crate::drive::jobs::{CommitReason, Job};
use kernel::ids::Id;
use kernel::record::Record;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Pipeline {
    /// Goes on with records that were written past the workers that carry their transfers. A record that
    /// waits here is replaced; a worker that has one finds the newer record when it puts it back.
    pub(crate) async fn reassign(self: &Arc<Self>, records: Vec<Record>) {
        if !self.shared.parts.settings.workers {
            // they were freed, for the workers of other processes
            return;
        }
        let carried = records.into_iter().filter(|record| !self.shared.follows_events(record.flow));
        let (here, mut ready): (Vec<Record>, Vec<Record>) =
            carried.partition(|record| self.in_flight.leave(record));
        ready.retain(|record| self.in_flight.hold(record.id));
        ready.extend(self.called_back(here));
        let (ready, others): (Vec<Record>, Vec<Record>) =
            ready.into_iter().partition(|record| self.shared.offers(record.flow));
        let mut freed = self.advance(ready);
        freed.extend(others.into_iter().map(|record| self.not_carried(record)));
        self.commit(freed).await;
    }

    /// Lets go of transfers that another worker, or a person, moved. Returns those that go on here, as they stand now.
    pub(crate) async fn moved_elsewhere(&self, ids: Vec<Id>) -> Vec<Record> {
        let mut stored: BTreeMap<Id, Record> =
            self.shared.read(ids.clone()).await.into_iter().map(|one| (one.id, one)).collect();
        ids.into_iter()
            .filter_map(|id| self.in_flight.release_moved(id, stored.remove(&id)))
            .collect()
    }

    /// Gives a transfer of a flow that is not offered here back to the journal as it stands, for a worker
    /// that carries the flow: no rule is asked and nothing is counted.
    fn not_carried(&self, record: Record) -> Job {
        let flow = self.shared.plan.table(record.flow).flow;
        tracing::warn!(id = %record.id, flow, "this flow is not offered here: the transfer waits");
        let due =
            self.shared.parts.journal.now().saturating_add(self.shared.parts.settings.backoff.cap);
        let planned = self.shared.plan.freed(&record, due);
        Job::new(record, planned, CommitReason::Freed)
    }

    /// Takes older records of these transfers out of every queue and from the parked ones.
    fn called_back(&self, newer: Vec<Record>) -> Vec<Record> {
        let ids: BTreeSet<Id> = newer.iter().map(|record| record.id).collect();
        if ids.is_empty() {
            return newer;
        }
        let mut found = self.take_parked(&ids);
        let stations: Vec<_> = self.stations().values().cloned().collect();
        for station in stations {
            found.extend(station.queue.take_out(&ids));
        }
        let mut found: BTreeMap<Id, Record> =
            found.into_iter().map(|record| (record.id, record)).collect();
        let replaced = |record: Record| {
            let old = found.remove(&record.id)?;
            self.in_flight.take_back(record.id);
            Some(if old.head.version > record.head.version { old } else { record })
        };
        newer.into_iter().filter_map(replaced).collect()
    }
}
