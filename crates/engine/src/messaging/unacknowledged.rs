//! Keeps the messages that were sent to the bus and are not acknowledged, by key: a partition that takes nothing
//! holds up the messages of its own keys alone.

use crate::state::select::{caught, race};
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::bus::{Acknowledgement, Bus, BusMessage, acknowledged};
use kernel::ports::clock::{Clock, TICKS};
use kernel::ports::outbox::Queued;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

/// How long the publisher waits for the acknowledgements of what it has just sent, in milliseconds. A broker that is
/// well answers within a few.
const SOON: Millis = 20;

/// A message that was sent.
struct SentRow {
    row: Queued,
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

/// The sent messages that are not acknowledged, in the order of each key.
#[derive(Default)]
pub(super) struct Unacknowledged {
    keys: BTreeMap<Arc<str>, VecDeque<SentRow>>,
    /// Until when a key rests, by the clock's ticks: a message of it failed.
    resting: BTreeMap<Arc<str>, u64>,
}

impl Unacknowledged {
    /// How many messages wait.
    pub(super) fn len(&self) -> usize {
        self.keys.values().map(VecDeque::len).sum()
    }

    /// The keys of which nothing more is sent now.
    pub(super) fn busy_keys(&mut self, now: u64) -> Vec<Arc<str>> {
        self.resting.retain(|_, until| *until > now);
        self.keys.keys().chain(self.resting.keys()).cloned().collect()
    }

    /// Sends rows of keys that are not busy.
    pub(super) async fn send(
        &mut self,
        bus: &dyn Bus,
        rows: Vec<Queued>,
        messages: Vec<BusMessage>,
    ) {
        // a panic of the bus says nothing: everything is sent again
        let deliveries = caught(bus.send(messages)).await.unwrap_or_default();
        let mut deliveries = deliveries.into_iter();
        for row in rows {
            let delivery =
                deliveries.next().unwrap_or_else(|| acknowledged(Err(Cause::of("NO_ANSWER"))));
            let key = row.emitted.key.clone();
            let delivery: Acknowledgement = Box::pin(async move {
                caught(delivery).await.unwrap_or_else(|| Err(Cause::of("PANIC")))
            });
            self.keys.entry(key).or_default().push_back(SentRow {
                row,
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
        let rests = now.saturating_add(rest.saturating_mul(TICKS));
        let resting = &mut self.resting;
        self.keys.retain(|key, sent| {
            while let Some(Some(answer)) = sent.front().map(|sent| &sent.answer) {
                if let Err(cause) = answer {
                    tracing::warn!(%key, %cause, "a message is sent again");
                    outcomes.again = outcomes.again.saturating_add(sent.len());
                    resting.insert(key.clone(), rests);
                    sent.clear();
                } else {
                    outcomes.sure.extend(sent.pop_front().map(|sent| sent.row));
                }
            }
            sent.iter_mut().for_each(|sent| sent.fresh = false);
            !sent.is_empty()
        });
        outcomes
    }
}
