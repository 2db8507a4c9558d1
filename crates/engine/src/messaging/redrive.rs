//! Sends dead letters back to the topics that they came from, under their old numbers. A consumer group of
//! its own reads them: its offsets say which dead letters still wait.

use crate::messaging::BusClient;
use crate::messaging::Messaging;
use crate::messaging::dead_letter::{SUFFIX, dead_letters_of, header, headers};
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::operators::Redrive;
use kernel::ports::bus::{BusDelivery, BusMessage, Member, Partition, PartitionLag};
use kernel::ports::clock::TICKS;
use kernel::ports::meter::Seen;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The group whose offsets say which dead letters wait.
pub(super) const GROUP: &str = "dlt-group";
/// How long a broker may take to give a member its partitions.
const JOINS: Millis = 15_000;
/// After this many empty polls in a row no message is left.
const QUIET: u32 = 3;

/// A message that waits on a topic of dead letters.
#[derive(Debug, Clone)]
pub struct DeadLetter {
    /// The message, with its place on that topic.
    pub delivery: BusDelivery,
    /// Its headers by name.
    pub headers: Map<String, Value>,
}

impl DeadLetter {
    fn of(delivery: BusDelivery) -> Self {
        let headers = headers(&delivery.message);
        Self { delivery, headers }
    }

    /// A header's text; empty where it has none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// How often the message was sent back.
    pub fn replays(&self) -> u32 {
        self.header(header::REPLAYS).parse().unwrap_or(0)
    }

    /// True for one that a redrive passes over: it went back that often, or is only the head of its message.
    pub fn is_passed_over(&self, replays: u32) -> bool {
        self.replays() >= replays || self.headers.contains_key(header::PAYLOAD_BYTES)
    }

    /// The message as it is sent back.
    fn back(&self, topic: &str) -> BusMessage {
        let mut headers = self.headers.clone();
        let replays = self.replays().saturating_add(1).to_string();
        headers.insert(header::REPLAYS.to_owned(), Value::String(replays));
        BusMessage {
            topic: topic.into(),
            headers: Value::Object(headers).to_string().into(),
            ..self.delivery.message.clone()
        }
    }
}

/// The dead letters that wait on a topic.
#[derive(Debug, Clone, Default)]
pub struct DeadLetters {
    /// How many dead letters wait.
    pub waiting: u64,
    /// The first of them, in the order of each partition.
    pub letters: Vec<DeadLetter>,
}

/// The result of a redrive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Redriven {
    pub messages: u64,
    pub passed_over: u64,
    pub left: u64,
}

impl Messaging {
    /// The topics on which the offered groups put dead letters.
    pub fn dead_letter_topics(&self) -> Vec<Arc<str>> {
        let topics = self.groups().into_iter().flat_map(|group| group.topics());
        let topics: BTreeSet<Arc<str>> = topics.map(|topic| dead_letters_of(&topic)).collect();
        topics.into_iter().collect()
    }

    /// Dead letters that wait on a topic, at most `limit`.
    ///
    /// # Errors
    /// The cause for which the bus does not answer.
    pub async fn dead_letters(&self, topic: &str, limit: usize) -> Result<DeadLetters, Cause> {
        let Some(client) = &self.client else { return Err(Cause::of("NO_BUS")) };
        let _turn = client.dead_letters.lock().await;
        let (_member, found) = self.waiting(client, topic, limit).await?;
        Ok(found)
    }

    /// Sends dead letters back; those that were sent no longer wait.
    pub(crate) async fn redrive(&self, asked: &Redrive) -> Result<Redriven, Cause> {
        let Some(client) = &self.client else { return Err(Cause::of("NO_BUS")) };
        let topic = asked.topic.strip_suffix(SUFFIX).ok_or(Cause::of("NO_SUCH_TOPIC"))?;
        let _turn = client.dead_letters.lock().await;
        let most = usize::try_from(asked.most).unwrap_or(usize::MAX);
        let (member, found) = self.waiting(client, &asked.topic, most).await?;
        let mut redriven = Redriven { left: found.waiting, ..Redriven::default() };
        let Some(mut member) = member else { return Ok(redriven) };
        let per_second = usize::try_from(asked.per_second).unwrap_or(usize::MAX);
        let at_once = if per_second == 0 { 1 } else { per_second };
        for (n, letters) in found.letters.chunks(at_once).enumerate() {
            if n > 0 {
                self.shared.parts.clock.sleep(1_000).await;
            }
            let (over, back): (Vec<_>, Vec<_>) =
                letters.iter().partition(|letter| letter.is_passed_over(asked.replays));
            let messages = back.iter().map(|letter| letter.back(topic)).collect();
            let said = client.bus.publish(messages).await;
            let sure: BTreeSet<_> = back
                .iter()
                .zip(said)
                .filter(|(_, said)| said.is_ok())
                .map(|(letter, _)| place(letter))
                .chain(over.iter().map(|letter| place(letter)))
                .collect();
            let next = gone(letters, &sure);
            let all = next.len();
            member.commit(next).await?;
            let sent = back.iter().filter(|letter| sure.contains(&place(letter))).count();
            let outcome = |sure| Seen::Redriven { topic: &asked.topic, sure };
            for letter in &back {
                self.shared.parts.meter.see(outcome(sure.contains(&place(letter))));
            }
            redriven.messages = redriven.messages.saturating_add(count(sent));
            redriven.passed_over = redriven.passed_over.saturating_add(count(over.len()));
            if sent < back.len() {
                tracing::warn!(
                    topic = &*asked.topic,
                    partitions = all,
                    "the bus took not all of them"
                );
                break;
            }
        }
        let done = redriven.messages.saturating_add(redriven.passed_over);
        redriven.left = found.waiting.saturating_sub(done);
        Ok(redriven)
    }

    /// The dead letters that wait on a topic, and the member that holds its partitions.
    async fn waiting(
        &self,
        client: &BusClient,
        topic: &str,
        limit: usize,
    ) -> Result<(Option<Box<dyn Member>>, DeadLetters), Cause> {
        let topics: Vec<Arc<str>> = vec![topic.into()];
        let lag = client.bus.lag(GROUP.into(), topics.clone()).await?;
        let waiting = lag.iter().map(PartitionLag::messages).sum();
        if waiting == 0 {
            return Ok((None, DeadLetters::default()));
        }
        let most = usize::try_from(waiting).unwrap_or(usize::MAX);
        let most = if most < limit { most } else { limit };
        let mut member = client.bus.subscribe(GROUP.into(), topics).await?;
        let (mut letters, mut quiet, mut joined) = (Vec::new(), 0, false);
        let until = self.shared.parts.clock.ticks().saturating_add(JOINS.saturating_mul(TICKS));
        while letters.len() < most && quiet < QUIET && self.shared.parts.clock.ticks() < until {
            let polled = member.poll(most.saturating_sub(letters.len()), super::POLL).await?;
            joined |= polled.assigned.is_some_and(|own| !own.is_empty());
            quiet = if joined && polled.messages.is_empty() { quiet + 1 } else { 0 };
            letters.extend(polled.messages.into_iter().map(DeadLetter::of));
        }
        Ok((Some(member), DeadLetters { waiting, letters }))
    }
}

fn place(letter: &DeadLetter) -> (Partition, u64) {
    (letter.delivery.partition.clone(), letter.delivery.offset)
}

/// The offset at which the group goes on in each partition: at the first letter that was not surely sent
/// back.
fn gone(letters: &[DeadLetter], sure: &BTreeSet<(Partition, u64)>) -> Vec<(Partition, u64)> {
    let mut next: BTreeMap<Partition, u64> = BTreeMap::new();
    let mut stands = BTreeSet::new();
    for letter in letters {
        let (partition, offset) = place(letter);
        if !sure.contains(&(partition.clone(), offset)) {
            stands.insert(partition);
        } else if !stands.contains(&partition) {
            next.insert(partition, offset.saturating_add(1));
        }
    }
    next.into_iter().collect()
}

fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}
