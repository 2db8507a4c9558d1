//! Parks the key of a message that failed too often: the messages of the key wait in the journal and are
//! tried again in their order, while the bus goes on with all others.

use crate::messaging::Messaging;
use crate::messaging::consume::Consumption;
use crate::messaging::group::GroupTask;
use crate::messaging::lanes::{MessagePlace, Ready, transfer};
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::bus::{BusDelivery, Partition};
use kernel::ports::clock::TICKS;
use kernel::ports::inbox::{NextTry, ParkedKey, ParkedMessage, ParkedName};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The interval at which parked keys are read, in milliseconds.
pub(super) const LOOK: Millis = 1_000;
/// How many keys of a group are read. For keys beyond them no order is promised.
pub(super) const KEYS: usize = 10_000;
/// How many keys one look tries, the longest due first.
const TRIED: usize = 16;
/// How many messages of a key one look consumes.
const MESSAGES: usize = 1_000;
/// How many messages of a key are read at once.
pub(super) const PAGE: usize = 100;

/// The parked keys of a group, as a consumer last read them.
#[derive(Debug, Default)]
pub(super) struct ParkedKeys {
    names: BTreeSet<(Arc<str>, Arc<str>)>,
    /// They were read since the member got its present partitions.
    known: bool,
    /// When they are read again, by the clock's ticks.
    look_at: u64,
}

impl ParkedKeys {
    /// Has the keys read again: other members may have parked keys of the partitions that this member has
    /// now.
    pub(super) const fn forget(&mut self) {
        self.known = false;
    }

    pub(super) fn has(&self, delivery: &BusDelivery) -> bool {
        let name = (delivery.partition.topic.clone(), delivery.message.key.clone());
        !self.names.is_empty() && self.names.contains(&name)
    }

    pub(super) fn add(&mut self, delivery: &BusDelivery) {
        let name = (delivery.partition.topic.clone(), delivery.message.key.clone());
        self.names.insert(name);
    }
}

/// The result of trying a key.
enum Tried {
    /// All of them were consumed; there may be more.
    More,
    /// The first message failed again; the cause may count against it or not.
    Failed(Cause, bool),
}

/// True for a cause that concerns the whole service, and counts against no message.
pub(super) fn stands_for_all(cause: &Cause) -> bool {
    matches!(cause.class, Cause::HALTED | "LEASE_OVER" | "FULL")
}

impl Messaging {
    /// Parks messages of a group. False: nothing could be written.
    pub(super) async fn park_messages(
        &self,
        group: GroupTask,
        messages: Vec<BusDelivery>,
        next: NextTry,
    ) -> bool {
        let Some(client) = &self.client else { return false };
        let parked = client.inbox.park(group.name().into(), messages, next).await;
        parked.inspect_err(|cause| tracing::warn!(%cause, "messages cannot be parked yet")).is_ok()
    }

    /// The next try of a key whose first message failed this often.
    pub(super) fn next_try(&self, failures: u32, cause: &Cause) -> NextTry {
        let wait = self.shared.parts.settings.backoff.wait(failures, self.shared.parts.rng.next());
        let due = self.shared.parts.journal.now().saturating_add(wait);
        NextTry { failures, cause: cause.to_string().into(), due }
    }

    /// Reads the parked keys of a group where it is time, and tries those that are due and whose partition
    /// this member has.
    ///
    /// # Errors
    /// The cause for which the journal does not answer. Nothing may be consumed then: a message could
    /// overtake others of its key.
    pub(super) async fn look_at_parked(
        self: &Arc<Self>,
        group: GroupTask,
        keys: &mut ParkedKeys,
        assigned: &BTreeSet<Partition>,
    ) -> Result<(), Cause> {
        let Some(client) = self.client.as_ref().filter(|_| group.parks()) else {
            return Ok(());
        };
        let now = self.shared.parts.clock.ticks();
        if keys.known && now < keys.look_at {
            return Ok(());
        }
        let mut found = client.inbox.parked_keys(Some(group.name().into()), KEYS).await?;
        keys.names =
            found.iter().map(|key| (key.name.topic.clone(), key.name.key.clone())).collect();
        keys.known = true;
        keys.look_at = now.saturating_add(LOOK.saturating_mul(TICKS));
        let now = self.shared.parts.journal.now();
        let own = |key: &ParkedKey| {
            let partition = Partition { topic: key.name.topic.clone(), number: key.partition };
            key.next.due <= now && assigned.contains(&partition)
        };
        found.retain(own);
        found.sort_by_key(|key| key.next.due);
        for key in found.into_iter().take(TRIED) {
            if self.try_key(group, &key).await? {
                // what comes now joins no key that waits no more, once it is read again
                keys.look_at = 0;
            }
        }
        Ok(())
    }

    /// Consumes the messages of a key in their order, as far as they can be consumed. True: the key is
    /// parked no more.
    async fn try_key(self: &Arc<Self>, group: GroupTask, key: &ParkedKey) -> Result<bool, Cause> {
        let Some(client) = &self.client else { return Ok(false) };
        let mut failures = key.next.failures;
        for _ in 0..MESSAGES.div_ceil(PAGE) {
            let messages = client.inbox.parked(key.name.clone(), PAGE).await?;
            if messages.is_empty() {
                client.inbox.unpark(key.name.clone(), key.last).await?;
                tracing::info!(group = group.name(), key = %key.name.key, "a key is parked no more");
                return Ok(true);
            }
            match self.try_messages(group, &key.name, messages).await? {
                (_, Tried::More) => failures = 0,
                (consumed, Tried::Failed(cause, counts)) => {
                    // the one that fails now is another one
                    failures = if consumed { 0 } else { failures };
                    let next = self.next_try(failures.saturating_add(u32::from(counts)), &cause);
                    client.inbox.try_again(key.name.clone(), next).await?;
                    return Ok(false);
                }
            }
        }
        Ok(false)
    }

    /// Consumes them one by one. Returns whether any was consumed, and how it ended. Consumed messages are
    /// unparked: after a crash before that they are consumed again, which has no effect.
    async fn try_messages(
        self: &Arc<Self>,
        group: GroupTask,
        name: &ParkedName,
        messages: Vec<ParkedMessage>,
    ) -> Result<(bool, Tried), Cause> {
        let Some(client) = &self.client else { return Ok((false, Tried::More)) };
        let (mut upto, mut failed) = (None, None);
        for message in messages {
            let ready = [ready(&message.delivery)];
            let result = self.take(group, &ready).await.pop();
            let [ready] = &ready;
            match result {
                Some(Consumption::Moved | Consumption::Seen | Consumption::Passed) => {}
                Some(Consumption::Poison(why)) => {
                    if !self.store_dead_letters(group, &[(ready.clone(), why)]).await {
                        failed = Some(Cause::of("DEAD_LETTER"));
                    }
                }
                Some(Consumption::Failed(cause)) => failed = Some(cause),
                None => failed = Some(Cause::of("NO_RESULT")),
            }
            if failed.is_some() {
                break;
            }
            upto = Some(message.n);
        }
        if let Some(upto) = upto {
            client.inbox.unpark(name.clone(), upto).await?;
        }
        let tried = failed.map_or(Tried::More, |cause| {
            let counts = !stands_for_all(&cause) && cause.class != "MOVED";
            Tried::Failed(cause, counts)
        });
        Ok((upto.is_some(), tried))
    }
}

/// A parked message, as it was when it came from the bus.
fn ready(delivery: &BusDelivery) -> Ready {
    Ready {
        place: MessagePlace { partition: delivery.partition.clone(), offset: delivery.offset },
        transfer: transfer(&delivery.message.payload),
        delivery: delivery.clone(),
        failures: 0,
    }
}
