//! Publishes messages in their order, and says of each whether the brokers have it.

use super::{Shared, envelope};
use kernel::answer::Cause;
use kernel::ports::bus::BusMessage;
use rdkafka::config::FromClientConfigAndContext as _;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::producer::Producer as _;
use rdkafka::producer::future_producer::{DeliveryFuture, FutureProducer, FutureRecord};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type KafkaProducer = FutureProducer<super::connection::Connection>;

/// The producer of a bus.
pub(super) struct Producer {
    shared: Arc<Shared>,
    client: Mutex<KafkaProducer>,
}

impl Producer {
    pub(super) fn new(shared: Arc<Shared>) -> KafkaResult<Self> {
        let client = Mutex::new(client(&shared)?);
        Ok(Self { shared, client })
    }

    /// One answer each. Any error says that it is unknown whether the brokers have the message.
    pub(super) async fn publish(&self, messages: Vec<BusMessage>) -> Vec<Result<(), Cause>> {
        let topics: BTreeSet<Arc<str>> = messages.iter().map(|one| one.topic.clone()).collect();
        if let Err(error) = self.shared.topics.ensure(&topics).await {
            let cause = self.shared.connection.failed(&error);
            return messages.iter().map(|_| Err(cause.clone())).collect();
        }
        let client = self.client().clone();
        let mut sent = Vec::with_capacity(messages.len());
        let mut full = None;
        for message in &messages {
            // behind a message that is not sent none goes: those of its key would overtake it
            let one = match &full {
                Some(error) => Err(KafkaError::clone(error)),
                None => send(&client, message),
            };
            full = full.or_else(|| one.as_ref().err().cloned());
            sent.push(one);
        }
        let mut answers = Vec::with_capacity(sent.len());
        for (message, sent) in messages.iter().zip(sent) {
            let delivered = match sent {
                Ok(delivery) => acknowledged(delivery).await,
                Err(error) => Err(error),
            };
            answers.push(delivered.map_err(|error| self.unknown(message, &error)));
        }
        if answers.iter().any(Result::is_ok) {
            self.shared.connection.answered();
        }
        self.replace_where_broken(&client);
        answers
    }

    fn unknown(&self, message: &BusMessage, error: &KafkaError) -> Cause {
        if error.rdkafka_error_code().is_some_and(is_unknown_topic) {
            self.shared.topics.forget(&message.topic);
        }
        self.shared.connection.failed(error)
    }

    /// A producer that lost its place in the brokers' books sends nothing any more: the next round has
    /// a new one.
    fn replace_where_broken(&self, used: &KafkaProducer) {
        let Some((code, reason)) = used.client().fatal_error() else { return };
        match client(&self.shared) {
            Ok(new) => {
                tracing::warn!(%code, reason, "the producer is replaced");
                *self.client() = new;
            }
            Err(error) => tracing::error!(%error, "the producer cannot be replaced"),
        }
    }

    fn client(&self) -> MutexGuard<'_, KafkaProducer> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn client(shared: &Shared) -> KafkaResult<KafkaProducer> {
    KafkaProducer::from_config_and_context(&shared.settings.producer(), shared.connection.clone())
}

fn send(client: &KafkaProducer, message: &BusMessage) -> KafkaResult<DeliveryFuture> {
    let record = FutureRecord::to(&message.topic)
        .key(&*message.key)
        .payload(&*message.payload)
        .headers(envelope::headers(message));
    client.send_result(record).map_err(|(error, _)| error)
}

async fn acknowledged(delivery: DeliveryFuture) -> KafkaResult<()> {
    match delivery.await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err((error, _))) => Err(error),
        Err(_) => Err(KafkaError::Canceled),
    }
}

fn is_unknown_topic(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    matches!(code, Code::UnknownTopic | Code::UnknownTopicOrPartition | Code::UnknownPartition)
}
