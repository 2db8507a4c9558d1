//! The cases of the relay, over a local chain that is as each finds it.

use super::local_chain::{LocalChain, RELAY, Setup, named};
use kernel::ids::Id;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::record::{Account, Record, Terms};
use kernel::retry::Backoff;
use sim::chain::{ChainFlow, ChainRules, Paid, PlayedChain};
use sim::generic::chain::{ChainCase, ChainClient, ChainTrial, Harm};
use sim::generic::relay::{AskedTransfer, CASES, RelayCase, insist_on};
use std::collections::BTreeMap;
use std::iter;
use std::sync::{Arc, PoisonError};

/// A case of the relay with its real adapter.
#[derive(Debug, Clone)]
pub(crate) struct NearCase {
    /// Whom it pays, and how that ends.
    pub(crate) relay: RelayCase,
    /// What its chain is started with.
    pub(crate) setup: Setup,
}

/// The relay over the local chain.
pub(crate) type NearTrial = ChainTrial<NearCase>;

impl NearCase {
    pub(crate) fn of(relay: RelayCase) -> Self {
        Self { relay, setup: Setup::default() }
    }
}

impl ChainCase for NearCase {
    type Chain = LocalChain;

    fn all() -> Vec<Self> {
        CASES.into_iter().map(Self::of).collect()
    }

    fn flow(&self) -> &'static str {
        "relay"
    }

    fn words(&self) -> &'static str {
        self.relay.name
    }

    fn over(&self, rules: ChainRules, clock: Arc<dyn Clock>, seed: u64) -> ChainFlow<LocalChain> {
        let others = self.relay.others();
        let mut receivers = self.relay.receivers.to_vec();
        receivers.extend(others.iter().map(String::as_str));
        let chain = LocalChain::start(rules, (clock, seed), &self.setup, &receivers);
        let mut last = self.setup.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(chain.clone());
        let facts = chain.clone();
        ChainFlow {
            flow: "relay",
            facts: Arc::new(move |journal| facts.facts(journal)),
            chain,
            others: Vec::new(),
            vault: None,
        }
    }

    /// Between its looks at the chain about a block passes.
    fn backoff(&self) -> Backoff {
        Backoff { base: 1_000, cap: 5_000 }
    }

    fn insists(&self, at: ChainClient) -> Fut<'static, Result<Vec<Record>, String>> {
        let mut all = self.relay.asked(at.series);
        for AskedTransfer { terms, others } in &mut all {
            iter::once(terms).chain(others).for_each(on_local_chain);
        }
        Box::pin(insist_on(at, all))
    }

    fn may_be_refused(&self) -> bool {
        self.relay.may_be_refused()
    }

    fn faults(&self, chains: &[LocalChain], ended: &[Record], _: Harm) -> Vec<String> {
        let paid: BTreeMap<Id, Vec<Paid>> = chains.iter().flat_map(LocalChain::paid).collect();
        let mut faults = self.relay.wrongly_paid(&paid, ended);
        for record in ended {
            let target = record.target();
            let right = |paid: &Paid| {
                Account::Named(paid.account.clone()) == target.account
                    && paid.amount == target.amount
            };
            let all = paid.get(&record.id).into_iter().flatten();
            let other = all.filter(|paid| !right(paid));
            faults.extend(other.map(|paid| format!("{} was paid {paid:?}", record.id)));
        }
        faults.extend(chains.iter().flat_map(|chain| chain.unbalanced(ended)));
        faults
    }
}

/// The terms with the accounts of the local chain.
pub(crate) fn on_local_chain(terms: &mut Terms) {
    terms.source.account = Account::Named(RELAY.into());
    if let Account::Named(receiver) = &terms.target.account {
        terms.target.account = Account::Named(named(receiver).into());
    }
}
