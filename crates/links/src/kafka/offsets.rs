//! Reads the offsets of groups, and moves groups to a time, with clients that are members of no group.

use super::Shared;
use super::connection::Connection;
use super::member::place;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::bus::{Partition, PartitionLag, Seek};
use rdkafka::TopicPartitionList;
use rdkafka::config::FromClientConfigAndContext as _;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::Message as _;
use rdkafka::topic_partition_list::Offset;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest that one answer of a broker is waited for, and all the oldest messages of a group.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);
/// The longest that a probe waits.
const PROBE: Duration = Duration::from_secs(2);
/// The name of the group and of the topic that a probe asks the brokers for; it reads no group.
pub(super) const PROBES: &str = "portage-probe";

pub(super) type OffsetReader = BaseConsumer<Connection>;

/// One client for each group that is read: the group's name is part of a client's settings.
pub(super) struct Inspectors {
    pub(super) shared: Arc<Shared>,
    by_group: Mutex<BTreeMap<Arc<str>, Arc<Mutex<OffsetReader>>>>,
}

impl Inspectors {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, by_group: Mutex::default() }
    }

    pub(super) fn of(&self, group: &str) -> KafkaResult<Arc<Mutex<OffsetReader>>> {
        let mut all = lock(&self.by_group);
        if let Some(client) = all.get(group) {
            return Ok(client.clone());
        }
        let settings = self.shared.settings.inspector(group);
        let client =
            OffsetReader::from_config_and_context(&settings, self.shared.connection.clone())?;
        let client = Arc::new(Mutex::new(client));
        all.insert(group.into(), client.clone());
        Ok(client)
    }

    pub(super) fn probe(&self) -> Result<(), Cause> {
        let looked = self.of(PROBES).and_then(|client| {
            // a topic that does not exist is an answer too, and a short one
            let client = lock(&client);
            client.fetch_metadata(Some(PROBES), PROBE).map(|_| ())
        });
        match looked {
            Ok(()) => {
                self.shared.connection.answered();
                Ok(())
            }
            Err(error) => Err(self.shared.connection.failed(&error)),
        }
    }

    /// The id that the brokers drew for their cluster.
    pub(super) fn cluster(&self) -> Result<String, Cause> {
        // its wait is short where no broker answers
        self.probe()?;
        let client = self.of(PROBES).map_err(|error| self.shared.connection.failed(&error))?;
        let cluster = lock(&client).client().fetch_cluster_id(TIMEOUT);
        cluster.ok_or_else(|| Cause::because("BUS_FAILED", "the brokers name no cluster"))
    }

    pub(super) fn lag(&self, group: &str, topics: &[Arc<str>]) -> Result<Vec<PartitionLag>, Cause> {
        let failed = |error: KafkaError| self.shared.connection.failed(&error);
        let client = self.of(group).map_err(failed)?;
        let client = lock(&client);
        // what it heard while no caller listened
        while client.poll(Duration::ZERO).is_some() {}
        let mut lag = positions(&client, topics).map_err(failed)?;
        let until = now() + TIMEOUT;
        for one in lag.iter_mut().filter(|one| one.messages() > 0) {
            one.oldest = oldest(&client, &one.partition, one.next, until).map_err(failed)?;
        }
        client.unassign().map_err(failed)?;
        Ok(lag)
    }

    pub(super) fn seek(
        &self,
        group: &str,
        topics: &[Arc<str>],
        to: Millis,
        apply: bool,
    ) -> Result<Vec<Seek>, Cause> {
        let failed = |error: KafkaError| self.shared.connection.failed(&error);
        let client = self.of(group).map_err(failed)?;
        let client = lock(&client);
        let seeks = since(&client, topics, to).map_err(failed)?;
        if !apply || seeks.is_empty() {
            return Ok(seeks);
        }
        let list = list(seeks.iter().map(|seek| (&seek.partition, seek.to))).map_err(failed)?;
        match client.commit(&list, CommitMode::Sync) {
            Ok(()) => Ok(seeks),
            Err(error) if error.rdkafka_error_code().is_some_and(is_in_use) => {
                Err(Cause::of("GROUP_IN_USE"))
            }
            Err(error) => Err(failed(error)),
        }
    }
}

/// A broker takes offsets from what is no member only where the group has none.
fn is_in_use(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    matches!(code, Code::UnknownMemberId | Code::IllegalGeneration | Code::RebalanceInProgress)
}

/// The offsets of a group in every partition of topics that exist.
fn positions(client: &OffsetReader, topics: &[Arc<str>]) -> KafkaResult<Vec<PartitionLag>> {
    let mut all = TopicPartitionList::new();
    for topic in topics {
        let known = client.fetch_metadata(Some(topic), TIMEOUT)?;
        let partitions = known.topics().iter().filter(|known| known.name() == &**topic);
        for partition in partitions.flat_map(|known| known.partitions()) {
            all.add_partition(topic, partition.id());
        }
    }
    if all.count() == 0 {
        return Ok(Vec::new());
    }
    let committed = client.committed_offsets(all, TIMEOUT)?;
    let mut lag = Vec::with_capacity(committed.count());
    for one in committed.elements() {
        one.error()?;
        let (first, end) = client.fetch_watermarks(one.topic(), one.partition(), TIMEOUT)?;
        // what the broker has deleted is not ahead of the group; where it lost its log's end, the group begins anew
        let next = match one.offset() {
            Offset::Offset(next) if next > first && next <= end => next,
            Offset::Offset(_)
            | Offset::Beginning
            | Offset::End
            | Offset::Stored
            | Offset::Invalid
            | Offset::OffsetTail(_) => first,
        };
        let (next, end) = (unsigned(next), unsigned(end));
        let partition = place(one.topic(), one.partition());
        lag.push(PartitionLag { partition, next, end, oldest: None });
    }
    Ok(lag)
}

#[expect(clippy::disallowed_methods, reason = "the client library's waits are in real time")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// When the message at an offset was published; none where it does not come in time.
fn oldest(
    client: &OffsetReader,
    partition: &Partition,
    offset: u64,
    until: Instant,
) -> KafkaResult<Option<Millis>> {
    client.assign(&list([(partition, offset)].into_iter())?)?;
    loop {
        let left = until.saturating_duration_since(now());
        let Some(record) = client.poll(left) else { return Ok(None) };
        match record {
            Ok(record) if place(record.topic(), record.partition()) == *partition => {
                return Ok(record.timestamp().to_millis().map(unsigned));
            }
            // of another partition, or of a connection that is tried again
            Ok(_) | Err(_) => {}
        }
    }
}

/// The offsets to which a time takes a group.
fn since(client: &OffsetReader, topics: &[Arc<str>], to: Millis) -> KafkaResult<Vec<Seek>> {
    let positions = positions(client, topics)?;
    if positions.is_empty() {
        return Ok(Vec::new());
    }
    let times = list(positions.iter().map(|lag| (&lag.partition, to)))?;
    let found = client.offsets_for_times(times, TIMEOUT)?;
    let mut seeks = Vec::with_capacity(positions.len());
    for lag in positions {
        let number = i32::try_from(lag.partition.number).unwrap_or(i32::MAX);
        let place = found.find_partition(&lag.partition.topic, number);
        let to = match place.map(|place| place.offset()) {
            Some(Offset::Offset(offset)) => unsigned(offset),
            // nothing is as young
            Some(
                Offset::Beginning
                | Offset::End
                | Offset::Stored
                | Offset::Invalid
                | Offset::OffsetTail(_),
            )
            | None => lag.end,
        };
        seeks.push(Seek { partition: lag.partition, from: lag.next, to });
    }
    Ok(seeks)
}

pub(super) fn list<'p>(
    places: impl Iterator<Item = (&'p Partition, u64)>,
) -> KafkaResult<TopicPartitionList> {
    let mut list = TopicPartitionList::new();
    for (partition, offset) in places {
        let number = i32::try_from(partition.number).unwrap_or(i32::MAX);
        let offset = Offset::Offset(i64::try_from(offset).unwrap_or(i64::MAX));
        list.add_partition_offset(&partition.topic, number, offset)?;
    }
    Ok(list)
}

pub(super) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
