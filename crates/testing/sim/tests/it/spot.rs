//! Remote ledgers for a simulated service: one in memory, and the Spot core on a simulated disk.

use kernel::ids::LedgerId;
use kernel::money::Asset;
use kernel::ports::Fut;
use kernel::ports::ledger::Ledger;
use ledger_contract::Profile;
use ledgers::spot::Spot;
use sim::disk::SimDisk;
use sim::generic::RemoteLedger;
use sim::ledger::Plain;
use sim::service::Restart;
use sim::world::Sim;
use std::sync::{Arc, Mutex, PoisonError};

/// A ledger in memory, restarted with each process.
pub(crate) fn in_memory(_: &Sim) -> RemoteLedger {
    let last = Mutex::new(None::<Plain>);
    let restart: Restart = Arc::new(move |_| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let next = match &*last {
            Some(plain) => plain.restart(),
            None => Plain::new(LedgerId::SPOT, Profile::SPOT, 7),
        };
        let ledger: Arc<dyn Ledger> = Arc::new(next.clone());
        *last = Some(next);
        Box::pin(std::future::ready(ledger))
    });
    RemoteLedger { restart, disk: None }
}

/// Opens the Spot core on a disk. A broken disk ends the process.
pub(crate) async fn spot(sim: Sim, disk: SimDisk, acknowledged: u64) -> Arc<Spot> {
    let crash = sim.crash();
    let fatal = Arc::new(move |why: String| crash(&format!("crashed: {why}")));
    let assets = Asset::fresh().iter().map(|asset| asset.id).collect();
    match Spot::open(Arc::new(disk), &sim, assets, acknowledged, fatal).await {
        Ok((spot, _)) => spot,
        Err(error) if sim.is_dead() => panic!("crashed at its start: {error:?}"),
        Err(error) => panic!("the core does not open: {error:?}"),
    }
}

/// The Spot core on a simulated disk, from which each process's end takes what was not synced.
pub(crate) fn on_disk(sim: &Sim) -> RemoteLedger {
    let disk = SimDisk::new(kernel::ports::clock::Rng::next(sim), sim.crash());
    let (sim, place) = (sim.clone(), disk.clone());
    let restart: Restart = Arc::new(move |acknowledged| -> Fut<'static, Arc<dyn Ledger>> {
        let (sim, place) = (sim.clone(), place.clone());
        place.power_cut();
        Box::pin(async move {
            let ledger: Arc<dyn Ledger> = spot(sim, place, acknowledged).await;
            ledger
        })
    });
    RemoteLedger { restart, disk: Some(disk) }
}
