//! Gas of the local chain beside NEAR's own virtual machine: the same wasm, the same calls, and every
//! difference is a fault. `cargo xtask campaign gas` builds and runs it.

mod campaign;
mod external;
mod fees;
mod local;
mod receipt;
mod reference;
mod relay;
mod scenario;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    match campaign::run() {
        Ok(faults) if faults.is_empty() => {
            println!("\nboth sides agree, and what the relay attaches is enough");
            ExitCode::SUCCESS
        }
        Ok(faults) => {
            println!("\n{}", faults.join("\n"));
            println!("gas: {} differences", faults.len());
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("gas: {why}");
            ExitCode::FAILURE
        }
    }
}
