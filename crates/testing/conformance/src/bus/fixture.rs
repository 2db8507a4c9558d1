//! The fixture of the bus checks: one fresh bus, and members that poll until it stays quiet.

use super::{BusSite, BusSuite};
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::bus::{Bus, BusDelivery, BusMessage, Member, Partition, PartitionLag, Seek};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

/// Number of polls in a row that give nothing before a bus counts as quiet.
const QUIET: usize = 5;
/// Maximum number of polls of each member in a rebalance.
const POLLS: usize = 200;

pub(super) struct BusFixture {
    bus: Option<Arc<dyn Bus>>,
    site: BusSite,
    /// How long one poll waits.
    wait: Millis,
    /// What follows each name of a topic or group.
    names: String,
    check: &'static str,
}

impl BusFixture {
    pub(super) async fn open(check: &'static str, suite: &BusSuite) -> Self {
        let mut site = (suite.fresh)();
        let bus = Some(site().await);
        let names = format!("-{check}-{}", suite.names);
        Self { bus, site, wait: suite.wait, names, check }
    }

    /// Everything is dropped, and the bus opened again over the same data.
    pub(super) async fn reopen(&mut self) {
        self.bus = None;
        self.bus = Some((self.site)().await);
    }

    fn on(&self) -> &dyn Bus {
        match &self.bus {
            Some(bus) => &**bus,
            None => panic!("{}: nothing is open", self.check),
        }
    }

    #[track_caller]
    pub(super) fn same<T: Debug + PartialEq>(&self, what: &str, is: &T, should: &T) {
        assert!(is == should, "{}: {what}: {is:?} instead of {should:?}", self.check);
    }

    #[track_caller]
    pub(super) fn holds(&self, holds: bool, what: &str, facts: &impl Debug) {
        assert!(holds, "{}: {what}: {facts:?}", self.check);
    }

    #[track_caller]
    fn ok<T>(&self, what: &str, result: Result<T, Cause>) -> T {
        result.unwrap_or_else(|cause| panic!("{}: {what}: {cause}", self.check))
    }

    fn named(&self, name: &str) -> Arc<str> {
        format!("{name}{}", self.names).into()
    }

    fn topics(&self, topics: &[&str]) -> Vec<Arc<str>> {
        topics.iter().map(|topic| self.named(topic)).collect()
    }

    /// The message of that number.
    pub(super) fn message(&self, topic: &str, key: &str, number: u128) -> BusMessage {
        let payload = format!(r#"{{"n":{number}}}"#).into();
        let headers = r#"{"a":"b"}"#.into();
        BusMessage { topic: self.named(topic), key: key.into(), number, payload, headers }
    }

    pub(super) async fn publish_all(&self, messages: Vec<BusMessage>) -> Vec<Result<(), Cause>> {
        self.on().publish(messages).await
    }

    pub(super) async fn publish(&self, topic: &str, key: &str, n: usize) {
        let number = u128::try_from(n).unwrap_or(0);
        let message = self.message(topic, key, number);
        for answer in self.publish_all(vec![message]).await {
            self.ok("a publication", answer);
        }
    }

    /// A member that has its first partitions.
    pub(super) async fn join(&self, group: &str, topics: &[&str]) -> Box<dyn Member> {
        let mut member = self.subscribe(group, topics).await;
        self.assigned(&mut [&mut *member], |all| all.iter().all(|own| !own.is_empty())).await;
        member
    }

    pub(super) async fn subscribe(&self, group: &str, topics: &[&str]) -> Box<dyn Member> {
        self.ok("a member", self.on().subscribe(self.named(group), self.topics(topics)).await)
    }

    /// Everything that comes until the bus is quiet.
    pub(super) async fn drain(&self, member: &mut dyn Member) -> Vec<BusDelivery> {
        let (mut found, mut quiet) = (Vec::new(), 0);
        while quiet < QUIET {
            let polled = self.ok("a poll", member.poll(7, self.wait).await);
            quiet = if polled.messages.is_empty() { quiet + 1 } else { 0 };
            found.extend(polled.messages);
        }
        found
    }

    pub(super) async fn numbers(&self, member: &mut dyn Member) -> Vec<u128> {
        self.drain(member).await.iter().map(|d| d.message.number).collect()
    }

    /// Commits what lies behind these.
    pub(super) async fn commit(&self, member: &mut dyn Member, done: &[BusDelivery]) {
        let mut next = BTreeMap::new();
        for d in done {
            next.insert(d.partition.clone(), d.offset + 1);
        }
        self.ok("a commit", member.commit(next.into_iter().collect()).await);
    }

    pub(super) async fn lag(&self, group: &str, topics: &[&str]) -> Vec<PartitionLag> {
        // a broker whose partitions have just got their leaders says so, and is asked again
        for _ in 0..POLLS {
            if let Ok(lag) = self.on().lag(self.named(group), self.topics(topics)).await {
                return lag;
            }
            std::thread::sleep(std::time::Duration::from_millis(self.wait));
        }
        self.ok("the lag", self.on().lag(self.named(group), self.topics(topics)).await)
    }

    /// The lag in the one partition of a topic in which messages lie.
    pub(super) async fn lag_of(&self, group: &str, topic: &str) -> PartitionLag {
        let all = self.lag(group, &[topic]).await;
        let one = all.iter().find(|lag| lag.end > 0).cloned();
        one.unwrap_or_else(|| panic!("{}: no partition has messages: {all:?}", self.check))
    }

    pub(super) async fn total_lag(&self, group: &str, topics: &[&str]) -> u64 {
        self.lag(group, topics).await.iter().map(PartitionLag::messages).sum()
    }

    pub(super) async fn seek(
        &self,
        group: &str,
        topics: &[&str],
        to: Millis,
        apply: bool,
    ) -> Result<Vec<Seek>, Cause> {
        self.on().seek(self.named(group), self.topics(topics), to, apply).await
    }

    /// Seeks once the member that was dropped has left the group.
    pub(super) async fn seek_after_drop(&self, group: &str, topic: &str, to: Millis) -> Vec<Seek> {
        let mut last = Err(Cause::of("NEVER_TRIED"));
        for _ in 0..POLLS {
            last = self.seek(group, &[topic], to, true).await;
            if !last.as_ref().is_err_and(|cause| cause.class == "GROUP_IN_USE") {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(self.wait));
        }
        self.ok("a seek", last)
    }

    pub(super) async fn newest(&self, topics: &[&str], limit: usize) -> Vec<BusDelivery> {
        // a broker whose partitions have just got their leaders says so, and is asked again
        for _ in 0..POLLS {
            if let Ok(newest) = self.on().newest(self.topics(topics), limit).await {
                return newest;
            }
            std::thread::sleep(std::time::Duration::from_millis(self.wait));
        }
        self.ok("the newest messages", self.on().newest(self.topics(topics), limit).await)
    }

    pub(super) async fn probe(&self) -> Result<(), Cause> {
        self.on().probe().await
    }

    /// Polls all members until what they have is as it should be. None takes a message.
    pub(super) async fn assigned(
        &self,
        members: &mut [&mut dyn Member],
        should: impl Fn(&[BTreeSet<Partition>]) -> bool,
    ) -> Vec<BTreeSet<Partition>> {
        let mut all = vec![BTreeSet::new(); members.len()];
        for _ in 0..POLLS {
            for (member, own) in members.iter_mut().zip(&mut all) {
                let polled = self.ok("a poll", member.poll(0, self.wait).await);
                self.same("messages beyond the limit", &polled.messages, &vec![]);
                if let Some(assigned) = polled.assigned {
                    *own = assigned.into_iter().collect();
                }
            }
            if should(&all) {
                return all;
            }
        }
        panic!("{}: the members stay with {all:?}", self.check);
    }
}
