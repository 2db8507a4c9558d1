//! The state of the simulated broker: messages by partition, the offsets of groups, and their members.

use super::broker_fault::BrokerFault;
use kernel::ids::Millis;
use kernel::message::partition;
use kernel::ports::bus::{BusDelivery, BusMessage, Partition, PartitionLag};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::task::Waker;

/// Number of partitions of a topic.
pub const PARTITIONS: u32 = 3;
/// How long a member may go without a poll; then the broker removes it from its group.
const SESSION: Millis = 10_000;

#[derive(Debug, Clone)]
struct Stored {
    message: BusMessage,
    at: Millis,
}

#[derive(Debug)]
struct Membership {
    topics: Vec<Arc<str>>,
    /// When it polled last.
    polled: Millis,
}

#[derive(Debug, Default)]
struct Group {
    members: BTreeMap<u64, Membership>,
    /// Raised whenever a member comes or goes.
    generation: u64,
}

/// Everything that a broker has.
#[derive(Debug, Default)]
pub(super) struct Broker {
    logs: BTreeMap<Partition, Vec<Stored>>,
    offsets: BTreeMap<(Arc<str>, Partition), u64>,
    groups: BTreeMap<Arc<str>, Group>,
    /// What it does not do now.
    pub(super) faults: Vec<BrokerFault>,
    /// The number of the last member.
    last: u64,
    /// Raised with each publication.
    pub(super) version: u64,
    /// Members that wait for the next publication.
    pub(super) wakers: BTreeMap<u64, Waker>,
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

fn place(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// Every partition of these topics.
pub(super) fn partitions(topics: &[Arc<str>]) -> impl Iterator<Item = Partition> {
    let of = |topic: &Arc<str>| {
        let topic = topic.clone();
        (0..PARTITIONS).map(move |number| Partition { topic: topic.clone(), number })
    };
    topics.iter().flat_map(of)
}

impl Broker {
    /// Adds a message at the end of the partition of its key.
    pub(super) fn append(&mut self, message: BusMessage, at: Millis) {
        let number = partition(&message.key, PARTITIONS);
        let of = Partition { topic: message.topic.clone(), number };
        self.logs.entry(of).or_default().push(Stored { message, at });
        self.version += 1;
    }

    /// Messages of a partition from an offset on.
    pub(super) fn read(&self, of: &Partition, from: u64, limit: usize) -> Vec<BusDelivery> {
        let log = self.logs.get(of).map_or(&[][..], Vec::as_slice);
        let found = log.iter().zip(0_u64..).skip(place(from)).take(limit);
        let delivery = |(stored, offset): (&Stored, u64)| BusDelivery {
            partition: of.clone(),
            offset,
            message: stored.message.clone(),
        };
        found.map(delivery).collect()
    }

    /// Every message of the topics whose name the caller takes, by partition and place.
    pub(super) fn messages(&self, takes: impl Fn(&str) -> bool) -> Vec<BusMessage> {
        let logs = self.logs.iter().filter(|(of, _)| takes(&of.topic));
        logs.flat_map(|(_, log)| log.iter().map(|stored| stored.message.clone())).collect()
    }

    /// Where a group goes on in a partition.
    pub(super) fn committed(&self, group: &Arc<str>, of: &Partition) -> u64 {
        self.offsets.get(&(group.clone(), of.clone())).copied().unwrap_or(0)
    }

    pub(super) fn commit(&mut self, group: &Arc<str>, next: Vec<(Partition, u64)>) {
        for (of, next) in next {
            self.offsets.insert((group.clone(), of), next);
        }
    }

    /// The offset that the next message of a partition gets.
    pub(super) fn end(&self, of: &Partition) -> u64 {
        count(self.logs.get(of).map_or(0, Vec::len))
    }

    /// How far a group is in a partition.
    pub(super) fn lag(&self, group: &Arc<str>, of: &Partition) -> PartitionLag {
        let log = self.logs.get(of).map_or(&[][..], Vec::as_slice);
        let next = self.committed(group, of);
        let oldest = log.get(place(next)).map(|stored| stored.at);
        PartitionLag { partition: of.clone(), next, end: count(log.len()), oldest }
    }

    /// The offset of the first message that was published at a time or later; else the end.
    pub(super) fn since(&self, of: &Partition, time: Millis) -> u64 {
        let log = self.logs.get(of).map_or(&[][..], Vec::as_slice);
        count(log.iter().position(|stored| stored.at >= time).unwrap_or(log.len()))
    }

    /// A new member; its number.
    pub(super) fn join(&mut self, group: &Arc<str>, topics: Vec<Arc<str>>, now: Millis) -> u64 {
        self.last += 1;
        let group = self.groups.entry(group.clone()).or_default();
        group.members.insert(self.last, Membership { topics, polled: now });
        group.generation += 1;
        self.last
    }

    /// A member is gone, by itself or because the broker takes it for dead.
    pub(super) fn leave(&mut self, group: &str, member: u64) {
        if let Some(group) = self.groups.get_mut(group)
            && group.members.remove(&member).is_some()
        {
            group.generation += 1;
        }
    }

    /// A member polls: it is there, and others that did not poll for long are put out. True where it was
    /// put out itself, and joined anew.
    pub(super) fn polls(
        &mut self,
        group: &Arc<str>,
        (member, topics): (u64, &[Arc<str>]),
        now: Millis,
    ) -> bool {
        let group = self.groups.entry(group.clone()).or_default();
        let before = group.members.len();
        group.members.retain(|_, one| one.polled.saturating_add(SESSION) > now);
        let was_there = group.members.contains_key(&member);
        if before != group.members.len() || !was_there {
            group.generation += 1;
        }
        group.members.insert(member, Membership { topics: topics.to_vec(), polled: now });
        !was_there
    }

    pub(super) fn is_member(&self, group: &str, member: u64) -> bool {
        self.groups.get(group).is_some_and(|group| group.members.contains_key(&member))
    }

    pub(super) fn has_members(&self, group: &str) -> bool {
        self.groups.get(group).is_some_and(|group| !group.members.is_empty())
    }

    pub(super) fn generation(&self, group: &str) -> u64 {
        self.groups.get(group).map_or(0, |group| group.generation)
    }

    /// What a member has: of each topic every n-th partition, among the n members that consume it.
    pub(super) fn assigned(&self, group: &str, member: u64) -> BTreeSet<Partition> {
        let Some(group) = self.groups.get(group) else { return BTreeSet::new() };
        let mut own = BTreeSet::new();
        for topic in group.members.get(&member).iter().flat_map(|one| &one.topics) {
            let consumers = group.members.iter().filter(|(_, one)| one.topics.contains(topic));
            let consumers: Vec<u64> = consumers.map(|(id, _)| *id).collect();
            let turns = consumers.iter().cycle().zip(0..PARTITIONS);
            let dealt = turns.filter(|(turn, _)| **turn == member);
            own.extend(dealt.map(|(_, number)| Partition { topic: topic.clone(), number }));
        }
        own
    }
}
