//! The ledger suite over the simulated ledgers, and over the Spot core on a simulated disk.
//!
//! What turns its checks red: `wrong_ledgers`.

use crate::spot::spot;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Op};
use kernel::ports::Fut;
use kernel::ports::ledger::Ledger;
use kernel::record::Account;
use ledger_contract::{Profile, run};
use sim::disk::SimDisk;
use sim::journal::Place;
use sim::ledger::Plain;
use sim::world::Sim;
use std::sync::Arc;
use testkit::{book, deposit};

/// A ledger whose accounts are made by deposits, funded by them.
pub(crate) fn outside(funds: Vec<(AssetId, Amount)>) -> Fut<'static, Arc<dyn Ledger>> {
    let plain = Plain::new(LedgerId::SPOT, Profile::SPOT, 42);
    for (asset, amount) in funds {
        let key = Key { id: Id(1 + u128::from(asset.0)), leg: Leg::Deposit };
        let account = Account::User(UserId(1));
        plain.books().decide(&Op { key, account, other: None, asset, amount });
    }
    let ledger: Arc<dyn Ledger> = Arc::new(plain);
    Box::pin(std::future::ready(ledger))
}

/// The ledger in the simulated journal, funded by the world.
async fn enlisted(sim: Sim, funds: Vec<(AssetId, Amount)>) -> Arc<dyn Ledger> {
    let place = Place::new(Arc::new(flows::registry()));
    let funding = place.open(Arc::new(sim), Arc::new(|why| panic!("{why}"))).funding();
    for (asset, amount) in funds {
        book(&*funding, deposit(&format!("start {asset}"), 1, asset, amount.0)).await;
    }
    funding
}

#[test]
fn an_outside_ledger_keeps_the_contract() {
    Sim::new(1).block_on(run(Profile::SPOT, outside)).unwrap();
}

#[test]
fn the_simulated_funding_ledger_keeps_the_contract() {
    let sim = Sim::new(1);
    let clock = sim.clone();
    let fresh =
        move |funds| -> Fut<'static, Arc<dyn Ledger>> { Box::pin(enlisted(clock.clone(), funds)) };
    sim.block_on(run(Profile::FUNDING, fresh)).unwrap();
}

#[test]
fn the_spot_core_on_a_simulated_disk_keeps_the_contract() {
    let sim = Sim::new(1);
    let (on, crash) = (sim.clone(), sim.crash());
    let fresh = move |funds: Vec<(AssetId, Amount)>| -> Fut<'static, Arc<dyn Ledger>> {
        let (sim, disk) = (on.clone(), SimDisk::new(1, crash.clone()));
        Box::pin(async move {
            let spot = spot(sim, disk, 0).await;
            let deposit = |(asset, amount): (AssetId, Amount)| {
                let key = Key { id: Id(1 + u128::from(asset.0)), leg: Leg::Deposit };
                Op { key, account: Account::User(UserId(1)), other: None, asset, amount }
            };
            spot.execute(spot.known(), funds.into_iter().map(deposit).collect()).await;
            let ledger: Arc<dyn Ledger> = spot;
            ledger
        })
    };
    sim.block_on(run(Profile::SPOT, fresh)).unwrap();
}
