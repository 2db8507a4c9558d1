//! The adapter is held to the suite of chain ports.

use super::foreign::pay;
use super::world::{VALIDITY, World};
use conformance::chain::{ChainSite, run};
use devnet::near::Options;
use devnet::near::near_primitives::action::{Action, TransferAction};
use devnet::near::near_primitives::types::Balance;
use kernel::ports::Fut;
use kernel::ports::chain::Chain;
use kernel::record::{Account, Party, Record};
use std::sync::{Arc, OnceLock};

/// The chain, and another one of its name with the same accounts, keys and heights.
struct Site(World, OnceLock<World>);

impl ChainSite for Site {
    fn port(&self) -> Arc<dyn Chain> {
        Arc::new(self.0.unbound(self.0.settings()))
    }
    fn port_elsewhere(&self) -> Arc<dyn Chain> {
        let other = || {
            let (endpoints, validity_period) = (2, VALIDITY);
            World::over(Options { endpoints, validity_period, seed: 1, ..Options::manual() })
        };
        let other = self.1.get_or_init(other);
        Arc::new(other.unbound(other.settings()))
    }
    fn act(&self) -> (&'static str, &'static str) {
        ("relay", "ft_transfer")
    }
    fn member(&self) -> Record {
        self.0.members(1).remove(0)
    }
    fn spoiler(&self) -> Record {
        // the contract refuses a transfer to its sender, who is registered and has the money
        self.0.record(super::world::RELAY, 10)
    }
    fn settle(&self) -> Fut<'_, ()> {
        Box::pin(async { self.0.devnet.settle() })
    }
    fn expire(&self) -> Fut<'_, ()> {
        Box::pin(async { self.0.devnet.advance(VALIDITY + 3) })
    }
    fn swallow(&self, swallows: bool) {
        if swallows { self.0.withhold() } else { self.0.clear() }
    }
    fn use_elsewhere(&self, _: &str, pays: Option<&Record>) -> bool {
        let relay = &self.0.relay;
        let nonce = self.0.devnet.nonce(&relay.account, &relay.public_key()).unwrap() + 1;
        let base = self.0.devnet.final_hash();
        let (receiver, action) = match pays {
            None => {
                (relay.account.clone(), Action::Transfer(TransferAction { deposit: Balance::ZERO }))
            }
            Some(record) => {
                let Party { account: Account::Named(to), amount, .. } = record.target() else {
                    unreachable!("the relay pays named accounts")
                };
                let memo = record.id.to_string();
                (self.0.token.clone(), pay(to, &amount.to_string(), &memo))
            }
        };
        self.0.devnet.submit(relay.sign(nonce, base, &receiver, vec![action]));
        true
    }
    fn times_paid<'a>(&'a self, record: &'a Record) -> Fut<'a, usize> {
        let paid = self.0.paid(std::slice::from_ref(record)).remove(0);
        Box::pin(std::future::ready(paid))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_adapter_passes_the_suite_of_chain_ports() {
    run(|| -> Arc<dyn ChainSite> {
        Arc::new(Site(World::with_validity(2, VALIDITY), OnceLock::new()))
    })
    .await;
}
