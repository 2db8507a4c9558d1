//! Transfers whose owner died while they waited for an attempt. Thousands may wait in one ring, of which the
//! owner had a hundred in hand at most, and an attempt of each alone would cost a transaction and a lane for
//! seconds. They are tried in company once, and the journal knows it before: those that an owner dies of
//! again, or dies beside, go alone from then on, as orphans do elsewhere.

use crate::Engine;
use crate::pipeline::station::Station;
use kernel::ids::Id;
use kernel::record::Record;
use kernel::unit::Wrote;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Engine {
    /// True for an orphan that waits for an attempt and was not tried by an owner that died: it is a suspect
    /// from now on.
    pub(crate) fn waits_in_company(&self, record: &Record) -> bool {
        let waits = self.plan.claims_send(record).is_some();
        let fresh = waits && record.head.deaths == 0 && !record.head.alone;
        if fresh {
            self.attempts.suspects().insert(record.id);
        }
        fresh
    }

    /// Marks the suspects of a batch in the journal as tried, and gives back all that may be tried now. Those
    /// whose mark is not known to be written wait again, or go on as they stand.
    pub(super) async fn tried_in_company(
        self: &Arc<Self>,
        station: &Station,
        records: Vec<Record>,
    ) -> Vec<Record> {
        let is_suspect = |record: &Record| self.attempts.suspects().contains(&record.id);
        let (suspects, mut tried): (Vec<_>, Vec<_>) = records.into_iter().partition(is_suspect);
        if suspects.is_empty() {
            return tried;
        }
        let marked = |mut record: Record| {
            record.head = self.plan.trial(&record, false).next.otherwise;
            self.attempts.suspects().remove(&record.id);
            record
        };
        let units = suspects.iter().map(|record| self.plan.trial(record, false).unit).collect();
        let wrote = self.parts.journal.write(units).await;
        let mut wrote = wrote.into_iter();
        let mut unsure = Vec::new();
        for record in suspects {
            match wrote.next() {
                Some(Wrote::Written(_)) => tried.push(marked(record)),
                Some(Wrote::Lost(_) | Wrote::Full | Wrote::Unknown(_)) | None => {
                    unsure.push(record)
                }
            }
        }
        if !unsure.is_empty() {
            tried.extend(self.written_after_all(unsure.clone()).await.into_iter().map(marked));
            unsure.retain(|record| tried.iter().all(|other| other.id != record.id));
            let moved = self.still_here(station, unsure).await;
            let freed = self.advance(moved);
            self.commit(freed).await;
            self.parts.clock.sleep(self.parts.settings.backoff.base).await;
        }
        tried
    }

    /// Those of these records whose mark the journal has.
    async fn written_after_all(&self, records: Vec<Record>) -> Vec<Record> {
        let stored = self.read(records.iter().map(|record| record.id).collect()).await;
        let stored: BTreeMap<Id, _> = stored.iter().map(|now| (now.id, now.head)).collect();
        let is_marked = |record: &Record| {
            let head = self.plan.trial(record, false).next.otherwise;
            stored.get(&record.id) == Some(&head)
        };
        records.into_iter().filter(is_marked).collect()
    }
}
