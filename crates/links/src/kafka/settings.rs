//! Defines the settings of the Kafka bus, and turns them into those of librdkafka.

use kernel::ids::Millis;
use rdkafka::ClientConfig;
use std::fmt;
use std::path::PathBuf;

/// After a lost connection a broker is tried again so soon at first, and so late at most: the default of
/// 10 s would add seconds to each restart of a broker.
const RECONNECT_MS: [&str; 2] = ["50", "500"];
/// How long a message waits, in milliseconds, for others to be sent with it.
const LINGER_MS: &str = "1";
/// The most memory that messages on their way to the broker take, in KiB.
const QUEUE_KIB: &str = "65536";
/// The largest message that a broker is asked to take, the library's maximum: the broker's own bound decides.
const MESSAGE_BYTES: &str = "1000000000";
/// A broker without messages answers so late: a partition that joins a member's fetches waits for it.
const FETCH_WAIT_MS: &str = "100";
/// The number of times in a session that a member tells the broker that it lives.
const HEARTBEATS: u64 = 6;

/// The brokers, and how they are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaSettings {
    /// Addresses to begin with: `host:port`, with commas between.
    pub brokers: String,
    /// The name under which the broker's logs and quotas know this process.
    pub client_id: String,
    /// What stands before the names of topics and of groups on the brokers.
    pub prefix: String,
    /// How a connection is protected.
    pub security: Security,
    /// A member that is silent for this time has lost its partitions.
    pub session_ms: Millis,
    /// A message that the broker has not acknowledged within this time counts as unknown, and is published
    /// again.
    pub publish_timeout_ms: Millis,
    /// What a topic gets that does not exist; none: topics are made by others.
    pub new_topics: Option<NewTopics>,
}

/// How a connection is protected.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Security {
    /// Whether it is encrypted, and the broker proves who it is.
    pub tls: bool,
    /// Who may vouch for the broker (PEM); none takes the machine's own roots of trust.
    pub ca_file: Option<PathBuf>,
    /// How this process proves who it is.
    pub sasl: Option<Sasl>,
}

/// A user and how it proves itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Sasl {
    /// `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`.
    pub mechanism: String,
    /// The user name of SASL.
    pub user: String,
    /// The password of the SASL user.
    pub password: String,
}

impl fmt::Debug for Sasl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sasl")
            .field("mechanism", &self.mechanism)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// What a new topic gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewTopics {
    /// Partitions of a topic that is made.
    pub partitions: u16,
    /// The number of copies; 0 takes the broker's default.
    pub replication: u16,
}

impl KafkaSettings {
    /// What every client of ours begins with.
    pub(super) fn client(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        let protocol = match (self.security.tls, self.security.sasl.is_some()) {
            (false, false) => "plaintext",
            (true, false) => "ssl",
            (false, true) => "sasl_plaintext",
            (true, true) => "sasl_ssl",
        };
        let [first, last] = RECONNECT_MS;
        config
            .set("bootstrap.servers", &self.brokers)
            .set("client.id", &self.client_id)
            .set("security.protocol", protocol)
            .set("reconnect.backoff.ms", first)
            .set("reconnect.backoff.max.ms", last)
            .set("socket.keepalive.enable", "true")
            .set("log.connection.close", "false");
        if let Some(file) = &self.security.ca_file {
            config.set("ssl.ca.location", file.display().to_string());
        }
        if let Some(sasl) = &self.security.sasl {
            config
                .set("sasl.mechanism", &sasl.mechanism)
                .set("sasl.username", &sasl.user)
                .set("sasl.password", &sasl.password);
        }
        config
    }

    /// The producer: every copy that must have a message has it before it is acknowledged, the broker
    /// drops what the client sends twice, and a key has the partition that Kafka's own client gives it.
    pub(super) fn producer(&self) -> ClientConfig {
        let mut config = self.client();
        config
            .set("enable.idempotence", "true")
            .set("acks", "all")
            .set("partitioner", "murmur2_random")
            .set("linger.ms", LINGER_MS)
            .set("queue.buffering.max.kbytes", QUEUE_KIB)
            // the publisher bounds the messages of each partition
            .set("queue.buffering.max.messages", "0")
            .set("message.max.bytes", MESSAGE_BYTES)
            .set("message.timeout.ms", self.publish_timeout_ms.to_string());
        config
    }

    /// A member of a group, whose offsets the engine alone commits.
    pub(super) fn member(&self, group: &str) -> ClientConfig {
        let mut config = self.reader(group);
        let heartbeat = self.session_ms.checked_div(HEARTBEATS).filter(|ms| *ms > 0).unwrap_or(1);
        config
            .set("partition.assignment.strategy", "cooperative-sticky")
            .set("session.timeout.ms", self.session_ms.to_string())
            .set("heartbeat.interval.ms", heartbeat.to_string());
        config
    }

    /// What looks at a group without being its member: it fetches single messages.
    pub(super) fn inspector(&self, group: &str) -> ClientConfig {
        let mut config = self.reader(group);
        config
            .set("queued.min.messages", "1")
            .set("fetch.message.max.bytes", "65536")
            // a partition read a moment ago is read again without the library's wait of one second
            .set("fetch.queue.backoff.ms", FETCH_WAIT_MS);
        config
    }

    fn reader(&self, group: &str) -> ClientConfig {
        let mut config = self.client();
        config
            .set("group.id", group)
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("auto.offset.reset", "earliest")
            .set("fetch.wait.max.ms", FETCH_WAIT_MS)
            .set("allow.auto.create.topics", "false");
        config
    }
}
