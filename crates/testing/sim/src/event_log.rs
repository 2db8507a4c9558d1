//! Logs the events of transfers in their order: the journal's writes with their edges, and the calls of ledgers and
//! of the bus. It outlives crashes, as an observer outside the process would.

use crate::bus::BusCall;
use kernel::flow::life::Leg;
use kernel::ids::{Id, LedgerId};
use kernel::operation::Key;
use kernel::ports::journal::Linked;
use kernel::unit::{Put, Unit};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Something that happened, or was about to when the process died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoggedEvent {
    /// A write of the journal.
    Write {
        /// Its number, as [`crate::journal::Faults`] counts.
        n: u64,
        /// The transfers that it is about; none where it is about something else.
        subject: Vec<Id>,
        /// What it took them from and to, by the stored numbers of their states.
        edges: Vec<(Id, i16, i16)>,
    },
    /// A call at a ledger that may have an effect.
    Call {
        /// The ledger that was called.
        ledger: LedgerId,
        /// Its number, as [`crate::ledger::Faulty`] counts.
        n: u64,
        /// What is asked for.
        keys: Vec<Key>,
    },
    /// A call of the bus that may have an effect, or gives something.
    Bus {
        /// Its number, as [`crate::bus::FaultyBus`] counts.
        n: u64,
        /// Which call of the bus it was.
        call: BusCall,
    },
}

impl LoggedEvent {
    /// Whether it is about that transfer.
    pub fn is_about(&self, id: Id) -> bool {
        match self {
            Self::Write { subject, .. } => subject.contains(&id),
            Self::Call { keys, .. } => keys.iter().any(|key| key.id == id),
            // its messages are about many
            Self::Bus { .. } => false,
        }
    }

    /// The leg that a call asks for, for that transfer.
    pub fn leg(&self, id: Id) -> Option<Leg> {
        match self {
            Self::Write { .. } | Self::Bus { .. } => None,
            Self::Call { keys, .. } => keys.iter().find(|key| key.id == id).map(|key| key.leg),
        }
    }
}

/// The list. A handle: clones are the same one. Nothing is kept before [`EventLog::begin`].
#[derive(Debug, Clone, Default)]
pub struct EventLog(Arc<Mutex<Option<Vec<LoggedEvent>>>>);

impl EventLog {
    fn list(&self) -> MutexGuard<'_, Option<Vec<LoggedEvent>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything from now on is kept.
    pub fn begin(&self) {
        *self.list() = Some(Vec::new());
    }

    pub fn read(&self) -> Vec<LoggedEvent> {
        self.list().clone().unwrap_or_default()
    }

    /// True where something is kept.
    pub(crate) fn is_on(&self) -> bool {
        self.list().is_some()
    }

    pub(crate) fn add(&self, event: LoggedEvent) {
        if let Some(list) = &mut *self.list() {
            list.push(event);
        }
    }

    /// The last write took this transfer along these entries of its history.
    pub(crate) fn took(&self, id: Id, entries: &[Linked]) {
        if let Some(LoggedEvent::Write { edges, .. }) =
            self.list().as_mut().and_then(|list| list.last_mut())
        {
            let moves = entries.iter().filter_map(|linked| {
                let from = linked.entry.from?;
                Some((id, from, linked.entry.to))
            });
            edges.extend(moves);
        }
    }
}

/// The transfers that units are about.
pub(crate) fn subject(units: &[Unit]) -> Vec<Id> {
    let mut all: Vec<Id> = Vec::new();
    for unit in units {
        all.extend(unit.then.events.iter().map(|event| event.id));
        all.extend(unit.then.puts.iter().filter_map(Put::transfer));
        all.extend(unit.then.fork.iter().map(|fork| fork.op.key.id));
    }
    all.sort_unstable();
    all.dedup();
    all
}
