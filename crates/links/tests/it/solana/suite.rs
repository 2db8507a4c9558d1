//! The adapter is held to the suite of chain ports.

use super::world::{World, act};
use conformance::chain::{ChainSite, run};
use devnet::solana::Options;
use kernel::ports::Fut;
use kernel::ports::chain::Chain;
use kernel::record::{Account, Record};
use std::sync::{Arc, OnceLock};

/// The chain, and another one with the same accounts and keys.
struct Site(World, OnceLock<World>);

impl ChainSite for Site {
    fn port(&self) -> Arc<dyn Chain> {
        Arc::new(self.0.unbound(self.0.settings()))
    }
    fn port_elsewhere(&self) -> Arc<dyn Chain> {
        let other = || World::over(Options { endpoints: 2, seed: 1, ..Options::manual() });
        let other = self.1.get_or_init(other);
        Arc::new(other.unbound(other.settings()))
    }
    fn act(&self) -> (&'static str, &'static str) {
        act()
    }
    fn member(&self) -> Record {
        self.0.member()
    }
    fn spoiler(&self) -> Record {
        // a wallet without a token account
        let no_account = devnet::solana::Wallet::derived("no account").address();
        self.0.record(&no_account, 10)
    }
    fn settle(&self) -> Fut<'_, ()> {
        Box::pin(async { self.0.devnet.settle() })
    }
    fn expire(&self) -> Fut<'_, ()> {
        // nothing does, however many blockhashes pass
        Box::pin(async { self.0.devnet.advance(200) })
    }
    fn swallow(&self, swallows: bool) {
        if swallows { self.0.withhold() } else { self.0.clear() }
    }
    fn use_elsewhere(&self, _: &str, pays: Option<&Record>) -> bool {
        let lock = self.0.lock(0);
        let transaction = match pays {
            None => self.0.foreign(lock, &[]),
            Some(record) => {
                let Account::Named(to) = &record.target().account else { unreachable!() };
                let to = to.parse().unwrap();
                let amount = u64::try_from(record.target().amount.0).unwrap();
                self.0.paid_elsewhere(lock, &to, amount, &record.id.to_string())
            }
        };
        self.0.devnet.submit(transaction);
        true
    }
    fn times_paid<'a>(&'a self, record: &'a Record) -> Fut<'a, usize> {
        Box::pin(std::future::ready(self.0.paid(record)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_adapter_passes_the_suite_of_chain_ports() {
    run(|| -> Arc<dyn ChainSite> { Arc::new(Site(World::new(2), OnceLock::new())) }).await;
}
