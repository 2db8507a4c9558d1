//! What the rules of the swaps learn: of Solana by the adapter, of Nexus from the simulated chain. For `swap_in` by the
//! product's own fact source, for `swap_out` by the script of its cases.

use super::solana::LocalSolana;
use kernel::answer::{Answer, Cause};
use kernel::flow::life::Side;
use kernel::ids::{Id, Millis};
use kernel::ports::Fut;
use kernel::ports::facts::{FactSource, Gathered};
use kernel::ports::journal::Journal;
use kernel::record::Record;
use links::solana::SolanaChain;
use links::swap_facts::{SwapChain, SwapInFacts, SwapPolicy};
use sim::chain::{AdapterHost as _, SimChain};
use sim::generic::swaps::{SwapChains, receives};
use sim::world::breath;
use std::sync::Arc;

/// Solana, as a process asks it by its adapter.
#[derive(Clone)]
struct AskedSolana {
    host: LocalSolana,
    adapter: SolanaChain,
}

impl SwapChain for AskedSolana {
    fn chain_time(&self) -> Fut<'_, Result<Millis, Cause>> {
        Box::pin(async move {
            breath().await;
            self.host.runs(self.adapter.chain_time())
        })
    }

    fn takes_money<'a>(&'a self, account: &'a str) -> Fut<'a, Result<bool, Cause>> {
        Box::pin(async move {
            breath().await;
            self.host.runs(self.adapter.takes_money(account))
        })
    }
}

/// Nexus, which says of an account what its name says.
#[derive(Clone)]
struct AskedNexus(SimChain);

impl SwapChain for AskedNexus {
    fn chain_time(&self) -> Fut<'_, Result<Millis, Cause>> {
        Box::pin(std::future::ready(Ok(self.0.final_time())))
    }

    fn takes_money<'a>(&'a self, account: &'a str) -> Fut<'a, Result<bool, Cause>> {
        Box::pin(std::future::ready(Ok(receives(account))))
    }
}

/// Both chains, as one process asks them.
pub(crate) struct AskedChains {
    solana: AskedSolana,
    nexus: AskedNexus,
    /// The side of Solana in the flow.
    side: Side,
}

impl AskedChains {
    /// At the adapter that was made last.
    pub(crate) fn new(host: &LocalSolana, nexus: &SimChain, side: Side) -> Self {
        let solana = AskedSolana { host: host.clone(), adapter: host.solana() };
        Self { solana, nexus: AskedNexus(nexus.clone()), side }
    }

    fn at(&self, side: Side) -> &dyn SwapChain {
        if side == self.side { &self.solana } else { &self.nexus }
    }
}

impl SwapChains for AskedChains {
    fn time(&self) -> Fut<'_, Result<Millis, Cause>> {
        self.at(Side::Source).chain_time()
    }

    fn takes_money<'a>(&'a self, side: Side, account: &'a str) -> Fut<'a, Result<bool, Cause>> {
        self.at(side).takes_money(account)
    }

    fn taken(&self, side: Side, id: Id) -> Option<bool> {
        if side == self.side { None } else { self.nexus.0.taken(id) }
    }

    fn receiver(&self, name: &str) -> Arc<str> {
        if self.side == Side::Target { self.solana.host.address(name) } else { name.into() }
    }
}

/// The product's facts of `swap_in`; whether a debit was taken is asked of Nexus, as the script does.
pub(crate) struct ProductFacts {
    product: SwapInFacts,
    script: Arc<dyn FactSource>,
}

impl ProductFacts {
    pub(crate) fn new(
        chains: AskedChains,
        journal: Arc<dyn Journal>,
        script: Arc<dyn FactSource>,
    ) -> Self {
        let policy = SwapPolicy {
            accepting: true,
            most: None,
            most_rejections: 3,
            cooldown_ms: 500,
            quarantine_account: Some(chains.solana.host.quarantine()),
        };
        let AskedChains { solana, nexus, .. } = chains;
        let (source, target) = (Arc::new(solana), Arc::new(nexus));
        let flows = flows::registry();
        let product = SwapInFacts::new(&flows, journal, source, Some(target), policy).unwrap();
        Self { product, script }
    }
}

impl FactSource for ProductFacts {
    fn facts<'a>(&'a self, rule: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Gathered>> {
        self.product.facts(rule, records)
    }

    fn ask<'a>(&'a self, act: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Answer>> {
        self.script.ask(act, records)
    }
}
