//! Transfers whose owner died while they waited for an attempt. Thousands may wait in one ring, of which the
//! owner had a hundred in hand at most, and an attempt of each alone would cost a transaction and a lane for
//! seconds. They are tried in company once, and the journal knows it before: those that an owner dies of
//! again, or dies beside, go alone from then on, as orphans do elsewhere.

use crate::Engine;
use crate::attempts::Chains;
use crate::pipeline::station::Station;
use kernel::ids::Id;
use kernel::record::{Head, Record};
use kernel::unit::Wrote;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Chains {
    /// True for an orphan that waits for an attempt and was not tried by an owner that died: it is a suspect
    /// from now on.
    pub(crate) fn waits_in_company(&self, record: &Record) -> bool {
        let waits = self.shared.plan.claims_send(record).is_some();
        let fresh = waits && record.head.deaths == 0 && !record.head.alone;
        if fresh {
            self.suspects().insert(record.id);
        }
        fresh
    }
}

impl Engine {
    /// Marks the suspects of a batch in the journal as tried, and gives back all that may be tried now. Those
    /// whose mark is not known to be written wait again, or go on as they stand.
    pub(super) async fn tried_in_company(
        self: &Arc<Self>,
        station: &Station,
        records: Vec<Record>,
    ) -> Vec<Record> {
        let (suspects, mut tried): (Vec<Record>, Vec<Record>) = {
            let known = self.chains.suspects();
            records.into_iter().partition(|record| known.contains(&record.id))
        };
        if suspects.is_empty() {
            return tried;
        }
        let trials: Vec<_> =
            suspects.iter().map(|record| self.shared.plan.trial(record, false)).collect();
        let units = trials.iter().map(|trial| trial.unit.clone()).collect();
        let mut wrote = self.shared.parts.journal.write(units).await.into_iter();
        let (mut marked, mut unsure) = (Vec::with_capacity(suspects.len()), Vec::new());
        for (record, trial) in suspects.into_iter().zip(trials) {
            let head = trial.next.otherwise;
            match wrote.next() {
                Some(Wrote::Written(_)) => marked.push(Record { head, ..record }),
                Some(Wrote::Lost(_) | Wrote::Full | Wrote::Unknown(_)) | None => {
                    unsure.push(Unsure { record, head });
                }
            }
        }
        if !unsure.is_empty() {
            marked.extend(self.written_after_all(station, unsure).await);
        }
        for record in &marked {
            self.chains.suspects().remove(&record.id);
        }
        tried.extend(marked);
        tried
    }

    /// Those of these records whose mark the journal has.
    async fn written_after_all(
        self: &Arc<Self>,
        station: &Station,
        unsure: Vec<Unsure>,
    ) -> Vec<Record> {
        let stored = self.shared.read(unsure.iter().map(|one| one.record.id).collect()).await;
        let stored: BTreeMap<Id, Head> = stored.iter().map(|now| (now.id, now.head)).collect();
        let (mut marked, mut waiting) = (Vec::new(), Vec::new());
        for Unsure { record, head } in unsure {
            if stored.get(&record.id) == Some(&head) {
                marked.push(Record { head, ..record });
            } else {
                waiting.push(record);
            }
        }
        let moved = self.still_here(station, waiting).await;
        let freed = self.advance(moved);
        self.commit(freed).await;
        self.shared.parts.clock.sleep(self.shared.parts.settings.backoff.base).await;
        marked
    }
}

/// A suspect whose mark may be written, and how it would stand then.
struct Unsure {
    record: Record,
    head: Head,
}
