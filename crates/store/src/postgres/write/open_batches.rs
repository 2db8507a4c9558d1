//! Counts the open transfers of the batches that this process opened. When the last transfer of a batch
//! has ended, the next write deletes the batch's row; the database counts nothing.

use super::transfer_rows::EndedTransfers;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(crate) struct OpenBatches {
    worker: i64,
    state: Mutex<Batches>,
}

#[derive(Debug, Default)]
struct Batches {
    open: HashMap<i64, i64>,
    over: Vec<i64>,
}

impl OpenBatches {
    pub(crate) fn of(worker: i64) -> Self {
        Self { worker, state: Mutex::default() }
    }

    /// The worker that carries the transfers that this process opens.
    pub(crate) const fn worker(&self) -> i64 {
        self.worker
    }

    fn state(&self) -> MutexGuard<'_, Batches> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the transfers that a write opened and ended.
    pub(crate) fn count(&self, ended: EndedTransfers) {
        let mut state = self.state();
        state.open.extend(ended.opened);
        for (batch, ended) in ended.ended {
            // batches of other processes are swept by the scanner
            let Some(open) = state.open.get_mut(&batch) else { continue };
            *open = open.saturating_sub(ended);
            if *open <= 0 {
                state.open.remove(&batch);
                state.over.push(batch);
            }
        }
    }

    /// Batches of which nothing is open; each is given once. A write that fails leaves its own to
    /// the scanner.
    pub(crate) fn over(&self) -> Vec<i64> {
        let mut over = std::mem::take(&mut self.state().over);
        over.sort_unstable();
        over
    }
}
