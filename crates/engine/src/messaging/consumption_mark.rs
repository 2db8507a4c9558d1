//! Tells up to which time a group has consumed all that was published.

use kernel::ids::Millis;
use kernel::ports::bus::{Partition, PartitionLag};
use std::collections::BTreeMap;

/// The ends of the partitions at some time, and the last such time that the group has passed.
#[derive(Debug, Default)]
pub(super) struct ConsumptionMark {
    consumed: Millis,
    next: Option<PartitionEnds>,
}

/// The offset that the next message of each partition got at a time.
#[derive(Debug)]
struct PartitionEnds {
    at: Millis,
    ends: BTreeMap<Partition, u64>,
}

impl ConsumptionMark {
    /// Compares how far the group is now with the ends of an earlier call. Returns the time before which
    /// everything that was published is consumed; 0 until two calls show it.
    pub(super) fn advance(&mut self, now: Millis, lag: &[PartitionLag]) -> Millis {
        if let Some(PartitionEnds { at, ends }) = &self.next {
            let passed = |lag: &PartitionLag| {
                let end = ends.get(&lag.partition);
                // a topic that was made anew has fewer messages than it had
                lag.messages() == 0 || end.is_none_or(|end| lag.next >= *end)
            };
            if !lag.iter().all(passed) {
                return self.consumed;
            }
            self.consumed = *at;
        }
        let ends = lag.iter().map(|lag| (lag.partition.clone(), lag.end)).collect();
        self.next = Some(PartitionEnds { at: now, ends });
        self.consumed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lag(next: u64, end: u64) -> [PartitionLag; 1] {
        let partition = Partition { topic: "t".into(), number: 0 };
        [PartitionLag { partition, next, end, oldest: None }]
    }

    #[test]
    fn a_group_has_consumed_what_was_there_at_an_earlier_look() {
        let mut mark = ConsumptionMark::default();
        assert_eq!(mark.advance(10, &lag(3, 5)), 0);
        assert_eq!(mark.advance(20, &lag(4, 9)), 0, "it has not passed 5");
        assert_eq!(mark.advance(30, &lag(5, 9)), 10);
        assert_eq!(mark.advance(40, &lag(8, 12)), 10);
        assert_eq!(mark.advance(50, &lag(9, 12)), 30);
        assert_eq!(mark.advance(60, &lag(0, 0)), 50, "the topic was made anew");
    }
}
