//! `cargo run --release -p devnet -- near`: a local chain for the relay; `… -- demo`: the relay at work on one.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool speaks to its terminal"
)]

use clap::{Parser, Subcommand};
use devnet::Outcome;
use devnet::demo::{self, DemoRequest};
use devnet::near::serve::{Request, describe, start};
use std::path::PathBuf;
use std::process::ExitCode;

/// Local chains with scripted faults, for development.
#[derive(Debug, Parser)]
#[command(name = "devnet", version = None)]
struct Cli {
    #[command(subcommand)]
    chain: Chain,
}

#[derive(Debug, Subcommand)]
enum Chain {
    /// A NEAR chain with a NEP-141 token and an account for the relay.
    Near {
        /// The port of the first endpoint; the others follow.
        #[arg(long, default_value_t = 3030)]
        port: u16,
        /// How many endpoints answer, on ports that follow each other.
        #[arg(long, default_value_t = 2)]
        endpoints: usize,
        /// Full-access keys of the relay's account.
        #[arg(long, default_value_t = 6)]
        keys: usize,
        /// Accounts to pay to.
        #[arg(long, default_value_t = 6)]
        receivers: usize,
        /// Milliseconds from block to block.
        #[arg(long, default_value_t = 600)]
        block_millis: u64,
        /// For how many blocks a transaction may be included.
        #[arg(long, default_value_t = 86_400)]
        validity_period: u64,
        /// Execute the token as Rust code, not as wasm, and let a block burn any amount of gas: for benches.
        #[arg(long)]
        native: bool,
        /// Part of the genesis hash: the same seed is the same chain, on which bytes that were signed
        /// before a restart are valid again. Without it, each start is a chain of its own.
        #[arg(long)]
        seed: Option<u64>,
    },
    /// The relay at work: the product is started on a chain of this process, pays in batches while its providers
    /// fail and it is killed once, and the chain's own events prove that each transfer was paid once.
    Demo {
        /// Number of transfers that are paid.
        #[arg(long, default_value_t = 2_000)]
        transfers: usize,
        /// Full-access keys of the relay's account: the maximum number of concurrent transactions.
        #[arg(long, default_value_t = 6)]
        keys: usize,
        /// Accounts to pay to; every second one is new to the token, and is registered first.
        #[arg(long, default_value_t = 20)]
        receivers: usize,
        /// Milliseconds from block to block.
        #[arg(long, default_value_t = 600)]
        block_millis: u64,
        /// The program `portage`; without it, cargo builds it, or the one beside this program is taken.
        #[arg(long, value_name = "PROGRAM")]
        portage: Option<PathBuf>,
        /// Where the relay's folder is made and removed again.
        #[arg(long, default_value_os_t = std::env::temp_dir())]
        dir: PathBuf,
        /// Print lines, where a terminal would get a table.
        #[arg(long)]
        plain: bool,
    },
}

fn main() -> ExitCode {
    let ended = match Cli::parse().chain {
        Chain::Near {
            port,
            endpoints,
            keys,
            receivers,
            block_millis,
            validity_period,
            native,
            seed,
        } => serve(&Request {
            port: Some(port),
            endpoints,
            keys,
            receivers,
            block_millis,
            native,
            validity_period,
            seed,
        }),
        Chain::Demo { transfers, keys, receivers, block_millis, portage, dir, plain } => {
            let request =
                DemoRequest { transfers, keys, receivers, block_millis, portage, dir, plain };
            demo::run(&request, &mut |line| println!("{line}"))
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("devnet: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves the chain until the process ends.
fn serve(request: &Request) -> Outcome {
    // its endpoints listen while this value lives
    let served = start(request)?;
    println!("{}", describe(&served));
    loop {
        std::thread::park();
    }
}
