//! Transfers that another worker moved while they were in this one's workers: they are let go without a
//! word, and looked after from afar.
//!
//! The journal brings what a dead worker held. But a unit of our own, whose outcome is not known, may have
//! been the one that moved them: then the journal takes them for ours. So what stands still for
//! longer than any lease lasts is taken up again.
//!
//! The same holds for a transfer that may have been opened: a COMMIT whose outcome is not known may come to
//! its end after the journal was asked, and then the journal takes it for ours.

use crate::Engine;
use kernel::answer::Cause;
use kernel::ids::{Id, Millis};
use kernel::ports::clock::TICKS;
use kernel::record::Record;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So much longer than a lease, in milliseconds: what the journal gives a keeper that forgot.
const LONGER: Millis = 5_000;
/// More are carried on here, as if no other worker had moved them.
const MOST: usize = 100_000;
/// What was not found for so many times as long was never opened.
const NEVER: u64 = 10;
/// So many are read at once.
const PAGE: usize = 1_000;

/// Each with the version that it was seen with, and since when, by the clock's ticks.
#[derive(Debug, Default)]
pub(crate) struct SupersededTransfers(Mutex<BTreeMap<Id, (u32, u64)>>);

impl SupersededTransfers {
    fn all(&self) -> MutexGuard<'_, BTreeMap<Id, (u32, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is in this worker's workers again.
    pub(crate) fn forget(&self, id: Id) {
        self.all().remove(&id);
    }

    /// Of transfers that the journal does not know, those that were looked for since long ago.
    fn never_came(&self, unknown: impl Iterator<Item = Id>, long_ago: impl Fn(u64) -> bool) {
        let mut all = self.all();
        for id in unknown {
            if all.get(&id).is_some_and(|(_, since)| long_ago(*since)) {
                all.remove(&id);
            }
        }
    }
}

impl Engine {
    /// A record that another worker may have moved, as it stands now; some where it goes on here.
    pub(crate) fn release_all(&self, record: Record) -> Option<Record> {
        let left = self.in_flight.has_left(record.id);
        if !self.lease.ends() || left || self.superseded.all().len() >= MOST {
            return Some(record);
        }
        if self.plan.table(record.flow).ends(record.head.state) {
            // the worker that moved it there has counted its end
            self.closed(record.id);
            self.waiters.tell(record);
            return None;
        }
        let seen = (record.head.version, self.parts.clock.ticks());
        self.superseded.all().insert(record.id, seen);
        self.release(record.id);
        None
    }

    /// A transfer that may have been opened. It was not there when the journal was
    /// asked, and its caller was told so.
    pub(crate) fn maybe_opened(&self, record: &Record) {
        let mut all = self.superseded.all();
        if self.lease.ends() && all.len() < MOST {
            all.insert(record.id, (record.head.version, self.parts.clock.ticks()));
        }
    }

    /// Looks at all of them; those that no worker moved for long go on here.
    pub(crate) async fn review_superseded(self: &Arc<Self>) -> Result<(), Cause> {
        let ids: Vec<Id> = self.superseded.all().keys().copied().collect();
        let long = self.parts.settings.lease_ms.saturating_add(LONGER).saturating_mul(TICKS);
        for page in ids.chunks(PAGE) {
            let found = self.parts.journal.get(page.to_vec()).await?;
            let now = self.parts.clock.ticks();
            let there: BTreeSet<Id> = found.iter().map(|record| record.id).collect();
            let unknown = page.iter().filter(|id| !there.contains(id)).copied();
            self.superseded.never_came(unknown, |since| {
                now.saturating_sub(since) > long.saturating_mul(NEVER)
            });
            let mut back = Vec::new();
            for record in found {
                if self.plan.table(record.flow).ends(record.head.state) {
                    self.superseded.forget(record.id);
                    self.waiters.tell(record);
                    continue;
                }
                let mut all = self.superseded.all();
                let Some((version, since)) = all.get_mut(&record.id) else { continue };
                if *version != record.head.version {
                    (*version, *since) = (record.head.version, now);
                } else if now.saturating_sub(*since) > long {
                    all.remove(&record.id);
                    back.push(record);
                }
            }
            if !back.is_empty() {
                self.reassign(back).await;
            }
        }
        Ok(())
    }
}
