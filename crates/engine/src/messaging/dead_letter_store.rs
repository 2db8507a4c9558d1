//! Keeps dead letters in the journal until their topic has them, so that a topic that takes nothing holds
//! up no consumer.
//!
//! The dead letters of a partition wait as parked messages of the group `<group>-dlt`, in their order. A
//! dead letter may be published twice; none is lost.

use crate::messaging::dead_letter::{Death, SUFFIX, dead, dead_letters_of};
use crate::messaging::group::GroupTask;
use crate::messaging::lanes::Ready;
use crate::messaging::parking::{KEYS, LOOK, PAGE, has_come};
use crate::messaging::{BusClient, Messaging};
use crate::state::select::{caught, race};
use crate::state::tasks::Background;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::operators::{Case, Severity, Subject};
use kernel::ports::bus::{BusDelivery, BusMessage};
use kernel::ports::inbox::{NextTry, ParkedKey, ParkedMessage, ParkedName};
use kernel::ports::meter::Seen;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// How long after its time a dead letter that another process stored is published here: that process may
/// be gone.
const OTHERS: Millis = 10_000;

/// The dead letters that this process stored.
#[derive(Debug, Default)]
pub(super) struct DeadLetterStore {
    /// Where they wait, or have waited.
    own: Mutex<BTreeSet<ParkedName>>,
    /// The topics to which some are being published.
    busy: Mutex<BTreeSet<Arc<str>>>,
    /// Woken when dead letters were stored.
    bell: Notify,
}

impl DeadLetterStore {
    fn busy(&self) -> MutexGuard<'_, BTreeSet<Arc<str>>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether these messages are dead letters that wait for their topic.
pub(super) fn is_stored(key: &ParkedKey) -> bool {
    key.name.group.ends_with(SUFFIX)
}

/// The topic for which the dead letters of a key wait.
pub(super) fn waits_for(key: &ParkedKey) -> Arc<str> {
    dead_letters_of(&key.name.topic)
}

impl Messaging {
    /// Stores messages that can never be consumed as dead letters, each with its reason, and opens a case.
    /// False: nothing could be written.
    pub(super) async fn store_dead_letters(
        &self,
        group: GroupTask,
        letters: &[(Ready, &'static str)],
    ) -> bool {
        let Some(client) = &self.client else { return false };
        let at = self.shared.parts.journal.now();
        let mut messages = Vec::with_capacity(letters.len());
        for (ready, reason) in letters {
            let attempts = ready.failures.saturating_add(1);
            let letter = dead(&ready.delivery, Death { group, reason, attempts, at });
            messages.push(as_stored(&ready.delivery, &letter));
        }
        self.open_dead_letter_case(letters);
        let name = dead_letters_of(group.name());
        let own: Vec<ParkedName> = messages.iter().map(|one| name_of(&name, one)).collect();
        let next = NextTry { failures: 0, cause: "NEW".into(), due: at };
        if let Err(cause) = client.inbox.park(name, messages, next).await {
            tracing::warn!(group = group.name(), %cause, "dead letters cannot be stored yet");
            return false;
        }
        for (ready, reason) in letters {
            let topic = dead_letters_of(&ready.delivery.partition.topic);
            self.shared.parts.meter.see(Seen::DeadLetter { topic: &topic, reason });
        }
        client.stored_letters.own.lock().unwrap_or_else(PoisonError::into_inner).extend(own);
        client.stored_letters.bell.notify_one();
        true
    }

    fn open_dead_letter_case(&self, letters: &[(Ready, &'static str)]) {
        let Some((ready, reason)) = letters.first() else { return };
        let (from, offset) = (&ready.delivery.partition, ready.delivery.offset);
        let others = letters.len().saturating_sub(1);
        let more = if others > 0 { format!(", and {others} more") } else { String::new() };
        self.cases.case(Case {
            kind: "DEAD_LETTER",
            severity: Severity::Warning,
            subject: Subject::Service,
            facts: format!(
                "{reason}: a message of {topic}, partition {}, offset {offset}, goes to {topic}{SUFFIX}{more}",
                from.number,
                topic = from.topic,
            )
            .into(),
        });
    }

    /// Publishes the stored dead letters for as long as the process lives.
    pub(crate) async fn run_dead_letter_store(self: Arc<Self>) {
        let Some(client) = &self.client else { return std::future::pending().await };
        loop {
            if let Err(cause) = self.publish_dead_letters(client).await {
                tracing::warn!(%cause, "dead letters cannot be published");
            }
            let sleep = self.shared.parts.clock.sleep(LOOK);
            let _woken = race(client.stored_letters.bell.notified(), sleep).await;
        }
    }

    /// Publishes what is due, each topic in a task of its own: one that gives no answer keeps no other waiting.
    async fn publish_dead_letters(self: &Arc<Self>, client: &BusClient) -> Result<(), Cause> {
        let mut due: BTreeMap<Arc<str>, Vec<ParkedKey>> = BTreeMap::new();
        for key in self.due_dead_letters(client).await? {
            due.entry(waits_for(&key)).or_default().push(key);
        }
        for (topic, keys) in due {
            if client.stored_letters.busy().insert(topic.clone()) {
                let publishes = self.clone().publish_dead_letters_to(topic, keys);
                let task = Background::DeadLetterTopic.task();
                self.shared.parts.spawn.spawn(task, Box::pin(publishes));
            }
        }
        Ok(())
    }

    /// Publishes the stored dead letters of one topic, a page of each key.
    async fn publish_dead_letters_to(self: Arc<Self>, topic: Arc<str>, keys: Vec<ParkedKey>) {
        let Some(client) = &self.client else { return };
        let published = self.publish_pages(client, keys).await;
        client.stored_letters.busy().remove(&topic);
        match published {
            // there may be more
            Ok(1..) => client.stored_letters.bell.notify_one(),
            Ok(0) => {}
            Err(cause) => tracing::warn!(%topic, %cause, "dead letters cannot be published"),
        }
    }

    /// Publishes a page of each key, and returns the number of messages that the bus has.
    async fn publish_pages(
        &self,
        client: &BusClient,
        keys: Vec<ParkedKey>,
    ) -> Result<usize, Cause> {
        let mut pages = Vec::new();
        for key in keys {
            let page = client.inbox.parked(key.name.clone(), PAGE).await?;
            pages.push((key, page));
        }
        let letters = pages.iter().flat_map(|(_, page)| page);
        let letters: Vec<BusMessage> = letters.map(|one| as_published(&one.delivery)).collect();
        // a panic of the bus says nothing: everything is published again
        let said = caught(client.bus.publish(letters)).await.unwrap_or_default();
        let (mut said, mut published) = (said.into_iter(), 0_usize);
        for (key, page) in pages {
            let answers = said.by_ref().take(page.len()).collect();
            let sent = self.settle_page(client, &key, &page, answers).await?;
            published = published.saturating_add(sent);
        }
        Ok(published)
    }

    /// The keys of stored dead letters that this process publishes now.
    async fn due_dead_letters(&self, client: &BusClient) -> Result<Vec<ParkedKey>, Cause> {
        let mut keys = client.inbox.parked_keys(None, KEYS).await?;
        let now = self.shared.parts.journal.now();
        let longest = self.shared.parts.settings.backoff.cap;
        let own = client.stored_letters.own.lock().unwrap_or_else(PoisonError::into_inner);
        keys.retain(|key| {
            let wait = if own.contains(&key.name) { 0 } else { OTHERS };
            let group = key.name.group.strip_suffix(SUFFIX);
            group.is_some_and(|group| self.group(group).is_some())
                && has_come(key.next.due.saturating_add(wait), now, longest.saturating_add(wait))
        });
        Ok(keys)
    }

    /// Deletes what the bus acknowledged of a page, up to the first that it did not; the rest is published
    /// again later. Returns the number that is deleted.
    async fn settle_page(
        &self,
        client: &BusClient,
        key: &ParkedKey,
        page: &[ParkedMessage],
        answers: Vec<Result<(), Cause>>,
    ) -> Result<usize, Cause> {
        let name = || key.name.clone();
        if page.is_empty() {
            client.inbox.unpark(name(), Vec::new(), key.last).await?;
        }
        let sent = answers.iter().take_while(|answer| answer.is_ok()).count();
        if let Some(last) = sent.checked_sub(1).and_then(|last| page.get(last)) {
            let numbers = page.iter().take(sent).map(|one| one.delivery.message.number);
            client.inbox.unpark(name(), numbers.collect(), last.n).await?;
        }
        if sent < page.len() {
            let cause = answers.into_iter().find_map(Result::err);
            let cause = cause.unwrap_or(Cause::of("NO_ANSWER"));
            let topic = waits_for(key);
            tracing::warn!(%topic, %cause, "the topic takes no dead letters; they wait in the journal");
            let failures = key.next.failures.saturating_add(1);
            client.inbox.try_again(name(), self.next_try(failures, &cause)).await?;
        }
        Ok(sent)
    }
}

fn name_of(group: &Arc<str>, stored: &BusDelivery) -> ParkedName {
    let (topic, key) = (stored.partition.topic.clone(), stored.message.key.clone());
    ParkedName { group: group.clone(), topic, key }
}

/// A dead letter in the form that every journal can store, whatever bytes its message has: the key is its
/// partition, the number is its place, and the rest is JSON.
fn as_stored(from: &BusDelivery, letter: &BusMessage) -> BusDelivery {
    let place = (u128::from(from.partition.number) << 64) | u128::from(from.offset);
    let content = json!({
        "id": format!("{:032x}", letter.number), "key": &*letter.key, "payload": &*letter.payload,
    });
    let message = BusMessage {
        topic: from.partition.topic.clone(),
        key: from.partition.number.to_string().into(),
        number: place,
        payload: content.to_string().into(),
        headers: letter.headers.clone(),
    };
    BusDelivery { partition: from.partition.clone(), offset: from.offset, message }
}

/// The dead letter that was stored.
fn as_published(stored: &BusDelivery) -> BusMessage {
    let message = &stored.message;
    let content: Value = serde_json::from_str(&message.payload).unwrap_or_default();
    let text = |name: &str| content.get(name).and_then(Value::as_str);
    let number = text("id").and_then(|id| u128::from_str_radix(id, 16).ok());
    BusMessage {
        topic: dead_letters_of(&stored.partition.topic),
        key: text("key").unwrap_or_default().into(),
        number: number.unwrap_or(message.number),
        payload: text("payload").map_or_else(|| message.payload.clone(), Arc::from),
        headers: message.headers.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::{as_published, as_stored};
    use kernel::ports::bus::{BusDelivery, BusMessage, Partition};

    /// Turns red where a dead letter has bytes that PostgreSQL stores in no text, or a key that is too
    /// long for its index.
    #[test]
    fn any_message_can_be_stored() {
        let letter = BusMessage {
            topic: "t-dlt".into(),
            key: "\0".repeat(5_000).into(),
            number: 7,
            payload: "a\0\u{fffd}\"".into(),
            headers: r#"{"ce_id":"\u0000"}"#.into(),
        };
        let partition = Partition { topic: "t".into(), number: 2 };
        let from = BusDelivery { partition, offset: 9, message: letter.clone() };
        let stored = as_stored(&from, &letter);
        let message = &stored.message;
        assert!(!format!("{}{}{}", message.key, message.payload, message.headers).contains('\0'));
        assert_eq!((&*message.key, message.number), ("2", (2 << 64) | 9));
        assert_eq!(as_published(&stored), letter);
    }
}
