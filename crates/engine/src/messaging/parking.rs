//! Parks the key of a message that failed too often: the messages of the key wait in the journal and are
//! tried again in their order by tasks of their own, while the bus goes on with all others.
//!
//! A key is tried by one task of this process at a time, which deletes only what it consumed. The consumer alone
//! parks messages and reads which keys are parked: what it parks behind a key is in the journal before it reads
//! again, so no later message of the key overtakes it.

use crate::messaging::Messaging;
use crate::messaging::consume::Consumption;
use crate::messaging::group::GroupTask;
use crate::messaging::lanes::{MessagePlace, Ready, transfer};
use crate::state::tasks::Background;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::bus::{BusDelivery, Partition};
use kernel::ports::clock::TICKS;
use kernel::ports::inbox::{NextTry, ParkedKey, ParkedMessage, ParkedName};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The interval at which parked keys are read, in milliseconds.
pub(super) const LOOK: Millis = 1_000;
/// How many keys of a group are read. For keys beyond them no order is promised.
pub(super) const KEYS: usize = 10_000;
/// How many keys of a group are tried at the same time, the longest due first.
const TASKS: usize = 4;
/// How many messages of a key are read, and consumed, before other keys have their turn.
pub(super) const PAGE: usize = 100;

/// The parked keys of a group, as a consumer last read them.
#[derive(Debug, Default)]
pub(super) struct ParkedKeys {
    names: BTreeSet<(Arc<str>, Arc<str>)>,
    /// They were read since the member got its present partitions.
    known: bool,
    /// When they are read again, by the clock's ticks.
    look_at: u64,
    tries: Arc<KeyTries>,
}

impl ParkedKeys {
    /// The member has these partitions now, whose keys other members may have parked: they are read again.
    pub(super) fn assign(&mut self, assigned: BTreeSet<Partition>) {
        self.known = false;
        self.tries.lock().assigned = assigned;
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

/// The member has left its group: what it tried is left to others.
impl Drop for ParkedKeys {
    fn drop(&mut self) {
        self.tries.lock().assigned.clear();
    }
}

/// The tries of a member's parked keys, by tasks beside its consumer.
#[derive(Debug, Default)]
struct KeyTries(Mutex<TriesState>);

#[derive(Debug, Default)]
struct TriesState {
    /// The partitions that the member has: other members try the keys of all others.
    assigned: BTreeSet<Partition>,
    /// The keys that are due, as last read, the longest due first.
    due: VecDeque<ParkedKey>,
    /// The keys that are being tried.
    busy: BTreeSet<ParkedName>,
    /// The number of tasks that try keys.
    tasks: usize,
    /// A key is parked no more: what comes of it joins it until the keys are read again.
    released: bool,
}

impl TriesState {
    fn has(&self, key: &ParkedKey) -> bool {
        let partition = Partition { topic: key.name.topic.clone(), number: key.partition };
        self.assigned.contains(&partition)
    }
}

impl KeyTries {
    fn lock(&self) -> MutexGuard<'_, TriesState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the keys that are due, and returns the number of tasks that are to begin.
    fn replace_due(&self, found: Vec<ParkedKey>, now: Millis, longest: Millis) -> usize {
        let mut state = self.lock();
        let due = |key: &ParkedKey| {
            has_come(key.next.due, now, longest)
                && state.has(key)
                && !state.busy.contains(&key.name)
        };
        let mut found: Vec<ParkedKey> = found.into_iter().filter(due).collect();
        found.sort_by_key(|key| key.next.due);
        state.due = found.into();
        let room = TASKS.saturating_sub(state.tasks);
        let more = if state.due.len() < room { state.due.len() } else { room };
        state.tasks = state.tasks.saturating_add(more);
        more
    }

    /// The next key to try; `None` ends the task that asks.
    fn next(&self) -> Option<ParkedKey> {
        let mut state = self.lock();
        while let Some(key) = state.due.pop_front() {
            if state.has(&key) && state.busy.insert(key.name.clone()) {
                return Some(key);
            }
        }
        state.tasks = state.tasks.saturating_sub(1);
        None
    }

    fn end(&self, key: &ParkedKey, tried: &Result<bool, Cause>) {
        let mut state = self.lock();
        state.busy.remove(&key.name);
        state.released |= matches!(tried, Ok(true));
        if tried.is_err() {
            // the journal does not answer: the next look reads them again
            state.due.clear();
        }
    }

    fn take_released(&self) -> bool {
        std::mem::take(&mut self.lock().released)
    }
}

/// The result of trying a key.
enum Tried {
    /// All of them were consumed; there may be more.
    More,
    /// The first message failed again; the cause may count against it or not.
    Failed(Cause, bool),
    /// The partition went to another member, or the group was paused.
    Stopped,
}

/// True for a cause that concerns the whole service, and counts against no message.
pub(super) fn stands_for_all(cause: &Cause) -> bool {
    matches!(cause.class, Cause::HALTED | "LEASE_OVER" | Cause::FULL)
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

    /// Reads the parked keys of a group where it is time, and has those tried that are due and whose partition
    /// this member has.
    ///
    /// # Errors
    /// The cause for which the journal does not answer. Nothing may be consumed then: a message could
    /// overtake others of its key.
    pub(super) async fn look_at_parked(
        self: &Arc<Self>,
        group: GroupTask,
        keys: &mut ParkedKeys,
    ) -> Result<(), Cause> {
        let Some(client) = self.client.as_ref().filter(|_| group.parks()) else {
            return Ok(());
        };
        let now = self.shared.parts.clock.ticks();
        if !keys.tries.take_released() && keys.known && now < keys.look_at {
            return Ok(());
        }
        // until they are read nothing may be consumed, whatever this look was for
        keys.known = false;
        let found = client.inbox.parked_keys(Some(group.name().into()), KEYS).await?;
        keys.names =
            found.iter().map(|key| (key.name.topic.clone(), key.name.key.clone())).collect();
        keys.known = true;
        keys.look_at = now.saturating_add(LOOK.saturating_mul(TICKS));
        let (now, longest) =
            (self.shared.parts.journal.now(), self.shared.parts.settings.backoff.cap);
        for _ in 0..keys.tries.replace_due(found, now, longest) {
            let tries = self.clone().try_parked_keys(group, keys.tries.clone());
            self.shared.parts.spawn.spawn(Background::ParkedKeys.task(), Box::pin(tries));
        }
        Ok(())
    }

    /// Tries one key after the other, until none is due.
    async fn try_parked_keys(self: Arc<Self>, group: GroupTask, tries: Arc<KeyTries>) {
        while let Some(key) = tries.next() {
            let tried = self.try_key(group, &key, &tries).await;
            if let Err(cause) = &tried {
                tracing::warn!(group = group.name(), key = %key.name.key, %cause, "a key cannot be tried");
            }
            tries.end(&key, &tried);
        }
    }

    /// Consumes a page of the messages of a key in their order, as far as they can be consumed. True: the key may be
    /// parked no more.
    async fn try_key(
        self: &Arc<Self>,
        group: GroupTask,
        key: &ParkedKey,
        tries: &KeyTries,
    ) -> Result<bool, Cause> {
        let Some(client) = &self.client else { return Ok(false) };
        let messages = client.inbox.parked(key.name.clone(), PAGE).await?;
        let Some(last) = messages.last().map(|message| message.n) else {
            // what came since it was read keeps it parked
            client.inbox.unpark(key.name.clone(), Vec::new(), key.last).await?;
            return Ok(true);
        };
        let now = self.shared.parts.journal.now();
        let later = |next| client.inbox.try_again(key.name.clone(), next);
        match self.try_messages(group, key, messages, tries).await? {
            (_, Tried::Stopped) => Ok(false),
            (_, Tried::More) if last >= key.last => {
                tracing::info!(group = group.name(), key = %key.name.key, "a key is parked no more");
                Ok(true)
            }
            (_, Tried::More) => {
                // behind the others that are due
                later(NextTry { failures: 0, cause: key.next.cause.clone(), due: now }).await?;
                Ok(true)
            }
            (consumed, Tried::Failed(cause, counts)) => {
                // the one that fails now is another one
                let failures = if consumed { 0 } else { key.next.failures };
                later(self.next_try(failures.saturating_add(u32::from(counts)), &cause)).await?;
                Ok(false)
            }
        }
    }

    /// Consumes them one by one. Returns whether any was consumed, and how it ended. Consumed messages are
    /// unparked: after a crash before that they are consumed again, which has no effect.
    async fn try_messages(
        self: &Arc<Self>,
        group: GroupTask,
        key: &ParkedKey,
        messages: Vec<ParkedMessage>,
        tries: &KeyTries,
    ) -> Result<(bool, Tried), Cause> {
        let Some(client) = &self.client else { return Ok((false, Tried::More)) };
        let (mut consumed, mut upto, mut tried) = (Vec::new(), 0, Tried::More);
        for message in messages {
            if !self.may_try(group, key, tries) {
                tried = Tried::Stopped;
                break;
            }
            if let Some(cause) = self.try_message(group, &message).await {
                let counts = !stands_for_all(&cause) && cause.class != "MOVED";
                tried = Tried::Failed(cause, counts);
                break;
            }
            consumed.push(message.delivery.message.number);
            upto = message.n;
        }
        let any = !consumed.is_empty();
        if any {
            client.inbox.unpark(key.name.clone(), consumed, upto).await?;
        }
        Ok((any, tried))
    }

    fn may_try(&self, group: GroupTask, key: &ParkedKey, tries: &KeyTries) -> bool {
        !self.shared.controls.draining() && !self.group_paused(group) && tries.lock().has(key)
    }

    /// Consumes one parked message. Returns the cause for which it could not be consumed.
    async fn try_message(
        self: &Arc<Self>,
        group: GroupTask,
        message: &ParkedMessage,
    ) -> Option<Cause> {
        let ready = ready(&message.delivery);
        match self.take(group, std::slice::from_ref(&ready)).await.pop() {
            Some(Consumption::Moved | Consumption::Seen | Consumption::Passed) => None,
            Some(Consumption::Poison(why)) => {
                let stored = self.store_dead_letters(group, &[(ready, why)]).await;
                (!stored).then(|| Cause::of("DEAD_LETTER"))
            }
            Some(Consumption::Failed(cause)) => Some(cause),
            None => Some(Cause::of("NO_RESULT")),
        }
    }
}

/// Whether a time has come. One that is further away than the longest wait has: a clock that was set back since gave it.
pub(super) fn has_come(due: Millis, now: Millis, longest: Millis) -> bool {
    due <= now || due > now.saturating_add(longest)
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

#[cfg(test)]
mod tests {
    use super::{KeyTries, NextTry, ParkedKey, ParkedName, Partition};

    fn parked(key: &str, due: u64) -> ParkedKey {
        let name = ParkedName { group: "g".into(), topic: "t".into(), key: key.into() };
        let next = NextTry { failures: 7, cause: "a test".into(), due };
        ParkedKey { name, partition: 0, messages: 1, last: 1, since: 0, next }
    }

    /// Turns red where a time that a clock gave which was set back since is waited for.
    #[test]
    fn a_time_that_cannot_be_has_come() {
        let tries = KeyTries::default();
        tries.lock().assigned.insert(Partition { topic: "t".into(), number: 0 });
        let found = [("due", 100), ("later", 130), ("far", 131), ("year", 31_536_000_000)];
        let found = found.map(|(key, due)| parked(key, due)).to_vec();
        assert_eq!(tries.replace_due(found, 100, 30), 3);
        let next = std::iter::from_fn(|| tries.next());
        let keys: Vec<_> = next.map(|key| key.name.key.to_string()).collect();
        assert_eq!(keys, ["due", "far", "year"]);
    }
}
