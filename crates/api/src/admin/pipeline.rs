//! The bodies of the message pipeline: groups of consumers, parked keys, dead letters, the outbox.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// What an action on messages would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MessagesPreview {
    /// Always true: nothing was done yet.
    pub dry_run: bool,
    /// The number of messages that would be sent. A seek: that would be consumed again, or left out.
    #[schema(example = 12)]
    pub messages: u64,
    /// A redrive: the number of messages that would be passed over, since they went back too often.
    #[schema(example = 0)]
    pub passed_over: u64,
    /// A redrive: by the reason for which each message is dead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonCount>,
    /// A seek: where each partition that moves would go on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<SeekRow>,
}

/// How many dead letters have a reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReasonCount {
    /// The reason code that the consumer gave.
    #[schema(example = "UNKNOWN_TRANSFER")]
    pub reason: String,
    /// The number of messages that would go back.
    #[schema(example = 12)]
    pub messages: u64,
    /// The number of messages that would be passed over.
    #[schema(example = 0)]
    pub passed_over: u64,
}

/// Where a group would go on in a partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SeekRow {
    /// The topic that the group consumes.
    #[schema(example = "transfer-execution")]
    pub topic: String,
    /// The number of the partition.
    #[schema(example = 3)]
    pub partition: u32,
    /// The offset from which it would go on without the seek.
    #[schema(example = 120)]
    pub from: u64,
    /// The offset from which it goes on behind the seek.
    #[schema(example = 100)]
    pub to: u64,
}

/// A group that is to go on elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SeekGroup {
    /// The name of the group of consumers.
    #[schema(example = "audit-group")]
    pub group: String,
    /// It goes on at the first message that was published at this time or later, RFC 3339.
    #[schema(example = "2026-11-21T09:00:00Z")]
    pub to: String,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "audit the last hour again")]
    pub reason: String,
}

/// Which published messages are sent again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reemit {
    /// Published at or after this time, RFC 3339.
    #[schema(example = "2026-11-21T09:00:00Z")]
    pub from: String,
    /// Published before this time, which is not in the future, RFC 3339.
    #[schema(example = "2026-11-21T10:00:00Z")]
    pub to: String,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "the broker lost its disk at 09:40")]
    pub reason: String,
}

/// Keys whose messages wait off the bus, by group, topic and key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ParkedKeys {
    /// One row for each key.
    pub keys: Vec<ParkedKeyRow>,
}

/// A key whose messages failed too often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ParkedKeyRow {
    /// The group for which it waits.
    #[schema(example = "execution-group")]
    pub group: String,
    /// The topic of its messages.
    #[schema(example = "transfer-execution")]
    pub topic: String,
    /// The key: the number of the account that pays.
    #[schema(example = "ACC-4001-1")]
    pub key: String,
    /// The number of messages that wait, in their order.
    #[schema(example = 3)]
    pub messages: u64,
    /// Why its first message failed the last time.
    #[schema(example = "TIMEOUT")]
    pub cause: String,
    /// How often it failed.
    #[schema(example = 7)]
    pub failures: u32,
    /// Since when it waits, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub since: String,
    /// When it is tried again, RFC 3339.
    #[schema(example = "2026-11-21T09:23:45.121Z")]
    pub next_try_at: String,
}

/// A key that is tried again now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Unpark {
    /// The group for which it waits.
    #[schema(example = "execution-group")]
    pub group: String,
    /// The topic of its messages.
    #[schema(example = "transfer-execution")]
    pub topic: String,
    /// The key of its messages.
    #[schema(example = "ACC-4001-1")]
    pub key: String,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "the ledger is back")]
    pub reason: String,
}

/// What waits on a topic of dead letters, in the order of each partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeadLetters {
    /// The topic of the dead letters.
    #[schema(example = "transfer-execution-dlt")]
    pub topic: String,
    /// The number of messages that wait.
    #[schema(example = 1)]
    pub waiting: u64,
    /// The first of them.
    pub messages: Vec<DeadLetterMessage>,
}

/// A message that no consumer can take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeadLetterMessage {
    /// The id of the message, which a redrive keeps.
    #[schema(example = "01a20bd8-a310-8a5e-8404-4356f2500000")]
    pub id: String,
    /// The partition of the topic in which it lies.
    #[schema(example = 3)]
    pub partition: u32,
    /// Its offset in that partition.
    #[schema(example = 0)]
    pub offset: u64,
    /// The key of the message.
    #[schema(example = "ACC-4001-1")]
    pub key: String,
    /// Why it cannot be consumed.
    #[schema(example = "UNKNOWN_TRANSFER")]
    pub reason: String,
    /// The group that met it.
    #[schema(example = "execution-group")]
    pub group: String,
    /// The topic that it came from at first.
    #[schema(example = "transfer-execution")]
    pub original_topic: String,
    /// How often it went back.
    #[schema(example = 0)]
    pub replays: u32,
    /// When it failed first, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub first_failed_at: Option<String>,
    /// The headers of the message, by name.
    #[schema(value_type = std::collections::BTreeMap<String, String>, example = json!({"ce_type": "transfer-requested"}))]
    pub headers: Map<String, Value>,
    /// Its payload, as it is.
    #[schema(example = "{}")]
    pub payload: String,
}

/// Dead letters that go back, the oldest of each partition first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RedriveDeadLetters {
    /// Maximum number of messages that are looked at; the default is 100.
    #[schema(minimum = 1, maximum = 1000, example = 100)]
    pub most: Option<u64>,
    /// Maximum number of messages that are sent in a second; the default is 50.
    #[schema(minimum = 1, maximum = 1000, example = 50)]
    pub per_second: Option<u32>,
    /// A message that went back this number of times is passed over: it waits no more, and stays on the topic. The
    /// default is 3.
    #[schema(example = 3)]
    pub max_replays: Option<u32>,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "the journal was restored")]
    pub reason: String,
}

/// How the pipeline does, at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pipeline {
    /// When this was read, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub at: String,
    /// `connected`, or the cause for which the bus does not answer.
    #[schema(example = "connected")]
    pub bus: String,
    /// What is not published yet.
    pub outbox: OutboxRow,
    /// Every group of consumers.
    pub groups: Vec<GroupRow>,
    /// Every topic of dead letters.
    pub dead_letters: Vec<DeadLetterRow>,
}

/// What is not published yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OutboxRow {
    /// How many messages wait in the outbox.
    #[schema(example = 0)]
    pub pending: u64,
    /// The age of the oldest of them, in seconds.
    #[schema(example = 0)]
    pub oldest_age_seconds: u64,
}

/// A group of consumers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupRow {
    /// The name of the group of consumers.
    #[schema(example = "execution-group")]
    pub group: String,
    /// `running`, or `paused` by an operator.
    #[schema(example = "running")]
    pub status: String,
    /// The number of messages that are not consumed, in all partitions.
    #[schema(example = 0)]
    pub lag: u64,
    /// The age of the oldest of them, in seconds.
    #[schema(example = 0)]
    pub lag_seconds: u64,
    /// The number of parked keys.
    #[schema(example = 0)]
    pub parked_keys: u64,
    /// The number of messages that wait under them.
    #[schema(example = 0)]
    pub parked_messages: u64,
    /// Each partition of its topics.
    pub partitions: Vec<PartitionRow>,
}

/// How far a group is in a partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PartitionRow {
    /// The topic that the group consumes.
    #[schema(example = "transfer-execution")]
    pub topic: String,
    /// The number of the partition.
    #[schema(example = 3)]
    pub partition: u32,
    /// The offset of the first message that is not consumed.
    #[schema(example = 120)]
    pub next: u64,
    /// The offset that the next published message gets.
    #[schema(example = 120)]
    pub end: u64,
    /// The number of messages between the two.
    #[schema(example = 0)]
    pub lag: u64,
    /// The age of the oldest of them, in seconds.
    #[schema(example = 0)]
    pub lag_seconds: u64,
}

/// What waits on a topic of dead letters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeadLetterRow {
    /// The topic of the dead letters.
    #[schema(example = "transfer-execution-dlt")]
    pub topic: String,
    /// The number of messages that wait on the topic.
    #[schema(example = 0)]
    pub messages: u64,
    /// The number that waits in the journal, until the topic takes them.
    #[schema(example = 0)]
    pub in_journal: u64,
    /// The age of the oldest dead letter, in seconds.
    #[schema(example = 0)]
    pub oldest_age_seconds: u64,
}
