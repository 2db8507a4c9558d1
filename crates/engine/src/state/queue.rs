//! The bounded queue of a station: what came while the workers were busy leaves it as one batch.
//!
//! Records that may only be called alone stand beside the queue, and records whose time has not come wait in
//! a heap. Records that a rule holds back wait in a heap of their own: many of them may wait for long, and
//! they take no place from those that can go on.

use crate::state::select::race;
use kernel::ids::{Id, Millis};
use kernel::ports::clock::Clock;
use kernel::ports::journal::Journal;
use kernel::record::Record;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// How many times the room of a queue there is for records that a rule holds back.
const NOT_YET: usize = 20;

/// What a worker takes at once.
#[derive(Debug)]
pub(crate) enum Batch {
    /// Records for one call.
    Many(Vec<Record>),
    /// A record that may only be called alone.
    Alone(Record),
}

#[derive(Debug, Default)]
struct Inner {
    fresh: VecDeque<Record>,
    alone: VecDeque<Record>,
    later: BTreeMap<(Millis, u64), Record>,
    /// The records that a rule holds back.
    not_yet: BTreeMap<(Millis, u64), Record>,
    next: u64,
    /// Whether the last batch was a record alone: fresh records and lonely ones take turns.
    lonely: bool,
}

impl Inner {
    /// How many records take a place here.
    fn taken(&self) -> usize {
        self.fresh.len() + self.alone.len() + self.later.len()
    }

    fn key(&mut self, due: Millis) -> (Millis, u64) {
        self.next += 1;
        (due, self.next)
    }

    /// The time at which the next waiting record may go.
    fn next_due(&self) -> Option<Millis> {
        let first = |heap: &BTreeMap<(Millis, u64), Record>| Some(heap.first_key_value()?.0.0);
        first(&self.later).into_iter().chain(first(&self.not_yet)).min()
    }

    fn put(&mut self, record: Record) {
        if record.head.alone { self.alone.push_back(record) } else { self.fresh.push_back(record) }
    }

    /// Moves the records whose time has come to the queue.
    fn ripen(&mut self, now: Millis) {
        loop {
            let ripe = [&mut self.later, &mut self.not_yet].into_iter().find_map(|heap| {
                let entry = heap.first_entry().filter(|entry| entry.key().0 <= now)?;
                Some(entry.remove())
            });
            let Some(record) = ripe else { return };
            self.put(record);
        }
    }

    fn pick(&mut self, cap: usize) -> Option<Batch> {
        if !self.alone.is_empty() && (self.fresh.is_empty() || !self.lonely) {
            self.lonely = true;
            return self.alone.pop_front().map(Batch::Alone);
        }
        self.lonely = false;
        if self.fresh.is_empty() {
            return None;
        }
        let n = if self.fresh.len() > cap { cap } else { self.fresh.len() };
        Some(Batch::Many(self.fresh.drain(..n).collect()))
    }
}

/// The queue of one station.
#[derive(Debug)]
pub(crate) struct Queue {
    inner: Mutex<Inner>,
    bell: Notify,
    room: usize,
}

impl Queue {
    pub(crate) fn new(room: usize) -> Self {
        Self { inner: Mutex::default(), bell: Notify::new(), room }
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many records wait here.
    pub(crate) fn len(&self) -> usize {
        let inner = self.inner();
        inner.taken() + inner.not_yet.len()
    }

    /// How many records take a place here.
    pub(crate) fn taken(&self) -> usize {
        self.inner().taken()
    }

    /// How many records wait here after an unknown answer.
    pub(crate) fn retried(&self) -> usize {
        let inner = self.inner();
        let all = inner.fresh.iter().chain(&inner.alone).chain(inner.later.values());
        let all = all.chain(inner.not_yet.values());
        all.filter(|record| record.head.retries > 0).count()
    }

    /// Takes out the records of these transfers, wherever they wait here.
    pub(crate) fn take_out(&self, ids: &BTreeSet<Id>) -> Vec<Record> {
        let mut inner = self.inner();
        let mut out = Vec::new();
        for queue in [0, 1] {
            let queue = if queue == 0 { &mut inner.fresh } else { &mut inner.alone };
            if queue.iter().any(|record| ids.contains(&record.id)) {
                let (taken, left) =
                    queue.drain(..).partition(|record: &Record| ids.contains(&record.id));
                *queue = left;
                out.extend::<VecDeque<_>>(taken);
            }
        }
        let Inner { later, not_yet, .. } = &mut *inner;
        for heap in [later, not_yet] {
            let mine = heap.iter().filter(|(_, record)| ids.contains(&record.id));
            let keys: Vec<_> = mine.map(|(key, _)| *key).collect();
            out.extend(keys.iter().filter_map(|key| heap.remove(key)));
        }
        out
    }

    /// Takes out at most this many waiting records, those first whose time has come.
    pub(crate) fn some(&self, most: usize) -> Vec<Record> {
        let inner = &mut *self.inner();
        let next = || {
            let ready = inner.fresh.pop_front().or_else(|| inner.alone.pop_front());
            let mut later = || inner.later.pop_first().or_else(|| inner.not_yet.pop_first());
            ready.or_else(|| later().map(|(_, record)| record))
        };
        std::iter::from_fn(next).take(most).collect()
    }

    /// Adds the records that fit, each at once or at its `due_at`, and returns the rest.
    pub(crate) fn offer(&self, records: impl IntoIterator<Item = Record>) -> Vec<Record> {
        let mut over = Vec::new();
        {
            let mut inner = self.inner();
            for record in records {
                if inner.taken() >= self.room {
                    over.push(record);
                } else if let Some(due) = record.head.due_at {
                    let key = inner.key(due);
                    inner.later.insert(key, record);
                } else {
                    inner.put(record);
                }
            }
        }
        self.bell.notify_one();
        over
    }

    /// Adds a record that a rule holds back until its `due_at`, and returns it where there are too many.
    pub(crate) fn keep(&self, record: Record) -> Option<Record> {
        let due = record.head.due_at.unwrap_or_default();
        {
            let mut inner = self.inner();
            if inner.not_yet.len() >= self.room.saturating_mul(NOT_YET) {
                return Some(record);
            }
            let key = inner.key(due);
            inner.not_yet.insert(key, record);
        }
        self.bell.notify_one();
        None
    }

    /// Puts records of a batch back where they were, before all others.
    pub(crate) fn give_back(&self, records: Vec<Record>) {
        {
            let mut inner = self.inner();
            for record in records.into_iter().rev() {
                let queue = if record.head.alone { &mut inner.alone } else { &mut inner.fresh };
                queue.push_front(record);
            }
        }
        self.bell.notify_one();
    }

    /// The next batch, where there is one now. Where more records wait, it wakes the next worker.
    pub(crate) fn try_take(&self, cap: usize) -> Option<Batch> {
        self.pick(&mut self.inner(), cap)
    }

    fn pick(&self, inner: &mut Inner, cap: usize) -> Option<Batch> {
        let batch = inner.pick(cap)?;
        if inner.taken() > 0 {
            self.bell.notify_one();
        }
        Some(batch)
    }

    /// Waits until there is a batch to take.
    pub(crate) async fn ready(&self, journal: &dyn Journal, clock: &dyn Clock) {
        loop {
            let wait = {
                let mut inner = self.inner();
                let now = journal.now();
                inner.ripen(now);
                if !inner.fresh.is_empty() || !inner.alone.is_empty() {
                    return;
                }
                inner.next_due().map(|due| due.saturating_sub(now))
            };
            self.rest(wait, clock).await;
        }
    }

    /// Waits for a record, or for one whose time comes.
    async fn rest(&self, wait: Option<Millis>, clock: &dyn Clock) {
        match wait {
            Some(ms) => {
                race(self.bell.notified(), clock.sleep(if ms == 0 { 1 } else { ms })).await;
            }
            None => self.bell.notified().await,
        }
    }

    /// Waits for the next batch.
    pub(crate) async fn take(&self, cap: usize, journal: &dyn Journal, clock: &dyn Clock) -> Batch {
        loop {
            let wait = {
                let mut inner = self.inner();
                let now = journal.now();
                inner.ripen(now);
                if let Some(batch) = self.pick(&mut inner, cap) {
                    return batch;
                }
                inner.next_due().map(|due| due.saturating_sub(now))
            };
            self.rest(wait, clock).await;
        }
    }
}
