//! A member of a group on the simulated bus: it keeps the next offset of each of its partitions.

use super::port::SimBus;
use crate::world::breath;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::bus::{Member, Partition, Polled};
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

pub(super) struct SimMember {
    bus: SimBus,
    group: Arc<str>,
    topics: Vec<Arc<str>>,
    id: u64,
    /// The generation of the group when it last polled.
    generation: Option<u64>,
    /// What it reads next.
    next: BTreeMap<Partition, u64>,
    paused: BTreeSet<Partition>,
    /// Number of polls that were made: each begins at another partition.
    polls: usize,
}

impl SimMember {
    pub(super) fn new(bus: SimBus, group: Arc<str>, topics: Vec<Arc<str>>, id: u64) -> Self {
        let (next, paused) = (BTreeMap::new(), BTreeSet::new());
        Self { bus, group, topics, id, generation: None, next, paused, polls: 0 }
    }

    /// Takes what a rebalance gives, from where the group is, and drops what it takes away.
    fn rebalance(&mut self) -> Option<Vec<Partition>> {
        let now = self.bus.passed();
        let mut broker = self.bus.lock();
        if broker.polls(&self.group, (self.id, &self.topics), now) {
            // others may have had its partitions meanwhile
            self.next.clear();
        }
        let generation = broker.generation(&self.group);
        if self.generation == Some(generation) {
            return None;
        }
        let assigned = broker.assigned(&self.group, self.id);
        self.next.retain(|partition, _| assigned.contains(partition));
        self.paused.retain(|partition| assigned.contains(partition));
        for partition in &assigned {
            let committed = broker.committed(&self.group, partition);
            self.next.entry(partition.clone()).or_insert(committed);
        }
        drop(broker);
        self.generation = Some(generation);
        Some(assigned.into_iter().collect())
    }

    fn read(&mut self, limit: usize) -> Polled {
        let mut polled = Polled { assigned: self.rebalance(), messages: Vec::new() };
        self.polls = self.polls.wrapping_add(1);
        let first = self.polls.checked_rem(self.next.len()).unwrap_or(0);
        let own: Vec<Partition> = self.next.keys().cloned().collect();
        let broker = self.bus.lock();
        for partition in own.iter().cycle().skip(first).take(own.len()) {
            let left = limit.saturating_sub(polled.messages.len());
            if left == 0 || self.paused.contains(partition) {
                continue;
            }
            let Some(next) = self.next.get_mut(partition) else { continue };
            let found = broker.read(partition, *next, left);
            if let Some(last) = found.last() {
                *next = last.offset + 1;
            }
            polled.messages.extend(found);
        }
        polled
    }

    /// The answer of a poll was lost on its way: the next one gives the same.
    pub(super) fn rewind(&mut self, polled: &Polled) {
        for delivery in polled.messages.iter().rev() {
            self.next.insert(delivery.partition.clone(), delivery.offset);
        }
        if polled.assigned.is_some() {
            self.generation = None;
        }
    }

    /// The broker takes the member for dead.
    pub(super) fn put_out(&self) {
        self.bus.lock().leave(&self.group, self.id);
    }

    /// Ready when something was published since that version.
    async fn published(&self, since: u64) {
        poll_fn(|cx| {
            let mut broker = self.bus.lock();
            if broker.version != since {
                return Poll::Ready(());
            }
            let last = broker.wakers.insert(self.id, cx.waker().clone());
            drop(broker);
            drop(last);
            Poll::Pending
        })
        .await;
    }
}

impl Member for SimMember {
    fn poll(&mut self, limit: usize, wait: Millis) -> Fut<'_, Result<Polled, Cause>> {
        Box::pin(async move {
            breath().await;
            let since = self.bus.lock().version;
            let polled = self.read(limit);
            if wait == 0 || polled != Polled::default() {
                return Ok(polled);
            }
            {
                let mut slept = self.bus.clock.sleep(wait);
                let mut published = Box::pin(self.published(since));
                poll_fn(|cx| match published.as_mut().poll(cx) {
                    Poll::Ready(()) => Poll::Ready(()),
                    Poll::Pending => slept.as_mut().poll(cx),
                })
                .await;
            }
            Ok(self.read(limit))
        })
    }

    fn pause(&mut self, partition: &Partition) {
        self.paused.insert(partition.clone());
    }

    fn resume(&mut self, partition: &Partition) {
        self.paused.remove(partition);
    }

    fn commit(&mut self, next: Vec<(Partition, u64)>) -> Fut<'_, Result<(), Cause>> {
        Box::pin(async move {
            breath().await;
            let mut broker = self.bus.lock();
            let assigned = broker.assigned(&self.group, self.id);
            let stale = !broker.is_member(&self.group, self.id)
                || self.generation != Some(broker.generation(&self.group))
                || next.iter().any(|(partition, _)| !assigned.contains(partition));
            if stale {
                return Err(Cause::of("REBALANCED"));
            }
            // what it still owes may be less than another member did meanwhile
            let ahead = |(of, next): &(Partition, u64)| *next > broker.committed(&self.group, of);
            let next = next.into_iter().filter(ahead).collect();
            broker.commit(&self.group, next);
            Ok(())
        })
    }
}

impl Drop for SimMember {
    fn drop(&mut self) {
        let waker = {
            let mut broker = self.bus.lock();
            broker.leave(&self.group, self.id);
            broker.wakers.remove(&self.id)
        };
        drop(waker);
    }
}
