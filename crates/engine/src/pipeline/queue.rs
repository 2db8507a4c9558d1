//! A station's bounded ring: what gathered while its workers were busy comes out as one batch.
//!
//! Beside the ring stand those that may only be called alone, and one heap of those whose time has
//! not come.

use crate::pipeline::select::race;
use kernel::ids::{Id, Millis};
use kernel::ports::clock::Clock;
use kernel::ports::journal::Journal;
use kernel::record::Record;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// What a hand takes at once.
#[derive(Debug)]
pub(crate) enum Batch {
    /// Neighbours in one call.
    Many(Vec<Record>),
    /// One that may only be called alone.
    Alone(Record),
}

#[derive(Debug, Default)]
struct Inner {
    fresh: VecDeque<Record>,
    alone: VecDeque<Record>,
    later: BTreeMap<(Millis, u64), Record>,
    next: u64,
    /// Whether the last batch was one alone: fresh ones and lonely ones take turns.
    lonely: bool,
}

impl Inner {
    fn len(&self) -> usize {
        self.fresh.len() + self.alone.len() + self.later.len()
    }

    fn put(&mut self, record: Record) {
        if record.head.alone { self.alone.push_back(record) } else { self.fresh.push_back(record) }
    }

    /// Those whose time has come step forward.
    fn ripen(&mut self, now: Millis) {
        while let Some(entry) = self.later.first_entry()
            && entry.key().0 <= now
        {
            let record = entry.remove();
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

/// The ring of one station.
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

    /// How many wait here.
    pub(crate) fn len(&self) -> usize {
        self.inner().len()
    }

    /// How many wait here after an unknown answer.
    pub(crate) fn retried(&self) -> usize {
        let inner = self.inner();
        let all = inner.fresh.iter().chain(&inner.alone).chain(inner.later.values());
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
        let keys: Vec<_> =
            inner.later.iter().filter(|(_, r)| ids.contains(&r.id)).map(|(key, _)| *key).collect();
        out.extend(keys.iter().filter_map(|key| inner.later.remove(key)));
        out
    }

    /// Takes out what waits here, those first whose time has come, and at most so many.
    pub(crate) fn some(&self, most: usize) -> Vec<Record> {
        let inner = &mut *self.inner();
        let next = || {
            let ready = inner.fresh.pop_front().or_else(|| inner.alone.pop_front());
            ready.or_else(|| inner.later.pop_first().map(|(_, record)| record))
        };
        std::iter::from_fn(next).take(most).collect()
    }

    /// Takes in what fits, at once or at its `due_at`, and gives back the rest.
    pub(crate) fn offer(&self, records: impl IntoIterator<Item = Record>) -> Vec<Record> {
        let mut over = Vec::new();
        {
            let mut inner = self.inner();
            for record in records {
                if inner.len() >= self.room {
                    over.push(record);
                } else if let Some(due) = record.head.due_at {
                    inner.next += 1;
                    let key = (due, inner.next);
                    inner.later.insert(key, record);
                } else {
                    inner.put(record);
                }
            }
        }
        self.bell.notify_one();
        over
    }

    /// Waits for the next batch.
    pub(crate) async fn take(&self, cap: usize, journal: &dyn Journal, clock: &dyn Clock) -> Batch {
        loop {
            let wait = {
                let mut inner = self.inner();
                let now = journal.now();
                inner.ripen(now);
                if let Some(batch) = inner.pick(cap) {
                    if inner.len() > 0 {
                        self.bell.notify_one();
                    }
                    return batch;
                }
                inner.later.first_key_value().map(|((due, _), _)| due.saturating_sub(now))
            };
            match wait {
                Some(ms) => {
                    race(self.bell.notified(), clock.sleep(if ms == 0 { 1 } else { ms })).await;
                }
                None => self.bell.notified().await,
            }
        }
    }
}
