//! Implements the bus with Apache Kafka, through librdkafka.
//!
//! Kafka is transport, at least once: the outbox has the messages to publish, the journal those that
//! were consumed, and both are the truth. The bus uses no Kafka transactions, since they do not include
//! the database. A broker that is away stops nothing but the messages.

mod connection;
mod envelope;
mod member;
mod newest;
mod offsets;
mod prefix;
mod producer;
mod raw;
mod settings;
mod topics;

pub use settings::{KafkaSettings, NewTopics, Sasl, Security};

use connection::Connection;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::bus::{
    Acknowledgement, Bus, BusDelivery, BusMessage, Member, PartitionLag, Seek,
};
use member::KafkaMember;
use offsets::Inspectors;
use prefix::{BrokerNames, NamedMember};
use producer::Producer;
use rdkafka::error::KafkaError;
use std::sync::Arc;
use topics::Topics;

/// The state that members and the bus share.
struct Shared {
    settings: KafkaSettings,
    connection: Connection,
    topics: Topics,
}

/// A handle to the brokers.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Kafka {
    shared: Arc<Shared>,
    names: BrokerNames,
    producer: Arc<Producer>,
    inspectors: Arc<Inspectors>,
}

impl Kafka {
    /// Makes the clients. No broker has to answer yet.
    ///
    /// # Errors
    /// `BUS_FAILED`: librdkafka refuses the settings.
    pub fn open(settings: KafkaSettings) -> Result<Self, Cause> {
        let names = BrokerNames::new(&settings.prefix);
        let connection = Connection::default();
        let refused = |error: KafkaError| Cause::because("BUS_FAILED", error.to_string());
        let topics = Topics::new(&settings, connection.clone()).map_err(refused)?;
        let shared = Arc::new(Shared { settings, connection, topics });
        let producer = Arc::new(Producer::new(shared.clone()).map_err(refused)?);
        let inspectors = Arc::new(Inspectors::new(shared.clone()));
        Ok(Self { shared, names, producer, inspectors })
    }

    /// Runs a call of librdkafka that waits for a broker beside the tasks of the process.
    async fn inspect<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Inspectors) -> Result<T, Cause> + Send + 'static,
    ) -> Result<T, Cause> {
        let inspectors = self.inspectors.clone();
        let done = tokio::task::spawn_blocking(move || call(&inspectors)).await;
        done.map_err(|fault| Cause::because("BUS_FAILED", fault.to_string()))?
    }
}

impl Bus for Kafka {
    fn send(&self, messages: Vec<BusMessage>) -> Fut<'_, Vec<Acknowledgement>> {
        Box::pin(async move { self.producer.send(self.names.messages_on_broker(messages)).await })
    }

    fn publish(&self, messages: Vec<BusMessage>) -> Fut<'_, Vec<Result<(), Cause>>> {
        Box::pin(async move {
            let deliveries = self.send(messages).await;
            let mut answers = Vec::with_capacity(deliveries.len());
            for delivery in deliveries {
                answers.push(delivery.await);
            }
            answers
        })
    }

    fn subscribe(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
    ) -> Fut<'_, Result<Box<dyn Member>, Cause>> {
        Box::pin(async move {
            let names = self.names.clone();
            let (group, topics) = (names.on_broker(&group), names.all_on_broker(&topics));
            let member = KafkaMember::join(self.shared.clone(), group, topics)
                .map_err(|error| self.shared.connection.failed(&error))?;
            let member: Box<dyn Member> = Box::new(NamedMember { names, member });
            Ok(member)
        })
    }

    fn lag(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
    ) -> Fut<'_, Result<Vec<PartitionLag>, Cause>> {
        let (group, topics) = (self.names.on_broker(&group), self.names.all_on_broker(&topics));
        Box::pin(async move {
            let lags = self.inspect(move |all| all.lag(&group, &topics)).await?;
            Ok(self.names.lags_of_product(lags))
        })
    }

    fn seek(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
        to: Millis,
        apply: bool,
    ) -> Fut<'_, Result<Vec<Seek>, Cause>> {
        let (group, topics) = (self.names.on_broker(&group), self.names.all_on_broker(&topics));
        Box::pin(async move {
            let seeks = self.inspect(move |all| all.seek(&group, &topics, to, apply)).await?;
            Ok(self.names.seeks_of_product(seeks))
        })
    }

    fn newest(
        &self,
        topics: Vec<Arc<str>>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<BusDelivery>, Cause>> {
        let topics = self.names.all_on_broker(&topics);
        Box::pin(async move {
            let newest = self.inspect(move |all| all.newest(&topics, limit)).await?;
            Ok(newest.into_iter().map(|one| self.names.delivery_of_product(one)).collect())
        })
    }

    fn topics_name(&self) -> Fut<'_, Result<Arc<str>, Cause>> {
        Box::pin(async move {
            let cluster = self.inspect(Inspectors::cluster).await?;
            Ok(format!("{cluster}/{}", self.names.on_broker(&"".into())).into())
        })
    }

    fn partition_count(&self, topic: &Arc<str>) -> Option<u32> {
        self.shared.topics.partition_count(&self.names.on_broker(topic))
    }

    fn probe(&self) -> Fut<'_, Result<(), Cause>> {
        Box::pin(async move { self.inspect(Inspectors::probe).await })
    }
}
