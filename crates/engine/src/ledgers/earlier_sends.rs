//! Which requests of an open call were sent before, for ledgers that do not promise to keep their
//! refusals (the simple form; `ledgers.md` §1).
//!
//! A refusal of such a ledger proves something only where no earlier request of the key is
//! unanswered. This process can say so of a claim that it wrote in this run, as long as no other worker
//! sends: so a worker that sends for a claim of another one writes the transfer first, and the answer
//! of a process that believes itself alone loses its guard then.

use crate::Engine;
use crate::pipeline::commit::Job;
use crate::shared::SharedState;
use kernel::answer::Cause;
use kernel::ids::{Id, LedgerId};
use kernel::ports::ledger::EarlierSends;
use kernel::record::{Head, Record};
use kernel::unit::Wrote;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many open calls are remembered; one that is forgotten counts as sent by others. As many as may
/// be open by default (`engine.max_open`).
const MOST: usize = 1_000_000;

/// What is known of one open call.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// The transfer's version: what was written past it may have been written before a send.
    version: u32,
    earlier: EarlierSends,
}

/// The open calls at ledgers of the simple form that this process carries, or carried last.
pub(crate) struct EarlierSendsLog {
    shared: Arc<SharedState>,
    calls: Mutex<BTreeMap<Id, Seen>>,
}

impl EarlierSendsLog {
    pub(crate) fn new(shared: Arc<SharedState>) -> Self {
        Self { shared, calls: Mutex::default() }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<Id, Seen>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, id: Id, version: u32, earlier: EarlierSends) {
        let mut all = self.all();
        if all.len() >= MOST && !all.contains_key(&id) {
            all.pop_first();
        }
        all.insert(id, Seen { version, earlier });
    }

    /// This process wrote it from one version to the next without a claim.
    fn carry(&self, id: Id, from: u32, to: u32) {
        if let Some(seen) = self.all().get_mut(&id)
            && seen.version == from
        {
            seen.version = to;
        }
    }

    fn knows(&self, record: &Record) -> bool {
        self.all().get(&record.id).is_some_and(|seen| seen.version == record.head.version)
    }

    /// A request is about to be sent: what was sent before it.
    pub(crate) fn begin(&self, record: &Record) -> EarlierSends {
        let mut all = self.all();
        let seen = all.get_mut(&record.id).filter(|seen| seen.version == record.head.version);
        let Some(seen) = seen else { return EarlierSends::Unknown };
        let before = seen.earlier;
        if before == EarlierSends::None {
            seen.earlier = EarlierSends::OnlyHere;
        }
        before
    }

    fn calls_simple(&self, record: &Record) -> bool {
        self.shared.plan.calls(record).is_some_and(|ledger| self.shared.plan.simple(ledger))
    }

    /// This process wrote the record, which stood at `before`; a new transfer stood nowhere.
    pub(crate) fn note_sends(&self, before: Option<Head>, record: &Record) {
        if !self.shared.plan.any_simple() {
            return;
        }
        if !self.calls_simple(record) {
            self.all().remove(&record.id);
            return;
        }
        let (id, now) = (record.id, record.head);
        match before.filter(|before| before.state == now.state) {
            Some(before) => self.carry(id, before.version, now.version),
            // the compare-and-swap says that the transfer was never in this state before
            None => self.note(id, now.version, EarlierSends::None),
        }
    }

    /// This process wrote the record before it sends, and does not know what others sent before.
    pub(crate) fn note_taken_over(&self, before: Option<Head>, record: &Record) {
        if !self.calls_simple(record) {
            return;
        }
        let own = before.is_some_and(|head| self.knows(&Record { head, ..record.clone() }));
        match before.filter(|_| own) {
            Some(before) => self.carry(record.id, before.version, record.head.version),
            None => self.note(record.id, record.head.version, EarlierSends::Unknown),
        }
    }
}

impl Engine {
    /// Takes over those records whose open call others may have sent, and gives back all that may be
    /// sent now. The others wait, or are another worker's.
    pub(crate) async fn take_over(
        self: &Arc<Self>,
        ledger: LedgerId,
        records: Vec<Record>,
    ) -> (Vec<Record>, Vec<Job>) {
        if !self.shared.plan.simple(ledger) {
            return (records, Vec::new());
        }
        let own = |record: &Record| self.sends.knows(record);
        let (mut ready, strange): (Vec<Record>, Vec<Record>) = records.into_iter().partition(own);
        if strange.is_empty() {
            return (ready, Vec::new());
        }
        let planned: Vec<_> =
            strange.iter().map(|record| self.shared.plan.taken_over(record)).collect();
        let units = planned.iter().map(|planned| planned.unit.clone()).collect();
        let wrote = self.shared.parts.journal.write(units).await;
        let mut unsure = Vec::new();
        for ((record, planned), wrote) in strange.into_iter().zip(planned).zip(wrote) {
            let head = planned.next.otherwise;
            if matches!(wrote, Wrote::Written(_)) {
                let record = Record { head, ..record };
                self.sends.note_taken_over(None, &record);
                ready.push(record);
            } else {
                unsure.push((record, head));
            }
        }
        if unsure.is_empty() {
            return (ready, Vec::new());
        }
        let stored = self.shared.read(unsure.iter().map(|(record, _)| record.id).collect()).await;
        let (mut jobs, mut moved) = (Vec::new(), Vec::new());
        for (record, head) in unsure {
            match stored.iter().find(|now| now.id == record.id).cloned() {
                // written after all; had another worker written the same, it does not know either
                Some(now) if now.head == head => {
                    self.sends.note_taken_over(None, &now);
                    ready.push(now);
                }
                Some(now) if now.head.version == record.head.version => {
                    jobs.push(self.postponed(record, &Cause::of("NOT_TAKEN_OVER")));
                }
                Some(now) => moved.extend(self.in_flight.release_all(now)),
                None => {
                    self.in_flight.release(record.id);
                }
            }
        }
        jobs.extend(self.advance(moved));
        (ready, jobs)
    }
}
