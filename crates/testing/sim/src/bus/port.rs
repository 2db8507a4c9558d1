//! The bus port of the simulated broker, without faults on the link.

use super::broker::{Broker, PARTITIONS, partitions};
use super::broker_fault::{BrokerFault, Taken};
use super::member::SimMember;
use crate::world::breath;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::bus::{Bus, BusDelivery, BusMessage, Member, PartitionLag, Seek};
use kernel::ports::clock::{Clock, TICKS};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The simulated broker. A handle: clones are the same one.
#[derive(Clone)]
pub struct SimBus {
    broker: Arc<Mutex<Broker>>,
    pub(super) clock: Arc<dyn Clock>,
}

impl fmt::Debug for SimBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimBus").finish_non_exhaustive()
    }
}

impl SimBus {
    /// A broker on which nothing was published.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { broker: Arc::default(), clock }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Broker> {
        self.broker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every message of the topics whose name the caller takes, by partition and place, as an observer sees
    /// them from outside.
    pub fn messages(&self, takes: impl Fn(&str) -> bool) -> Vec<BusMessage> {
        self.lock().messages(takes)
    }

    /// Number of messages of these topics that a group has not committed.
    pub fn behind(&self, group: &str, topics: &[&str]) -> u64 {
        let (group, broker) = (Arc::from(group), self.lock());
        let topics: Vec<Arc<str>> = topics.iter().map(|topic| Arc::from(*topic)).collect();
        partitions(&topics).map(|of| broker.lag(&group, &of).messages()).sum()
    }

    /// A fault begins, and lasts.
    pub fn begin_fault(&self, fault: BrokerFault) {
        self.lock().faults.push(fault);
    }

    /// Such a fault is over.
    pub fn end_fault(&self, fault: &BrokerFault) {
        self.lock().faults.retain(|one| one != fault);
    }

    /// What becomes of the publication of a message now.
    pub(super) fn takes(&self, message: &BusMessage) -> Taken {
        let broker = self.lock();
        broker.faults.iter().find_map(|fault| fault.takes(message)).unwrap_or(Taken::Stored)
    }

    /// Adds messages whatever fault there is, as a writer of its own does, and wakes the members that wait for some.
    pub fn append(&self, messages: Vec<BusMessage>) {
        let at = self.clock.now();
        let wakers = {
            let mut broker = self.lock();
            messages.into_iter().for_each(|message| broker.append(message, at));
            std::mem::take(&mut broker.wakers)
        };
        wakers.into_values().for_each(std::task::Waker::wake);
    }

    /// Milliseconds by the clock that only goes forward: sessions go by it.
    pub(super) fn passed(&self) -> Millis {
        self.clock.ticks() / TICKS
    }

    pub(super) fn member(&self, group: Arc<str>, topics: Vec<Arc<str>>) -> SimMember {
        let id = self.lock().join(&group, topics.clone(), self.passed());
        SimMember::new(self.clone(), group, topics, id)
    }
}

impl Bus for SimBus {
    fn publish(&self, messages: Vec<BusMessage>) -> Fut<'_, Vec<Result<(), Cause>>> {
        Box::pin(async move {
            breath().await;
            let said = vec![Ok(()); messages.len()];
            self.append(messages);
            breath().await;
            said
        })
    }

    fn subscribe(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
    ) -> Fut<'_, Result<Box<dyn Member>, Cause>> {
        Box::pin(async move {
            breath().await;
            let member: Box<dyn Member> = Box::new(self.member(group, topics));
            Ok(member)
        })
    }

    fn lag(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
    ) -> Fut<'_, Result<Vec<PartitionLag>, Cause>> {
        Box::pin(async move {
            let broker = self.lock();
            Ok(partitions(&topics).map(|of| broker.lag(&group, &of)).collect())
        })
    }

    fn seek(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
        to: Millis,
        apply: bool,
    ) -> Fut<'_, Result<Vec<Seek>, Cause>> {
        Box::pin(async move {
            let mut broker = self.lock();
            if apply && broker.has_members(&group) {
                return Err(Cause::of("GROUP_IN_USE"));
            }
            let seeks = partitions(&topics).map(|partition| {
                let (from, to) =
                    (broker.committed(&group, &partition), broker.since(&partition, to));
                Seek { partition, from, to }
            });
            let seeks: Vec<Seek> = seeks.collect();
            if apply {
                let next = seeks.iter().map(|seek| (seek.partition.clone(), seek.to)).collect();
                broker.commit(&group, next);
            }
            Ok(seeks)
        })
    }

    fn newest(
        &self,
        topics: Vec<Arc<str>>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<BusDelivery>, Cause>> {
        let broker = self.lock();
        let limited = u64::try_from(limit).unwrap_or(u64::MAX);
        let newest = partitions(&topics)
            .flat_map(|of| broker.read(&of, broker.end(&of).saturating_sub(limited), limit));
        Box::pin(std::future::ready(Ok(newest.collect())))
    }

    fn topics_name(&self) -> Fut<'_, Result<Arc<str>, Cause>> {
        Box::pin(std::future::ready(Ok("simulated".into())))
    }

    fn partition_count(&self, _topic: &Arc<str>) -> Option<u32> {
        Some(PARTITIONS)
    }

    fn probe(&self) -> Fut<'_, Result<(), Cause>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
