//! Applies the fault plan of a place to a journal that is a real store.

use super::{Fault, Faults, Place};
use crate::event_log::{EventLog, LoggedEvent, subject};
use crate::world::{Crash, breath, die};
use kernel::answer::Cause;
use kernel::flow::table::Table;
use kernel::ports::Fut;
use kernel::ports::journal::Journal;
use kernel::unit::{Unit, Wrote};
use std::fmt;
use std::sync::Arc;
use testkit::wrapper::JournalWrapper;

/// A journal whose writes of units go wrong as the place's plan says.
pub struct FaultyWrites {
    inner: Arc<dyn Journal>,
    faults: Faults,
    event_log: EventLog,
    table: Table,
    crash: Crash,
}

impl fmt::Debug for FaultyWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyWrites").field("faults", &self.faults).finish_non_exhaustive()
    }
}

impl FaultyWrites {
    /// Around the journal of one process, whose transfers are of the flow of this table.
    pub fn new(inner: Arc<dyn Journal>, place: &Place, table: Table, crash: Crash) -> Self {
        let (faults, event_log) = (place.faults.clone(), place.event_log.clone());
        Self { inner, faults, event_log, table, crash }
    }

    /// A write, with the edges of those of its units that were written.
    fn logs(&self, n: u64, units: &[Unit], wrote: &[Wrote]) {
        let code = |state| self.table.state(state).code;
        let written = units.iter().zip(wrote);
        let written = written.filter(|(_, wrote)| matches!(wrote, Wrote::Written(_)));
        let events = written.flat_map(|(unit, _)| &unit.then.events);
        let edges = events.filter_map(|event| Some((event.id, code(event.from?), code(event.to))));
        let (subject, edges) = (subject(units), edges.collect());
        self.event_log.add(LoggedEvent::Write { n, subject, edges });
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
            let (n, fault) = self.faults.begin();

            match fault {
                Some(Fault::Full) => return vec![Wrote::Full; asked],
                Some(Fault::LostBefore) => return unknown(),
                Some(Fault::CrashBefore) => die(&self.crash, "crashed before a write").await,
                Some(Fault::LostAfter | Fault::CrashAfter) | None => {}
            }
            let log = self.event_log.is_on();
            let all = if log { units.clone() } else { Vec::new() };
            let wrote = self.inner.write(units).await;
            if log {
                self.logs(n, &all, &wrote);
            }
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
