//! The bus of one process keeps a log of messages in a file of its own, and its groups in RAM.
//!
//! It has what a broker has (partitions by murmur2, offsets of groups, rebalances), so that a flow
//! behaves the same on both. A process that dies keeps what it published and committed. A loss of power
//! may lose the last moments of the file, as with a broker that acknowledges before it syncs: the
//! outbox of the journal is the truth, and can send its messages again by time. Calls take the file's
//! lock for the time of a transaction without a sync.

mod groups;
mod log;
mod member;

use groups::Groups;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::bus::{Bus, BusDelivery, BusMessage, Member, Partition, PartitionLag, Seek};
use kernel::ports::clock::Clock;
use log::Log;
use member::InProcessMember;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The number of partitions of a topic.
pub const PARTITIONS: u32 = 6;

/// The state that members and publishers share.
struct Shared {
    log: Log,
    groups: Groups,
}

/// A handle to the bus of this process.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct InProcess {
    shared: Arc<Mutex<Shared>>,
    /// Rung when messages were published.
    published: Arc<Notify>,
    clock: Arc<dyn Clock>,
}

impl InProcess {
    /// Opens the log in a file; makes it where it is missing.
    ///
    /// # Errors
    /// `BUS_FAILED`: the file is not a log of ours, or cannot be used.
    pub fn open(file: &Path, clock: Arc<dyn Clock>) -> Result<Self, Cause> {
        let log = Log::open(file)?;
        let shared = Shared { log, groups: Groups::default() };
        let (shared, published) = (Arc::new(Mutex::new(shared)), Arc::default());
        Ok(Self { shared, published, clock })
    }

    /// Forgets messages that were published before a time, whether they were consumed or not: as
    /// long as the outbox keeps them they can be sent again. Gives back how many.
    ///
    /// # Errors
    /// `BUS_FAILED`: the file could not be written.
    pub fn forget(&self, before: Millis) -> Result<u64, Cause> {
        self.lock().log.forget(before).map_err(|error| failed(&error))
    }

    fn lags(&self, group: &str, topics: &[Arc<str>]) -> rusqlite::Result<Vec<PartitionLag>> {
        let mut shared = self.lock();
        shared.log.refresh_ends()?;
        partitions(topics).map(|partition| shared.log.lag(group, &partition)).collect()
    }

    fn newest_of(&self, topics: &[Arc<str>], limit: usize) -> rusqlite::Result<Vec<BusDelivery>> {
        let mut shared = self.lock();
        shared.log.refresh_ends()?;
        let mut newest = Vec::new();
        for partition in partitions(topics) {
            newest.extend(shared.log.newest(&partition, limit)?);
        }
        Ok(newest)
    }

    /// The offsets to which a time takes a group; `apply` moves the group there, unless it has a member.
    fn seek_to(&self, group: &str, topics: &[Arc<str>], to: Millis, apply: bool) -> Sought {
        let mut shared = self.lock();
        shared.log.refresh_ends().map_err(|error| failed(&error))?;
        if apply && shared.groups.has_members(group) {
            return Err(Cause::of("GROUP_IN_USE"));
        }
        let seek = |partition: Partition| {
            let from = shared.log.lag(group, &partition)?.next;
            let to = shared.log.since(&partition, to)?;
            Ok(Seek { partition, from, to })
        };
        let seeks: rusqlite::Result<Vec<Seek>> = partitions(topics).map(seek).collect();
        let seeks = seeks.map_err(|error| failed(&error))?;
        if apply {
            let next: Vec<_> = seeks.iter().map(|seek| (seek.partition.clone(), seek.to)).collect();
            shared.log.seek(group, &next).map_err(|error| failed(&error))?;
        }
        Ok(seeks)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Sought = Result<Vec<Seek>, Cause>;

fn partitions(topics: &[Arc<str>]) -> impl Iterator<Item = Partition> {
    let of = |topic: &Arc<str>| {
        let topic = topic.clone();
        (0..PARTITIONS).map(move |number| Partition { topic: topic.clone(), number })
    };
    topics.iter().flat_map(of)
}

fn failed(error: &rusqlite::Error) -> Cause {
    Cause::because("BUS_FAILED", error.to_string())
}

impl Bus for InProcess {
    fn publish(&self, messages: Vec<BusMessage>) -> Fut<'_, Vec<Result<(), Cause>>> {
        Box::pin(async move {
            let written = self.lock().log.append(&messages, self.clock.now());
            self.published.notify_waiters();
            let answer = written.map_err(|error| failed(&error));
            messages.iter().map(|_| answer.clone()).collect()
        })
    }

    fn subscribe(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
    ) -> Fut<'_, Result<Box<dyn Member>, Cause>> {
        Box::pin(async move {
            let id = self.lock().groups.join(&group, topics);
            let member: Box<dyn Member> = Box::new(InProcessMember::new(self.clone(), group, id));
            Ok(member)
        })
    }

    fn lag(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
    ) -> Fut<'_, Result<Vec<PartitionLag>, Cause>> {
        Box::pin(async move { self.lags(&group, &topics).map_err(|error| failed(&error)) })
    }

    fn seek(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
        to: Millis,
        apply: bool,
    ) -> Fut<'_, Result<Vec<Seek>, Cause>> {
        Box::pin(async move { self.seek_to(&group, &topics, to, apply) })
    }

    fn newest(
        &self,
        topics: Vec<Arc<str>>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<BusDelivery>, Cause>> {
        Box::pin(async move { self.newest_of(&topics, limit).map_err(|error| failed(&error)) })
    }

    fn topics_name(&self) -> Fut<'_, Result<Arc<str>, Cause>> {
        Box::pin(async move { self.lock().log.name().map_err(|error| failed(&error)) })
    }

    fn partition_count(&self, _topic: &Arc<str>) -> Option<u32> {
        Some(PARTITIONS)
    }

    fn probe(&self) -> Fut<'_, Result<(), Cause>> {
        // a file that is open answers; where it fails, publishing says so
        Box::pin(async { Ok(()) })
    }
}
