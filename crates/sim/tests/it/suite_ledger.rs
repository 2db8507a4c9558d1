//! The ledger suite over the simulated ledgers.

use kernel::ids::{AssetId, Id, LedgerId};
use kernel::life::Leg;
use kernel::money::Amount;
use kernel::ports::Fut;
use kernel::ports::ledger::Ledger;
use kernel::record::Account;
use kernel::unit::{Key, Op};
use sim::ledger::Plain;
use sim::suite::ledger::{Profile, run};
use sim::world::Sim;
use std::sync::Arc;

/// A ledger whose accounts are made by deposits, funded by them.
fn funded(funds: Vec<(AssetId, Amount)>) -> Fut<'static, Arc<dyn Ledger>> {
    let plain = Plain::new(LedgerId::SPOT, Profile::SPOT, 42);
    for (asset, amount) in funds {
        let key = Key { id: Id(1 + u128::from(asset.0)), leg: Leg::Deposit };
        let account = Account::User(kernel::ids::UserId(1));
        plain.books().decide(&Op { key, account, other: None, asset, amount });
    }
    let ledger: Arc<dyn Ledger> = Arc::new(plain);
    Box::pin(std::future::ready(ledger))
}

#[test]
fn an_outside_ledger_keeps_the_contract() {
    Sim::new(1).block_on(run(Profile::SPOT, funded)).unwrap();
}
