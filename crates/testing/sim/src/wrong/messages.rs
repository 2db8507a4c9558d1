//! Wrong builds of messages: each loses one, processes one twice, or forgets which it consumed.

use crate::service::PortWraps;
use kernel::answer::{Answer, Cause, Receipt};
use kernel::code::Code;
use kernel::ids::{Millis, WorkerId};
use kernel::operation::{Known, Op};
use kernel::ports::Fut;
use kernel::ports::bus::{Bus, Member, Partition, Polled};
use kernel::ports::inbox::{Inbox, ParkedKey};
use kernel::ports::journal::Journal;
use kernel::ports::ledger::{Ledger, Reply};
use kernel::ports::outbox::{BucketLease, Outbox, Queued, UnpublishedQuery};
use kernel::unit::{Guard, Unit, Wrote};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use testkit::wrapper::{
    BusWrapper, InboxWrapper, JournalWrapper, LedgerWrapper, OutboxWrapper, Wrapper,
};

/// A lie of that name around the ports of a service that offers `account`.
pub(super) fn wraps(name: &str) -> Option<PortWraps> {
    let mut wraps = PortWraps::default();
    match name {
        "offset-before-effect" => {
            wraps.bus = Arc::new(|inner| Arc::new(Wrapper(OffsetBeforeEffect(inner))));
        }
        "inbox-row-missing" => {
            wraps.journal = Arc::new(|inner| Arc::new(Wrapper(InboxApart(inner, false))));
        }
        "inbox-after-effect" => {
            wraps.journal = Arc::new(|inner| Arc::new(Wrapper(InboxApart(inner, true))));
        }
        "check-without-lock" => {
            wraps.accounts = Arc::new(|inner| Arc::new(Wrapper(CheckWithoutLock(inner))));
        }
        "emitted-under-new-number" => {
            let seen: Arc<Mutex<BTreeSet<u128>>> = Arc::default();
            wraps.outbox = Arc::new(move |inner| Arc::new(Wrapper(NewNumber(inner, seen.clone()))));
        }
        "marked-before-published" => {
            wraps.outbox =
                Arc::new(|inner| Arc::new(Wrapper(MarkedFirst(inner, Mutex::default()))));
        }
        "parked-key-passed" => {
            wraps.inbox = Arc::new(|inner| Arc::new(Wrapper(KeyPassed(inner))));
        }
        _ => return None,
    }
    Some(wraps)
}

/// Offsets are committed when messages are polled.
struct OffsetBeforeEffect(Arc<dyn Bus>);

impl BusWrapper for OffsetBeforeEffect {
    fn inner(&self) -> &dyn Bus {
        &*self.0
    }
    fn subscribe(
        &self,
        group: Arc<str>,
        topics: Vec<Arc<str>>,
    ) -> Fut<'_, Result<Box<dyn Member>, Cause>> {
        Box::pin(async move {
            let member = self.0.subscribe(group, topics).await?;
            let member: Box<dyn Member> = Box::new(HastyMember(member));
            Ok(member)
        })
    }
}

struct HastyMember(Box<dyn Member>);

impl Member for HastyMember {
    fn poll(&mut self, limit: usize, wait: Millis) -> Fut<'_, Result<Polled, Cause>> {
        Box::pin(async move {
            let polled = self.0.poll(limit, wait).await?;
            let mut next = BTreeMap::new();
            for delivery in &polled.messages {
                next.insert(delivery.partition.clone(), delivery.offset + 1);
            }
            if !next.is_empty() {
                drop(self.0.commit(next.into_iter().collect()).await);
            }
            Ok(polled)
        })
    }
    fn pause(&mut self, partition: &Partition) {
        self.0.pause(partition);
    }
    fn resume(&mut self, partition: &Partition) {
        self.0.resume(partition);
    }
    fn commit(&mut self, next: Vec<(Partition, u64)>) -> Fut<'_, Result<(), Cause>> {
        self.0.commit(next)
    }
}

/// A unit moves its transfer without the inbox row, which comes in a unit of its own or not at all.
struct InboxApart(Arc<dyn Journal>, bool);

impl JournalWrapper for InboxApart {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            let mut rows = Vec::new();
            // the rows of the audit stand alone, and stay as they are
            for unit in units.iter_mut().filter(|unit| !unit.then.events.is_empty()) {
                let is_row = |guard: &Guard| matches!(guard, Guard::Inbox { .. });
                let (row, guards) = std::mem::take(&mut unit.guards).into_iter().partition(is_row);
                unit.guards = guards;
                let row: Vec<Guard> = row;
                rows.extend(row.into_iter().map(|row| Unit::guarded(vec![row], Vec::new())));
            }
            let wrote = self.0.write(units).await;
            if self.1 && !rows.is_empty() {
                drop(self.0.write(rows).await);
            }
            wrote
        })
    }
}

/// The balance counts as it was when the transfer was checked: what the ledger finds under its lock is passed
/// over.
struct CheckWithoutLock(Arc<dyn Ledger>);

impl LedgerWrapper for CheckWithoutLock {
    fn inner(&self) -> &dyn Ledger {
        &*self.0
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(async move {
            let poor = Code::InsufficientBalance.name();
            let checked = |answer| match answer {
                Answer::Rejected(why, _) if *why.code == *poor => Answer::Done(Receipt::default()),
                answer @ (Answer::Done(_)
                | Answer::Rejected(..)
                | Answer::Dead(_)
                | Answer::Unknown(_)) => answer,
            };
            match self.0.execute(known, ops).await {
                Reply::Answered(known, answers) => {
                    Reply::Answered(known, answers.into_iter().map(checked).collect())
                }
                other @ (Reply::OtherLedger(_) | Reply::NoAnswer(_)) => other,
            }
        })
    }
}

/// What is sent again gets a number of its own.
struct NewNumber(Arc<dyn Outbox>, Arc<Mutex<BTreeSet<u128>>>);

impl OutboxWrapper for NewNumber {
    fn inner(&self) -> &dyn Outbox {
        &*self.0
    }
    fn unpublished(&self, query: UnpublishedQuery) -> Fut<'_, Result<Vec<Queued>, Cause>> {
        Box::pin(async move {
            let mut rows = self.0.unpublished(query).await?;
            let mut seen = self.1.lock().unwrap_or_else(PoisonError::into_inner);
            for row in &mut rows {
                while !seen.insert(row.emitted.number) {
                    row.emitted.number += 1;
                }
            }
            Ok(rows)
        })
    }
}

/// Rows are marked as soon as they are read, before the bus has them.
struct MarkedFirst(Arc<dyn Outbox>, Mutex<Option<WorkerId>>);

impl OutboxWrapper for MarkedFirst {
    fn inner(&self) -> &dyn Outbox {
        &*self.0
    }
    fn lease_buckets(
        &self,
        worker: WorkerId,
        length: Millis,
        most: u16,
    ) -> Fut<'_, Result<Vec<BucketLease>, Cause>> {
        *self.1.lock().unwrap_or_else(PoisonError::into_inner) = Some(worker);
        self.0.lease_buckets(worker, length, most)
    }
    fn unpublished(&self, query: UnpublishedQuery) -> Fut<'_, Result<Vec<Queued>, Cause>> {
        Box::pin(async move {
            let leases = query.leases.clone();
            let rows = self.0.unpublished(query).await?;
            let worker = *self.1.lock().unwrap_or_else(PoisonError::into_inner);
            let places: Vec<_> = rows.iter().map(|row| (row.bucket, row.place)).collect();
            if let Some(worker) = worker.filter(|_| !places.is_empty()) {
                drop(self.0.mark_published(worker, leases, places).await);
            }
            Ok(rows)
        })
    }
}

/// A parked key bars nothing: consumers are told of no key that waits longer.
struct KeyPassed(Arc<dyn Inbox>);

impl InboxWrapper for KeyPassed {
    fn inner(&self) -> &dyn Inbox {
        &*self.0
    }
    fn parked_keys(
        &self,
        group: Option<Arc<str>>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<ParkedKey>, Cause>> {
        Box::pin(async move {
            let consumers_ask = group.is_some();
            let mut keys = self.0.parked_keys(group, limit).await?;
            // every other look sees them, so that they are tried again in the end
            keys.retain(|key| !consumers_ask || key.next.failures.is_multiple_of(2));
            Ok(keys)
        })
    }
}
