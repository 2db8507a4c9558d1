//! What a check works with: one fresh bus, and members that poll until it stays quiet.

use super::BusSite;
use kernel::answer::Cause;
use kernel::ports::bus::{Bus, BusDelivery, BusMessage, Member, Partition};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

/// So many polls in a row give nothing before a bus counts as quiet.
const QUIET: usize = 5;

pub(super) struct BusFixture {
    bus: Option<Arc<dyn Bus>>,
    site: BusSite,
    check: &'static str,
}

impl BusFixture {
    pub(super) async fn open(check: &'static str, mut site: BusSite) -> Self {
        let bus = Some(site().await);
        Self { bus, site, check }
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

    /// The message of that number.
    pub(super) fn message(topic: &str, key: &str, number: u128) -> BusMessage {
        let payload = format!(r#"{{"n":{number}}}"#).into();
        let headers = r#"{"a":"b"}"#.into();
        BusMessage { topic: topic.into(), key: key.into(), number, payload, headers }
    }

    pub(super) async fn publish(&self, topic: &str, key: &str, n: usize) {
        let number = u128::try_from(n).unwrap_or(0);
        let message = Self::message(topic, key, number);
        for answer in self.on().publish(vec![message]).await {
            self.ok("a publication", answer);
        }
    }

    pub(super) async fn join(&self, group: &str, topics: &[&str]) -> Box<dyn Member> {
        let topics = topics.iter().map(|topic| Arc::<str>::from(*topic)).collect();
        self.ok("a member", self.on().subscribe(group.into(), topics).await)
    }

    /// Everything that comes until the bus is quiet.
    pub(super) async fn drain(&self, member: &mut dyn Member) -> Vec<BusDelivery> {
        let (mut found, mut quiet) = (Vec::new(), 0);
        while quiet < QUIET {
            let polled = self.ok("a poll", member.poll(7).await);
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

    /// What each member has once no poll changes it any more.
    pub(super) async fn assigned(
        &self,
        members: &mut [&mut dyn Member],
    ) -> Vec<BTreeSet<Partition>> {
        let mut all = vec![BTreeSet::new(); members.len()];
        for _ in 0..QUIET {
            for (member, own) in members.iter_mut().zip(&mut all) {
                let polled = self.ok("a poll", member.poll(1).await);
                self.same("messages before any was published", &polled.messages, &vec![]);
                if let Some(assigned) = polled.assigned {
                    *own = assigned.into_iter().collect();
                }
            }
        }
        all
    }
}
