//! Sends messages in their order, and says of each whether the brokers have it.

use super::Shared;
use super::envelope::WireRecord;
use kernel::answer::Cause;
use kernel::ports::bus::{Acknowledgement, BusMessage, acknowledged};
use rdkafka::config::FromClientConfigAndContext as _;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::producer::Producer as _;
use rdkafka::producer::future_producer::{DeliveryFuture, FutureProducer, FutureRecord};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The longest that a broker is asked for a topic that the client calls unknown.
const ASKS: Duration = Duration::from_secs(5);

type KafkaProducer = FutureProducer<super::connection::Connection>;

/// The producer of a bus.
pub(super) struct Producer {
    shared: Arc<Shared>,
    client: Mutex<NumberedClient>,
    /// The topics that the client called unknown, and whether a broker is asked for them now. The client goes on to
    /// call them so, for minutes, where they were made since.
    unknown: Mutex<BTreeMap<Arc<str>, bool>>,
}

/// A client, and how many there were before it.
#[derive(Clone)]
struct NumberedClient {
    client: KafkaProducer,
    number: u64,
}

impl Producer {
    pub(super) fn new(shared: Arc<Shared>) -> KafkaResult<Self> {
        let client = Mutex::new(NumberedClient { client: client(&shared)?, number: 0 });
        Ok(Self { shared, client, unknown: Mutex::default() })
    }

    /// Sends messages in their order. Any error says that it is unknown whether the brokers have the message.
    pub(super) async fn send(self: &Arc<Self>, messages: Vec<BusMessage>) -> Vec<Acknowledgement> {
        let topics: BTreeSet<Arc<str>> = messages.iter().map(|one| one.topic.clone()).collect();
        let missing = self.missing_topics(&topics).await;
        self.shared.topics.count_partitions(&topics);
        let used = self.client().clone();
        self.look_for_unknown(&used.client);
        let (mut deliveries, mut full) = (Vec::with_capacity(messages.len()), None);
        for message in messages {
            if let Some(cause) = missing.get(&message.topic) {
                deliveries.push(acknowledged(Err(cause.clone())));
                continue;
            }
            // behind a message that is not sent none goes: those of its key would overtake it
            let sent = match &full {
                Some(error) => Err(KafkaError::clone(error)),
                None => send(&used.client, &message),
            };
            full = full.or_else(|| sent.as_ref().err().cloned());
            let (producer, used) = (self.clone(), used.clone());
            deliveries.push(Box::pin(async move {
                let delivered = match sent {
                    Ok(delivery) => delivered_by(delivery).await,
                    Err(error) => Err(error),
                };
                producer.answer(&message.topic, &used, delivered)
            }));
        }
        deliveries
    }

    /// The topics that do not exist and cannot be created now. One of them keeps no other's messages back.
    async fn missing_topics(&self, topics: &BTreeSet<Arc<str>>) -> BTreeMap<Arc<str>, Cause> {
        let mut missing = BTreeMap::new();
        if let Err(error) = self.shared.topics.ensure(topics).await {
            for topic in topics {
                let one = BTreeSet::from([topic.clone()]);
                if self.shared.topics.ensure(&one).await.is_err() {
                    missing.insert(topic.clone(), self.shared.connection.failed(&error));
                }
            }
        }
        missing
    }

    /// Has the client ask a broker for the topics that it called unknown. No message waits for the answer: those of
    /// the topic are refused until it is there.
    fn look_for_unknown(self: &Arc<Self>, client: &KafkaProducer) {
        for (topic, asked) in self.unknown().iter_mut().filter(|(_, asked)| !**asked) {
            *asked = true;
            let (producer, client, topic) = (self.clone(), client.clone(), topic.clone());
            drop(tokio::task::spawn_blocking(move || {
                if let Err(error) = client.client().fetch_metadata(Some(&topic), ASKS) {
                    tracing::debug!(%topic, %error, "the topic is not known yet");
                }
                producer.unknown().remove(&topic);
            }));
        }
    }

    fn answer(
        &self,
        topic: &Arc<str>,
        used: &NumberedClient,
        delivered: KafkaResult<()>,
    ) -> Result<(), Cause> {
        let Err(error) = delivered else {
            self.shared.connection.answered();
            return Ok(());
        };
        if error.rdkafka_error_code().is_some_and(is_unknown_topic) {
            self.shared.topics.forget(topic);
            self.unknown().entry(topic.clone()).or_default();
        }
        self.shared.topics.count_again(topic);
        self.replace_where_broken(used);
        Err(self.shared.connection.failed(&error))
    }

    /// A producer that lost its place in the brokers' books sends nothing any more: the next round has
    /// a new one.
    fn replace_where_broken(&self, used: &NumberedClient) {
        let Some((code, reason)) = used.client.client().fatal_error() else { return };
        let mut now = self.client();
        if now.number != used.number {
            return;
        }
        match client(&self.shared) {
            Ok(new) => {
                tracing::warn!(%code, reason, "the producer is replaced");
                *now = NumberedClient { client: new, number: now.number.saturating_add(1) };
            }
            Err(error) => tracing::error!(%error, "the producer cannot be replaced"),
        }
    }

    fn unknown(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, bool>> {
        self.unknown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn client(&self) -> MutexGuard<'_, NumberedClient> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn client(shared: &Shared) -> KafkaResult<KafkaProducer> {
    KafkaProducer::from_config_and_context(&shared.settings.producer(), shared.connection.clone())
}

fn send(client: &KafkaProducer, message: &BusMessage) -> KafkaResult<DeliveryFuture> {
    let WireRecord { key, payload, headers } = WireRecord::of(message);
    let mut record: FutureRecord<'_, [u8], [u8]> =
        FutureRecord::to(&message.topic).headers(headers);
    if let Some(key) = &key {
        record = record.key(key);
    }
    if let Some(payload) = &payload {
        record = record.payload(payload);
    }
    client.send_result(record).map_err(|(error, _)| error)
}

async fn delivered_by(delivery: DeliveryFuture) -> KafkaResult<()> {
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
