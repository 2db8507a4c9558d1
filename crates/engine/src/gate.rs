//! What stops money: HALT, paused flows, ledgers whose identity is not settled.
//!
//! Every hand asks the gate before each batch of calls, repeats included. The stored flags are the
//! truth; this is their copy in RAM, which only ever stops earlier.

use kernel::ids::{FlowId, LedgerId};
use kernel::ports::ledger::Known;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// How a ledger outside the journal's database stands with us.
#[derive(Debug, Clone, Copy)]
struct Desk {
    /// The last that an adopted incarnation said of itself.
    known: Known,
    /// It is who the journal thinks it is.
    adopted: bool,
}

#[derive(Debug, Default)]
struct Flags {
    halted: Option<Arc<str>>,
    paused: BTreeSet<FlowId>,
    desks: BTreeMap<LedgerId, Desk>,
    draining: bool,
}

/// The gate.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    flags: Mutex<Flags>,
    changed: Notify,
}

impl Gate {
    fn flags(&self) -> MutexGuard<'_, Flags> {
        self.flags.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why no money moves, where it does not.
    pub(crate) fn halted(&self) -> Option<Arc<str>> {
        self.flags().halted.clone()
    }

    /// No claim and no effect from now on. The first reason stays.
    pub(crate) fn halt(&self, reason: Arc<str>) {
        self.flags().halted.get_or_insert(reason);
    }

    /// The flow takes no further step.
    pub(crate) fn pause(&self, flow: FlowId) {
        self.flags().paused.insert(flow);
    }

    /// Nothing new is taken in.
    pub(crate) fn drain(&self) {
        self.flags().draining = true;
    }

    /// True while the process is ending.
    pub(crate) fn draining(&self) -> bool {
        self.flags().draining
    }

    /// True where the flow may open transfers.
    pub(crate) fn admits(&self, flow: FlowId) -> bool {
        !self.flags().paused.contains(&flow)
    }

    /// What to say to a ledger that may be called now for this flow; `None`: it may not.
    pub(crate) fn call(&self, flow: FlowId, ledger: LedgerId) -> Option<Known> {
        let flags = self.flags();
        if flags.halted.is_some() || flags.paused.contains(&flow) {
            return None;
        }
        flags.desks.get(&ledger).filter(|desk| desk.adopted).map(|desk| desk.known)
    }

    /// True where a unit of this flow may claim.
    pub(crate) fn claims(&self, flow: FlowId) -> bool {
        let flags = self.flags();
        flags.halted.is_none() && !flags.paused.contains(&flow)
    }

    /// What a ledger said of itself with an answer. False: the answer does not count, since it is of
    /// an incarnation that is not, or no longer, the one that we know.
    pub(crate) fn learn(&self, ledger: LedgerId, said: Known) -> bool {
        let mut flags = self.flags();
        let Some(desk) = flags.desks.get_mut(&ledger) else { return false };
        let who = |known: Known| (known.identity, known.incarnation);
        if who(desk.known) != who(said) {
            return false;
        }
        if desk.known.highest < said.highest {
            desk.known.highest = said.highest;
        }
        true
    }

    /// The ledger may be called as this.
    ///
    /// # Errors
    /// The highest operation that an earlier incarnation answered for, where this one does not know
    /// it. Such answers may come in until this very moment, so nothing earlier can be sure.
    pub(crate) fn adopt(&self, ledger: LedgerId, mut known: Known) -> Result<(), u64> {
        let mut flags = self.flags();
        if let Some(Desk { known: before, .. }) = flags.desks.get(&ledger)
            && before.highest > known.highest
        {
            if before.incarnation != known.incarnation {
                return Err(before.highest);
            }
            known.highest = before.highest;
        }
        flags.desks.insert(ledger, Desk { known, adopted: true });
        drop(flags);
        self.changed.notify_waiters();
        Ok(())
    }

    /// It may not be called before somebody finds out who it is. True for the first to notice.
    pub(crate) fn suspect(&self, ledger: LedgerId, used: Known) -> bool {
        match self.flags().desks.get_mut(&ledger) {
            Some(desk) if desk.adopted && desk.known.incarnation == used.incarnation => {
                desk.adopted = false;
                true
            }
            _ => false,
        }
    }

    /// What is known of a ledger.
    pub(crate) fn known(&self, ledger: LedgerId) -> Option<Known> {
        self.flags().desks.get(&ledger).map(|desk| desk.known)
    }

    /// Waits until the ledger may be called for this flow.
    pub(crate) async fn wait(&self, flow: FlowId, ledger: LedgerId) -> Known {
        loop {
            let changed = self.changed.notified();
            if let Some(known) = self.call(flow, ledger) {
                return known;
            }
            changed.await;
        }
    }

    /// Waits until units of this flow may claim.
    pub(crate) async fn wait_claims(&self, flow: FlowId) {
        loop {
            let changed = self.changed.notified();
            if self.claims(flow) {
                return;
            }
            changed.await;
        }
    }
}
