//! The bus in the process passes the suite that every bus passes.

use links::in_process::InProcess;
use sim::suite::ManualClock;
use sim::suite::bus::BusSite;
use std::sync::Arc;

const NOON: u64 = 1_700_000_000_000;

#[tokio::test]
async fn the_bus_in_the_process_is_a_bus() {
    Box::pin(sim::suite::bus::run(|| -> BusSite {
        let dir = Arc::new(tempfile::tempdir().expect("a folder"));
        Box::new(move || {
            let file = dir.path().join("bus.db");
            Box::pin(async move {
                let bus: Arc<dyn kernel::ports::bus::Bus> = Arc::new(open(&file));
                bus
            })
        })
    }))
    .await;
}

fn open(file: &std::path::Path) -> InProcess {
    InProcess::open(file, Arc::new(ManualClock::at(NOON))).unwrap_or_else(|cause| panic!("{cause}"))
}
