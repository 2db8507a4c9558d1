//! The transfers in this process's workers.

use crate::Engine;
use crate::pipeline::commit::{CommitReason, Job};
use kernel::ids::Id;
use kernel::record::Record;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Which transfers this process carries: each waits in one ring, stands parked, or is in a hand.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    /// With the newer record that waits for the worker that has an older one.
    held: Mutex<BTreeMap<Id, Option<Box<Record>>>>,
    /// So many were left.
    left: AtomicUsize,
}

impl InFlight {
    fn held(&self) -> MutexGuard<'_, BTreeMap<Id, Option<Box<Record>>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a newer record for the worker that has an older one. False: no worker has one.
    fn leave(&self, record: &Record) -> bool {
        let mut held = self.held();
        let Some(slot) = held.get_mut(&record.id) else { return false };
        if slot.replace(Box::new(record.clone())).is_none() {
            self.left.fetch_add(1, Ordering::SeqCst);
        }
        true
    }

    /// It is in this process's workers.
    pub(crate) fn has(&self, id: Id) -> bool {
        self.held().contains_key(&id)
    }

    /// A newer record was left for the worker that has this one.
    pub(crate) fn has_left(&self, id: Id) -> bool {
        self.held().get(&id).is_some_and(Option::is_some)
    }

    /// Takes back what was left.
    fn take_back(&self, id: Id) {
        let mut held = self.held();
        if held.get_mut(&id).and_then(Option::take).is_some() {
            self.left.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// The record that was left for this one, where it is newer; each is given once.
    pub(crate) fn newest(&self, record: Record) -> Record {
        if self.left.load(Ordering::SeqCst) == 0 {
            return record;
        }
        let left = self.held().get_mut(&record.id).and_then(Option::take);
        let Some(left) = left else { return record };
        self.left.fetch_sub(1, Ordering::SeqCst);
        if left.head.version > record.head.version { *left } else { record }
    }
}

impl Engine {
    /// Takes a transfer into this process's workers. False: it has it already.
    pub(crate) fn hold(&self, id: Id) -> bool {
        let mut held = self.in_flight.held();
        if held.contains_key(&id) {
            return false;
        }
        held.insert(id, None);
        drop(held);
        self.superseded.forget(id);
        true
    }

    /// Gives it up: the journal knows where it stands. False: it was not here.
    pub(crate) fn release(&self, id: Id) -> bool {
        let mut held = self.in_flight.held();
        let Some(left) = held.remove(&id) else { return false };
        self.not_yet.forget(id);
        if left.is_some() {
            self.in_flight.left.fetch_sub(1, Ordering::SeqCst);
        }
        true
    }

    /// Gives a record up as it was written, unless the journal has given it to this process again
    /// in the meantime: it is told once, so then it goes on here.
    pub(crate) fn give_up(&self, record: Record) -> Option<Record> {
        let mut held = self.in_flight.held();
        if let Some(left) = held.get_mut(&record.id).and_then(Option::take) {
            self.in_flight.left.fetch_sub(1, Ordering::SeqCst);
            if left.head.version >= record.head.version {
                return Some(*left);
            }
        }
        held.remove(&record.id);
        self.not_yet.forget(record.id);
        None
    }

    /// So many transfers are in this process's workers, but for those that a rule holds back.
    pub(crate) fn carried(&self) -> usize {
        self.in_flight.held().len().saturating_sub(self.not_yet.len())
    }

    /// Goes on with records that were written past the workers that carry their transfers: those that wait
    /// here are replaced, and one in a hand finds the newer record when it comes back.
    pub(crate) async fn reassign(self: &Arc<Self>, records: Vec<Record>) {
        if !self.parts.settings.workers {
            // they were freed, for the workers of other processes
            return;
        }
        let carried = records.into_iter().filter(|record| !self.follows_events(record.flow));
        let (here, mut ready): (Vec<Record>, Vec<Record>) =
            carried.partition(|record| self.in_flight.leave(record));
        ready.retain(|record| self.hold(record.id));
        ready.extend(self.called_back(here));
        let (ready, others): (Vec<Record>, Vec<Record>) =
            ready.into_iter().partition(|record| self.offers(record.flow));
        let mut freed = self.advance(ready);
        freed.extend(others.into_iter().map(|record| self.not_carried(record)));
        self.commit(freed).await;
    }

    /// A transfer of a flow that is not offered here goes back to the journal as it stands, for a worker
    /// that carries it: no rule is asked and nothing is counted.
    fn not_carried(&self, record: Record) -> Job {
        let flow = self.plan.table(record.flow).flow;
        tracing::warn!(id = %record.id, flow, "this flow is not offered here: the transfer waits");
        let due = self.parts.journal.now().saturating_add(self.parts.settings.backoff.cap);
        let planned = self.plan.freed(&record, due);
        Job::new(record, planned, CommitReason::Freed)
    }

    /// Takes older records of these transfers out of every ring and from parked.
    fn called_back(&self, newer: Vec<Record>) -> Vec<Record> {
        let ids: BTreeSet<Id> = newer.iter().map(|record| record.id).collect();
        if ids.is_empty() {
            return newer;
        }
        let mut found = self.take_parked(&ids);
        let stations: Vec<_> = self.stations().values().cloned().collect();
        for station in stations {
            found.extend(station.ring.take_out(&ids));
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
