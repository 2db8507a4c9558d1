//! Transfers that stand for themselves, their asset or their account while others of their station
//! go on: put aside without a count, and brought back when nothing bars them any more.

use crate::Engine;
use crate::commit::{Job, Why};
use kernel::answer::Cause;
use kernel::ids::Id;
use kernel::record::Record;
use kernel::unit::Hold;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard, PoisonError};

impl Engine {
    fn aside(&self) -> MutexGuard<'_, BTreeMap<Id, Record>> {
        self.aside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those of a batch that nothing bars; the others are put aside.
    pub(crate) async fn unbarred(self: &Arc<Self>, records: Vec<Record>) -> Vec<Record> {
        let (barred, mut free): (Vec<Record>, Vec<Record>) =
            records.into_iter().partition(|record| self.gate.bars(record));
        let mut jobs = Vec::new();
        for record in barred {
            if self.aside().len() >= self.parts.settings.ring {
                jobs.push(self.stands_by(record));
                continue;
            }
            let id = record.id;
            let lifted = {
                let mut aside = self.aside();
                let lifted = !self.gate.bars(&record);
                aside.insert(id, record);
                // who lifts a pause opens the gate first and then looks here
                if lifted { aside.remove(&id) } else { None }
            };
            free.extend(lifted);
        }
        self.commit(jobs).await;
        free
    }

    /// No room aside: the journal keeps it, and the scanner brings it again.
    fn stands_by(&self, record: Record) -> Job {
        let due = self.parts.journal.now().saturating_add(self.parts.settings.backoff.cap);
        let planned = self.plan.later(&record, &Cause::of("PAUSED"), due, Hold::Free);
        Job::new(record, planned, Why::Freed)
    }

    /// Takes records of these transfers from aside.
    pub(crate) fn take_aside(&self, ids: &BTreeSet<Id>) -> Vec<Record> {
        let mut aside = self.aside();
        ids.iter().filter_map(|id| aside.remove(id)).collect()
    }

    /// Goes on with whatever nothing bars any more.
    pub(crate) async fn go_on(self: &Arc<Self>) {
        let ready: Vec<Record> = {
            let mut aside = self.aside();
            let ids: Vec<Id> =
                aside.values().filter(|r| !self.gate.bars(r)).map(|record| record.id).collect();
            ids.iter().filter_map(|id| aside.remove(id)).collect()
        };
        let freed = self.advance(ready);
        self.commit(freed).await;
    }
}
