//! The traits of chains that flows are played over, and of their vaults: the simulated ones, or local ones behind a real
//! adapter.

use super::held_back::HeldBack;
use super::{ChainRules, Paid, SimChain, SimPort, SimVault};
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, ChainId, Id};
use kernel::money::Amount;
use kernel::ports::chain::Chain;
use kernel::ports::deposits::{DepositSource, VaultMovement};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// A chain that outlives every process of a service. A handle: clones are the same one.
pub trait PlayedChain: Clone + fmt::Debug + Send + Sync + 'static {
    /// Where deposits are paid in on it.
    type Vault: PlayedVault;
    /// How it behaves now.
    fn rules(&self) -> ChainRules;
    /// The adapter of a process that begins. It waits only for the clock of the run: no call of it is still under
    /// way when a poll of it is over.
    fn adapter(&self, flows: &Arc<Flows>) -> Arc<dyn Chain>;
    /// How often each transfer was paid in final blocks, by the chain itself and not by an adapter.
    fn paid(&self) -> BTreeMap<Id, Vec<Paid>>;
    /// How often each transfer's payments were called back in final blocks.
    fn voided(&self) -> BTreeMap<Id, usize> {
        BTreeMap::new()
    }
    /// Whether the money of a transfer that waited at its sender was taken in.
    fn is_credited(&self, _: Id) -> bool {
        false
    }
    /// The transfers of transactions that no block took for a while, since those of their lane were held back.
    fn held_back(&self) -> BTreeSet<HeldBack> {
        BTreeSet::new()
    }
    /// What is wrong with its own history.
    fn faults(&self) -> Vec<String>;
}

/// The vault that a flow's deposits are paid into. It outlives every process, as its chain does. A handle: clones are the
/// same one.
pub trait PlayedVault: Clone + Send + Sync + 'static {
    /// The chain of the vault.
    fn chain(&self) -> ChainId;
    /// The asset that it keeps.
    fn asset(&self) -> AssetId;
    /// What the service has there before the first deposit.
    fn own(&self) -> Amount;
    /// What it has, after every movement that is final.
    fn balance(&self) -> Amount;
    /// Senders pay these in, once for each case. What the chain knows each deposit by.
    fn receive(&self, series: usize, deposits: Vec<VaultMovement>) -> Vec<Arc<str>>;
    /// Where the process reads them whose adapter was made last.
    fn source(&self) -> Arc<dyn DepositSource>;
}

impl PlayedChain for SimChain {
    type Vault = SimVault;

    fn rules(&self) -> ChainRules {
        Self::rules(self)
    }

    fn adapter(&self, flows: &Arc<Flows>) -> Arc<dyn Chain> {
        Arc::new(SimPort::new(self.clone(), flows.clone()))
    }

    fn paid(&self) -> BTreeMap<Id, Vec<Paid>> {
        Self::paid(self)
    }

    fn voided(&self) -> BTreeMap<Id, usize> {
        Self::voided(self)
    }

    fn is_credited(&self, id: Id) -> bool {
        Self::is_credited(self, id)
    }

    fn held_back(&self) -> BTreeSet<HeldBack> {
        Self::held_back(self)
    }

    fn faults(&self) -> Vec<String> {
        Self::faults(self)
    }
}
