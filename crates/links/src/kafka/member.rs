//! Implements a member of a group: it tracks its partitions, the messages that it gave out, and the
//! offsets that it has still to commit.

use super::Shared;
use super::connection::{Membership, is_away};
use super::envelope::delivery;
use futures_util::FutureExt as _;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::bus::{BusDelivery, Member, Partition, Polled};
use rdkafka::TopicPartitionList;
use rdkafka::config::FromClientConfigAndContext as _;
use rdkafka::consumer::{CommitMode, Consumer as _, StreamConsumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::topic_partition_list::Offset;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

type KafkaConsumer = StreamConsumer<Membership>;

/// The longest that a broker is asked how far the group is.
const ASKS: Duration = Duration::from_secs(5);

pub(super) struct KafkaMember {
    shared: Arc<Shared>,
    group: Arc<str>,
    topics: BTreeSet<Arc<str>>,
    /// None while it is dropped.
    client: Option<Arc<KafkaConsumer>>,
    assigned: BTreeSet<Partition>,
    paused: BTreeSet<Partition>,
    /// Taken from the client and not given out yet.
    buffer: VecDeque<BusDelivery>,
    /// Offsets that were to be committed while the group changed or no broker answered.
    owed: BTreeMap<Partition, u64>,
    /// How far the group is in partitions that the member has had since the last rebalance.
    reached: BTreeMap<Partition, u64>,
}

impl KafkaMember {
    pub(super) fn join(
        shared: Arc<Shared>,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
    ) -> KafkaResult<Self> {
        let topics: BTreeSet<Arc<str>> = topics.into_iter().collect();
        let client = Some(client(&shared, &group, &topics)?);
        let (assigned, paused) = (BTreeSet::new(), BTreeSet::new());
        let (buffer, owed, reached) = (VecDeque::new(), BTreeMap::new(), BTreeMap::new());
        Ok(Self { shared, group, topics, client, assigned, paused, buffer, owed, reached })
    }

    fn client(&self) -> KafkaResult<Arc<KafkaConsumer>> {
        self.client.clone().ok_or(KafkaError::Canceled)
    }

    async fn next(&mut self, limit: usize, wait: Millis) -> KafkaResult<Polled> {
        self.pay().await?;
        let client = self.client()?;
        let mut wait =
            if self.buffer.is_empty() { Duration::from_millis(wait) } else { Duration::ZERO };
        // one more than the limit is never taken, but with limit 0 the client has to be served too
        while self.buffer.len() < limit || self.buffer.is_empty() {
            let next = match wait {
                Duration::ZERO => client.recv().now_or_never(),
                wait => timeout(wait, client.recv()).await.ok(),
            };
            wait = Duration::ZERO;
            match next {
                None => break,
                Some(Ok(record)) => {
                    self.shared.connection.answered();
                    self.buffer.push_back(delivery(&record));
                }
                Some(Err(error)) => {
                    self.tolerate(error).await?;
                    break;
                }
            }
        }
        let assigned = self.rebalanced()?;
        let rest = self.buffer.split_off(if self.buffer.len() < limit {
            self.buffer.len()
        } else {
            limit
        });
        let messages = std::mem::replace(&mut self.buffer, rest).into();
        Ok(Polled { assigned, messages })
    }

    /// Errors behind which the client goes on by itself are no errors of a poll.
    async fn tolerate(&mut self, error: KafkaError) -> KafkaResult<()> {
        use RDKafkaErrorCode as Code;
        if matches!(error, KafkaError::MessageConsumptionFatal(_)) {
            tracing::warn!(group = &*self.group, %error, "the member joins its group anew");
            self.client = Some(client(&self.shared, &self.group, &self.topics)?);
            self.reached.clear();
            return Ok(());
        }
        match error.rdkafka_error_code() {
            Some(Code::UnknownTopicOrPartition | Code::UnknownTopic) => {
                self.topics.iter().for_each(|topic| self.shared.topics.forget(topic));
                self.shared.topics.ensure(&self.topics).await
            }
            Some(code) if is_away(code) => {
                self.shared.connection.lost(&error.to_string());
                Ok(())
            }
            Some(Code::PollExceeded) | None => {
                tracing::warn!(group = &*self.group, %error, "a member was late");
                Ok(())
            }
            Some(_) => Err(error),
        }
    }

    /// The member's partitions from now on, where they changed.
    fn rebalanced(&mut self) -> KafkaResult<Option<Vec<Partition>>> {
        let client = self.client()?;
        if !client.context().take_changed() {
            return Ok(None);
        }
        let list = client.assignment()?;
        self.assigned =
            list.elements().iter().map(|one| place(one.topic(), one.partition())).collect();
        self.reached.clear();
        let assigned = &self.assigned;
        self.paused.retain(|partition| assigned.contains(partition));
        self.owed.retain(|partition, _| assigned.contains(partition));
        self.buffer.retain(|delivery| assigned.contains(&delivery.partition));
        // one that was away in between is given out again
        client.pause(&self.list(self.paused.iter().map(|partition| (partition, None))))?;
        Ok(Some(self.assigned.iter().cloned().collect()))
    }

    /// Commits what could not be committed before.
    async fn pay(&mut self) -> KafkaResult<()> {
        if self.owed.is_empty() {
            return Ok(());
        }
        match self.write(self.owed.clone()).await {
            Ok(()) => self.owed.clear(),
            Err(error) => tracing::debug!(group = &*self.group, %error, "offsets wait"),
        }
        Ok(())
    }

    async fn write(&mut self, next: BTreeMap<Partition, u64>) -> KafkaResult<()> {
        let ahead = self.ahead(next).await?;
        if ahead.is_empty() {
            return Ok(());
        }
        let list = self.list(ahead.iter().map(|(partition, next)| (partition, Some(*next))));
        let client = self.client()?;
        let done = tokio::task::spawn_blocking(move || client.commit(&list, CommitMode::Sync));
        done.await.unwrap_or(Err(KafkaError::Canceled))?;
        self.reached.extend(ahead);
        Ok(())
    }

    /// The offsets, among these, that the group is not past: a broker would take the group back to any.
    async fn ahead(
        &mut self,
        mut next: BTreeMap<Partition, u64>,
    ) -> KafkaResult<BTreeMap<Partition, u64>> {
        let client = self.client()?;
        if client.context().is_changed() {
            self.reached.clear();
        }
        let unknown = next.keys().filter(|partition| !self.reached.contains_key(*partition));
        let list = self.list(unknown.map(|partition| (partition, None)));
        if list.count() > 0 {
            let asks = tokio::task::spawn_blocking(move || client.committed_offsets(list, ASKS));
            for one in asks.await.unwrap_or(Err(KafkaError::Canceled))?.elements() {
                one.error()?;
                let reached = match one.offset() {
                    Offset::Offset(next) => u64::try_from(next).unwrap_or(0),
                    Offset::Beginning
                    | Offset::End
                    | Offset::Stored
                    | Offset::Invalid
                    | Offset::OffsetTail(_) => 0,
                };
                self.reached.insert(place(one.topic(), one.partition()), reached);
            }
        }
        self.forget_lost_offsets(&next).await?;
        next.retain(|partition, next| {
            self.reached.get(partition).is_none_or(|reached| *next > *reached)
        });
        Ok(next)
    }

    /// Forgets how far the group is in partitions that end before that: their logs lost their ends, or their topics were
    /// made anew. Nothing would be committed until they are as long again, and a start then would pass over what came.
    async fn forget_lost_offsets(&mut self, next: &BTreeMap<Partition, u64>) -> KafkaResult<()> {
        let client = self.client()?;
        let behind = |(partition, next): (&Partition, &u64)| {
            let reached = self.reached.get(partition).copied()?;
            (*next < reached).then(|| (partition.clone(), reached))
        };
        for (partition, reached) in next.iter().filter_map(behind).collect::<Vec<_>>() {
            let (client, of) = (client.clone(), partition.clone());
            let number = i32::try_from(of.number).unwrap_or(i32::MAX);
            let asks = tokio::task::spawn_blocking(move || {
                client.fetch_watermarks(&of.topic, number, ASKS)
            });
            let (_, end) = asks.await.unwrap_or(Err(KafkaError::Canceled))?;
            if u64::try_from(end).is_ok_and(|end| end < reached) {
                let Partition { topic, number } = &partition;
                tracing::warn!(
                    group = &*self.group, %topic, number, reached, end,
                    "the log of a partition ends before the group's offset: it goes back"
                );
                self.reached.insert(partition, 0);
            }
        }
        Ok(())
    }

    async fn done(&mut self, next: Vec<(Partition, u64)>) -> Result<(), Cause> {
        if next.iter().any(|(partition, _)| !self.assigned.contains(partition)) {
            return Err(Cause::of("REBALANCED"));
        }
        let mut all = self.owed.clone();
        all.extend(next);
        match self.write(all.clone()).await {
            Ok(()) => {
                self.owed.clear();
                Ok(())
            }
            Err(error) => {
                self.owed = all;
                if error.rdkafka_error_code().is_some_and(is_rebalance) {
                    return Err(Cause::of("REBALANCED"));
                }
                Err(self.shared.connection.failed(&error))
            }
        }
    }

    fn list<'p>(
        &self,
        places: impl Iterator<Item = (&'p Partition, Option<u64>)>,
    ) -> TopicPartitionList {
        let mut list = TopicPartitionList::new();
        for (partition, offset) in places {
            let number = i32::try_from(partition.number).unwrap_or(i32::MAX);
            let mut one = list.add_partition(&partition.topic, number);
            let offset = offset.map(|offset| i64::try_from(offset).unwrap_or(i64::MAX));
            if let Some(Err(error)) = offset.map(|offset| one.set_offset(Offset::Offset(offset))) {
                tracing::error!(group = &*self.group, %error, "an offset that Kafka cannot have");
            }
        }
        list
    }
}

fn client(
    shared: &Shared,
    group: &str,
    topics: &BTreeSet<Arc<str>>,
) -> KafkaResult<Arc<KafkaConsumer>> {
    let context = Membership::new(shared.connection.clone());
    let client = KafkaConsumer::from_config_and_context(&shared.settings.member(group), context)?;
    let topics: Vec<&str> = topics.iter().map(|topic| &**topic).collect();
    client.subscribe(&topics)?;
    Ok(Arc::new(client))
}

/// The group is dealing its partitions, or has dealt them to others.
fn is_rebalance(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    matches!(
        code,
        Code::RebalanceInProgress
            | Code::IllegalGeneration
            | Code::UnknownMemberId
            | Code::AssignmentLost
            | Code::FencedInstanceId
    )
}

pub(super) fn place(topic: &str, number: i32) -> Partition {
    Partition { topic: topic.into(), number: u32::try_from(number).unwrap_or(0) }
}

impl Member for KafkaMember {
    fn poll(&mut self, limit: usize, wait: Millis) -> Fut<'_, Result<Polled, Cause>> {
        Box::pin(async move {
            let polled = self.next(limit, wait).await;
            polled.map_err(|error| self.shared.connection.failed(&error))
        })
    }

    fn pause(&mut self, partition: &Partition) {
        self.paused.insert(partition.clone());
        let list = self.list([(partition, None)].into_iter());
        if let Some(Err(error)) = self.client.as_ref().map(|client| client.pause(&list)) {
            tracing::warn!(group = &*self.group, %error, "a partition is not paused");
        }
    }

    fn resume(&mut self, partition: &Partition) {
        self.paused.remove(partition);
        let list = self.list([(partition, None)].into_iter());
        if let Some(Err(error)) = self.client.as_ref().map(|client| client.resume(&list)) {
            tracing::warn!(group = &*self.group, %error, "a partition is not resumed");
        }
    }

    fn commit(&mut self, next: Vec<(Partition, u64)>) -> Fut<'_, Result<(), Cause>> {
        Box::pin(async move { self.done(next).await })
    }
}

impl Drop for KafkaMember {
    fn drop(&mut self) {
        // leaving the group waits for a broker
        let client = self.client.take();
        drop(std::thread::spawn(move || drop(client)));
    }
}
