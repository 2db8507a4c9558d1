//! A flow that sends on simulated chains, with the ports that its processes need.

use super::learned::LinkedFacts;
use super::played::{PlayedChain, PlayedVault};
use super::{FactLog, FaultyChain, RelayFacts, SimChain};
use crate::service::{ProcessBase, SimService, quiet_settings};
use crate::world::Sim;
use conformance::journal::Site;
use engine::Parts;
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, ChainId};
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::ports::chain::Chain;
use kernel::ports::facts::FactSource;
use kernel::ports::journal::Journal;
use kernel::record::{Account, Binding, Party, System, Terms};
use kernel::retry::Backoff;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What a flow learns from outside, through the journal of its process where that counts something.
pub type FactsOf = Arc<dyn Fn(Arc<dyn Journal>) -> Arc<dyn FactSource> + Send + Sync>;

/// A flow that sends, and the world that it is played in.
#[derive(Clone)]
pub struct ChainFlow<C: PlayedChain = SimChain> {
    /// Its name, as it is stored.
    pub flow: &'static str,
    /// What it learns for its decisions and questions.
    pub facts: FactsOf,
    /// The chain of every transfer's source.
    pub chain: C,
    /// The chains beside that one.
    pub others: Vec<C>,
    /// Where its deposits are paid in, where a watcher finds them.
    pub vault: Option<C::Vault>,
}

impl<C: PlayedChain> fmt::Debug for ChainFlow<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainFlow").field("flow", &self.flow).finish_non_exhaustive()
    }
}

impl ChainFlow {
    /// The relay over this chain.
    pub fn relay(chain: SimChain) -> Self {
        let facts = RelayFacts(chain.clone());
        let facts: FactsOf = Arc::new(move |_| Arc::new(facts.clone()));
        Self { flow: "relay", facts, chain, others: Vec::new(), vault: None }
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

/// The chains of a flow with the links that its processes reach them through, and what it learns.
#[derive(Clone)]
pub struct ChainPorts<C: PlayedChain = SimChain> {
    /// The chain of every transfer's source, which knows nothing of processes.
    pub chain: C,
    /// The link that each process reaches it through.
    pub link: Arc<FaultyChain>,
    /// The other chains of the flow.
    pub others: Vec<LinkedChain<C>>,
    /// What its processes learnt.
    pub learned: FactLog,
    /// Where its deposits are paid in, where a watcher finds them.
    pub vault: Option<C::Vault>,
    flow: &'static str,
    facts: FactsOf,
}

impl<C: PlayedChain> fmt::Debug for ChainPorts<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainPorts").field("flow", &self.flow).finish_non_exhaustive()
    }
}

impl<C: PlayedChain> ChainPorts<C> {
    /// Links on which nothing goes wrong yet.
    pub fn new(sim: &Sim, flows: &Arc<Flows>, played: ChainFlow<C>) -> Self {
        let ChainFlow { flow, facts, chain, others, vault } = played;
        let LinkedChain { chain, link } = LinkedChain::new(sim, chain, flows);
        let others = others.into_iter().map(|other| LinkedChain::new(sim, other, flows)).collect();
        Self { chain, link, others, learned: FactLog::default(), vault, flow, facts }
    }

    /// The same chains through links of a worker's own.
    #[must_use]
    pub fn of_worker(&self, sim: &Sim, flows: &Arc<Flows>) -> Self {
        let others = self.others.iter().map(|other| other.chain.clone()).collect();
        let (facts, chain, vault) = (self.facts.clone(), self.chain.clone(), self.vault.clone());
        let played = ChainFlow { flow: self.flow, facts, chain, others, vault };
        Self { learned: self.learned.clone(), ..Self::new(sim, flows, played) }
    }

    /// A service of the flow without a process.
    pub fn service(&self, sim: Sim, flows: Arc<Flows>, site: Site) -> SimService {
        let mut service = SimService::new(sim, flows, site, self.flow);
        service.settings = quiet_settings(Backoff { base: 100, cap: 5_000 });
        service
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

    /// What the next process is made of, which has adapters of its own behind the links.
    pub fn next_process(&self, base: ProcessBase<'_>) -> Parts {
        for LinkedChain { chain, link } in self.linked() {
            link.swap(chain.adapter(&base.parts.flows));
        }
        self.parts(base)
    }

    /// What a process is made of.
    pub fn parts(&self, ProcessBase { sim, store, parts }: ProcessBase<'_>) -> Parts {
        let (inner, log) = ((self.facts)(parts.journal.clone()), self.learned.clone());
        let facts: Arc<dyn FactSource> = Arc::new(LinkedFacts::new(inner, log, sim.crash()));
        let port = |linked: LinkedChain<C>| -> Arc<dyn Chain> { linked.link };
        Parts {
            facts: BTreeMap::from([(self.flow, facts)]),
            ledgers: vec![store.funding.clone()],
            chains: self.linked().into_iter().map(port).collect(),
            deposits: self.vault.iter().map(PlayedVault::source).collect(),
            ..parts
        }
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
