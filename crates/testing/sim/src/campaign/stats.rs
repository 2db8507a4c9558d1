//! Counts the results of runs: transfers, effective faults, crashes and matrix cells.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The numbers of one run, or of many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many runs these are of.
    pub runs: u64,
    /// Transfers that were opened.
    pub transfers: u64,
    /// Port calls of the engine.
    pub calls: u64,
    /// Faults by kind; only those that gave the engine another answer or another order.
    pub faults: BTreeMap<&'static str, u64>,
    /// Deaths of a process, by where it stood.
    pub crashes: BTreeMap<String, u64>,
    /// Operators' actions, by their kind.
    pub actions: BTreeMap<&'static str, u64>,
    /// What was reached: a fault or a crash, the state that it met, and the answer there.
    pub cells: BTreeSet<String>,
    /// The states that transfers ended in.
    pub ends: BTreeMap<&'static str, u64>,
    /// Times that a task was run.
    pub steps: u64,
    /// Milliseconds of virtual time.
    pub virtual_ms: u64,
}

impl Counts {
    /// The faults of every kind, added up.
    pub fn all_faults(&self) -> u64 {
        self.faults.values().sum()
    }

    /// The crashes of every kind, added up.
    pub fn all_crashes(&self) -> u64 {
        self.crashes.values().sum()
    }

    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.transfers += other.transfers;
        self.calls += other.calls;
        self.virtual_ms += other.virtual_ms;
        self.steps += other.steps;
        for (mine, others) in [
            (&mut self.faults, &other.faults),
            (&mut self.actions, &other.actions),
            (&mut self.ends, &other.ends),
        ] {
            for (kind, n) in others {
                *mine.entry(kind).or_insert(0) += n;
            }
        }
        for (kind, n) in &other.crashes {
            *self.crashes.entry(kind.clone()).or_insert(0) += n;
        }
        self.cells.extend(other.cells.iter().cloned());
    }
}

/// Counts one run. A handle: clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct Stats(Arc<Mutex<Counts>>);

impl Stats {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine saw something else than it would have seen.
    pub fn fault(&self, kind: &'static str) {
        *self.counts().faults.entry(kind).or_insert(0) += 1;
    }

    /// The process died at this place.
    pub fn crash(&self, kind: &str) {
        *self.counts().crashes.entry(kind.to_owned()).or_insert(0) += 1;
    }

    /// A person did something.
    pub fn action(&self, kind: &'static str) {
        *self.counts().actions.entry(kind).or_insert(0) += 1;
    }

    /// This fault or crash was met in this state.
    pub fn cell(&self, cell: String) {
        self.counts().cells.insert(cell);
    }

    pub fn change(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.counts());
    }

    /// The numbers so far.
    pub fn read(&self) -> Counts {
        self.counts().clone()
    }
}
