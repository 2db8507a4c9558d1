//! `cargo run --release -p devnet -- near`: a local chain for the relay.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool speaks to its terminal"
)]

use clap::{Parser, Subcommand};
use devnet::near::serve::{Request, describe, start};
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
        /// For so many blocks a transaction may be included.
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
}

fn main() -> ExitCode {
    let Chain::Near {
        port,
        endpoints,
        keys,
        receivers,
        block_millis,
        validity_period,
        native,
        seed,
    } = Cli::parse().chain;
    let request =
        Request { port, endpoints, keys, receivers, block_millis, native, validity_period, seed };
    match start(&request) {
        Ok(served) => {
            println!("{}", describe(&served));
            loop {
                std::thread::park();
            }
        }
        Err(error) => {
            eprintln!("devnet: {error}");
            ExitCode::FAILURE
        }
    }
}
