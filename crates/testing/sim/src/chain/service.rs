//! A service whose transfers are sent on the simulated chain: what outlives its processes, and one process
//! after another over it.

use super::{FaultyChain, RelayFacts, SimChain, SimPort};
use crate::service::{self, quiet_settings, refused};
use crate::suite::journal::{Opened, Site};
use crate::world::{Sim, Stop};
use engine::{Engine, Parts, Settings};
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, ChainId};
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::ports::chain::Chain;
use kernel::ports::facts::FactSource;
use kernel::ports::journal::Journal;
use kernel::record::{Account, Binding, Party, System, Terms};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What stands around a process's chain port, on the engine's side of the link.
pub type ChainWrap = Arc<dyn Fn(Arc<dyn Chain>) -> Arc<dyn Chain> + Send + Sync>;
/// What stands around a process's journal.
pub type JournalWrap = Arc<dyn Fn(Arc<dyn Journal>) -> Arc<dyn Journal> + Send + Sync>;

/// What outlives each process of a service that sends.
pub struct ChainService {
    /// Time, and the tasks of every process.
    pub sim: Sim,
    /// The tables of every flow that is known.
    pub flows: Arc<Flows>,
    /// The settings of the next process.
    pub settings: Settings,
    /// The chain, which knows nothing of processes.
    pub chain: SimChain,
    /// The link that each process reaches it through.
    pub link: Arc<FaultyChain>,
    /// Around the port of each process.
    pub around_chain: ChainWrap,
    /// Around the journal of each process.
    pub around_journal: JournalWrap,
    site: Site,
    lives: u64,
}

impl fmt::Debug for ChainService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainService").field("sim", &self.sim).finish_non_exhaustive()
    }
}

/// One process over the service, until it dies.
#[derive(Clone)]
pub struct ChainProcess {
    /// The engine, which offers the relay alone.
    pub engine: Arc<Engine>,
    /// Its journal, with the ledgers in it.
    pub opened: Opened,
}

impl fmt::Debug for ChainProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainProcess").finish_non_exhaustive()
    }
}

/// The terms of a relayed transfer to this account.
pub fn relay_terms(chain: ChainId, receiver: &str, amount: u128, key: &str) -> Terms {
    let party = |account: &str| Party {
        system: System::Chain(chain),
        account: Account::Named(account.into()),
        asset: AssetId(3),
        amount: Amount(amount),
    };
    let owner = TransferOwner::Principal("sim|relay".into());
    let binding = Binding { scope: "sim".into(), key: key.into(), fingerprint: [0; 32] };
    Terms {
        binding: Some(binding),
        ..Terms::between("sim|relay".into(), owner, party("relay.near"), party(receiver))
    }
}

impl ChainService {
    /// A service without a process.
    pub fn new(sim: Sim, flows: Arc<Flows>, site: Site, chain: SimChain) -> Self {
        let settings = quiet_settings(5_000);
        let link = Arc::new(FaultyChain::new(Arc::new(SimPort::new(chain.clone())), sim.crash()));
        let (around_chain, around_journal): (ChainWrap, JournalWrap) =
            (Arc::new(|port| port), Arc::new(|journal| journal));
        Self { sim, flows, settings, chain, link, around_chain, around_journal, site, lives: 0 }
    }

    /// The number of the chain.
    pub fn chain_id(&self) -> ChainId {
        self.link.id()
    }

    /// Ends what is left of the last process and begins the next.
    ///
    /// # Errors
    /// Why the process died, or what its start was refused with.
    pub fn start(&mut self) -> Result<ChainProcess, Stop> {
        self.sim.revive();
        self.lives += 1;
        let opening = (self.site)();
        let opened = self.sim.block_on(opening)?;
        // each process has an adapter of its own
        self.link.swap(Arc::new(SimPort::new(self.chain.clone())));
        let parts = self.parts(&self.sim, &opened, self.link.clone(), self.lives);
        let engine = self.sim.block_on(Engine::start(parts))?.map_err(refused)?;
        Ok(ChainProcess { engine, opened })
    }

    /// What a process is made of.
    pub fn parts(&self, sim: &Sim, opened: &Opened, port: Arc<dyn Chain>, worker: u64) -> Parts {
        let facts: Arc<dyn FactSource> = Arc::new(RelayFacts(self.chain.clone()));
        Parts {
            offered: self.flows.ids(&["relay"]),
            facts: BTreeMap::from([("relay", facts)]),
            journal: (self.around_journal)(opened.journal.clone()),
            ledgers: vec![opened.funding.clone()],
            chains: vec![(self.around_chain)(port)],
            ..service::parts(sim, opened, &self.flows, &self.settings, worker)
        }
    }
}

impl Drop for ChainService {
    fn drop(&mut self) {
        // the tasks hold the clock that holds them
        self.sim.revive();
    }
}
