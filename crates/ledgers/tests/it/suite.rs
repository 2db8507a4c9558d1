//! The suite that every ledger is held to, over the Spot core on a real folder and in memory.

use crate::fixture::{deposit, run};
use crate::memory::Memory;
use kernel::ids::AssetId;
use kernel::money::{Amount, Asset};
use kernel::operation::Op;
use kernel::ports::disk::Disk;
use kernel::ports::ledger::Ledger;
use ledger_contract::{Profile, run as suite};
use ledgers::disk::Folder;
use ledgers::spot::Spot;
use std::sync::Arc;
use testkit::UniqueRng;

/// A fresh ledger on a disk, with what user 1 is to have.
async fn funded(disk: Arc<dyn Disk>, funds: Vec<(AssetId, Amount)>) -> Arc<dyn Ledger> {
    let assets = Asset::fresh().into_iter().map(|asset| asset.id).collect();
    let fatal = Arc::new(|message| panic!("{message}"));
    let (spot, _) = Spot::open(disk, &UniqueRng, assets, 0, fatal).await.unwrap();
    let ops: Vec<Op> = (1..)
        .zip(funds)
        .map(|(id, (asset, amount))| Op { asset, amount, ..deposit(id, 1, 1) })
        .collect();
    spot.execute(spot.known(), ops.into()).await;
    spot
}

#[test]
fn the_spot_core_in_memory_is_a_ledger() {
    run(suite(Profile::SPOT, |funds| Box::pin(funded(Arc::new(Memory::default()), funds))));
}

#[test]
fn the_spot_core_on_a_folder_is_a_ledger() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_owned();
    run(suite(Profile::SPOT, move |funds| {
        let place = tempfile::tempdir_in(&path).unwrap().keep();
        Box::pin(funded(Arc::new(Folder::open(place).unwrap()), funds))
    }));
}
