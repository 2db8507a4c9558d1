//! The campaign over the real Spot core; `cargo xtask sim` runs it.
#![expect(clippy::print_stdout, reason = "a command speaks to its terminal")]

use kernel::money::Asset;
use kernel::ports::Fut;
use kernel::ports::ledger::Ledger;
use ledgers::SpotOpenError;
use ledgers::spot::Spot;
use sim::campaign::{Build, Core, Make, Program, Say, main as campaign};
use sim::disk::SimDisk;
use sim::world::Sim;
use std::process::ExitCode;
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
                Err(SpotOpenError::Io(error)) => Err(format!("crashed at its start: {error}")),
                Err(error) => Err(format!("the core does not open: {error}")),
            }
        })
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let say: Say = Arc::new(|line| println!("{line}"));
    let make: Make = Arc::new(|| Arc::new(Real));
    match Program::read(&args) {
        Ok(program) if campaign(&program, &make, &say) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => {
            say(&why);
            ExitCode::from(2)
        }
    }
}
