//! A consumer: takes what its group is sent, has the engine consume it, and commits the offsets behind
//! that. A message may be consumed again, and none is lost.

use crate::Engine;
use crate::messaging::consume::{Consumption, Received};
use crate::messaging::lanes::{Lanes, Ready};
use kernel::answer::Cause;
use kernel::flow::life::ConsumerGroup;
use kernel::ids::Millis;
use kernel::operators::{Case, Severity, Subject};
use kernel::ports::bus::{BusMessage, Member, Partition};
use kernel::ports::clock::TICKS;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// After so many failures a message is given up, and its transfer gets another one from the scanner: one
/// account that fails must not hold the offset of its partition for ever.
const FAILURES: u32 = 10;
/// Of a partition at most so many batches are in hand before it is paused.
const BATCHES: usize = 4;

/// A member of a group, with what it has in hand.
struct Consumer {
    group: ConsumerGroup,
    member: Box<dyn Member>,
    lanes: Lanes,
    paused: BTreeSet<Partition>,
}

impl Engine {
    /// Consumes for as long as the process lives.
    pub(crate) async fn run_consumer(self: Arc<Self>, group: ConsumerGroup) {
        let Some(messaging) = &self.messaging else { return std::future::pending().await };
        let base = self.parts.settings.backoff.base;
        loop {
            let topics = vec![Arc::from(group.topic)];
            let member = match messaging.bus.subscribe(group.name.into(), topics).await {
                Ok(member) => member,
                Err(cause) => {
                    tracing::error!(group = group.name, %cause, "the bus does not answer");
                    self.parts.clock.sleep(base).await;
                    continue;
                }
            };
            let (lanes, paused) = (Lanes::default(), BTreeSet::new());
            let mut consumer = Consumer { group, member, lanes, paused };
            while !self.controls.draining() {
                if let Err(cause) = consumer.round(&self).await {
                    tracing::error!(group = group.name, %cause, "messages cannot be consumed");
                    self.parts.clock.sleep(base).await;
                }
            }
            drop(consumer);
            return std::future::pending().await;
        }
    }

    /// The wait before a message that failed so often is consumed again.
    fn retry_at(&self, failures: u32) -> u64 {
        let wait = self.parts.settings.backoff.wait(failures, self.parts.rng.next());
        self.parts.clock.ticks().saturating_add(wait.saturating_mul(TICKS))
    }

    /// Puts a message that can never be consumed on its topic of dead letters, and asks a person. False: it is not there for sure.
    async fn dead_letter(self: &Arc<Self>, group: ConsumerGroup, ready: &Ready, why: &str) -> bool {
        let Some(messaging) = &self.messaging else { return false };
        let message = dead(group, ready, why);
        let topic = message.topic.clone();
        let said = messaging.bus.publish(vec![message]).await.pop();
        if !matches!(said, Some(Ok(()))) {
            return false;
        }
        let delivery = &ready.delivery;
        let (at, offset) = (delivery.partition.number, delivery.offset);
        let from = format!("{}, partition {at}, offset {offset}", delivery.partition.topic);
        self.case(Case {
            kind: "DEAD_LETTER",
            severity: Severity::Warning,
            subject: Subject::Service,
            facts: format!("{why}: a message of {from} lies on {topic}").into(),
        });
        true
    }
}

impl Consumer {
    /// Polls once, and consumes what is in hand.
    async fn round(&mut self, engine: &Arc<Engine>) -> Result<(), Cause> {
        let wait = self.wait(engine.parts.clock.ticks());
        let polled = self.member.poll(engine.parts.settings.batch_max, wait).await?;
        if let Some(assigned) = polled.assigned {
            self.lanes.keep(&assigned);
            self.paused.retain(|partition| assigned.contains(partition));
        }
        for delivery in polled.messages {
            self.lanes.add(delivery);
        }
        let ready = self.lanes.ready(engine.parts.clock.ticks());
        self.consume(engine, ready).await;
        self.commit().await?;
        self.regulate(engine.parts.settings.batch_max.saturating_mul(BATCHES));
        Ok(())
    }

    /// So long there is nothing to consume, if no message comes.
    fn wait(&self, now: u64) -> Millis {
        let until = |at: u64| at.saturating_sub(now).div_ceil(TICKS);
        self.lanes.next_retry().map_or(super::POLL, until).min(super::POLL)
    }

    async fn consume(&mut self, engine: &Arc<Engine>, ready: Vec<Ready>) {
        let (mut received, mut readable) = (Vec::with_capacity(ready.len()), Vec::new());
        for one in ready {
            match one.transfer {
                Some(transfer) => {
                    received.push(Received { number: one.delivery.message.number, transfer });
                    readable.push(one);
                }
                None => self.give_up(engine, &one, "UNREADABLE").await,
            }
        }
        if received.is_empty() {
            return;
        }
        let results = engine.consume(self.group, &received).await;
        for ((one, message), result) in readable.iter().zip(received).zip(results) {
            match result {
                Consumption::Moved | Consumption::Seen | Consumption::Passed => {
                    self.lanes.done(&one.place);
                }
                Consumption::Poison(why) => self.give_up(engine, one, why).await,
                Consumption::Failed(cause) => self.retry(engine, one, message, &cause).await,
            }
        }
    }

    async fn give_up(&mut self, engine: &Arc<Engine>, one: &Ready, why: &str) {
        if engine.dead_letter(self.group, one, why).await {
            self.lanes.done(&one.place);
        } else {
            let retry_at = engine.retry_at(one.failures.saturating_add(1));
            self.lanes.failed(&one.place, retry_at, true);
        }
    }

    /// It is consumed again later. What stands for the whole service counts against no message.
    async fn retry(&mut self, engine: &Arc<Engine>, one: &Ready, message: Received, cause: &Cause) {
        let whole = matches!(cause.class, Cause::HALTED | "LEASE_OVER" | "FULL");
        let failures = one.failures.saturating_add(u32::from(!whole));
        if failures >= FAILURES && engine.defer(message, cause).await {
            tracing::warn!(transfer = %message.transfer, %cause, "another message is sent later");
            self.lanes.done(&one.place);
            return;
        }
        // one that another message moved meanwhile is looked at again at once
        let at_once = cause.class == "MOVED";
        let retry_at = if at_once { 0 } else { engine.retry_at(failures) };
        self.lanes.failed(&one.place, retry_at, !whole);
    }

    async fn commit(&mut self) -> Result<(), Cause> {
        let next = self.lanes.take_done();
        if next.is_empty() {
            return Ok(());
        }
        match self.member.commit(next).await {
            // what is done comes again to another member, which finds that it was consumed
            Err(cause) if cause.class != "REBALANCED" => Err(cause),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Pauses a partition of which too much is in hand, and resumes it when there is room.
    fn regulate(&mut self, most: usize) {
        let full: BTreeSet<Partition> = self
            .lanes
            .sizes()
            .filter(|(_, len)| *len >= most)
            .map(|(partition, _)| partition.clone())
            .collect();
        for partition in full.difference(&self.paused) {
            self.member.pause(partition);
        }
        for partition in self.paused.difference(&full) {
            self.member.resume(partition);
        }
        self.paused = full;
    }
}

/// A message as it lies on the topic of dead letters: as it was, with where it came from and why.
fn dead(group: ConsumerGroup, ready: &Ready, why: &str) -> BusMessage {
    let delivery = &ready.delivery;
    let message = &delivery.message;
    let mut headers: Map<String, Value> =
        serde_json::from_str(&message.headers).unwrap_or_default();
    let mut header = |name: &str, value: String| {
        headers.insert(name.to_owned(), Value::String(value));
    };
    header("dlt-original-topic", delivery.partition.topic.to_string());
    header("dlt-original-partition", delivery.partition.number.to_string());
    header("dlt-original-offset", delivery.offset.to_string());
    header("dlt-consumer-group", group.name.to_owned());
    header("dlt-reason-code", why.to_owned());
    BusMessage {
        topic: format!("{}-dlt", delivery.partition.topic).into(),
        headers: Value::Object(headers).to_string().into(),
        ..message.clone()
    }
}
