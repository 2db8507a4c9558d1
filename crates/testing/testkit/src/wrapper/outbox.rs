//! The wrapper trait of an outbox: each method passes its call on by default.

use super::Wrapper;
use kernel::answer::Cause;
use kernel::ids::{Millis, WorkerId};
use kernel::message::Emitted;
use kernel::ports::Fut;
use kernel::ports::outbox::{
    Backlog, BucketLease, Outbox, PublishedRange, Queued, UnpublishedQuery,
};

/// What stands around an outbox; each default passes its call on.
pub trait OutboxWrapper: Send + Sync {
    /// The outbox that is wrapped.
    fn inner(&self) -> &dyn Outbox;
    /// In the place of [`Outbox::lease_buckets`].
    fn lease_buckets(
        &self,
        worker: WorkerId,
        length: Millis,
        most: u16,
    ) -> Fut<'_, Result<Vec<BucketLease>, Cause>> {
        self.inner().lease_buckets(worker, length, most)
    }
    /// In the place of [`Outbox::unpublished`].
    fn unpublished(&self, query: UnpublishedQuery) -> Fut<'_, Result<Vec<Queued>, Cause>> {
        self.inner().unpublished(query)
    }
    /// In the place of [`Outbox::emit`].
    fn emit(&self, messages: Vec<Emitted>) -> Fut<'_, Result<u64, Cause>> {
        self.inner().emit(messages)
    }
}

impl<T: OutboxWrapper> Outbox for Wrapper<T> {
    fn lease_buckets(
        &self,
        worker: WorkerId,
        length: Millis,
        most: u16,
    ) -> Fut<'_, Result<Vec<BucketLease>, Cause>> {
        self.0.lease_buckets(worker, length, most)
    }
    fn release_buckets(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>> {
        self.0.inner().release_buckets(worker)
    }
    fn unpublished(&self, query: UnpublishedQuery) -> Fut<'_, Result<Vec<Queued>, Cause>> {
        self.0.unpublished(query)
    }
    fn mark_published(
        &self,
        worker: WorkerId,
        leases: Vec<BucketLease>,
        rows: Vec<(u16, u64)>,
    ) -> Fut<'_, Result<Vec<u16>, Cause>> {
        self.0.inner().mark_published(worker, leases, rows)
    }
    fn published(&self, range: PublishedRange) -> Fut<'_, Result<u64, Cause>> {
        self.0.inner().published(range)
    }
    fn emit_again(&self, range: PublishedRange, limit: usize) -> Fut<'_, Result<u64, Cause>> {
        self.0.inner().emit_again(range, limit)
    }
    fn queued(&self, messages: Vec<(u16, u128)>) -> Fut<'_, Result<Vec<u128>, Cause>> {
        self.0.inner().queued(messages)
    }
    fn emit(&self, messages: Vec<Emitted>) -> Fut<'_, Result<u64, Cause>> {
        self.0.emit(messages)
    }
    fn expire_published(&self, before: Millis, limit: usize) -> Fut<'_, Result<u64, Cause>> {
        self.0.inner().expire_published(before, limit)
    }
    fn backlog(&self) -> Fut<'_, Result<Backlog, Cause>> {
        self.0.inner().backlog()
    }
}
