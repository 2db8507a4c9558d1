//! Implements the port `Outbox` on SQLite, through the writer and the readers.

use super::{OutboxWrite, published, rows};
use crate::sqlite::Embedded;
use crate::sqlite::write::work::{PendingAnswer, Work};
use kernel::answer::Cause;
use kernel::bucket_leases::BucketLeases;
use kernel::ids::{Day, Millis, WorkerId};
use kernel::message::Emitted;
use kernel::ports::Fut;
use kernel::ports::journal::UnitWriter as _;
use kernel::ports::outbox::{
    Backlog, BucketLease, Outbox, PublishedRange, Queued, UnpublishedQuery,
};
use std::sync::{MutexGuard, PoisonError};
use tokio::sync::oneshot;

impl Embedded {
    fn bucket_leases(&self) -> MutexGuard<'_, BucketLeases> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the change to the writer; answers when it is durable.
    async fn outbox(&self, write: OutboxWrite) -> Result<u64, Cause> {
        let (sender, answer) = oneshot::channel();
        let work = Work::Outbox(PendingAnswer::new(write, sender));
        self.writer.send(work).await.map_err(|_| Cause::of("STORE_CLOSED"))?;
        answer.await.unwrap_or(Err(Cause::of("STORE_CLOSED")))
    }
}

impl Outbox for Embedded {
    fn lease_buckets(
        &self,
        worker: WorkerId,
        length: Millis,
        most: u16,
    ) -> Fut<'_, Result<Vec<BucketLease>, Cause>> {
        let leases = self.bucket_leases().lease(worker, self.now(), length, most);
        Box::pin(std::future::ready(Ok(leases)))
    }

    fn release_buckets(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>> {
        self.bucket_leases().release(worker);
        Box::pin(std::future::ready(Ok(())))
    }

    fn unpublished(&self, query: UnpublishedQuery) -> Fut<'_, Result<Vec<Queued>, Cause>> {
        self.ask(move |db, _| rows::unpublished(db, &query))
    }

    fn mark_published(
        &self,
        worker: WorkerId,
        leases: Vec<BucketLease>,
        rows: Vec<(u16, u64)>,
    ) -> Fut<'_, Result<Vec<u16>, Cause>> {
        let (held, lost): (Vec<_>, Vec<_>) = {
            let all = self.bucket_leases();
            leases.into_iter().partition(|lease| all.holds(worker, *lease))
        };
        let of = |bucket: u16| held.iter().any(|lease| lease.bucket == bucket);
        let rows: Vec<_> = rows.into_iter().filter(|(bucket, _)| of(*bucket)).collect();
        Box::pin(async move {
            if !rows.is_empty() {
                self.outbox(OutboxWrite::Mark(rows)).await?;
            }
            Ok(lost.into_iter().map(|lease| lease.bucket).collect())
        })
    }

    fn published(&self, range: PublishedRange) -> Fut<'_, Result<u64, Cause>> {
        self.ask(move |db, _| published(db, range))
    }

    fn emit_again(&self, range: PublishedRange, limit: usize) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(self.outbox(OutboxWrite::EmitAgain(range, limit)))
    }

    fn queued(&self, messages: Vec<(u16, u128)>) -> Fut<'_, Result<Vec<u128>, Cause>> {
        self.ask(move |db, _| rows::queued_among(db, &messages))
    }

    fn emit(&self, messages: Vec<Emitted>) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(self.outbox(OutboxWrite::Emit(messages)))
    }

    fn expire_published(&self, before: Millis, limit: usize) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(self.outbox(OutboxWrite::Expire(Day::of(before), limit)))
    }

    fn backlog(&self) -> Fut<'_, Result<Backlog, Cause>> {
        self.ask(|db, _| rows::backlog(db))
    }
}
