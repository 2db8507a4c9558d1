//! The wrapper trait of a bus: each method passes its call on by default.

use super::Wrapper;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::bus::{
    Acknowledgement, Bus, BusDelivery, BusMessage, Member, PartitionLag, Seek, acknowledged,
};
use std::sync::Arc;

/// What stands around a bus; each default passes its call on.
pub trait BusWrapper: Send + Sync {
    /// The bus that is wrapped.
    fn inner(&self) -> &dyn Bus;
    /// In the place of [`Bus::publish`].
    fn publish(&self, messages: Vec<BusMessage>) -> Fut<'_, Vec<Result<(), Cause>>> {
        self.inner().publish(messages)
    }
    /// In the place of [`Bus::send`]; by default what is published in the place of the bus.
    fn send(&self, messages: Vec<BusMessage>) -> Fut<'_, Vec<Acknowledgement>> {
        Box::pin(
            async move { self.publish(messages).await.into_iter().map(acknowledged).collect() },
        )
    }
    /// In the place of [`Bus::subscribe`].
    fn subscribe(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
    ) -> Fut<'_, Result<Box<dyn Member>, Cause>> {
        self.inner().subscribe(group, topics)
    }
}

impl<T: BusWrapper> Bus for Wrapper<T> {
    fn send(&self, messages: Vec<BusMessage>) -> Fut<'_, Vec<Acknowledgement>> {
        self.0.send(messages)
    }
    fn publish(&self, messages: Vec<BusMessage>) -> Fut<'_, Vec<Result<(), Cause>>> {
        self.0.publish(messages)
    }
    fn subscribe(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
    ) -> Fut<'_, Result<Box<dyn Member>, Cause>> {
        self.0.subscribe(group, topics)
    }
    fn lag(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
    ) -> Fut<'_, Result<Vec<PartitionLag>, Cause>> {
        self.0.inner().lag(group, topics)
    }
    fn seek(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
        to: Millis,
        apply: bool,
    ) -> Fut<'_, Result<Vec<Seek>, Cause>> {
        self.0.inner().seek(group, topics, to, apply)
    }
    fn newest(
        &self,
        topics: Vec<Arc<str>>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<BusDelivery>, Cause>> {
        self.0.inner().newest(topics, limit)
    }
    fn topics_name(&self) -> Fut<'_, Result<Arc<str>, Cause>> {
        self.0.inner().topics_name()
    }

    fn partition_count(&self, topic: &Arc<str>) -> Option<u32> {
        self.0.inner().partition_count(topic)
    }
    fn probe(&self) -> Fut<'_, Result<(), Cause>> {
        self.0.inner().probe()
    }
}
