//! The simulated chain is held to the suite of chain ports, with each kind of lock.

use conformance::chain::{ChainSite, run};
use kernel::ids::{FlowId, Id};
use kernel::ports::Fut;
use kernel::ports::chain::Chain;
use kernel::ports::clock::Clock;
use kernel::record::{Account, Head, Party, Record};
use sim::chain::{ChainRules, Locking, Paid, SimChain, SimPort, relay_terms};
use sim::world::Sim;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

struct Site {
    sim: Sim,
    chain: SimChain,
    rules: ChainRules,
    next: AtomicU64,
}

impl Site {
    fn record(&self, kind: &str) -> Record {
        let n = self.next.fetch_add(1, Ordering::SeqCst);
        let receiver = format!("{kind}-{n}");
        self.chain.register(&receiver);
        if kind == "bad" {
            self.chain.spoil(&receiver);
        }
        let terms = relay_terms(self.rules.id, &receiver, 100, &receiver);
        Record::new(Id(n.into()), FlowId(2), Head::start(0), Arc::new(terms))
    }
}

impl ChainSite for Site {
    fn port(&self) -> Arc<dyn Chain> {
        Arc::new(SimPort::new(self.chain.clone(), Arc::new(flows::registry())))
    }
    fn port_elsewhere(&self) -> Arc<dyn Chain> {
        let other = SimChain::new(self.rules, Arc::new(self.sim.clone()), 8);
        other.shows_genesis(SimChain::GENESIS + 1);
        Arc::new(SimPort::new(other, Arc::new(flows::registry())))
    }
    fn act(&self) -> (&'static str, &'static str) {
        ("relay", "ft_transfer")
    }
    fn member(&self) -> Record {
        self.record("good")
    }
    fn spoiler(&self) -> Record {
        self.record("bad")
    }
    fn settle(&self) -> Fut<'_, ()> {
        self.sim.sleep(self.rules.block_ms * (self.rules.finality + 3))
    }
    fn expire(&self) -> Fut<'_, ()> {
        self.sim.sleep(self.rules.block_ms * (self.rules.validity + self.rules.finality + 3))
    }
    fn swallow(&self, swallows: bool) {
        self.chain.swallow(swallows);
    }
    fn use_elsewhere(&self, lane: &str, pays: Option<&Record>) -> bool {
        let paid = |record: &Record| {
            let Party { account: Account::Named(account), asset, amount, .. } = record.target()
            else {
                unreachable!("the relay pays named accounts")
            };
            Paid { id: record.id, account: account.clone(), asset: *asset, amount: *amount }
        };
        if self.rules.locking == Locking::Nonce {
            self.chain.spends_elsewhere(lane, pays.into_iter().map(paid).collect());
        }
        self.rules.locking == Locking::Nonce
    }
    fn times_paid<'a>(&'a self, record: &'a Record) -> Fut<'a, usize> {
        let paid = self.chain.paid().get(&record.id).map_or(0, Vec::len);
        Box::pin(std::future::ready(paid))
    }
}

#[test]
fn the_simulated_chain_passes() {
    for locking in [Locking::Nonce, Locking::Marker, Locking::Reference] {
        let sim = Sim::new(7);
        let world = sim.clone();
        let fresh = move || -> Arc<dyn ChainSite> {
            let rules = ChainRules::calm(locking);
            let chain = SimChain::new(rules, Arc::new(world.clone()), 7);
            Arc::new(Site { sim: world.clone(), chain, rules, next: AtomicU64::new(1) })
        };
        let ran = sim.block_on(run(fresh));
        assert!(ran.is_ok(), "{locking:?}: {ran:?}");
        sim.revive();
    }
}
