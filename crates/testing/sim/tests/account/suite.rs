//! The simulated bus is held to the suite of buses, and so is the link on which nothing goes wrong.

use conformance::bus::{BusSite, BusSuite, run};
use kernel::ports::bus::Bus;
use kernel::ports::clock::Clock as _;
use sim::bus::{FaultyBus, SimBus};
use sim::event_log::EventLog;
use sim::world::Sim;
use std::sync::Arc;

/// Each opening reaches the same broker, a second later.
fn site(sim: &Sim, faulty: bool) -> BusSite {
    let (sim, bus) = (sim.clone(), SimBus::new(Arc::new(sim.clone())));
    Box::new(move || {
        let (sim, bus) = (sim.clone(), bus.clone());
        Box::pin(async move {
            sim.sleep(1_000).await;
            let link = || FaultyBus::new(bus.clone(), sim.crash(), EventLog::default());
            let opened: Arc<dyn Bus> = if faulty { Arc::new(link()) } else { Arc::new(bus) };
            opened
        })
    })
}

#[test]
fn the_simulated_bus_passes() {
    for faulty in [false, true] {
        let sim = Sim::new(5);
        let world = sim.clone();
        let fresh = move || site(&world, faulty);
        let suite = BusSuite { fresh: Box::new(fresh), wait: 100, names: String::new() };
        let ran = sim.block_on(async move { run(&suite).await });
        assert!(ran.is_ok(), "{ran:?}");
        sim.revive();
    }
}
