//! Assigns the partitions of a group's topics to the group's members.

use super::PARTITIONS;
use kernel::ports::bus::Partition;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Debug, Default)]
struct Group {
    members: BTreeMap<u64, Vec<Arc<str>>>,
    /// Raised whenever a member joins or leaves.
    generation: u64,
}

/// Every group with a member.
#[derive(Debug, Default)]
pub(super) struct Groups {
    by_name: BTreeMap<Arc<str>, Group>,
    /// The number of the last member.
    last: u64,
}

impl Groups {
    /// A new member; gives back its number.
    pub(super) fn join(&mut self, group: &Arc<str>, topics: Vec<Arc<str>>) -> u64 {
        self.last = self.last.saturating_add(1);
        let group = self.by_name.entry(group.clone()).or_default();
        group.members.insert(self.last, topics);
        group.generation = group.generation.saturating_add(1);
        self.last
    }

    pub(super) fn leave(&mut self, group: &str, member: u64) {
        if let Some(group) = self.by_name.get_mut(group)
            && group.members.remove(&member).is_some()
        {
            group.generation = group.generation.saturating_add(1);
        }
    }

    pub(super) fn has_members(&self, group: &str) -> bool {
        self.by_name.get(group).is_some_and(|group| !group.members.is_empty())
    }

    pub(super) fn generation(&self, group: &str) -> u64 {
        self.by_name.get(group).map_or(0, |group| group.generation)
    }

    /// The partitions of a member: every n-th one of each topic, among the n members that consume it.
    pub(super) fn assigned(&self, group: &str, member: u64) -> BTreeSet<Partition> {
        let Some(group) = self.by_name.get(group) else { return BTreeSet::new() };
        let mut own = BTreeSet::new();
        for topic in group.members.get(&member).into_iter().flatten() {
            let consumers: Vec<u64> = group
                .members
                .iter()
                .filter(|(_, topics)| topics.contains(topic))
                .map(|(id, _)| *id)
                .collect();
            let turns = consumers.iter().cycle().zip(0..PARTITIONS);
            let dealt = turns.filter(|(turn, _)| **turn == member);
            own.extend(dealt.map(|(_, number)| Partition { topic: topic.clone(), number }));
        }
        own
    }
}
