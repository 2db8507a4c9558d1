//! Shows every write to an observer at the moment it becomes durable.

use super::state::State;
use crate::books::Books;
use kernel::audit::{Hash, birth};
use kernel::ids::Id;
use kernel::operators::{Approval, PastAction};
use kernel::ports::journal::Linked;
use kernel::record::Record;
use std::fmt;
use std::sync::Arc;

/// Looks at every write as it becomes durable. It is called under the journal's lock.
pub trait Observer: Send + Sync {
    /// A write has just become durable.
    fn wrote(&self, durable: &Durable<'_>);
}

/// The journal as it is right after a write.
pub struct Durable<'a> {
    state: &'a State,
    touched: &'a [Id],
}

impl fmt::Debug for Durable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Durable").field("touched", &self.touched).finish_non_exhaustive()
    }
}

impl<'a> Durable<'a> {
    pub(super) const fn new(state: &'a State, touched: &'a [Id]) -> Self {
        Self { state, touched }
    }

    /// The transfers whose row or history the write changed; one may come more than once.
    pub const fn touched(&self) -> &'a [Id] {
        self.touched
    }

    pub fn record(&self, id: Id) -> Option<&'a Record> {
        self.state.transfers.get(&id)
    }

    /// The history of a transfer, in its order.
    pub fn history(&self, id: Id) -> &'a [Linked] {
        self.state.history.get(&id).map_or(&[], Vec::as_slice)
    }

    /// The hash before a transfer's history.
    pub fn birth(&self, record: &Record) -> Hash {
        birth(record.id, self.state.flows.table(record.flow).flow, &record.terms)
    }

    /// The books of the ledger that lives in it.
    pub const fn funding(&self) -> &'a Books {
        &self.state.books
    }

    /// Why no money moves, where it does not.
    pub const fn halted(&self) -> Option<&'a Arc<str>> {
        self.state.halted.as_ref()
    }

    /// Number of HALTs that were written, those among them that found one standing.
    pub fn halts(&self) -> u64 {
        self.state.log.halts
    }

    /// How often a HALT that stood was lifted.
    pub fn resumes(&self) -> u64 {
        self.state.log.resumes
    }

    /// What operators did after the first `done` actions, in order.
    pub fn actions(&self, done: usize) -> impl Iterator<Item = PastAction> {
        let after = self.state.log.actions.iter().skip(done);
        after.filter_map(|(caller, key)| self.state.past_action(caller.clone(), key.clone()))
    }

    /// What operators proposed after the first `known` proposals, in order.
    pub fn proposals(&self, known: usize) -> impl Iterator<Item = Approval> {
        let after = self.state.log.proposed.iter().skip(known);
        after.filter_map(|id| self.state.approval(*id, 0))
    }

    /// The proposals that were decided after the first `known` decisions, in order.
    pub fn decisions(&self, known: usize) -> impl Iterator<Item = Approval> {
        let after = self.state.log.decided.iter().skip(known);
        after.filter_map(|id| self.state.approval(*id, 0))
    }

    /// The cases above a number, with what is known of each.
    pub fn cases(&self, above: usize) -> impl Iterator<Item = (&'static str, &'a Arc<str>)> {
        self.state.cases_above(above)
    }

    /// How many entries were hashed into the rows of the audit, and how many the histories hold.
    pub fn audited(&self) -> (u64, u64) {
        self.state.audited
    }
}
