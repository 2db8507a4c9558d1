//! Draws the fault of the next call from rates, and none while the run is calm.

use crate::world::SplitMix;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
struct Inner<T> {
    rates: Vec<(T, u64)>,
    draws: SplitMix,
    calm: bool,
}

/// The fault rates of one link. A handle: clones are the same one.
#[derive(Debug)]
pub(super) struct FaultRates<T>(Arc<Mutex<Inner<T>>>);

impl<T> Clone for FaultRates<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Copy> FaultRates<T> {
    /// Each of these in this number of 1000 calls.
    pub(super) fn new(rates: Vec<(T, u64)>, seed: u64) -> Self {
        let rates = rates.into_iter().filter(|(_, rate)| *rate > 0).collect();
        Self(Arc::new(Mutex::new(Inner { rates, draws: SplitMix(seed), calm: true })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing goes wrong from now on, or things do again.
    pub(super) fn calm(&self, calm: bool) {
        self.inner().calm = calm;
    }

    /// What goes wrong now.
    pub(super) fn draw(&self) -> Option<T> {
        let mut inner = self.inner();
        if inner.calm || inner.rates.is_empty() {
            return None;
        }
        let mut at = inner.draws.next() % 1_000;
        for (trouble, rate) in &inner.rates {
            if at < *rate {
                return Some(*trouble);
            }
            at -= rate;
        }
        None
    }

    /// A number below `n`, or 0.
    pub(super) fn below(&self, n: u64) -> u64 {
        self.inner().draws.next().checked_rem(n).unwrap_or(0)
    }
}
