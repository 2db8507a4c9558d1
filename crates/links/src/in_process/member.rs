//! Implements a member of a group: it reads each of its partitions from its next offset.

use super::{InProcess, failed};
use futures_util::future::select;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::bus::{Member, Partition, Polled};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;

pub(super) struct InProcessMember {
    bus: InProcess,
    group: Arc<str>,
    id: u64,
    /// The group's generation when it last polled.
    generation: Option<u64>,
    /// The next offset of each partition.
    next: BTreeMap<Partition, u64>,
    paused: BTreeSet<Partition>,
    /// The number of polls so far: each begins at another partition.
    polls: usize,
}

impl InProcessMember {
    pub(super) fn new(bus: InProcess, group: Arc<str>, id: u64) -> Self {
        let (next, paused) = (BTreeMap::new(), BTreeSet::new());
        Self { bus, group, id, generation: None, next, paused, polls: 0 }
    }

    /// Takes the partitions that a rebalance gives, from the group's offsets, and drops those that it takes away.
    fn rebalance(&mut self) -> rusqlite::Result<Option<Vec<Partition>>> {
        let shared = self.bus.lock();
        let generation = shared.groups.generation(&self.group);
        if self.generation == Some(generation) {
            return Ok(None);
        }
        let assigned = shared.groups.assigned(&self.group, self.id);
        self.next.retain(|partition, _| assigned.contains(partition));
        self.paused.retain(|partition| assigned.contains(partition));
        for partition in &assigned {
            if !self.next.contains_key(partition) {
                let next = shared.log.committed(&self.group, partition)?;
                self.next.insert(partition.clone(), next);
            }
        }
        self.generation = Some(generation);
        Ok(Some(assigned.into_iter().collect()))
    }

    fn read(&mut self, limit: usize) -> rusqlite::Result<Polled> {
        // before anything is taken that a fault would lose
        self.bus.lock().log.refresh_ends()?;
        let mut polled = Polled { assigned: self.rebalance()?, messages: Vec::new() };
        self.polls = self.polls.wrapping_add(1);
        let shared = self.bus.lock();
        let first = self.polls.checked_rem(self.next.len()).unwrap_or(0);
        let own: Vec<Partition> = self.next.keys().cloned().collect();
        for partition in own.iter().cycle().skip(first).take(own.len()) {
            let left = limit.saturating_sub(polled.messages.len());
            if left == 0 || self.paused.contains(partition) {
                continue;
            }
            let Some(next) = self.next.get_mut(partition) else { continue };
            let found = match shared.log.read(partition, *next, left) {
                Ok(found) => found,
                // what was read, and who owns what, is passed on: the next poll meets the fault again
                Err(_) if polled != Polled::default() => break,
                Err(error) => return Err(error),
            };
            if let Some(last) = found.last() {
                *next = last.offset.saturating_add(1);
            }
            polled.messages.extend(found);
        }
        Ok(polled)
    }

    fn done(&self, next: &[(Partition, u64)]) -> Result<(), Cause> {
        let shared = self.bus.lock();
        let assigned = shared.groups.assigned(&self.group, self.id);
        if next.iter().any(|(partition, _)| !assigned.contains(partition)) {
            return Err(Cause::of("REBALANCED"));
        }
        // what it still owes may be less than another member did meanwhile
        shared.log.advance(&self.group, next).map_err(|error| failed(&error))
    }
}

impl Member for InProcessMember {
    fn poll(&mut self, limit: usize, wait: Millis) -> Fut<'_, Result<Polled, Cause>> {
        Box::pin(async move {
            let bus = self.bus.clone();
            // a message that is published between the look and the wait is heard of
            let published = bus.published.notified();
            let polled = self.read(limit).map_err(|error| failed(&error))?;
            if wait == 0 || polled != Polled::default() {
                return Ok(polled);
            }
            select(pin!(published), bus.clock.sleep(wait)).await;
            self.read(limit).map_err(|error| failed(&error))
        })
    }

    fn pause(&mut self, partition: &Partition) {
        self.paused.insert(partition.clone());
    }

    fn resume(&mut self, partition: &Partition) {
        self.paused.remove(partition);
    }

    fn commit(&mut self, next: Vec<(Partition, u64)>) -> Fut<'_, Result<(), Cause>> {
        Box::pin(async move { self.done(&next) })
    }
}

impl Drop for InProcessMember {
    fn drop(&mut self) {
        self.bus.lock().groups.leave(&self.group, self.id);
    }
}
