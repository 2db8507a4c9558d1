//! Parks transfers that a pause of the transfer, its asset or its account stops while others of the station
//! go on. They wait without a count of retries, and come back when no pause stops them.

use crate::drive::Pipeline;
use crate::drive::jobs::{CommitReason, Job};
use kernel::answer::Cause;
use kernel::ids::Id;
use kernel::record::Record;
use kernel::unit::Hold;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard, PoisonError};

impl Pipeline {
    fn parked(&self) -> MutexGuard<'_, BTreeMap<Id, Record>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the transfers of a batch that no pause stops; the others are parked.
    pub(crate) async fn unbarred(self: &Arc<Self>, records: Vec<Record>) -> Vec<Record> {
        let (barred, mut free): (Vec<Record>, Vec<Record>) =
            records.into_iter().partition(|record| self.shared.controls.bars(record));
        let mut jobs = Vec::new();
        for record in barred {
            if self.parked().len() >= self.shared.parts.settings.ring {
                jobs.push(self.stands_by(record));
                continue;
            }
            let id = record.id;
            let unpaused = {
                let mut parked = self.parked();
                let unpaused = !self.shared.controls.bars(&record);
                parked.insert(id, record);
                // an unpause changes the controls first and then looks here
                if unpaused { parked.remove(&id) } else { None }
            };
            free.extend(unpaused);
        }
        self.commit(jobs).await;
        free
    }

    /// Gives a transfer back to the journal for which there is no room among the parked ones; the scanner
    /// brings it again.
    fn stands_by(&self, record: Record) -> Job {
        let due =
            self.shared.parts.journal.now().saturating_add(self.shared.parts.settings.backoff.cap);
        let planned = self.shared.plan.later(&record, &Cause::of("PAUSED"), due, Hold::Free);
        Job::new(record, planned, CommitReason::Freed)
    }

    /// Takes the records of these transfers out of the parked ones.
    pub(crate) fn take_parked(&self, ids: &BTreeSet<Id>) -> Vec<Record> {
        let mut parked = self.parked();
        ids.iter().filter_map(|id| parked.remove(id)).collect()
    }

    /// Goes on with the parked transfers that no pause stops any more.
    pub(crate) async fn go_on(self: &Arc<Self>) {
        self.messaging.release().await;
        let ready: Vec<Record> = {
            let mut parked = self.parked();
            let ids: Vec<Id> = parked
                .values()
                .filter(|r| !self.shared.controls.bars(r))
                .map(|record| record.id)
                .collect();
            ids.iter().filter_map(|id| parked.remove(id)).collect()
        };
        let freed = self.advance(ready);
        self.commit(freed).await;
    }
}
