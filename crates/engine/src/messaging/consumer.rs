//! A consumer takes the messages of its group from the bus, has each consumed, and then commits the
//! offsets. A message may be consumed twice; none is lost.

use crate::messaging::Messaging;
use crate::messaging::consume::Consumption;
use crate::messaging::group::GroupTask;
use crate::messaging::lanes::{Lanes, Ready};
use crate::messaging::parking::{ParkedKeys, stands_for_all};
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::operators::Scope;
use kernel::ports::bus::{Member, Partition};
use kernel::ports::clock::TICKS;
use kernel::ports::inbox::NextTry;
use kernel::ports::meter::Seen;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// After this many failures a key is parked: one account that fails must not hold up the offset of its
/// partition.
const FAILURES: u32 = 5;
/// After this many looks a message whose predecessors did not come is reported as missed.
const LOOKS: u32 = 12;
/// The most batches of a partition in hand; above that it is paused.
const BATCHES: usize = 4;

/// A member of a group, with what it has in hand.
struct Consumer {
    group: GroupTask,
    member: Box<dyn Member>,
    lanes: Lanes,
    /// The partitions that give nothing until there is room.
    full: BTreeSet<Partition>,
    parked: ParkedKeys,
    /// The offsets at which partitions go on, as long as the bus has not acknowledged them.
    uncommitted: BTreeMap<Partition, u64>,
}

impl Messaging {
    /// Consumes as long as the process lives. While persons pause the group it has no member: the messages
    /// in hand come again.
    pub(crate) async fn run_consumer(self: Arc<Self>, group: GroupTask) {
        let Some(client) = &self.client else { return std::future::pending().await };
        let base = self.shared.parts.settings.backoff.base;
        while !self.shared.controls.draining() {
            if self.group_paused(group) {
                self.shared.parts.clock.sleep(super::POLL).await;
                continue;
            }
            let member = match client.bus.subscribe(group.name().into(), group.topics()).await {
                Ok(member) => member,
                Err(cause) => {
                    tracing::error!(group = group.name(), %cause, "the bus does not answer");
                    self.shared.parts.clock.sleep(base).await;
                    continue;
                }
            };
            let mut consumer = Consumer::new(group, member);
            while !self.shared.controls.draining() && !self.group_paused(group) {
                if let Err(cause) = consumer.round(&self).await {
                    tracing::error!(group = group.name(), %cause, "messages cannot be consumed");
                    self.shared.parts.clock.sleep(base).await;
                }
            }
        }
        std::future::pending().await
    }

    /// Whether persons paused a group.
    pub(crate) fn group_paused(&self, group: GroupTask) -> bool {
        self.shared.controls.scope_paused(Scope::Group(group.name()))
    }

    /// The wait before a message that failed this often is consumed again.
    fn retry_at(&self, failures: u32) -> u64 {
        let wait = self.shared.parts.settings.backoff.wait(failures, self.shared.parts.rng.next());
        self.shared.parts.clock.ticks().saturating_add(wait.saturating_mul(TICKS))
    }
}

impl Consumer {
    fn new(group: GroupTask, member: Box<dyn Member>) -> Self {
        Self {
            group,
            member,
            lanes: Lanes::default(),
            full: BTreeSet::new(),
            parked: ParkedKeys::default(),
            uncommitted: BTreeMap::new(),
        }
    }

    /// Polls once, and consumes the messages in hand.
    async fn round(&mut self, messaging: &Arc<Messaging>) -> Result<(), Cause> {
        let wait = self.wait(messaging.shared.parts.clock.ticks());
        let polled = self.member.poll(messaging.shared.parts.settings.batch_max, wait).await?;
        if let Some(assigned) = polled.assigned {
            self.lanes.keep(&assigned);
            self.full.retain(|partition| assigned.contains(partition));
            self.uncommitted.retain(|partition, _| assigned.contains(partition));
            self.parked.assign(assigned.into_iter().collect());
        }
        for delivery in polled.messages {
            self.lanes.add(delivery);
        }
        messaging.look_at_parked(self.group, &mut self.parked).await?;
        let ready = self.lanes.ready(messaging.shared.parts.clock.ticks());
        self.consume(messaging, ready).await;
        self.commit().await?;
        self.regulate(messaging.shared.parts.settings.batch_max.saturating_mul(BATCHES));
        Ok(())
    }

    /// How long there is nothing to consume, should no message come.
    fn wait(&self, now: u64) -> Millis {
        let until = |at: u64| at.saturating_sub(now).div_ceil(TICKS);
        let retry = self.lanes.next_retry().map(until);
        retry.filter(|wait| *wait < super::POLL).unwrap_or(super::POLL)
    }

    async fn consume(&mut self, messaging: &Arc<Messaging>, ready: Vec<Ready>) {
        let (parked, ready): (Vec<_>, Vec<_>) =
            ready.into_iter().partition(|one| self.parked.has(&one.delivery));
        self.join(messaging, parked).await;
        if ready.is_empty() {
            return;
        }
        let results = messaging.take(self.group, &ready).await;
        let mut dead = Vec::new();
        for (one, result) in ready.iter().zip(results) {
            self.seen(messaging, result.name());
            match result {
                Consumption::Moved | Consumption::Seen | Consumption::Passed => {
                    self.lanes.done(&one.place);
                }
                Consumption::Poison(why) => dead.push((one.clone(), why)),
                Consumption::Failed(cause) => self.retry(messaging, one, &cause).await,
            }
        }
        self.give_up(messaging, dead).await;
    }

    fn seen(&self, messaging: &Messaging, outcome: &'static str) {
        messaging.shared.parts.meter.see(Seen::Consumed { group: self.group.name(), outcome });
    }

    /// Puts messages of a parked key behind those of the key that wait.
    async fn join(&mut self, messaging: &Arc<Messaging>, ready: Vec<Ready>) {
        if ready.is_empty() {
            return;
        }
        let messages = ready.iter().map(|one| one.delivery.clone()).collect();
        // of a key that waits no more by now: it is tried at once
        let next = NextTry { failures: 0, cause: "JOINED".into(), due: 0 };
        let joined = messaging.park_messages(self.group, messages, next).await;
        for one in &ready {
            if joined {
                self.seen(messaging, "parked");
                self.lanes.done(&one.place);
            } else {
                let retry_at = messaging.retry_at(one.failures.saturating_add(1));
                self.lanes.failed(&one.place, retry_at, true);
            }
        }
    }

    /// Stores messages as dead letters, in one write.
    async fn give_up(&mut self, messaging: &Arc<Messaging>, dead: Vec<(Ready, &'static str)>) {
        if dead.is_empty() {
            return;
        }
        let stored = messaging.store_dead_letters(self.group, &dead).await;
        for (one, _) in &dead {
            if stored {
                self.lanes.done(&one.place);
            } else {
                let retry_at = messaging.retry_at(one.failures.saturating_add(1));
                self.lanes.failed(&one.place, retry_at, true);
            }
        }
    }

    /// Lets a message wait for its next try, and parks its key when it failed too often. A cause that
    /// concerns the whole service counts against no message.
    async fn retry(&mut self, messaging: &Arc<Messaging>, one: &Ready, cause: &Cause) {
        // another message of its key was parked in this round, and this one with it
        if self.lanes.is_done(&one.place) {
            return;
        }
        let whole = stands_for_all(cause);
        let failures = one.failures.saturating_add(u32::from(!whole));
        if failures >= FAILURES && self.group.parks() {
            if self.park(messaging, one, messaging.next_try(failures, cause)).await {
                return;
            }
        } else if failures >= LOOKS
            && cause.class == super::auditing::GAP
            && messaging.publish_missed(self.group, one).await
        {
            self.seen(messaging, "gap");
            self.lanes.done(&one.place);
            return;
        }
        // one that another message moved meanwhile is looked at again at once
        let at_once = cause.class == "MOVED";
        let retry_at = if at_once { 0 } else { messaging.retry_at(failures) };
        self.lanes.failed(&one.place, retry_at, !whole);
    }

    /// Parks a message that failed, with every message in hand that follows it under its key. False:
    /// nothing could be written.
    async fn park(&mut self, messaging: &Arc<Messaging>, one: &Ready, next: NextTry) -> bool {
        let (places, messages): (Vec<_>, Vec<_>) = self.lanes.of_key(one).into_iter().unzip();
        let cause = next.cause.clone();
        if !messaging.park_messages(self.group, messages, next).await {
            return false;
        }
        self.parked.add(&one.delivery);
        let key = &one.delivery.message.key;
        tracing::warn!(group = self.group.name(), %key, %cause, "a key is parked");
        for place in places {
            self.seen(messaging, "parked");
            self.lanes.done(&place);
        }
        true
    }

    /// Commits the offsets that are done. Where the bus does not acknowledge them, the next round commits
    /// the same again: it may be long until a later message commits past them.
    async fn commit(&mut self) -> Result<(), Cause> {
        self.uncommitted.extend(self.lanes.take_done());
        if self.uncommitted.is_empty() {
            return Ok(());
        }
        let next = self.uncommitted.iter().map(|(of, next)| (of.clone(), *next)).collect();
        match self.member.commit(next).await {
            Ok(()) => self.uncommitted.clear(),
            // of what went to another member the next poll says so: what is done comes again to that one,
            // which finds that it was consumed
            Err(cause) if cause.class == "REBALANCED" => {}
            Err(cause) => return Err(cause),
        }
        Ok(())
    }

    /// Pauses a partition of which too many messages are in hand, and resumes it when there is room.
    fn regulate(&mut self, most: usize) {
        let full = self.lanes.full(most);
        for partition in full.difference(&self.full) {
            self.member.pause(partition);
        }
        for partition in self.full.difference(&full) {
            self.member.resume(partition);
        }
        self.full = full;
    }
}
