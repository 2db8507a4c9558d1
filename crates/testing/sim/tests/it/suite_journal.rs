//! The journal suite over the simulated journal.
//!
//! What turns its checks red: `wrong_journals`.

use conformance::journal::{Site, run};
use kernel::flow::table::Flows;
use sim::journal::Place;
use sim::world::Sim;
use std::sync::Arc;
use testkit::ManualClock;

/// A simulated journal; what is dropped with it is what a crash would take.
pub(crate) fn simulated(clock: ManualClock, flows: Arc<Flows>) -> Site {
    let place = Place::new(flows);
    Box::new(move || {
        let crash = Arc::new(|why: &str| panic!("{why}"));
        let journal = place.open(Arc::new(clock.clone()), crash);
        Box::pin(std::future::ready(journal.opened()))
    })
}

#[test]
fn the_simulated_journal_keeps_the_contract() {
    for seed in 0..5 {
        Sim::new(seed).block_on(run(simulated)).unwrap();
    }
}
