//! A service whose transfers are sent on the simulated chain: what outlives its processes, and one process
//! after another over it.

use super::learned::LinkedFacts;
use super::played::PlayedChain;
use super::{FactLog, FaultyChain, RelayFacts, SimChain};
use crate::service::{process, quiet_settings, refused};
use crate::suite::journal::Site;
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
use testkit::OpenedStore;

/// What stands around a process's chain port, on the engine's side of the link.
pub type ChainWrap = Arc<dyn Fn(Arc<dyn Chain>) -> Arc<dyn Chain> + Send + Sync>;
/// What stands around a process's journal.
pub type JournalWrap = Arc<dyn Fn(Arc<dyn Journal>) -> Arc<dyn Journal> + Send + Sync>;

/// What a flow learns from outside, through the journal of its process where that counts something.
pub type FactsOf = Arc<dyn Fn(Arc<dyn Journal>) -> Arc<dyn FactSource> + Send + Sync>;

/// A flow that sends, and the world that it is played in.
#[derive(Clone)]
pub struct ChainFlow<C = SimChain> {
    /// Its name, as it is stored.
    pub flow: &'static str,
    /// What it learns for its decisions and questions.
    pub facts: FactsOf,
    /// The chain of every transfer's source.
    pub chain: C,
    /// The chains beside that one.
    pub others: Vec<C>,
}

impl<C> fmt::Debug for ChainFlow<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainFlow").field("flow", &self.flow).finish_non_exhaustive()
    }
}

impl ChainFlow {
    /// The relay over this chain.
    pub fn relay(chain: SimChain) -> Self {
        let facts = RelayFacts(chain.clone());
        let facts: FactsOf = Arc::new(move |_| Arc::new(facts.clone()));
        Self { flow: "relay", facts, chain, others: Vec::new() }
    }
}

/// A chain, and the link that each process reaches it through.
#[derive(Debug, Clone)]
pub struct LinkedChain<C = SimChain> {
    /// The chain, which knows nothing of processes.
    pub chain: C,
    /// How a process reaches it, and what goes wrong there.
    pub link: Arc<FaultyChain>,
}

impl<C: PlayedChain> LinkedChain<C> {
    fn new(sim: &Sim, chain: C, flows: &Arc<Flows>) -> Self {
        let link = Arc::new(FaultyChain::new(chain.adapter(flows), sim.crash()));
        Self { chain, link }
    }
}

/// What outlives each process of a service that sends.
pub struct ChainService<C = SimChain> {
    /// Time, and the tasks of every process.
    pub sim: Sim,
    /// The tables of every flow that is known.
    pub flows: Arc<Flows>,
    /// The settings of the next process.
    pub settings: Settings,
    /// The flow that is offered.
    pub flow: &'static str,
    /// What it learns for its decisions and questions.
    pub facts: FactsOf,
    /// What its processes learnt.
    pub learned: FactLog,
    /// The chain of every transfer's source, which knows nothing of processes.
    pub chain: C,
    /// The link that each process reaches it through.
    pub link: Arc<FaultyChain>,
    /// The other chains of the flow.
    pub others: Vec<LinkedChain<C>>,
    /// Around the port of each process.
    pub around_chain: ChainWrap,
    /// Around the journal of each process.
    pub around_journal: JournalWrap,
    site: Site,
    lives: u64,
}

impl<C> fmt::Debug for ChainService<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainService").field("sim", &self.sim).finish_non_exhaustive()
    }
}

/// One process over the service, until it dies.
#[derive(Clone)]
pub struct ChainProcess {
    /// The engine, which offers the flow alone.
    pub engine: Arc<Engine>,
    /// Its journal, with the ledgers in it.
    pub opened: OpenedStore,
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
    /// A service of the relay without a process.
    pub fn new(sim: Sim, flows: Arc<Flows>, site: Site, chain: SimChain) -> Self {
        Self::of(sim, flows, site, ChainFlow::relay(chain))
    }
}

impl<C: PlayedChain> ChainService<C> {
    /// A service of a flow without a process.
    pub fn of(sim: Sim, flows: Arc<Flows>, site: Site, played: ChainFlow<C>) -> Self {
        let ChainFlow { flow, facts, chain, others } = played;
        let settings = quiet_settings(5_000);
        let LinkedChain { chain, link } = LinkedChain::new(&sim, chain, &flows);
        let linked = |other| LinkedChain::new(&sim, other, &flows);
        let others = others.into_iter().map(linked).collect();
        let (around_chain, around_journal): (ChainWrap, JournalWrap) =
            (Arc::new(|port| port), Arc::new(|journal| journal));
        Self {
            sim,
            flows,
            settings,
            flow,
            facts,
            learned: FactLog::default(),
            chain,
            link,
            others,
            around_chain,
            around_journal,
            site,
            lives: 0,
        }
    }

    /// Every chain with its link, the source's first.
    pub fn linked(&self) -> Vec<LinkedChain<C>> {
        let first = LinkedChain { chain: self.chain.clone(), link: self.link.clone() };
        std::iter::once(first).chain(self.others.iter().cloned()).collect()
    }

    /// The number of the source's chain.
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
        let mut ports: Vec<Arc<dyn Chain>> = Vec::new();
        for LinkedChain { chain, link } in self.linked() {
            // each process has an adapter of its own
            link.swap(chain.adapter(&self.flows));
            ports.push(link);
        }
        let parts = self.parts(&self.sim, &opened, ports, self.lives);
        let engine = self.sim.block_on(Engine::start(parts))?.map_err(refused)?;
        Ok(ChainProcess { engine, opened })
    }

    /// What a process is made of.
    pub fn parts(
        &self,
        sim: &Sim,
        opened: &OpenedStore,
        ports: Vec<Arc<dyn Chain>>,
        worker: u64,
    ) -> Parts {
        let journal = (self.around_journal)(opened.journal.clone());
        let (inner, log) = ((self.facts)(journal.clone()), self.learned.clone());
        let facts: Arc<dyn FactSource> = Arc::new(LinkedFacts::new(inner, log, sim.crash()));
        Parts {
            offered: self.flows.ids(&[self.flow]),
            facts: BTreeMap::from([(self.flow, facts)]),
            journal,
            ledgers: vec![opened.funding.clone()],
            chains: ports.into_iter().map(|port| (self.around_chain)(port)).collect(),
            ..process(sim, worker).parts(opened, &self.flows, self.settings.clone())
        }
    }
}

impl<C> Drop for ChainService<C> {
    fn drop(&mut self) {
        // the tasks hold the clock that holds them
        self.sim.revive();
    }
}
