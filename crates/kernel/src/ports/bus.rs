//! The port to a bus: topics of partitions, to which the publisher sends messages and from which groups
//! consume them.
//!
//! A bus delivers at least once. Messages of one key and topic lie in one partition, in the order in which
//! they were published; each partition has one member of a group at a time.

use super::Fut;
use crate::answer::Cause;
use crate::ids::Millis;
use std::sync::Arc;

/// A message on a bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusMessage {
    /// The topic that it is published to.
    pub topic: Arc<str>,
    /// What its partition follows from, and its order.
    pub key: Arc<str>,
    /// The number by which a consumer knows a message that comes again.
    pub number: u128,
    /// What it says; for the bus these are bytes.
    pub payload: Arc<str>,
    /// A JSON object of texts.
    pub headers: Arc<str>,
}

/// A part of a topic that has one order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition {
    /// The topic that it is a part of.
    pub topic: Arc<str>,
    /// Its number among the topic's, from 0.
    pub number: u32,
}

/// A message as a member gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusDelivery {
    /// The partition that it lies in.
    pub partition: Partition,
    /// Its place in the partition, from 0; later messages have higher ones.
    pub offset: u64,
    /// The message, as it was published.
    pub message: BusMessage,
}

/// What one poll gives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Polled {
    /// Every partition that the member has from now on, where that changed since its last poll. What
    /// it has in hand of a partition that is gone may come to another member again.
    pub assigned: Option<Vec<Partition>>,
    /// Messages of partitions that the member has, in order by partition.
    pub messages: Vec<BusDelivery>,
}

/// How far a group is in a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionLag {
    /// The partition that the lag is of.
    pub partition: Partition,
    /// The offset of the first message that the group has not committed.
    pub next: u64,
    /// The offset that the next published message gets.
    pub end: u64,
    /// When the message at `next` was published; none where there is none, or it cannot be read now.
    pub oldest: Option<Millis>,
}

impl PartitionLag {
    /// How many messages are not committed.
    pub const fn messages(&self) -> u64 {
        self.end.saturating_sub(self.next)
    }
}

/// Where a seek takes a group in a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seek {
    /// The partition whose offset is set.
    pub partition: Partition,
    /// The offset from which the group would have gone on.
    pub from: u64,
    /// The offset from which it goes on: of the first message that was published at that time or
    /// later.
    pub to: u64,
}

/// The answer to one message that was sent, when it comes; as of [`Bus::publish`].
pub type Acknowledgement = Fut<'static, Result<(), Cause>>;

/// The acknowledgement whose answer is there already.
pub fn acknowledged(answer: Result<(), Cause>) -> Acknowledgement {
    Box::pin(std::future::ready(answer))
}

/// A bus, to its publishers and to those who consume.
pub trait Bus: Send + Sync {
    /// Sends messages as [`Bus::publish`] does, and returns one acknowledgement each, in order, as soon as they are on
    /// their way: a partition that takes nothing keeps no other message's answer back.
    fn send(&self, messages: Vec<BusMessage>) -> Fut<'_, Vec<Acknowledgement>> {
        Box::pin(
            async move { self.publish(messages).await.into_iter().map(acknowledged).collect() },
        )
    }
    /// Publishes messages; one answer each, in order. An error says that it is unknown whether the
    /// message is there: it is published again, and may then be there twice. Of one key, whatever
    /// follows a message that failed is published again too.
    fn publish(&self, messages: Vec<BusMessage>) -> Fut<'_, Vec<Result<(), Cause>>>;
    /// Joins a group that consumes topics. A partition that the group never consumed begins at its
    /// first message.
    fn subscribe(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
    ) -> Fut<'_, Result<Box<dyn Member>, Cause>>;
    /// How far a group is, in each partition of topics that exist.
    fn lag(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
    ) -> Fut<'_, Result<Vec<PartitionLag>, Cause>>;
    /// Takes a group back or forward to what was published at a time, in each partition of topics that
    /// exist; with `apply` false it only says what would be.
    ///
    /// # Errors
    /// `GROUP_IN_USE`: the group has a member, which would go on from where it is. Anything else: it
    /// is unknown which partitions were moved.
    fn seek(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
        to: Millis,
        apply: bool,
    ) -> Fut<'_, Result<Vec<Seek>, Cause>>;
    /// The newest messages of each partition of topics that exist, at most `limit` of each, in their order. No
    /// group is concerned.
    ///
    /// # Errors
    /// The cause for which not all of them can be read now.
    fn newest(
        &self,
        topics: Vec<Arc<str>>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<BusDelivery>, Cause>>;
    /// The name of the broker's topics of this bus, which no other broker's have and which never changes: of the cluster,
    /// with the prefix of their names.
    ///
    /// # Errors
    /// The cause for which it cannot be asked for now.
    fn topics_name(&self) -> Fut<'_, Result<Arc<str>, Cause>>;
    /// The number of partitions of a topic; `None` where it is not known now.
    fn partition_count(&self, _topic: &Arc<str>) -> Option<u32> {
        None
    }
    /// Whether the bus answers now.
    fn probe(&self) -> Fut<'_, Result<(), Cause>>;
}

/// A member of a group. Dropping it leaves the group without a commit, as a crash does.
pub trait Member: Send {
    /// The next messages, at most `limit`, at once where there are some. Else it waits until some come,
    /// at most for `wait`; it may give nothing earlier. A member that does not poll is taken for dead
    /// after a while.
    fn poll(&mut self, limit: usize, wait: Millis) -> Fut<'_, Result<Polled, Cause>>;
    /// Gives no messages of a partition until it is resumed; the member keeps it, and polls.
    fn pause(&mut self, partition: &Partition);
    /// Gives messages of a paused partition again, from where it was paused.
    fn resume(&mut self, partition: &Partition);
    /// From these offsets on the group goes on when a member begins: what lies before them is done. An offset
    /// that the group is past takes it nowhere: a member that stood still owes less than the one did that had its
    /// partition meanwhile.
    ///
    /// # Errors
    /// Nothing of it counts. `REBALANCED`: a partition went to another member, to which its messages
    /// come again; that is no failure of the member.
    fn commit(&mut self, next: Vec<(Partition, u64)>) -> Fut<'_, Result<(), Cause>>;
}
