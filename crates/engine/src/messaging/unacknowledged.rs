//! Keeps the messages that were sent to the bus and are not acknowledged, by key, and bounds them by partition: a
//! partition that takes nothing holds up the messages of its own keys alone, whatever their number.

use crate::state::select::{caught, race};
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::message::{BUCKETS, Emitted, partition};
use kernel::ports::bus::{Acknowledgement, Bus, BusMessage, Partition, acknowledged};
use kernel::ports::clock::{Clock, TICKS};
use kernel::ports::outbox::Queued;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

/// How long the publisher waits for the acknowledgements of what it has just sent, in milliseconds. A broker that is
/// well answers within a few.
const SOON: Millis = 20;

/// How many messages of a partition may be unacknowledged, where its last answer was a failure.
const PROBES: usize = 16;

/// A row that may be sent now, and the partition that its message goes to.
pub(super) struct SendableRow {
    pub row: Queued,
    partition: Partition,
}

/// A message that was sent.
struct SentRow {
    row: Queued,
    partition: Partition,
    delivery: Acknowledgement,
    /// It was sent by this round.
    fresh: bool,
    /// The answer of the bus, once it came.
    answer: Option<Result<(), Cause>>,
}

/// What became of sent messages.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    /// The rows that the bus surely has.
    pub sure: Vec<Queued>,
    /// How many rows are sent again: the bus may not have them, or they follow such a row under its key.
    pub again: usize,
}

/// The rest of a key after one of its messages failed.
struct KeyRest {
    /// The end of the rest, by the clock's ticks.
    until: u64,
    /// The partition that did not take the message.
    partition: Partition,
}

/// The sent messages that are not acknowledged, in the order of each key.
#[derive(Default)]
pub(super) struct Unacknowledged {
    keys: BTreeMap<Arc<str>, VecDeque<SentRow>>,
    resting: BTreeMap<Arc<str>, KeyRest>,
    /// The keys with a row that was not sent, and the partition in which it waits for room.
    held: BTreeMap<Arc<str>, Partition>,
    /// The partitions whose last answer was a failure.
    troubled: BTreeSet<Partition>,
}

impl Unacknowledged {
    /// The keys of which nothing more is sent now.
    pub(super) fn busy_keys(&mut self, now: u64) -> Vec<Arc<str>> {
        self.resting.retain(|_, rest| rest.until > now);
        let busy: BTreeSet<&Arc<str>> =
            self.keys.keys().chain(self.resting.keys()).chain(self.held.keys()).collect();
        busy.into_iter().cloned().collect()
    }

    /// The rows for whose partition there is room: `most` unacknowledged messages each. The keys of all others wait
    /// until there is some.
    pub(super) fn take_sendable(
        &mut self,
        bus: &dyn Bus,
        rows: Vec<Queued>,
        most: usize,
    ) -> Vec<SendableRow> {
        let mut unacknowledged = self.count_by_partition();
        let mut sendable = Vec::with_capacity(rows.len());
        for row in rows {
            if self.held.contains_key(&row.emitted.key) {
                continue;
            }
            let partition = partition_of(bus, &row.emitted);
            let most = if self.troubled.contains(&partition) { PROBES } else { most };
            let count = unacknowledged.entry(partition.clone()).or_default();
            if *count < most {
                *count = count.saturating_add(1);
                sendable.push(SendableRow { row, partition });
            } else {
                self.held.insert(row.emitted.key, partition);
            }
        }
        sendable
    }

    /// Gives the keys free whose partition has room again, or has nothing on its way that could make room.
    pub(super) fn free_held_keys(&mut self, most: usize) {
        let unacknowledged = self.count_by_partition();
        let resting: BTreeSet<&Partition> =
            self.resting.values().map(|rest| &rest.partition).collect();
        let troubled = &self.troubled;
        self.held.retain(|_, partition| match unacknowledged.get(partition) {
            Some(count) => troubled.contains(partition) || count.saturating_mul(2) > most,
            None => resting.contains(partition),
        });
    }

    fn count_by_partition(&self) -> BTreeMap<Partition, usize> {
        let mut counts: BTreeMap<Partition, usize> = BTreeMap::new();
        for sent in self.keys.values().flatten() {
            let count = counts.entry(sent.partition.clone()).or_default();
            *count = count.saturating_add(1);
        }
        counts
    }

    /// Sends rows of keys that are not busy.
    pub(super) async fn send(
        &mut self,
        bus: &dyn Bus,
        rows: Vec<SendableRow>,
        messages: Vec<BusMessage>,
    ) {
        // a panic of the bus says nothing: everything is sent again
        let deliveries = caught(bus.send(messages)).await.unwrap_or_default();
        let mut deliveries = deliveries.into_iter();
        for SendableRow { row, partition } in rows {
            let delivery =
                deliveries.next().unwrap_or_else(|| acknowledged(Err(Cause::of("NO_ANSWER"))));
            let key = row.emitted.key.clone();
            let delivery: Acknowledgement = Box::pin(async move {
                caught(delivery).await.unwrap_or_else(|| Err(Cause::of("PANIC")))
            });
            self.keys.entry(key).or_default().push_back(SentRow {
                row,
                partition,
                delivery,
                fresh: true,
                answer: None,
            });
        }
    }

    /// Waits until each that this round sent has its answer, but not for long. What earlier rounds sent keeps no
    /// round waiting.
    pub(super) async fn wait(&mut self, clock: &dyn Clock) {
        let over = poll_fn(|cx| {
            self.poll(cx);
            let waits =
                self.keys.values().flatten().any(|sent| sent.fresh && sent.answer.is_none());
            if waits { Poll::Pending } else { Poll::Ready(()) }
        });
        race(over, clock.sleep(SOON)).await;
    }

    /// Waits until one more has its answer; for ever where none waits.
    pub(super) async fn answered(&mut self) {
        poll_fn(|cx| if self.poll(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Polls every delivery without an answer. True: one of them has its answer now.
    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        let mut answered = false;
        for sent in self.keys.values_mut().flatten().filter(|sent| sent.answer.is_none()) {
            if let Poll::Ready(answer) = sent.delivery.as_mut().poll(cx) {
                (sent.answer, answered) = (Some(answer), true);
            }
        }
        answered
    }

    /// Takes out what has an answer. Behind a row that the bus may not have, no row of the same key counts: that
    /// row is sent again when the key has rested, and the others follow it.
    pub(super) fn take_answered(&mut self, now: u64, rest: Millis) -> Outcomes {
        let mut outcomes = Outcomes::default();
        let until = now.saturating_add(rest.saturating_mul(TICKS));
        let (resting, troubled) = (&mut self.resting, &mut self.troubled);
        self.keys.retain(|key, sent| {
            while let Some(first) = sent.front() {
                let partition = first.partition.clone();
                match &first.answer {
                    None => break,
                    Some(Err(cause)) => {
                        tracing::warn!(%key, %cause, "a message is sent again");
                        outcomes.again = outcomes.again.saturating_add(sent.len());
                        troubled.insert(partition.clone());
                        resting.insert(key.clone(), KeyRest { until, partition });
                        sent.clear();
                    }
                    Some(Ok(())) => {
                        troubled.remove(&partition);
                        outcomes.sure.extend(sent.pop_front().map(|sent| sent.row));
                    }
                }
            }
            sent.iter_mut().for_each(|sent| sent.fresh = false);
            !sent.is_empty()
        });
        outcomes
    }
}

/// The partition of a message; as long as the bus does not know their number, that of its bucket.
fn partition_of(bus: &dyn Bus, emitted: &Emitted) -> Partition {
    let count = bus.partition_count(&emitted.topic).unwrap_or_else(|| u32::from(BUCKETS));
    Partition { topic: emitted.topic.clone(), number: partition(&emitted.key, count) }
}
