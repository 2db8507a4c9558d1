//! The wrapper trait of an inbox: each method passes its call on by default.

use super::Wrapper;
use kernel::answer::Cause;
use kernel::ports::Fut;
use kernel::ports::bus::BusDelivery;
use kernel::ports::inbox::{Inbox, NextTry, ParkedKey, ParkedMessage, ParkedName};
use std::sync::Arc;

/// What stands around an inbox; each default passes its call on.
pub trait InboxWrapper: Send + Sync {
    /// The inbox that is wrapped.
    fn inner(&self) -> &dyn Inbox;
    /// In the place of [`Inbox::park`].
    fn park(
        &self,
        group: Arc<str>,
        messages: Vec<BusDelivery>,
        next: NextTry,
    ) -> Fut<'_, Result<(), Cause>> {
        self.inner().park(group, messages, next)
    }
    /// In the place of [`Inbox::parked_keys`].
    fn parked_keys(
        &self,
        group: Option<Arc<str>>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<ParkedKey>, Cause>> {
        self.inner().parked_keys(group, limit)
    }
}

impl<T: InboxWrapper> Inbox for Wrapper<T> {
    fn consumed(
        &self,
        group: &'static str,
        numbers: Vec<u128>,
    ) -> Fut<'_, Result<Vec<u128>, Cause>> {
        self.0.inner().consumed(group, numbers)
    }
    fn park(
        &self,
        group: Arc<str>,
        messages: Vec<BusDelivery>,
        next: NextTry,
    ) -> Fut<'_, Result<(), Cause>> {
        self.0.park(group, messages, next)
    }
    fn parked_keys(
        &self,
        group: Option<Arc<str>>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<ParkedKey>, Cause>> {
        self.0.parked_keys(group, limit)
    }
    fn parked(&self, name: ParkedName, limit: usize) -> Fut<'_, Result<Vec<ParkedMessage>, Cause>> {
        self.0.inner().parked(name, limit)
    }
    fn try_again(&self, name: ParkedName, next: NextTry) -> Fut<'_, Result<(), Cause>> {
        self.0.inner().try_again(name, next)
    }
    fn unpark(
        &self,
        name: ParkedName,
        consumed: Vec<u128>,
        upto: u64,
    ) -> Fut<'_, Result<(), Cause>> {
        self.0.inner().unpark(name, consumed, upto)
    }
}
