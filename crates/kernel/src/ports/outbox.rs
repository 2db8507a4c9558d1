//! The outbox of a journal: the messages that are to be published, and those that were.
//!
//! Units write its rows ([`crate::unit::Then::outbox`]). One worker at a time publishes a bucket, under a
//! lease; rows of one key lie in one bucket, in the order in which they were written.

use super::Fut;
use crate::answer::Cause;
use crate::ids::{Millis, WorkerId};
use crate::message::Emitted;
use std::sync::Arc;

/// A bucket that a worker publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BucketLease {
    /// The bucket, below [`crate::message::BUCKETS`].
    pub bucket: u16,
    /// How often the lease went to another worker: it guards the marks of its holder.
    pub epoch: u64,
}

/// A row that is to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// The bucket that its key belongs to.
    pub bucket: u16,
    /// Its place in the bucket; later rows have higher ones.
    pub place: u64,
    /// The message, as it is to be sent.
    pub emitted: Emitted,
}

/// A publisher's request for rows that are not marked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnpublishedQuery {
    /// The buckets that the worker has.
    pub leases: Vec<BucketLease>,
    /// The most rows of each bucket.
    pub limit: usize,
    /// Keys whose rows are left out.
    pub without: Vec<Arc<str>>,
}

/// Published messages, by when they were published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedRange {
    /// At or after this time of the journal.
    pub from: Millis,
    /// Before this time, which must lie in the past.
    pub to: Millis,
}

/// What is still to be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// The number of rows that are not marked.
    pub messages: u64,
    /// When the oldest of them was written.
    pub oldest: Option<Millis>,
}

/// The outbox of a journal, as publishers and operators use it.
pub trait Outbox: Send + Sync {
    /// Takes and renews buckets until `length` from now, at most `most`: first those that the worker
    /// has, then free ones. What it holds above `most` becomes free. A lease that ends later than
    /// `length` from now has run out too: a clock was set back.
    fn lease_buckets(
        &self,
        worker: WorkerId,
        length: Millis,
        most: u16,
    ) -> Fut<'_, Result<Vec<BucketLease>, Cause>>;
    /// A clean stop: what the worker holds is free at once.
    fn release_buckets(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>>;
    /// Rows that are not marked, by bucket and place.
    fn unpublished(&self, query: UnpublishedQuery) -> Fut<'_, Result<Vec<Queued>, Cause>>;
    /// Marks rows (bucket, place) as published. Rows of a bucket whose lease is lost stay as they
    /// are: the buckets that are lost come back.
    fn mark_published(
        &self,
        worker: WorkerId,
        leases: Vec<BucketLease>,
        rows: Vec<(u16, u64)>,
    ) -> Fut<'_, Result<Vec<u16>, Cause>>;
    /// How many messages [`Outbox::emit_again`] would send: its preview.
    fn published(&self, range: PublishedRange) -> Fut<'_, Result<u64, Cause>>;
    /// Puts published messages back among those that are to be published, with the numbers that they
    /// have, at most `limit`, in the order in which they lay; gives back how many. The caller asks
    /// until there are none: what is published again is published later than `range.to`.
    fn emit_again(&self, range: PublishedRange, limit: usize) -> Fut<'_, Result<u64, Cause>>;
    /// Those of these messages (bucket, number) that wait to be published.
    fn queued(&self, messages: Vec<(u16, u128)>) -> Fut<'_, Result<Vec<u128>, Cause>>;
    /// Puts messages of stored events among those that are to be published, in their order; gives back how
    /// many. One whose number waits already is not added.
    fn emit(&self, messages: Vec<Emitted>) -> Fut<'_, Result<u64, Cause>>;
    /// Forgets messages that were published on a UTC day before the day of `before` and whose transfers have ended,
    /// at most `limit`, with the rows that say which groups consumed them; gives back how many messages. What is not
    /// published is never forgotten.
    fn expire_published(&self, before: Millis, limit: usize) -> Fut<'_, Result<u64, Cause>>;
    /// What is still to be published.
    fn backlog(&self) -> Fut<'_, Result<Backlog, Cause>>;
}
