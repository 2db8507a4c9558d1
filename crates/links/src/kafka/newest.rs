//! Reads the newest messages of topics, with a client that is a member of no group.

use super::envelope::delivery;
use super::member::place;
use super::offsets::{Inspectors, OffsetReader, PROBES, TIMEOUT, list, lock, now, unsigned};
use kernel::answer::Cause;
use kernel::ports::bus::{BusDelivery, Partition};
use rdkafka::consumer::Consumer as _;
use rdkafka::error::{KafkaError, KafkaResult};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Inspectors {
    pub(super) fn newest(
        &self,
        topics: &[Arc<str>],
        limit: usize,
    ) -> Result<Vec<BusDelivery>, Cause> {
        let failed = |error: KafkaError| self.shared.connection.failed(&error);
        // its wait is short where no broker answers
        self.probe()?;
        let client = self.of(PROBES).map_err(failed)?;
        let client = lock(&client);
        let found = read(&client, topics, limit).map_err(failed);
        client.unassign().map_err(failed)?;
        let late = || Cause::because("BUS_FAILED", "the newest messages did not come in time");
        found?.ok_or_else(late)
    }
}

/// The newest messages by partition and offset; none where not all of them come in time.
fn read(
    client: &OffsetReader,
    topics: &[Arc<str>],
    limit: usize,
) -> KafkaResult<Option<Vec<BusDelivery>>> {
    let limit = u64::try_from(limit).unwrap_or(u64::MAX);
    let mut ends = BTreeMap::new();
    let mut begins: Vec<(Partition, u64)> = Vec::new();
    for topic in topics {
        let known = client.fetch_metadata(Some(topic), TIMEOUT)?;
        let partitions = known.topics().iter().filter(|known| known.name() == &**topic);
        for partition in partitions.flat_map(|known| known.partitions()) {
            let (first, end) = client.fetch_watermarks(topic, partition.id(), TIMEOUT)?;
            let (first, end) = (unsigned(first), unsigned(end));
            if first < end {
                let wanted = end.saturating_sub(limit);
                let begin = if wanted < first { first } else { wanted };
                begins.push((place(topic, partition.id()), begin));
                ends.insert(place(topic, partition.id()), end);
            }
        }
    }
    client.assign(&list(begins.iter().map(|(partition, begin)| (partition, *begin)))?)?;
    let (until, mut found) = (now() + TIMEOUT, Vec::new());
    while !ends.is_empty() {
        let Some(record) = client.poll(until.saturating_duration_since(now())) else {
            return Ok(None);
        };
        // an error is of a connection that is tried again
        let Ok(record) = record else { continue };
        let one = delivery(&record);
        if let Some(end) = ends.get(&one.partition).copied() {
            if one.offset.saturating_add(1) >= end {
                ends.remove(&one.partition);
            }
            found.push(one);
        }
    }
    found.sort_by(|a, b| (&a.partition, a.offset).cmp(&(&b.partition, b.offset)));
    Ok(Some(found))
}
