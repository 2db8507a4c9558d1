//! The publisher sends the rows of its buckets to the bus, in the order of each key, and marks each row
//! after the bus acknowledged it. A message may be sent twice; none is lost.

use crate::messaging::history_bound::{HistoryBound, KEPT};
use crate::messaging::unacknowledged::{Outcomes, Unacknowledged};
use crate::state::select::race;
use kernel::answer::Cause;
use kernel::ids::{Millis, WorkerId, rfc3339};
use kernel::message::{BUCKETS, Emitted};
use kernel::ports::bus::{Bus, BusMessage};
use kernel::ports::clock::{Clock, TICKS};
use kernel::ports::journal::Journal;
use kernel::ports::meter::{Meter, Seen};
use kernel::ports::outbox::{BucketLease, Outbox, UnpublishedQuery};
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// How often old messages are deleted, in nanoseconds of the clock.
const FORGET_EVERY: u64 = 600_000 * TICKS;
/// How many messages one write deletes, each with the rows of the groups that consumed it.
const FORGET_AT_ONCE: usize = 2_000;

/// The most messages of a partition that are sent and not acknowledged, in batches: above it the keys of further
/// rows wait.
const BATCHES: usize = 2;

/// What a publisher works with.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct PublisherParts {
    pub outbox: Arc<dyn Outbox>,
    pub bus: Arc<dyn Bus>,
    /// The journal, for its time alone.
    pub journal: Arc<dyn Journal>,
    pub clock: Arc<dyn Clock>,
    pub worker: WorkerId,
    /// The source of all messages, in their CloudEvents headers.
    pub source: Arc<str>,
    /// How long a bucket stays this worker's without a renewal.
    pub lease_ms: Millis,
    /// The longest wait before the publisher looks again.
    pub poll_ms: Millis,
    /// How many rows of each bucket the publisher takes at once.
    pub batch: usize,
    pub meter: Arc<dyn Meter>,
    /// Rung when messages were written, so that the publisher looks at once instead of at its next poll.
    pub bell: Arc<Notify>,
}

/// The result of one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sent {
    /// How many messages the bus has, and are marked.
    pub marked: usize,
    /// How many are sent again: the bus refused them, or another publisher has their bucket.
    pub left: usize,
}

/// What a round did, and whether the next one finds other rows at once.
struct RoundResult {
    sent: Sent,
    /// Rows were read that are not sent: the next round reads what lies behind them.
    held: bool,
}

/// The buckets that the publisher holds.
#[derive(Debug, Default)]
struct Holdings {
    leases: Vec<BucketLease>,
    /// Until when, by the clock's ticks, they are surely this worker's.
    until: u64,
    /// When it asks for its buckets again, by the clock's ticks.
    renew_at: u64,
    forget_at: u64,
}

/// Publishes the outbox of a journal. Each process has one; its task is [`Publisher::run`].
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Publisher {
    parts: PublisherParts,
    old: HistoryBound,
    holdings: Mutex<Holdings>,
    on_way: Mutex<Unacknowledged>,
}

impl Publisher {
    pub fn new(parts: PublisherParts) -> Arc<Self> {
        Arc::new(Self {
            old: HistoryBound::new(&parts.journal, &parts.clock),
            parts,
            holdings: Mutex::default(),
            on_way: Mutex::default(),
        })
    }

    /// Publishes as long as the process lives.
    pub async fn run(self: Arc<Self>) {
        loop {
            let idle = match self.publish_batch().await {
                Ok(RoundResult { held: true, .. }) => false,
                Ok(RoundResult { sent, held: false }) => sent.marked == 0 || sent.left > 0,
                Err(cause) => {
                    tracing::error!(%cause, "the outbox cannot be published");
                    true
                }
            };
            if idle {
                self.rest().await;
            }
        }
    }

    /// Waits until messages were written, an acknowledgement came, or it is time to look again.
    async fn rest(&self) {
        let mut on_way = std::mem::take(&mut *self.on_way());
        let woken = race(self.parts.bell.notified(), self.parts.clock.sleep(self.parts.poll_ms));
        let _first = race(on_way.answered(), woken).await;
        *self.on_way() = on_way;
    }

    /// Sends the messages that wait in the buckets of this worker, at most a batch of each, and marks those that
    /// the bus acknowledged. What is not acknowledged soon keeps only its own keys back.
    ///
    /// # Errors
    /// The cause for which the journal does not answer. What was sent before is sent again.
    pub async fn round(&self) -> Result<Sent, Cause> {
        Ok(self.publish_batch().await?.sent)
    }

    async fn publish_batch(&self) -> Result<RoundResult, Cause> {
        let leases = self.leases().await?;
        self.forget().await;
        if leases.is_empty() {
            return Ok(RoundResult { sent: Sent::default(), held: false });
        }
        let without = self.on_way().busy_keys(self.parts.clock.ticks());
        let (limit, most) = (self.parts.batch, self.parts.batch.saturating_mul(BATCHES));
        let query = UnpublishedQuery { leases: leases.clone(), limit, without };
        let rows = self.parts.outbox.unpublished(query).await?;
        // a round that is not ended sends again what it took
        let mut on_way = std::mem::take(&mut *self.on_way());
        let read = rows.len();
        let rows = on_way.take_sendable(&*self.parts.bus, rows, most);
        let held = rows.len() < read;
        // where this process stood still since it took them, another one sends them, and later ones of their keys
        if !rows.is_empty() && self.parts.clock.ticks() < self.holdings().until {
            let source = &self.parts.source;
            let messages = rows.iter().map(|one| message(&one.row.emitted, source)).collect();
            on_way.send(&*self.parts.bus, rows, messages).await;
        }
        on_way.wait(&*self.parts.clock).await;
        let Outcomes { mut sure, again } =
            on_way.take_answered(self.parts.clock.ticks(), self.parts.poll_ms);
        on_way.free_held_keys(most);
        *self.on_way() = on_way;
        (0..sure.len()).for_each(|_| self.parts.meter.see(Seen::Published { sure: true }));
        (0..again).for_each(|_| self.parts.meter.see(Seen::Published { sure: false }));
        let places: Vec<_> = sure.iter().map(|row| (row.bucket, row.place)).collect();
        let answered = sure.len().saturating_add(again);
        if !places.is_empty() {
            let lost =
                self.parts.outbox.mark_published(self.parts.worker, leases.clone(), places).await?;
            self.holdings().leases.retain(|lease| !lost.contains(&lease.bucket));
            let held = |bucket| leases.iter().any(|lease| lease.bucket == bucket);
            sure.retain(|row| held(row.bucket) && !lost.contains(&row.bucket));
        }
        let sent = Sent { marked: sure.len(), left: answered.saturating_sub(sure.len()) };
        Ok(RoundResult { sent, held })
    }

    /// Gives the buckets back: other publishers send what is left at once.
    ///
    /// # Errors
    /// The cause for which the journal does not answer; the leases run out.
    pub async fn stop(&self) -> Result<(), Cause> {
        {
            let mut holdings = self.holdings();
            holdings.leases.clear();
            holdings.renew_at = u64::MAX;
        }
        self.parts.outbox.release_buckets(self.parts.worker).await
    }

    fn on_way(&self) -> MutexGuard<'_, Unacknowledged> {
        self.on_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holdings(&self) -> MutexGuard<'_, Holdings> {
        self.holdings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The buckets of this worker; it renews them three times before their leases can run out.
    async fn leases(&self) -> Result<Vec<BucketLease>, Cause> {
        let now = self.parts.clock.ticks();
        {
            let holdings = self.holdings();
            if now < holdings.renew_at {
                return Ok(holdings.leases.clone());
            }
        }
        let (worker, length) = (self.parts.worker, self.parts.lease_ms);
        let leases = self.parts.outbox.lease_buckets(worker, length, BUCKETS).await?;
        let third = length.saturating_mul(TICKS).checked_div(3).unwrap_or(0);
        let mut holdings = self.holdings();
        holdings.leases.clone_from(&leases);
        holdings.renew_at = now.saturating_add(third);
        holdings.until = now.saturating_add(length.saturating_mul(TICKS));
        Ok(leases)
    }

    /// Deletes messages that were published long ago. Where that fails, nothing waits for it.
    async fn forget(&self) {
        let now = self.parts.clock.ticks();
        if now < self.holdings().forget_at {
            return;
        }
        let gone = match self.old.older_than(KEPT).await {
            Ok(before) => self.parts.outbox.expire_published(before, FORGET_AT_ONCE).await,
            Err(cause) => Err(cause),
        };
        if let Err(cause) = &gone {
            tracing::warn!(%cause, "old messages cannot be deleted; they are tried again later");
        }
        if gone.unwrap_or(0) == 0 {
            self.holdings().forget_at = now.saturating_add(FORGET_EVERY);
        }
    }
}

/// The message of a row, with the CloudEvents headers of its event beside the content of its flow.
fn message(emitted: &Emitted, source: &str) -> BusMessage {
    let mut headers: Map<String, Value> =
        serde_json::from_str(&emitted.headers).unwrap_or_default();
    let payload: Map<String, Value> = serde_json::from_str(&emitted.payload).unwrap_or_default();
    let sequence = payload.get("sequence").and_then(Value::as_u64).unwrap_or(0);
    for (name, value) in [
        ("ce_source", source.to_owned()),
        ("ce_type", emitted.kind.to_string()),
        ("ce_subject", emitted.id.uuid_text()),
        ("ce_time", rfc3339(emitted.at)),
        ("ce_partitionkey", emitted.key.to_string()),
        // a text that sorts as its number
        ("ce_sequence", format!("{sequence:010}")),
    ] {
        headers.insert(name.to_owned(), Value::String(value));
    }
    BusMessage {
        topic: emitted.topic.clone(),
        key: emitted.key.clone(),
        number: emitted.number,
        payload: emitted.payload.clone(),
        headers: Value::Object(headers).to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::message;
    use kernel::ids::Id;
    use kernel::message::Emitted;

    /// Turns red where a consumer outside cannot tell from the headers what happened, to which transfer,
    /// and in which order.
    #[test]
    fn a_message_is_a_cloud_event() {
        let emitted = Emitted {
            number: 1,
            id: Id(7),
            n: 0,
            topic: "transfer-validation".into(),
            kind: "TransferValidation".into(),
            key: "ACC-1".into(),
            payload: r#"{"sequence":12,"transfer":"x"}"#.into(),
            headers: r#"{"own":"1"}"#.into(),
            at: 1_700_000_000_123,
        };
        let sent = message(&emitted, "/portage/1");
        let should = "{\"ce_partitionkey\":\"ACC-1\",\"ce_sequence\":\"0000000012\",\
                      \"ce_source\":\"/portage/1\",\"ce_subject\":\"00000000-0000-0000-0000-000000000007\",\
                      \"ce_time\":\"2023-11-14T22:13:20.123Z\",\"ce_type\":\"TransferValidation\",\
                      \"own\":\"1\"}";
        assert_eq!(&*sent.headers, should);
        assert_eq!(&*sent.payload, r#"{"sequence":12,"transfer":"x"}"#);
    }
}
