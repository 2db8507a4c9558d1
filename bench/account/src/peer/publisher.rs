//! The source's outbox processor.

use super::{config, connection, text};
use crate::Outcome;
use rdkafka::producer::{FutureProducer, FutureRecord};
use std::time::Duration;
use tokio_postgres::{Client, Statement};

/// How long it rests between two polls.
const POLL: Duration = Duration::from_secs(3);
/// How long the broker may take to acknowledge one message.
const ACKNOWLEDGE: Duration = Duration::from_secs(30);

pub(super) struct Publisher {
    client: Client,
    unprocessed: Statement,
    mark: Statement,
    producer: FutureProducer,
}

impl Publisher {
    pub(super) async fn open(database: &str, brokers: &str) -> Outcome<Self> {
        let client = connection(database).await?;
        let sql = "SELECT id, destination, message_key, payload FROM outbox_events \
            WHERE NOT processed ORDER BY id";
        let unprocessed = client.prepare(sql).await.map_err(text)?;
        let sql = "UPDATE outbox_events SET processed = true WHERE id = $1";
        let mark = client.prepare(sql).await.map_err(text)?;
        let mut config = config(brokers);
        // a message at a time waits for no other
        config.set("acks", "all").set("linger.ms", "0");
        let producer = config.create().map_err(text)?;
        Ok(Self { client, unprocessed, mark, producer })
    }

    /// Sends each event, waits for the broker, marks it; then rests.
    pub(super) async fn run(self) -> Outcome {
        loop {
            for row in self.client.query(&self.unprocessed, &[]).await.map_err(text)? {
                let (id, topic): (i64, &str) = (row.get(0), row.get(1));
                let (key, payload): (&str, &str) = (row.get(2), row.get(3));
                let record = FutureRecord::to(topic).key(key).payload(payload);
                let sent = self.producer.send(record, ACKNOWLEDGE).await;
                sent.map_err(|(error, _)| text(error))?;
                self.client.execute(&self.mark, &[&id]).await.map_err(text)?;
            }
            tokio::time::sleep(POLL).await;
        }
    }
}
