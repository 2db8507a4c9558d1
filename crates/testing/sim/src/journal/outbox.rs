//! The outbox of the simulated journal: messages to publish, published messages, and the publisher of each bucket.

use super::{SimJournal, breath};
use kernel::answer::Cause;
use kernel::bucket_leases::BucketLeases;
use kernel::ids::{Day, Id, Millis, WorkerId};
use kernel::message::{Emitted, bucket};
use kernel::ports::Fut;
use kernel::ports::outbox::{
    Backlog, BucketLease, Outbox, PublishedRange, Queued, UnpublishedQuery,
};
use std::collections::{BTreeMap, BTreeSet};

/// What is to be published, and what was, as the tables of a store hold it.
#[derive(Debug, Clone, Default)]
pub(super) struct OutboxTables {
    queue: BTreeMap<(u16, u64), Emitted>,
    /// Each with the time of its publication.
    history: BTreeMap<(Day, u16, u64), (Emitted, Millis)>,
    /// The last place that was given.
    last: u64,
    leases: BucketLeases,
}

impl OutboxTables {
    /// A new row at the end of its bucket.
    pub(super) fn add(&mut self, row: Emitted) {
        self.last += 1;
        self.queue.insert((bucket(&row.key), self.last), row);
    }

    fn is_queued(&self, number: u128) -> bool {
        self.queue.values().any(|row| row.number == number)
    }

    /// The process that leased them is gone, and with it what stood in its RAM.
    pub(super) fn forget_leases(&mut self) {
        self.leases = BucketLeases::default();
    }

    fn mark(&mut self, rows: &[(u16, u64)], at: Millis) {
        for (bucket, place) in rows {
            if let Some(row) = self.queue.remove(&(*bucket, *place)) {
                self.history.insert((Day::of(at), *bucket, *place), (row, at));
            }
        }
    }

    fn published(&self, range: PublishedRange) -> Vec<(Day, u16, u64)> {
        let within = |at: Millis| at >= range.from && at < range.to;
        self.history.iter().filter(|(_, (_, at))| within(*at)).map(|(key, _)| *key).collect()
    }

    fn emit_again(&mut self, range: PublishedRange, limit: usize) -> u64 {
        let keys = self.published(range);
        let mut again = 0;
        for key in keys.into_iter().take(limit) {
            if let Some((row, _)) = self.history.remove(&key) {
                self.last += 1;
                self.queue.insert((key.1, self.last), row);
                again += 1;
            }
        }
        again
    }

    /// Forgets messages of transfers that ended, and returns their numbers.
    fn expire(&mut self, before: Day, limit: usize, open: &BTreeSet<Id>) -> Vec<u128> {
        let old = self.history.range(..(before, 0, 0));
        let old: Vec<_> = old
            .filter(|(_, (row, _))| !open.contains(&row.id))
            .map(|(key, (row, _))| (*key, row.number))
            .take(limit)
            .collect();
        old.iter().for_each(|(key, _)| drop(self.history.remove(key)));
        old.into_iter().map(|(_, number)| number).collect()
    }

    fn backlog(&self) -> Backlog {
        let messages = u64::try_from(self.queue.len()).unwrap_or(u64::MAX);
        Backlog { messages, oldest: self.queue.values().map(|row| row.at).min() }
    }
}

impl SimJournal {
    /// Reads or changes the tables in one step, at the time of the journal.
    async fn tables<T>(
        &self,
        change: impl FnOnce(&mut OutboxTables, Millis) -> T,
    ) -> Result<T, Cause> {
        breath().await;
        self.readable()?;
        let value = self.change(|state, now| change(&mut state.outbox, now));
        breath().await;
        Ok(value)
    }
}

impl Outbox for SimJournal {
    fn lease_buckets(
        &self,
        worker: WorkerId,
        length: Millis,
        most: u16,
    ) -> Fut<'_, Result<Vec<BucketLease>, Cause>> {
        Box::pin(self.tables(move |all, now| all.leases.lease(worker, now, length, most)))
    }

    fn release_buckets(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>> {
        Box::pin(self.tables(move |all, _| all.leases.release(worker)))
    }

    fn unpublished(&self, query: UnpublishedQuery) -> Fut<'_, Result<Vec<Queued>, Cause>> {
        Box::pin(async move {
            breath().await;
            self.readable()?;
            let state = self.place.now();
            let UnpublishedQuery { leases, limit, without } = query;
            let rows = leases.iter().flat_map(|lease| {
                let own = (lease.bucket, 0)..=(lease.bucket, u64::MAX);
                let wanted = state.outbox.queue.range(own);
                wanted.filter(|(_, row)| !without.contains(&row.key)).take(limit)
            });
            let queued = |((bucket, place), row): (&(u16, u64), &Emitted)| Queued {
                bucket: *bucket,
                place: *place,
                emitted: row.clone(),
            };
            Ok(rows.map(queued).collect())
        })
    }

    fn mark_published(
        &self,
        worker: WorkerId,
        leases: Vec<BucketLease>,
        mut rows: Vec<(u16, u64)>,
    ) -> Fut<'_, Result<Vec<u16>, Cause>> {
        Box::pin(self.noted(move |state, now| {
            let all = &mut state.outbox;
            let (held, lost): (Vec<BucketLease>, Vec<_>) =
                leases.into_iter().partition(|lease| all.leases.holds(worker, *lease));
            rows.retain(|(bucket, _)| held.iter().any(|lease| lease.bucket == *bucket));
            all.mark(&rows, now);
            lost.into_iter().map(|lease| lease.bucket).collect()
        }))
    }

    fn published(&self, range: PublishedRange) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(
            self.tables(move |all, _| {
                u64::try_from(all.published(range).len()).unwrap_or(u64::MAX)
            }),
        )
    }

    fn emit_again(&self, range: PublishedRange, limit: usize) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(self.tables(move |all, _| all.emit_again(range, limit)))
    }

    fn queued(&self, messages: Vec<(u16, u128)>) -> Fut<'_, Result<Vec<u128>, Cause>> {
        Box::pin(self.tables(move |all, _| {
            let numbers = messages.into_iter().map(|(_, number)| number);
            numbers.filter(|number| all.is_queued(*number)).collect()
        }))
    }

    fn emit(&self, messages: Vec<Emitted>) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(self.noted(move |state, _| {
            let mut added = 0;
            for message in messages {
                if !state.outbox.is_queued(message.number) {
                    state.outbox.add(message);
                    added += 1;
                }
            }
            added
        }))
    }

    fn expire_published(&self, before: Millis, limit: usize) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(async move {
            breath().await;
            self.readable()?;
            let gone = self.change(|state, _| {
                let gone = state.outbox.expire(Day::of(before), limit, &state.open);
                state.inbox.retain(|(_, number)| !gone.contains(number));
                gone.len()
            });
            breath().await;
            Ok(u64::try_from(gone).unwrap_or(u64::MAX))
        })
    }

    fn backlog(&self) -> Fut<'_, Result<Backlog, Cause>> {
        Box::pin(self.tables(|all, _| all.backlog()))
    }
}
