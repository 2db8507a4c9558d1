//! The leases of the simulated journal: the workers that live, and the transfers and attempts that each holds.
//!
//! A journal of one owner has one worker, whose lease never ends. One that is shared has many, and
//! every worker sees which of them live.

use super::state::State;
use kernel::attempt::{Attempt, AttemptId};
use kernel::ids::{Id, Millis, WorkerId};
use kernel::ports::journal::{Due, DueQuery, Lease, OtherLease};
use kernel::unit::Hold;
use std::collections::{BTreeMap, BTreeSet};

/// How long a worker may stay away from what it kept; after that it forgot it.
const FORGOTTEN: Millis = 5_000;

#[derive(Debug, Clone, Copy)]
struct Row {
    until: Millis,
    length: Millis,
    /// How often it was renewed.
    renewal: u64,
    /// The HALT that it obeys.
    stopped: u64,
}

impl Row {
    /// One that ends later than it may was given by a clock that was set back.
    const fn lives(&self, now: Millis) -> bool {
        now < self.until && self.until <= now.saturating_add(self.length)
    }
}

/// Who has a transfer, or an attempt.
#[derive(Debug, Clone, Copy)]
struct Holder {
    worker: WorkerId,
    /// In a heap of its own, until its time comes.
    kept: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Leases {
    workers: BTreeMap<WorkerId, Row>,
    /// The one owner, where there is one.
    sole: Option<WorkerId>,
    held: BTreeMap<Id, Holder>,
    /// Who has which attempt; the others have no holder.
    attempts: BTreeMap<AttemptId, Holder>,
    /// Open when their worker died, and not seen since.
    orphans: BTreeSet<Id>,
    /// Given back by a worker that left.
    left: BTreeSet<Id>,
}

impl Leases {
    /// One process has the journal from now on, and the one that had it is dead.
    pub(super) fn owned(&mut self, worker: WorkerId) {
        self.sole = Some(worker);
        self.workers.clear();
    }

    /// Whether a worker lives.
    pub(super) fn lives(&self, worker: WorkerId, now: Millis) -> bool {
        match self.workers.get(&worker) {
            Some(row) => self.sole.is_some() || row.lives(now),
            None => false,
        }
    }

    pub(super) fn renewed(
        &mut self,
        worker: WorkerId,
        (length, stopped): (Millis, Option<u64>),
        now: Millis,
    ) -> Lease {
        let lost = self.sole.is_none() && !self.lives(worker, now);
        let before = self.workers.get(&worker).map_or(0, |row| row.stopped);
        let stopped = stopped.filter(|number| *number > before).unwrap_or(before);
        let until = now.saturating_add(length);
        let renewal = self.workers.get(&worker).map_or(0, |row| row.renewal.saturating_add(1));
        self.workers.insert(worker, Row { until, length, renewal, stopped });
        Lease { lost, ends: self.sole.is_none() }
    }

    /// Its lease is over, with what it holds in its hands.
    pub(super) fn expired(&mut self, worker: WorkerId) {
        if self.sole.is_none()
            && let Some(row) = self.workers.get_mut(&worker)
        {
            row.until = 0;
        }
    }

    pub(super) fn leaves(&mut self, worker: WorkerId) {
        self.workers.remove(&worker);
        if self.sole.is_none() {
            self.attempts.retain(|_, holder| holder.worker != worker);
            let mine: Vec<Id> = self.of(|holder| holder.worker == worker);
            for id in mine {
                self.held.remove(&id);
                self.left.insert(id);
            }
        }
    }

    /// The leases of the workers but this one.
    pub(super) fn others(&self, worker: WorkerId) -> Vec<OtherLease> {
        let others =
            self.workers.iter().filter(|(other, _)| self.sole.is_none() && **other != worker);
        let lease = |(worker, row): (&WorkerId, &Row)| OtherLease {
            worker: *worker,
            renewal: row.renewal,
            length: row.length,
            obeys: row.stopped,
        };
        others.map(lease).collect()
    }

    /// All workers with a lease that ends.
    pub(super) fn leased(&self, now: Millis) -> Vec<WorkerId> {
        let all = self.workers.iter().filter(|(_, row)| self.sole.is_none() && row.lives(now));
        all.map(|(worker, _)| *worker).collect()
    }

    fn of(&self, which: impl Fn(&Holder) -> bool) -> Vec<Id> {
        self.held.iter().filter(|(_, holder)| which(holder)).map(|(id, _)| *id).collect()
    }

    /// A transfer was opened, or moved, by this worker.
    pub(super) fn moved(&mut self, worker: WorkerId, id: Id, due: Option<Millis>, hold: Hold) {
        self.orphans.remove(&id);
        self.left.remove(&id);
        if due.is_some() && hold == Hold::Free {
            self.held.remove(&id);
        } else {
            self.held.insert(id, Holder { worker, kept: due.is_some() });
        }
    }

    /// An attempt was made, or moved, by this worker; `None`: it is closed.
    pub(super) fn attempt_moved(
        &mut self,
        worker: WorkerId,
        id: AttemptId,
        open: Option<(Option<Millis>, Hold)>,
    ) {
        match open {
            Some((due, Hold::Mine)) => {
                self.attempts.insert(id, Holder { worker, kept: due.is_some() });
            }
            Some((_, Hold::Free)) | None => {
                self.attempts.remove(&id);
            }
        }
    }

    /// A transfer ended, so no worker holds it.
    pub(super) fn ended(&mut self, id: Id) {
        self.held.remove(&id);
        self.orphans.remove(&id);
        self.left.remove(&id);
    }

    /// What the dead held has no holder.
    fn bury(&mut self, due: &BTreeMap<Id, Millis>, me: WorkerId, now: Millis) {
        let lives: BTreeSet<WorkerId> = self
            .workers
            .keys()
            .copied()
            .chain([me])
            .filter(|worker| *worker == me || self.lives(*worker, now))
            .collect();
        for id in self.of(|holder| !lives.contains(&holder.worker)) {
            self.held.remove(&id);
            if !due.contains_key(&id) {
                self.orphans.insert(id);
            }
        }
        self.attempts.retain(|_, holder| lives.contains(&holder.worker));
    }

    /// Whether this worker may take what has that holder and that time.
    fn comes(holder: Option<&Holder>, at: Option<Millis>, (me, now): (WorkerId, Millis)) -> bool {
        let wait = match (holder, at) {
            (Some(Holder { worker, kept }), _) if *worker != me || !kept => return false,
            (Some(_), Some(_)) => FORGOTTEN,
            (Some(_), None) => return false,
            (None, _) => 0,
        };
        at.is_none_or(|at| at.saturating_add(wait) <= now)
    }

    /// The open attempts that this worker may take, in its hands from now on.
    fn due_attempts(
        &mut self,
        state: &State,
        (me, now): (WorkerId, Millis),
        query: &DueQuery,
    ) -> Vec<Due> {
        let comes = |attempt: &&Attempt| {
            query.flows.contains(&attempt.flow)
                && Self::comes(self.attempts.get(&attempt.id), attempt.due_at, (me, now))
        };
        let mut found: Vec<&Attempt> = state.attempts.open().filter(comes).collect();
        found.sort_by_key(|attempt| attempt.due_at);
        found.truncate(query.limit);
        for attempt in &found {
            self.attempts.insert(attempt.id, Holder { worker: me, kept: false });
        }
        let whole = |attempt: &Attempt| Attempt { due_at: None, ..state.whole(attempt) };
        found.into_iter().map(|attempt| Due::Attempt(whole(attempt))).collect()
    }

    /// What this worker may take, in its hands from now on.
    pub(super) fn due(
        &mut self,
        state: &State,
        me: WorkerId,
        now: Millis,
        query: &DueQuery,
    ) -> Vec<Due> {
        self.bury(&state.due, me, now);
        let attempts = self.due_attempts(state, (me, now), query);
        let limit = query.limit.saturating_sub(attempts.len());
        let members = state.attempts.members();
        let asked = |id: &Id| {
            let record = state.transfers.get(id);
            record.is_some_and(|record| query.flows.contains(&record.flow)) && !members.contains(id)
        };
        let come = |id: &Id, at: Millis| Self::comes(self.held.get(id), Some(at), (me, now));
        let ripe = state.due.iter().filter(|(id, at)| come(id, **at) && asked(id));
        let mut ripe: Vec<_> = ripe.map(|(id, at)| (*at, *id)).collect();
        ripe.sort_unstable();
        let record = |id: &Id| state.transfers.get(id).cloned();
        let mut lost: Vec<_> =
            self.orphans.iter().filter(|id| asked(id)).filter_map(record).collect();
        lost.sort_by_key(|record| (record.head.deaths, record.id));
        lost.truncate(limit);
        let given = self.left.iter().filter(|id| !state.due.contains_key(id) && asked(id));
        let mut free: Vec<Id> = given.copied().chain(ripe.into_iter().map(|(_, id)| id)).collect();
        free.truncate(limit.saturating_sub(lost.len()));
        let mut found = attempts;
        found.extend(free.iter().filter_map(record).map(Due::Transfer));
        let taken = free.into_iter().chain(lost.iter().map(|record| record.id));
        for id in taken.collect::<Vec<_>>() {
            self.orphans.remove(&id);
            self.left.remove(&id);
            self.held.insert(id, Holder { worker: me, kept: false });
        }
        found.extend(lost.into_iter().map(Due::Orphan));
        found
    }
}
