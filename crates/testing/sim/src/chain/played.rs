//! The trait of chains that flows are played over: the simulated chain, or a local one behind a real adapter.

use super::held_back::HeldBack;
use super::{ChainRules, Paid, SimChain, SimPort};
use kernel::flow::table::Flows;
use kernel::ids::Id;
use kernel::ports::chain::Chain;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// A chain that outlives every process of a service. A handle: clones are the same one.
pub trait PlayedChain: Clone + fmt::Debug + Send + Sync + 'static {
    /// How it behaves now.
    fn rules(&self) -> ChainRules;
    /// The adapter of a process that begins. It waits only for the clock of the run: no call of it is still under
    /// way when a poll of it is over.
    fn adapter(&self, flows: &Arc<Flows>) -> Arc<dyn Chain>;
    /// How often each transfer was paid in final blocks, by the chain itself and not by an adapter.
    fn paid(&self) -> BTreeMap<Id, Vec<Paid>>;
    /// The transfers of transactions that no block took for a while, since those of their lane were held back.
    fn held_back(&self) -> BTreeSet<HeldBack> {
        BTreeSet::new()
    }
    /// What is wrong with its own history.
    fn faults(&self) -> Vec<String>;
}

impl PlayedChain for SimChain {
    fn rules(&self) -> ChainRules {
        Self::rules(self)
    }

    fn adapter(&self, flows: &Arc<Flows>) -> Arc<dyn Chain> {
        Arc::new(SimPort::new(self.clone(), flows.clone()))
    }

    fn paid(&self) -> BTreeMap<Id, Vec<Paid>> {
        Self::paid(self)
    }

    fn held_back(&self) -> BTreeSet<HeldBack> {
        Self::held_back(self)
    }

    fn faults(&self) -> Vec<String> {
        Self::faults(self)
    }
}
