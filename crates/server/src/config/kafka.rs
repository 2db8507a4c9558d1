//! `[kafka]`: the brokers of the message bus, and the security of their connections.

use super::secret::Secret;
use super::section::{Setting, SettingRules, Shape, section};
use kernel::ids::Millis;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::path::PathBuf;

/// How a connection to the brokers is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KafkaSecurity {
    /// In the clear, without TLS or SASL.
    Plaintext,
    /// Encrypted; the broker proves who it is.
    Tls,
    /// With a user, in the clear.
    SaslPlaintext,
    /// With a user, encrypted.
    SaslTls,
}

impl KafkaSecurity {
    /// The connection is encrypted.
    pub const fn has_tls(self) -> bool {
        matches!(self, Self::Tls | Self::SaslTls)
    }

    /// A user proves itself.
    pub const fn has_user(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslTls)
    }
}

impl Setting for KafkaSecurity {
    const KIND: &'static str = "`plaintext`, `tls`, `sasl_plaintext` or `sasl_tls`";
    const SHAPE: Shape = Shape::Text;
}

section! {
    /// Apache Kafka as the bus between the parts of the flow `account`, in a binary that was built with `--features kafka`.
    Kafka {
        /// The brokers to begin with: `host:port`, with commas between. Empty keeps the bus in this process. Also `KAFKA_BROKERS`.
        brokers: String = String::new(),
        /// The name under which the brokers' logs and quotas know this process.
        client_id: String = "portage".to_owned(),
        /// What stands before the names of topics and of groups of consumers on the brokers. Two deployments that share brokers need two: the start of one on the topics of the other is refused.
        prefix: String = String::new(),
        /// How a connection is protected: `plaintext`, `tls`, `sasl_plaintext` or `sasl_tls`.
        security: KafkaSecurity = KafkaSecurity::Plaintext,
        /// The network to the brokers is private: messages may cross it in the clear. Without it, brokers beyond loopback need TLS.
        private_network: bool = false,
        /// How the user proves itself: `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`.
        sasl_mechanism: String = "SCRAM-SHA-512".to_owned(),
        /// The user, where `security` has one.
        user: String = String::new(),
        /// The password of the SASL user.
        password: Secret = Secret::default(),
        /// Who may vouch for the brokers (PEM); empty takes the machine's own roots of trust.
        ca_file: PathBuf = PathBuf::new(),
        /// Topics that do not exist are created.
        create_topics: bool = true,
        /// The partitions of a topic that is created: the maximum number of processes that can share its messages. A topic that exists keeps its own.
        partitions: u16 = 6,
        /// The copies of a topic that is created; 0 takes the brokers' default.
        replication: u16 = 0,
        /// A process that is silent for this time loses its partitions to others.
        session_timeout_ms: u64 = 6_000,
        /// A message that is not acknowledged within this time is published again; below a third of `engine.lease_seconds`.
        publish_timeout_ms: u64 = 10_000,
    }
}

impl Kafka {
    /// True where the bus is Kafka.
    pub const fn is_set(&self) -> bool {
        !self.brokers.is_empty()
    }

    /// True where every broker is on this machine, by its name or address.
    fn is_local(&self) -> bool {
        self.brokers.split(',').all(|broker| {
            let host =
                broker.trim().rsplit_once(':').map_or_else(|| broker.trim(), |(host, _)| host);
            let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
            host == "localhost" || address.is_ok_and(|address| address.is_loopback())
        })
    }

    /// `lease_ms`: how long the outbox's buckets stay with a process that does not renew them.
    pub(super) fn rules(&self, rules: &mut SettingRules, lease_ms: Millis) {
        let mechanisms = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];
        rules.need(
            "kafka.sasl_mechanism",
            mechanisms.contains(&self.sasl_mechanism.as_str()),
            "`PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`",
        );
        rules.need("kafka.partitions", (1..=1_000).contains(&self.partitions), "from 1 to 1000");
        rules.need("kafka.replication", self.replication <= 16, "from 0 to 16");
        rules.need(
            "kafka.session_timeout_ms",
            (1_000..=1_800_000).contains(&self.session_timeout_ms),
            "from 1000 to 1800000; brokers take 6000 and more unless they are told otherwise",
        );
        let user = !self.user.is_empty() && !self.password.is_empty();
        let none = self.user.is_empty() && self.password.is_empty();
        if !self.is_set() {
            // a setting that is ignored would seem to be in force
            let rule = "empty where kafka.brokers is: the bus is in this process";
            rules.need("kafka.user", self.user.is_empty(), rule);
            rules.need("kafka.password", self.password.is_empty(), rule);
            rules.need("kafka.ca_file", self.ca_file.as_os_str().is_empty(), rule);
            return;
        }
        rules.need(
            "kafka.brokers",
            cfg!(feature = "kafka"),
            "empty: this binary was built without Kafka. Build it with `cargo build --release --features kafka`",
        );
        rules.need(
            "kafka.security",
            self.security.has_tls() || self.private_network || self.is_local(),
            "`tls` or `sasl_tls` for brokers beyond loopback, or kafka.private_network where the network to them is \
             private: account numbers and amounts cross it",
        );
        rules.need("kafka.client_id", !self.client_id.is_empty(), "a name");
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        rules.need(
            "kafka.prefix",
            self.prefix.len() <= 64 && self.prefix.bytes().all(fits),
            "at most 64 letters, digits, dots, dashes and underscores",
        );
        let below = self.publish_timeout_ms.saturating_mul(3) < lease_ms;
        rules.need(
            "kafka.publish_timeout_ms",
            self.publish_timeout_ms >= 1_000 && below,
            "at least 1000, and below a third of engine.lease_seconds: a process that waits for the \
             brokers must not lose its part of the outbox",
        );
        if self.security.has_user() {
            rules.need(
                "kafka.user",
                user,
                "set, with kafka.password, where kafka.security has a user",
            );
        } else {
            rules.need(
                "kafka.user",
                none,
                "empty, with kafka.password, where kafka.security has no user",
            );
        }
        let ca = self.ca_file.as_os_str().is_empty() || self.security.has_tls();
        rules.need("kafka.ca_file", ca, "empty where kafka.security has no TLS");
    }
}

#[cfg(test)]
mod tests {
    use super::{Kafka, KafkaSecurity};
    use crate::config::section::SettingRules;

    const LEASE_MS: u64 = 60_000;

    /// The keys of a section that break a rule.
    fn broken(change: impl FnOnce(&mut Kafka)) -> Vec<String> {
        let mut kafka = Kafka { brokers: "127.0.0.1:9092".to_owned(), ..Kafka::default() };
        change(&mut kafka);
        let mut rules = SettingRules::default();
        kafka.rules(&mut rules, LEASE_MS);
        let keys = rules.broken().into_iter().map(|broken| broken.key);
        // in a binary without Kafka brokers are refused whatever else is set
        keys.filter(|key| cfg!(feature = "kafka") || key != "kafka.brokers").collect()
    }

    /// Turns red where a setting that contradicts another is taken, and one of the two ignored.
    #[test]
    fn what_contradicts_is_refused() {
        assert_eq!(broken(|_| ()), [""; 0]);
        assert_eq!(broken(|k| k.user = "me".to_owned()), ["kafka.user"]);
        assert_eq!(broken(|k| k.security = KafkaSecurity::SaslTls), ["kafka.user"]);
        assert_eq!(broken(|k| k.ca_file = "ca.pem".into()), ["kafka.ca_file"]);
        assert_eq!(broken(|k| k.publish_timeout_ms = LEASE_MS / 3), ["kafka.publish_timeout_ms"]);
        assert_eq!(broken(|k| k.sasl_mechanism = "GSSAPI".to_owned()), ["kafka.sasl_mechanism"]);
        assert_eq!(broken(|k| (k.partitions, k.session_timeout_ms) = (0, 1)).len(), 2);
        let unset = broken(|k| (k.brokers, k.user) = (String::new(), "me".to_owned()));
        assert_eq!(unset, ["kafka.user"]);
    }

    /// Turns red where messages cross a network in the clear and no setting says that it is private.
    #[test]
    fn beyond_loopback_only_encrypted_or_in_a_private_network() {
        let to = |brokers: &str| broken(|kafka| kafka.brokers = brokers.to_owned());
        for local in ["localhost:9092", "127.0.0.1:1, [::1]:2", "127.8.0.1:3"] {
            assert_eq!(to(local), [""; 0], "{local}");
        }
        for far in
            ["kafka:9092", "127.0.0.1:1,10.0.0.7:2", "localhost.example:1", "[2001:db8::1]:1"]
        {
            assert_eq!(to(far), ["kafka.security"], "{far}");
        }
        let far = |kafka: &mut Kafka| kafka.brokers = "kafka:9092".to_owned();
        let tls = broken(|kafka| {
            far(kafka);
            kafka.security = KafkaSecurity::Tls;
        });
        let said = broken(|kafka| {
            far(kafka);
            kafka.private_network = true;
        });
        assert_eq!((tls, said), (Vec::<String>::new(), Vec::<String>::new()));
    }

    /// Turns red where a binary without Kafka takes brokers: it would keep the bus in the process.
    #[test]
    fn a_binary_without_kafka_refuses_brokers() {
        let mut rules = SettingRules::default();
        Kafka { brokers: "127.0.0.1:9092".to_owned(), ..Kafka::default() }
            .rules(&mut rules, LEASE_MS);
        let refused = rules.broken().iter().any(|broken| broken.key == "kafka.brokers");
        assert_eq!(refused, !cfg!(feature = "kafka"));
    }
}
