//! Creates missing topics before the bus uses them, where the settings say so.

use super::connection::Connection;
use super::settings::{KafkaSettings, NewTopics};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::config::FromClientConfigAndContext as _;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use std::collections::BTreeSet;
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
}

impl Topics {
    pub(super) fn new(settings: &KafkaSettings, connection: Connection) -> KafkaResult<Self> {
        let admin = AdminClient::from_config_and_context(&settings.client(), connection)?;
        let admin = Arc::new(admin);
        Ok(Self { admin, new: settings.new_topics, known: Mutex::default() })
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

    fn known(&self) -> MutexGuard<'_, BTreeSet<Arc<str>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keys keep their partitions, so a topic that has fewer than the settings say stays as it is: fewer
/// processes share its messages.
fn warn_of_few(admin: &AdminClient<Connection>, topic: &str, wanted: usize) {
    let Ok(known) = admin.inner().fetch_metadata(Some(topic), TIMEOUT) else { return };
    let has = known.topics().iter().map(|topic| topic.partitions().len()).max().unwrap_or(0);
    if has > 0 && has < wanted {
        tracing::warn!(topic, has, wanted, "a topic has fewer partitions than kafka.partitions");
    }
}
