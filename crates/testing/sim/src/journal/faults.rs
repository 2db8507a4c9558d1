//! Plans the faults of the journal's writes, by number or by chance.

use crate::world::SplitMix;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What goes wrong with one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The answer is unknown, and nothing was written.
    LostBefore,
    /// The answer is unknown, and all of it was written.
    LostAfter,
    /// The disk is full.
    Full,
    /// The process dies before anything is durable.
    CrashBefore,
    /// The process dies when it is durable and not answered yet.
    CrashAfter,
}

impl Fault {
    pub const ALL: [Self; 5] =
        [Self::LostBefore, Self::LostAfter, Self::Full, Self::CrashBefore, Self::CrashAfter];
}

#[derive(Debug, Default)]
struct Inner {
    writes: u64,
    planned: BTreeMap<u64, Fault>,
    /// One write in this number fails; the generator draws which.
    rate: Option<(u64, SplitMix)>,
}

/// The plan of a journal's faults, which outlives its crashes. A handle: clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Mutex<Inner>>);

impl Faults {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of writes that were begun, over all crashes.
    pub fn writes(&self) -> u64 {
        self.inner().writes
    }

    /// The n-th write, counted from 0, goes wrong.
    pub fn plan(&self, n: u64, fault: Fault) {
        self.inner().planned.insert(n, fault);
    }

    /// The next write goes wrong.
    pub fn next(&self, fault: Fault) {
        let mut inner = self.inner();
        let n = inner.writes;
        inner.planned.insert(n, fault);
    }

    /// One write in `of` is lost, before or after its effect, or finds the disk full; 0: none.
    pub fn rate(&self, of: u64, seed: u64) {
        self.inner().rate = (of > 0).then_some((of, SplitMix(seed)));
    }

    /// The number of the write that begins now, and what goes wrong with it.
    pub(super) fn begin(&self) -> (u64, Option<Fault>) {
        let mut inner = self.inner();
        let n = inner.writes;
        inner.writes += 1;
        let planned = inner.planned.remove(&n);
        let drawn = inner.rate.as_mut().and_then(|(of, draws)| {
            let unlucky = draws.once_in(1, *of);
            unlucky.then(|| match draws.next() % 3 {
                0 => Fault::LostBefore,
                1 => Fault::LostAfter,
                _ => Fault::Full,
            })
        });
        (n, planned.or(drawn))
    }
}
