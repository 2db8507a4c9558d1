//! Keeps the messages that a consumer has in hand, by partition: which of them to consume now, and up to
//! which offset each partition is done.
//!
//! A message that failed holds back only messages of its own key. The offset of a partition rises to the
//! first message that is not done.

use kernel::ids::Id;
use kernel::ports::bus::{BusDelivery, Partition};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// A message that is done and waits for one before it takes memory alone: with those, a partition may have this
/// multiple of what may be in hand.
const DONE_BEHIND: usize = 16;

/// A message that was polled and whose offset is not committed.
#[derive(Debug)]
struct InHand {
    delivery: BusDelivery,
    /// How often it failed.
    failures: u32,
    /// The message is not consumed before this time, by the clock's ticks.
    retry_at: u64,
    done: bool,
}

/// The place of a message in hand.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MessagePlace {
    pub partition: Partition,
    pub offset: u64,
}

/// A message whose time to be consumed has come.
#[derive(Debug, Clone)]
pub(super) struct Ready {
    pub place: MessagePlace,
    pub delivery: BusDelivery,
    pub failures: u32,
    /// The transfer that the message names; `None` where it cannot be read.
    pub transfer: Option<Id>,
}

/// The messages that a consumer has in hand, by partition.
#[derive(Debug, Default)]
pub(super) struct Lanes(BTreeMap<Partition, VecDeque<InHand>>);

impl Lanes {
    /// Keeps only the messages of these partitions. Other members have the rest, and get those messages
    /// again.
    pub(super) fn keep(&mut self, assigned: &[Partition]) {
        self.0.retain(|partition, _| assigned.contains(partition));
    }

    pub(super) fn add(&mut self, delivery: BusDelivery) {
        let lane = self.0.entry(delivery.partition.clone()).or_default();
        if lane.back().is_some_and(|last| delivery.offset <= last.delivery.offset) {
            // after a rebalance a partition may come again from an offset that is in hand
            if lane.iter().any(|one| one.delivery == delivery) {
                return;
            }
            // the partition was made anew, or comes again from before what is in hand, and everything behind it
            lane.clear();
        }
        lane.push_back(InHand { delivery, failures: 0, retry_at: 0, done: false });
    }

    /// The messages whose time has come, in order, except those behind a message of their key that waits.
    pub(super) fn ready(&self, now: u64) -> Vec<Ready> {
        let mut ready = Vec::new();
        for (partition, lane) in &self.0 {
            let mut barred: BTreeSet<&Arc<str>> = BTreeSet::new();
            for one in lane.iter().filter(|one| !one.done) {
                let key = &one.delivery.message.key;
                if barred.contains(key) {
                    continue;
                }
                // one that failed is consumed before anything of its key follows
                if one.failures > 0 {
                    barred.insert(key);
                }
                if one.retry_at > now {
                    continue;
                }
                ready.push(Ready {
                    place: MessagePlace {
                        partition: partition.clone(),
                        offset: one.delivery.offset,
                    },
                    delivery: one.delivery.clone(),
                    failures: one.failures,
                    transfer: transfer(&one.delivery.message.payload),
                });
            }
        }
        ready
    }

    pub(super) fn done(&mut self, place: &MessagePlace) {
        if let Some(one) = self.at(place) {
            one.done = true;
        }
    }

    pub(super) fn is_done(&self, place: &MessagePlace) -> bool {
        let lane = self.0.get(&place.partition).into_iter().flatten();
        lane.into_iter().find(|one| one.delivery.offset == place.offset).is_none_or(|one| one.done)
    }

    /// The messages in hand of the same key, in order.
    pub(super) fn of_key(&self, of: &Ready) -> Vec<(MessagePlace, BusDelivery)> {
        let partition = &of.place.partition;
        let lane = self.0.get(partition).into_iter().flatten();
        lane.filter(|one| !one.done && one.delivery.message.key == of.delivery.message.key)
            .map(|one| {
                let (partition, offset) = (partition.clone(), one.delivery.offset);
                (MessagePlace { partition, offset }, one.delivery.clone())
            })
            .collect()
    }

    /// Lets a message wait until that time.
    pub(super) fn failed(&mut self, place: &MessagePlace, retry_at: u64, counts: bool) {
        if let Some(one) = self.at(place) {
            // one that does not count still bars its key
            if counts || one.failures == 0 {
                one.failures = one.failures.saturating_add(1);
            }
            one.retry_at = retry_at;
        }
    }

    fn at(&mut self, place: &MessagePlace) -> Option<&mut InHand> {
        let lane = self.0.get_mut(&place.partition)?;
        lane.iter_mut().find(|one| one.delivery.offset == place.offset)
    }

    /// Drops the done messages at the head of each partition, and returns the offset at which each of those
    /// goes on.
    pub(super) fn take_done(&mut self) -> Vec<(Partition, u64)> {
        let mut next = Vec::new();
        for (partition, lane) in &mut self.0 {
            let mut last = None;
            while lane.front().is_some_and(|one| one.done) {
                last = lane.pop_front().map(|one| one.delivery.offset);
            }
            next.extend(last.map(|offset| (partition.clone(), offset.saturating_add(1))));
        }
        next
    }

    /// When the next message in hand may be consumed, where any waits. One behind a message of its key that
    /// failed waits for that one, whatever its own time is.
    pub(super) fn next_retry(&self) -> Option<u64> {
        self.0.values().filter_map(lane_retry).min()
    }

    /// The partitions that have this number of messages that are not done, or `DONE_BEHIND` times the number in
    /// all.
    pub(super) fn full(&self, most: usize) -> BTreeSet<Partition> {
        let open = |lane: &VecDeque<InHand>| lane.iter().filter(|one| !one.done).count();
        let full = |lane: &VecDeque<InHand>| {
            open(lane) >= most || lane.len() >= most.saturating_mul(DONE_BEHIND)
        };
        let lanes = self.0.iter().filter(|(_, lane)| full(lane));
        lanes.map(|(partition, _)| partition.clone()).collect()
    }
}

fn lane_retry(lane: &VecDeque<InHand>) -> Option<u64> {
    let (mut barred, mut next): (BTreeSet<&Arc<str>>, Option<u64>) = (BTreeSet::new(), None);
    for one in lane.iter().filter(|one| !one.done) {
        let key = &one.delivery.message.key;
        if barred.contains(key) {
            continue;
        }
        if one.failures > 0 {
            barred.insert(key);
        }
        next = Some(
            next.map_or(one.retry_at, |next| if one.retry_at < next { one.retry_at } else { next }),
        );
    }
    next
}

/// The transfer that a payload names: the journal added it.
pub(super) fn transfer(payload: &str) -> Option<Id> {
    let value: serde_json::Value = serde_json::from_str(payload).ok()?;
    value.get("transfer")?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Lanes, MessagePlace};
    use kernel::ports::bus::{BusDelivery, BusMessage, Partition};

    fn delivery(offset: u64, key: &str) -> BusDelivery {
        let partition = Partition { topic: "t".into(), number: 0 };
        let (topic, payload, headers) = ("t".into(), "{}".into(), "{}".into());
        let message = BusMessage { topic, key: key.into(), number: 1, payload, headers };
        BusDelivery { partition, offset, message }
    }

    fn lanes(keys: &[&str]) -> Lanes {
        let mut lanes = Lanes::default();
        for (offset, key) in (0..).zip(keys) {
            lanes.add(delivery(offset, key));
        }
        lanes
    }

    fn place(offset: u64) -> MessagePlace {
        MessagePlace { partition: Partition { topic: "t".into(), number: 0 }, offset }
    }

    fn ready(lanes: &Lanes, now: u64) -> Vec<u64> {
        lanes.ready(now).iter().map(|one| one.place.offset).collect()
    }

    /// Turns red where a message overtakes one of its key that failed, and where one of another key waits.
    #[test]
    fn one_that_failed_holds_back_its_key_alone() {
        let mut lanes = lanes(&["a", "b", "a", "b"]);
        assert_eq!(ready(&lanes, 0), [0, 1, 2, 3]);
        lanes.failed(&place(0), 10, true);
        lanes.done(&place(1));
        assert_eq!(ready(&lanes, 0), [3]);
        assert_eq!(ready(&lanes, 10), [0, 3], "the one that failed goes before what follows it");
        lanes.done(&place(0));
        assert_eq!(ready(&lanes, 10), [2, 3]);
    }

    /// Turns red where a consumer polls without a wait as long as a message is behind one of its key that
    /// failed: it would turn round and round until that one's time comes.
    #[test]
    fn what_is_behind_one_that_failed_has_no_time_of_its_own() {
        let mut lanes = lanes(&["a", "b", "a"]);
        lanes.failed(&place(0), 10, true);
        lanes.done(&place(1));
        assert_eq!(lanes.next_retry(), Some(10));
        lanes.done(&place(0));
        assert_eq!(lanes.next_retry(), Some(0), "it may be consumed at once");
        lanes.done(&place(2));
        assert_eq!(lanes.next_retry(), None);
    }

    /// Turns red where an offset passes a message that is not done: it would be lost with the process.
    #[test]
    fn the_offset_rises_to_the_first_that_is_not_done() {
        let mut lanes = lanes(&["a", "b", "c"]);
        lanes.done(&place(1));
        assert_eq!(lanes.take_done(), []);
        lanes.done(&place(0));
        assert_eq!(lanes.take_done(), [(place(0).partition, 2)]);
        assert_eq!(ready(&lanes, 0), [2]);
    }

    /// Turns red where a topic that was made anew gives nothing as long as an older offset is in hand (the release
    /// before).
    #[test]
    fn a_partition_that_begins_anew_is_taken() {
        let mut lanes = Lanes::default();
        for offset in 5..8 {
            lanes.add(delivery(offset, "old"));
        }
        for offset in 0..2 {
            lanes.add(delivery(offset, "new"));
        }
        assert_eq!(ready(&lanes, 0), [0, 1]);
        let mut again = self::lanes(&["a", "b"]);
        again.add(delivery(1, "another message at an offset that is in hand"));
        assert_eq!(ready(&again, 0), [1]);
    }

    #[test]
    fn what_comes_again_while_it_is_in_hand_is_there_once() {
        let mut lanes = lanes(&["a", "b"]);
        lanes.add(delivery(1, "b"));
        assert_eq!(ready(&lanes, 0), [0, 1]);
        lanes.keep(&[]);
        assert_eq!(ready(&lanes, 0), [0; 0]);
    }
}
