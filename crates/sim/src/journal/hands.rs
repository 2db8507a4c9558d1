//! What this process has in its hands, and what it may take: gone with the process.

use super::state::State;
use kernel::ids::{Id, Millis};
use kernel::ports::journal::Due;
use kernel::unit::Hold;
use std::collections::BTreeSet;

/// A time further off than this was not meant.
const ABSURD: Millis = 3_600_000;
/// A worker that did not come back to what it kept for so long forgot it.
const FORGOTTEN: Millis = 5_000;

#[derive(Debug, Default)]
pub(super) struct Hands {
    /// Handed out, and no time put since.
    out: BTreeSet<Id>,
    /// Kept by a worker of this process in a heap of its own.
    kept: BTreeSet<Id>,
    /// Open when the process began, and not seen since.
    orphans: BTreeSet<Id>,
}

impl Hands {
    pub(super) fn after_a_crash(state: &State) -> Self {
        let orphans = state.open.iter().filter(|id| !state.due.contains_key(id));
        Self { orphans: orphans.copied().collect(), ..Self::default() }
    }

    /// A head was put with this time.
    pub(super) fn timed(&mut self, id: Id, due: Option<Millis>, hold: Hold) {
        self.kept.remove(&id);
        if due.is_none() {
            return;
        }
        self.out.remove(&id);
        self.orphans.remove(&id);
        if hold == Hold::Mine {
            self.kept.insert(id);
        }
    }

    /// A transfer ended.
    pub(super) fn ended(&mut self, id: Id) {
        self.out.remove(&id);
        self.kept.remove(&id);
        self.orphans.remove(&id);
    }

    pub(super) fn due(&mut self, state: &State, now: Millis, limit: usize) -> Vec<Due> {
        let come = |id: &Id, at: Millis| {
            let patience = if self.kept.contains(id) { FORGOTTEN } else { 0 };
            at.saturating_add(patience) <= now || at > now.saturating_add(ABSURD)
        };
        let ripe = state.due.iter().filter(|(id, at)| !self.out.contains(id) && come(id, **at));
        let mut ripe: Vec<_> = ripe.map(|(id, at)| (*at, *id)).collect();
        ripe.sort_unstable();
        ripe.truncate(limit);
        let record = |id: &Id| state.transfers.get(id).cloned();
        let mut lost: Vec<_> = self.orphans.iter().filter_map(record).collect();
        lost.sort_by_key(|record| (record.head.deaths, record.id));
        lost.truncate(limit.saturating_sub(ripe.len()));
        let mut due: Vec<_> =
            ripe.iter().filter_map(|(_, id)| record(id).map(Due::Transfer)).collect();
        self.out.extend(ripe.iter().map(|(_, id)| *id));
        for record in lost {
            self.orphans.remove(&record.id);
            self.out.insert(record.id);
            due.push(Due::Orphan(record));
        }
        due
    }
}
