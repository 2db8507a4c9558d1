//! The local Solana beside Agave's own Bank: the same signed bytes on both, and every difference is a fault.
//! `cargo xtask campaign solana` builds and runs it.

mod agave;
mod campaign;
mod cases;
mod seen;
mod world;

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    match campaign::run().await {
        Ok(faults) if faults.is_empty() => {
            println!("\nboth sides agree");
            ExitCode::SUCCESS
        }
        Ok(faults) => {
            println!("\n{}", faults.join("\n"));
            println!("bank: {} differences", faults.len());
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("bank: {why}");
            ExitCode::FAILURE
        }
    }
}
