//! The campaign: a seed is a run, each seed is another one, and wrong builds are found.

use kernel::money::Asset;
use kernel::ports::Fut;
use kernel::ports::ledger::Ledger;
use ledgers::OpenError;
use ledgers::spot::Spot;
use sim::campaign::{Build, Core, Knob, Options, Verdict, run};
use sim::disk::SimDisk;
use sim::world::Sim;
use std::collections::BTreeSet;
use std::sync::Arc;

struct Real;

impl Build for Real {
    fn core(&self, sim: &Sim, disk: SimDisk, acknowledged: u64) -> Fut<'static, Core> {
        let sim = sim.clone();
        Box::pin(async move {
            let crash = sim.crash();
            let fatal = Arc::new(move |why: String| crash(&format!("crashed: {why}")));
            let assets = Asset::fresh().iter().map(|asset| asset.id).collect();
            match Spot::open(Arc::new(disk), &sim, assets, acknowledged, fatal).await {
                Ok((spot, _)) => {
                    let spot: Arc<dyn Ledger> = spot;
                    Ok(spot)
                }
                Err(OpenError::Io(error)) => Err(format!("crashed at its start: {error}")),
                Err(error) => Err(format!("the core does not open: {error}")),
            }
        })
    }
}

/// A run of a few transfers.
fn short(seed: u64) -> Verdict {
    let options = Options::drawn(seed).with(Knob::Transfers, 10);
    let verdict = run(&options, Arc::new(Real), None);
    assert_eq!(verdict.broken, None, "{}", options.replay());
    verdict
}

#[test]
fn a_seed_is_a_run_to_the_last_answer() {
    for seed in 0..10 {
        assert_eq!(short(seed), short(seed), "seed {seed}");
    }
}

#[test]
fn a_hundred_seeds_are_a_hundred_runs() {
    let hashes: BTreeSet<u64> = (0..100).map(|seed| short(seed).hash).collect();
    assert_eq!(hashes.len(), 100);
}
