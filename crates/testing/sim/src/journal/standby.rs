//! Simulates a pair of databases: a primary that answers, and a synchronous standby that each write waits for.
//!
//! While the standby is away, a write exists on the primary alone: no write and no read is answered, since its
//! content would not survive the primary. Then the standby comes back and has everything, or the primary is lost
//! and the standby takes its place with the data that it has.

use super::observe::Durable;
use super::state::State;
use super::{Observer, Place};
use kernel::ids::Id;
use kernel::ports::journal::RESTORED_ROW;
use std::sync::{Arc, MutexGuard, PoisonError};

/// What the standby has while it is away, and what it lacks.
#[derive(Debug)]
pub(super) struct Away {
    replicated: Arc<State>,
    /// The state after each write that only the primary has, with the transfers that it touched.
    lacks: Vec<(Arc<State>, Vec<Id>)>,
}

/// The state of a journal at a moment, to which it can be set back.
#[derive(Debug)]
pub struct Backup(Arc<State>);

impl Place {
    fn away(&self) -> MutexGuard<'_, Option<Away>> {
        self.standby.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The standby goes away: from now on nothing that is written is durable.
    pub fn lose_standby(&self) {
        let replicated = self.now();
        self.away().get_or_insert(Away { replicated, lacks: Vec::new() });
    }

    /// True while nothing that is written is durable.
    pub fn is_unreplicated(&self) -> bool {
        self.away().is_some()
    }

    /// The standby comes back, and what was written meanwhile is durable. Returns the number of these writes.
    pub fn catch_up(&self) -> usize {
        let Some(away) = self.away().take() else { return 0 };
        for (state, touched) in &away.lacks {
            self.observed_by(|observer| observer.wrote(&Durable::new(state, touched)));
        }
        away.lacks.len()
    }

    /// The primary is lost, and the standby takes its place: what was written meanwhile is gone. Returns
    /// the number of these writes.
    pub fn fail_over(&self) -> usize {
        let Some(away) = self.away().take() else { return 0 };
        *self.lock() = away.replicated;
        away.lacks.len()
    }

    /// A copy of the journal as it is now.
    pub fn backup(&self) -> Backup {
        Backup(self.now())
    }

    /// The journal is as it was at a backup, and says so, as `portage restore` has it say. No process may be at work.
    pub fn restore(&self, Backup(mut state): Backup) {
        let resources = &mut Arc::make_mut(&mut state).resources;
        resources.entry(RESTORED_ROW.into()).or_insert_with(|| (0, "a test".into())).0 += 1;
        *self.lock() = state;
    }

    /// A write is made, and the state is as it is after it. False where it is not durable.
    pub(super) fn made(&self, state: &Arc<State>, touched: Vec<Id>) -> bool {
        if let Some(away) = &mut *self.away() {
            away.lacks.push((state.clone(), touched));
            return false;
        }
        self.observed_by(|observer| observer.wrote(&Durable::new(state, &touched)));
        true
    }

    fn observed_by(&self, look: impl FnOnce(&dyn Observer)) {
        if let Some(observer) = &self.observer {
            look(&**observer);
        }
    }
}
