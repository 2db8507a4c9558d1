//! Remembers which requests of an open call were sent before, for ledgers that do not promise to keep their
//! refusals (the simple form; `ledgers.md` §1).
//!
//! A refusal of such a ledger proves something only where every earlier request of the key has its answer.
//! This process knows that of a claim that it wrote in this run, as long as no other worker sends. So a
//! worker that sends for another worker's claim first writes the transfer; the answer of a process that
//! still believes itself alone then fails its guard.

use crate::state::shared::SharedState;
use kernel::ids::Id;
use kernel::ports::ledger::EarlierSends;
use kernel::record::{Head, Record};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most open calls that are remembered, as many as may be open by default (`engine.max_open`). One that
/// is forgotten counts as sent by others.
const MOST: usize = 1_000_000;

/// What this process knows of one open call.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// The transfer's version. Where another worker wrote a later one, it may have sent the call then.
    version: u32,
    earlier: EarlierSends,
}

/// The open calls at ledgers of the simple form that this process carries, or carried last.
pub(crate) struct EarlierSendsLog {
    shared: Arc<SharedState>,
    calls: Mutex<BTreeMap<Id, Seen>>,
}

impl EarlierSendsLog {
    pub(crate) fn new(shared: &Arc<SharedState>) -> Arc<Self> {
        Arc::new(Self { shared: shared.clone(), calls: Mutex::default() })
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

    /// Follows a write of this process from one version to the next, without a claim.
    fn carry(&self, id: Id, from: u32, to: u32) {
        if let Some(seen) = self.all().get_mut(&id)
            && seen.version == from
        {
            seen.version = to;
        }
    }

    pub(crate) fn knows(&self, record: &Record) -> bool {
        self.all().get(&record.id).is_some_and(|seen| seen.version == record.head.version)
    }

    /// Notes that a request is about to be sent, and returns what was sent before it.
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

    /// Notes that this process wrote the record, whose head was `before`; a new transfer had none.
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

    /// Notes that this process wrote the record before it sends, without knowing what others sent before.
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
