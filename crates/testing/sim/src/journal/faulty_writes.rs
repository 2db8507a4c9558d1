//! The plan of a place's faults around a journal that is a real store.

use super::{Fault, Faults, Place};
use crate::world::{Crash, breath, die};
use crate::wrapper::JournalWrapper;
use kernel::answer::Cause;
use kernel::ports::Fut;
use kernel::ports::journal::Journal;
use kernel::unit::{Unit, Wrote};
use std::fmt;
use std::sync::Arc;

/// A journal whose writes of units go wrong as the place's plan says.
pub struct FaultyWrites {
    inner: Arc<dyn Journal>,
    faults: Faults,
    crash: Crash,
}

impl fmt::Debug for FaultyWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyWrites").field("faults", &self.faults).finish_non_exhaustive()
    }
}

impl FaultyWrites {
    /// Around the journal of one process.
    pub fn new(inner: Arc<dyn Journal>, place: &Place, crash: Crash) -> Self {
        Self { inner, faults: place.faults.clone(), crash }
    }
}

impl JournalWrapper for FaultyWrites {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }

    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            breath().await;
            let asked = units.len();
            let unknown = || vec![Wrote::Unknown(Cause::of("COMMIT")); asked];
            let (_, fault) = self.faults.begin();
            match fault {
                Some(Fault::Full) => return vec![Wrote::Full; asked],
                Some(Fault::LostBefore) => return unknown(),
                Some(Fault::CrashBefore) => die(&self.crash, "crashed before a write").await,
                Some(Fault::LostAfter | Fault::CrashAfter) | None => {}
            }
            let wrote = self.inner.write(units).await;
            match fault {
                Some(Fault::LostAfter) => unknown(),
                Some(Fault::CrashAfter) => {
                    die(&self.crash, "crashed after a write").await;
                    unknown()
                }
                Some(Fault::Full | Fault::LostBefore | Fault::CrashBefore) | None => wrote,
            }
        })
    }
}
