//! The two chains of a swap: the local Solana behind its real adapter, and the simulated Nexus.

use super::solana::{LocalSolana, LocalVault};
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, ChainId, Id};
use kernel::money::Amount;
use kernel::ports::chain::Chain;
use kernel::ports::deposits::{DepositSource, VaultMovement};
use sim::chain::{ChainRules, HeldBack, Paid, PlayedChain, PlayedVault, SimChain, SimVault};
use sim::generic::swaps::USDC;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One of the chains. A handle: clones are the same one.
#[derive(Debug, Clone)]
pub(crate) enum EitherChain {
    Solana(LocalSolana),
    Nexus(SimChain),
}

impl PlayedChain for EitherChain {
    type Vault = EitherVault;

    fn rules(&self) -> ChainRules {
        match self {
            Self::Solana(chain) => chain.rules(),
            Self::Nexus(chain) => chain.rules(),
        }
    }

    fn adapter(&self, flows: &Arc<Flows>) -> Arc<dyn Chain> {
        match self {
            Self::Solana(chain) => chain.adapter(flows),
            Self::Nexus(chain) => chain.adapter(flows),
        }
    }

    fn paid(&self) -> BTreeMap<Id, Vec<Paid>> {
        match self {
            Self::Solana(chain) => chain.paid(),
            Self::Nexus(chain) => chain.paid(),
        }
    }

    fn voided(&self) -> BTreeMap<Id, usize> {
        match self {
            Self::Solana(_) => BTreeMap::new(),
            Self::Nexus(chain) => chain.voided(),
        }
    }

    fn is_credited(&self, id: Id) -> bool {
        match self {
            Self::Solana(_) => false,
            Self::Nexus(chain) => chain.is_credited(id),
        }
    }

    fn held_back(&self) -> BTreeSet<HeldBack> {
        match self {
            Self::Solana(_) => BTreeSet::new(),
            Self::Nexus(chain) => chain.held_back(),
        }
    }

    fn faults(&self) -> Vec<String> {
        match self {
            Self::Solana(chain) => chain.faults(),
            Self::Nexus(chain) => chain.faults(),
        }
    }
}

/// The vault of the source's chain.
#[derive(Clone)]
pub(crate) enum EitherVault {
    Solana(LocalVault),
    Nexus(SimVault),
}

impl PlayedVault for EitherVault {
    fn chain(&self) -> ChainId {
        match self {
            Self::Solana(_) => ChainId::SOLANA,
            Self::Nexus(vault) => PlayedVault::chain(vault),
        }
    }

    fn asset(&self) -> AssetId {
        match self {
            Self::Solana(_) => USDC,
            Self::Nexus(vault) => PlayedVault::asset(vault),
        }
    }

    fn own(&self) -> Amount {
        match self {
            Self::Solana(_) => LocalVault::own(),
            Self::Nexus(vault) => vault.own(),
        }
    }

    fn balance(&self) -> Amount {
        match self {
            Self::Solana(vault) => vault.balance(),
            Self::Nexus(vault) => vault.balance(),
        }
    }

    fn receive(&self, series: usize, deposits: Vec<VaultMovement>) -> Vec<Arc<str>> {
        match self {
            Self::Solana(vault) => vault.receive(series, &deposits),
            Self::Nexus(vault) => vault.receive(series, deposits),
        }
    }

    fn source(&self) -> Arc<dyn DepositSource> {
        match self {
            Self::Solana(vault) => vault.source(),
            Self::Nexus(vault) => vault.source(),
        }
    }
}
