//! Puts the prefix of a deployment before the names of topics and groups on the brokers, and takes it off again. What
//! uses the bus sees the product's names alone.

use super::member::KafkaMember;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::bus::{BusDelivery, BusMessage, Member, Partition, PartitionLag, Polled, Seek};
use std::sync::Arc;

/// The names on the brokers.
#[derive(Debug, Clone)]
pub(super) struct BrokerNames {
    prefix: Arc<str>,
}

impl BrokerNames {
    pub(super) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.into() }
    }

    /// The name of a topic or a group on the brokers.
    pub(super) fn on_broker(&self, name: &Arc<str>) -> Arc<str> {
        if self.prefix.is_empty() {
            return name.clone();
        }
        format!("{}{name}", self.prefix).into()
    }

    /// The product's name of what has this one on the brokers.
    fn of_product(&self, name: &Arc<str>) -> Arc<str> {
        if self.prefix.is_empty() {
            return name.clone();
        }
        name.strip_prefix(&*self.prefix).unwrap_or(name).into()
    }

    pub(super) fn all_on_broker(&self, names: &[Arc<str>]) -> Vec<Arc<str>> {
        names.iter().map(|name| self.on_broker(name)).collect()
    }

    pub(super) fn messages_on_broker(&self, mut messages: Vec<BusMessage>) -> Vec<BusMessage> {
        for message in &mut messages {
            message.topic = self.on_broker(&message.topic);
        }
        messages
    }

    pub(super) fn lags_of_product(&self, mut lags: Vec<PartitionLag>) -> Vec<PartitionLag> {
        for lag in &mut lags {
            lag.partition = self.partition_of_product(&lag.partition);
        }
        lags
    }

    pub(super) fn seeks_of_product(&self, mut seeks: Vec<Seek>) -> Vec<Seek> {
        for seek in &mut seeks {
            seek.partition = self.partition_of_product(&seek.partition);
        }
        seeks
    }

    fn partition_on_broker(&self, partition: &Partition) -> Partition {
        Partition { topic: self.on_broker(&partition.topic), number: partition.number }
    }

    fn partition_of_product(&self, partition: &Partition) -> Partition {
        Partition { topic: self.of_product(&partition.topic), number: partition.number }
    }

    pub(super) fn delivery_of_product(&self, mut delivery: BusDelivery) -> BusDelivery {
        delivery.partition = self.partition_of_product(&delivery.partition);
        delivery.message.topic = delivery.partition.topic.clone();
        delivery
    }
}

/// A member of a group under its name on the brokers.
pub(super) struct NamedMember {
    pub names: BrokerNames,
    pub member: KafkaMember,
}

impl Member for NamedMember {
    fn poll(&mut self, limit: usize, wait: Millis) -> Fut<'_, Result<Polled, Cause>> {
        Box::pin(async move {
            let Polled { assigned, messages } = self.member.poll(limit, wait).await?;
            let names = &self.names;
            let own = |all: Vec<Partition>| -> Vec<Partition> {
                all.iter().map(|one| names.partition_of_product(one)).collect()
            };
            let messages = messages.into_iter().map(|one| names.delivery_of_product(one));
            Ok(Polled { assigned: assigned.map(own), messages: messages.collect() })
        })
    }

    fn pause(&mut self, partition: &Partition) {
        self.member.pause(&self.names.partition_on_broker(partition));
    }

    fn resume(&mut self, partition: &Partition) {
        self.member.resume(&self.names.partition_on_broker(partition));
    }

    fn commit(&mut self, next: Vec<(Partition, u64)>) -> Fut<'_, Result<(), Cause>> {
        let names = &self.names;
        let next = next.iter().map(|(one, next)| (names.partition_on_broker(one), *next)).collect();
        self.member.commit(next)
    }
}
