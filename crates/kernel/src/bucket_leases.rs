//! The leases of the outbox's buckets, as a journal in one process keeps them.

use crate::ids::{Millis, WorkerId};
use crate::message::BUCKETS;
use crate::ports::outbox::BucketLease;
use std::collections::BTreeMap;

/// The worker that publishes a bucket, until when, and how often the lease went to another worker.
#[derive(Debug, Clone, Copy)]
struct Holder {
    worker: Option<WorkerId>,
    until: Millis,
    epoch: u64,
}

/// Every lease. A lease that ends later than its length from now has run out: a clock was set back.
#[derive(Debug, Clone, Default)]
pub struct BucketLeases(BTreeMap<u16, Holder>);

impl BucketLeases {
    /// Takes and renews ([`crate::ports::outbox::Outbox::lease_buckets`]).
    pub fn lease(
        &mut self,
        worker: WorkerId,
        now: Millis,
        length: Millis,
        most: u16,
    ) -> Vec<BucketLease> {
        let until = now.saturating_add(length);
        let own = |holder: &Holder| holder.worker == Some(worker);
        let over = |holder: &Holder| {
            holder.worker.is_none() || holder.until <= now || holder.until > until
        };
        let holder_of = |all: &Self, bucket| {
            all.0.get(&bucket).copied().unwrap_or(Holder { worker: None, until: 0, epoch: 0 })
        };
        let (mine, free): (Vec<u16>, Vec<u16>) = (0..BUCKETS)
            .filter(|bucket| own(&holder_of(self, *bucket)) || over(&holder_of(self, *bucket)))
            .partition(|bucket| own(&holder_of(self, *bucket)));
        let mut leases = Vec::new();
        for bucket in mine.into_iter().chain(free) {
            let before = holder_of(self, bucket);
            if leases.len() >= usize::from(most) {
                if own(&before) {
                    self.0.insert(bucket, Holder { worker: None, until: 0, ..before });
                }
                continue;
            }
            // one that ran out may have been another's in between: its marks are not ours
            let epoch = before.epoch.saturating_add(u64::from(!own(&before) || over(&before)));
            self.0.insert(bucket, Holder { worker: Some(worker), until, epoch });
            leases.push(BucketLease { bucket, epoch });
        }
        leases.sort_unstable();
        leases
    }

    /// Frees every bucket of the worker.
    pub fn release(&mut self, worker: WorkerId) {
        for holder in self.0.values_mut().filter(|holder| holder.worker == Some(worker)) {
            (holder.worker, holder.until) = (None, 0);
        }
    }

    /// True where the worker holds the bucket in that epoch.
    pub fn holds(&self, worker: WorkerId, lease: BucketLease) -> bool {
        self.0
            .get(&lease.bucket)
            .is_some_and(|holder| holder.worker == Some(worker) && holder.epoch == lease.epoch)
    }
}
