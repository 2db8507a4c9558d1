//! Creates missing topics before the bus uses them, where the settings say so.

use super::connection::Connection;
use super::settings::{KafkaSettings, NewTopics};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::config::FromClientConfigAndContext as _;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The longest that the creation of a topic is waited for.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The topics of a bus.
pub(super) struct Topics {
    admin: Arc<AdminClient<Connection>>,
    new: Option<NewTopics>,
    /// The topics that certainly exist.
    known: Mutex<BTreeSet<Arc<str>>>,
    counts: Arc<Mutex<BTreeMap<Arc<str>, PartitionCount>>>,
}

/// The number of partitions of a topic, as a broker last told it.
#[derive(Debug, Clone, Copy, Default)]
struct PartitionCount {
    count: Option<u32>,
    /// True from when a broker is asked until a message of the topic fails.
    asked: bool,
}

impl Topics {
    pub(super) fn new(settings: &KafkaSettings, connection: Connection) -> KafkaResult<Self> {
        let admin = AdminClient::from_config_and_context(&settings.client(), connection)?;
        let admin = Arc::new(admin);
        Ok(Self {
            admin,
            new: settings.new_topics,
            known: Mutex::default(),
            counts: Arc::default(),
        })
    }

    /// Creates those that do not exist.
    pub(super) async fn ensure(&self, topics: &BTreeSet<Arc<str>>) -> KafkaResult<()> {
        let Some(new) = self.new else { return Ok(()) };
        let missing: Vec<Arc<str>> = topics.difference(&self.known()).cloned().collect();
        if missing.is_empty() {
            return Ok(());
        }
        let copies = match new.replication {
            0 => -1,
            copies => i32::from(copies),
        };
        let wanted: Vec<NewTopic<'_>> = missing
            .iter()
            .map(|topic| {
                NewTopic::new(topic, i32::from(new.partitions), TopicReplication::Fixed(copies))
            })
            .collect();
        let options =
            AdminOptions::new().request_timeout(Some(TIMEOUT)).operation_timeout(Some(TIMEOUT));
        for made in self.admin.create_topics(&wanted, &options).await? {
            match made {
                Ok(topic) => tracing::info!(topic, partitions = new.partitions, "topic created"),
                Err((topic, RDKafkaErrorCode::TopicAlreadyExists)) => {
                    let (admin, wanted) = (self.admin.clone(), usize::from(new.partitions));
                    drop(tokio::task::spawn_blocking(move || warn_of_few(&admin, &topic, wanted)));
                }
                Err((topic, code)) => {
                    tracing::warn!(topic, %code, "a topic cannot be created");
                    return Err(KafkaError::AdminOp(code));
                }
            }
        }
        self.known().extend(missing);
        Ok(())
    }

    /// The broker does not know a topic that existed: it is created again.
    pub(super) fn forget(&self, topic: &str) {
        self.known().remove(topic);
    }

    /// The number of partitions of a topic, once a broker told it.
    pub(super) fn partition_count(&self, topic: &str) -> Option<u32> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(topic).and_then(|known| known.count)
    }

    /// Has a broker asked for the numbers of partitions that are not known. No message waits for the answer.
    pub(super) fn count_partitions(&self, topics: &BTreeSet<Arc<str>>) {
        for topic in topics {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let known = counts.entry(topic.clone()).or_default();
            if std::mem::replace(&mut known.asked, true) {
                continue;
            }
            let (admin, counts, topic) = (self.admin.clone(), self.counts.clone(), topic.clone());
            drop(tokio::task::spawn_blocking(move || {
                let count = partitions_of(&admin, &topic);
                let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                let known = counts.entry(topic).or_default();
                known.count = count.or(known.count);
                known.asked = known.count.is_some();
            }));
        }
    }

    /// A message of the topic failed: its number of partitions may be another one now.
    pub(super) fn count_again(&self, topic: &str) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = counts.get_mut(topic) {
            known.asked = false;
        }
    }

    fn known(&self) -> MutexGuard<'_, BTreeSet<Arc<str>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keys keep their partitions, so a topic that has fewer than the settings say stays as it is: fewer
/// processes share its messages.
fn warn_of_few(admin: &AdminClient<Connection>, topic: &str, wanted: usize) {
    let Some(has) = partitions_of(admin, topic).and_then(|has| usize::try_from(has).ok()) else {
        return;
    };
    if has < wanted {
        tracing::warn!(topic, has, wanted, "a topic has fewer partitions than kafka.partitions");
    }
}

/// The number of partitions that a broker tells for a topic that exists.
fn partitions_of(admin: &AdminClient<Connection>, topic: &str) -> Option<u32> {
    let metadata = admin.inner().fetch_metadata(Some(topic), TIMEOUT).ok()?;
    let of_topic = metadata.topics().iter().find(|one| one.name() == topic)?;
    u32::try_from(of_topic.partitions().len()).ok().filter(|count| *count > 0)
}
