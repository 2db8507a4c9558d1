//! The cases of the swaps, over a local Solana that is as each finds it and the simulated Nexus.

use super::chain::{EitherChain, EitherVault};
use super::facts::{AskedChains, ProductFacts};
use super::solana::{LocalSolana, LocalVault, Setup};
use kernel::flow::life::Side;
use kernel::ids::ChainId;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::record::Record;
use kernel::retry::Backoff;
use sim::chain::{ChainFlow, ChainRules, FactsOf, Locking, SimChain, SimVault};
use sim::generic::chain::{ChainCase, ChainTrial, ClientOf, Harm};
use sim::generic::swaps::{Quarantining, SWAP_CASES, SwapCase, SwapChains, SwapDeposit, USDD};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How long a deposit waits for what does not come, in milliseconds: longer than one thing that goes wrong lasts.
const WAIT_MS: u64 = 15_000;

/// A case of a swap with Solana's real adapter.
#[derive(Debug, Clone)]
pub(crate) struct SolanaCase {
    /// Who pays in, whom that names, and how it ends.
    pub(crate) swap: SwapCase,
    /// What its Solana is started with.
    pub(crate) setup: Setup,
}

/// The swaps over the local Solana and the simulated Nexus.
pub(crate) type SolanaTrial = ChainTrial<SolanaCase>;

impl SolanaCase {
    pub(crate) fn of(swap: SwapCase) -> Self {
        let timeout = if !swap.is_out() && swap.deposits.iter().any(|one| swap.waits(one)) {
            WAIT_MS
        } else {
            Setup::default().timeout
        };
        // of swap_out that account is on Nexus
        let quarantine = if swap.is_out() { Quarantining::Arrives } else { swap.quarantine };
        Self { swap, setup: Setup { timeout, quarantine, ..Setup::default() } }
    }

    /// One deposit of `swap_in` that names no receiver: it is given back on Solana.
    pub(crate) fn given_back() -> Self {
        Self::one("swap_in", ("Sam", "", "refund_confirmed"))
    }

    /// One credit of `swap_out`: its receiver on Solana is paid.
    pub(crate) fn paid_out() -> Self {
        Self::one("swap_out", ("Nora", "Anna", "processed"))
    }

    fn one(
        flow: &'static str,
        (sender, receiver, ends): (&'static str, &'static str, &'static str),
    ) -> Self {
        let deposits = vec![SwapDeposit { sender, receiver, amount: 1_000, ends }].into();
        Self::of(SwapCase { flow, name: "one", deposits, quarantine: Quarantining::Arrives })
    }

    /// The side of Solana.
    fn side(&self) -> Side {
        if self.swap.is_out() { Side::Target } else { Side::Source }
    }

    /// Whether the product can play it: no person allows one more refund yet.
    fn is_offered(&self) -> bool {
        let freed = self.swap.deposits.iter().any(|one| one.sender.starts_with("freed"));
        !freed || self.swap.is_out()
    }
}

impl ChainCase for SolanaCase {
    type Chain = EitherChain;

    fn all() -> Vec<Self> {
        SWAP_CASES.into_iter().map(Self::of).filter(Self::is_offered).collect()
    }

    fn flow(&self) -> &'static str {
        self.swap.flow
    }

    fn words(&self) -> &'static str {
        self.swap.name
    }

    fn over(&self, rules: ChainRules, clock: Arc<dyn Clock>, seed: u64) -> ChainFlow<EitherChain> {
        let flows = flows::registry();
        let id = flows.named(self.swap.flow).unwrap();
        let nexus_rules = ChainRules { id: ChainId::NEXUS, locking: Locking::Reference, ..rules };
        let nexus = SimChain::new(nexus_rules, clock.clone(), seed);
        let side = self.side();
        self.swap.settle(if side == Side::Source { Side::Target } else { Side::Source }, &nexus);
        let deposits = self.swap.deposits.iter();
        let customers: BTreeSet<&str> = match side {
            Side::Source => deposits.map(|deposit| deposit.sender).collect(),
            Side::Target => deposits.map(|deposit| deposit.receiver).collect(),
        };
        let solana = LocalSolana::start(rules, (clock, seed), (id, &self.setup), &customers);
        let (local, sim) = (EitherChain::Solana(solana.clone()), EitherChain::Nexus(nexus.clone()));
        let vault = match side {
            Side::Source => EitherVault::Solana(LocalVault(solana.clone())),
            Side::Target => EitherVault::Nexus(SimVault::new(nexus.clone(), id, USDD)),
        };
        let asked = move || AskedChains::new(&solana, &nexus, side);
        let chains = asked.clone();
        let script = self.swap.facts(move || -> Arc<dyn SwapChains> { Arc::new(chains()) });
        let facts: FactsOf = match side {
            Side::Target => script,
            Side::Source => Arc::new(move |journal| {
                Arc::new(ProductFacts::new(asked(), journal.clone(), script(journal)))
            }),
        };
        let (chain, other) = if side == Side::Source { (local, sim) } else { (sim, local) };
        ChainFlow { flow: self.swap.flow, facts, chain, others: vec![other], vault: Some(vault) }
    }

    /// Between its looks at the chain about a block passes.
    fn backoff(&self) -> Backoff {
        Backoff { base: 500, cap: 5_000 }
    }

    fn insists(&self, at: ClientOf<Self>) -> Fut<'static, Result<Vec<Record>, String>> {
        self.swap.insist(at)
    }

    fn faults(&self, chains: &[EitherChain], ended: &[Record], harm: Harm) -> Vec<String> {
        self.swap.wrongly_moved(chains, ended, harm)
    }
}
