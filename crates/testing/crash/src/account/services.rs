//! The processes of the account campaign: two servers on one PostgreSQL and an Apache Kafka of two brokers.

use super::WrongStore;
use crate::Outcome;
use crate::two_servers::TwoServers;
use std::path::Path;
use testbed::Kafka;

/// A process whose broker does not answer gives a publication up after this, in milliseconds: below a
/// third of its lease.
const PUBLISH_MS: &str = "1000";
const LEASE_SECONDS: &str = "4";
/// A killed server's partitions are the other's after this, in milliseconds.
const SESSION_MS: &str = "2000";
/// What the servers count of messages that came again: consumed before, or of a transfer that has moved on.
const AGAIN: [&str; 2] = ["\"seen\"", "\"passed\""];

/// The topics that other programs write into.
pub(super) const TOPICS: [&str; 4] =
    ["transfer-validation", "transfer-execution", "transfer-completed", "transfer-failed"];

/// Everything that runs. What is named first ends first.
#[derive(Debug)]
pub(super) struct Services {
    pub(super) servers: TwoServers,
    pub(super) kafka: Kafka,
}

impl Services {
    pub(super) fn start(program: &Path, below: &Path) -> Outcome<Self> {
        let kafka = Kafka::pair()?;
        let more = [
            ("KAFKA_BROKERS", kafka.brokers()),
            ("PORTAGE_KAFKA__REPLICATION", "2"),
            ("PORTAGE_KAFKA__SESSION_TIMEOUT_MS", SESSION_MS),
            ("PORTAGE_KAFKA__PUBLISH_TIMEOUT_MS", PUBLISH_MS),
            ("PORTAGE_ENGINE__LEASE_SECONDS", LEASE_SECONDS),
        ];
        let more = more.map(|(name, value)| (name, value.to_owned()));
        let servers = TwoServers::start(program, &below.join("account"), &|_| more.to_vec())?;
        Ok(Self { servers, kafka })
    }

    /// Another program writes into the topics; the number of its messages.
    pub(super) fn forge(&self, seed: u64) -> Outcome<u64> {
        self.kafka.forge(&TOPICS, seed)
    }

    /// How many transfers have not ended.
    pub(super) fn open_transfers(&self) -> Outcome<u64> {
        self.servers.number(
            "SELECT count(*) FROM transfers WHERE flow = 'account' AND state NOT IN (40, -10)",
        )
    }

    /// Messages that came again and had no effect, counted by the processes that live now.
    pub(super) fn seen_again(&self) -> Outcome<u64> {
        let mut all = 0;
        for page in self.servers.pages("/metrics")? {
            let lines = page.lines().filter(|line| {
                line.starts_with("portage_consumer_records_total")
                    && AGAIN.iter().any(|outcome| line.contains(outcome))
            });
            all +=
                lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum::<u64>();
        }
        Ok(all)
    }

    /// Makes the database wrong, on purpose.
    pub(super) fn spoil(&self, wrong: WrongStore) -> Outcome {
        let last = "(SELECT max(transfer_id) FROM transfers WHERE flow = 'account' AND state = 40)";
        let sql = match wrong {
            WrongStore::Lost => format!(
                "DELETE FROM keys WHERE transfer_id = {last}; \
                 DELETE FROM transfers WHERE transfer_id = {last}"
            ),
            WrongStore::MovedTwice => format!(
                "UPDATE accounts_tb SET balance = balance + (SELECT amount FROM transfers \
                   WHERE transfer_id = {last}) WHERE account_number = \
                   (SELECT ltrim(target_account, '@') FROM transfers WHERE transfer_id = {last})"
            ),
        };
        self.servers.database.sql(&sql).map(drop)
    }
}
