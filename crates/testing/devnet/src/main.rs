//! `cargo run --release -p devnet -- near`: a local chain for the relay; `… -- solana`: one for swaps; `… -- demo`: the
//! relay at work on one.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool speaks to its terminal"
)]

use clap::{Parser, Subcommand};
use devnet::Outcome;
use devnet::demo::{self, DemoRequest};
use devnet::near::serve::{Request, describe, start};
use devnet::solana;
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
    /// A Solana chain with a mint of USDC, a vault, its lanes, and customers who pay it.
    Solana {
        /// The port of the first endpoint; the others follow.
        #[arg(long, default_value_t = 8899)]
        port: u16,
        /// Number of endpoints, on ports that follow each other.
        #[arg(long, default_value_t = 2)]
        endpoints: usize,
        /// Wallets with USDC of their own.
        #[arg(long, default_value_t = 6)]
        customers: usize,
        /// Nonce accounts of the vault's key.
        #[arg(long, default_value_t = 16)]
        lanes: usize,
        /// Milliseconds from slot to slot.
        #[arg(long, default_value_t = 400)]
        block_millis: u64,
        /// Number of blocks that the last final block is behind the head.
        #[arg(long, default_value_t = 31)]
        finality: u64,
        /// Part of the genesis hash: the same seed is the same chain, on which bytes that were signed
        /// before a restart are valid again. Without it, each start is a chain of its own.
        #[arg(long)]
        seed: Option<u64>,
        /// Where the vault's keypair file is written.
        #[arg(long, default_value_os_t = std::env::temp_dir())]
        dir: PathBuf,
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
        Chain::Solana { port, endpoints, customers, lanes, block_millis, finality, seed, dir } => {
            serve_solana(&solana::serve::Request {
                port: Some(port),
                endpoints,
                customers,
                lanes,
                block_millis,
                finality_lag: finality,
                seed,
                dir,
            })
        }
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
    wait_for_ever()
}

/// The same for a Solana chain.
fn serve_solana(request: &solana::serve::Request) -> Outcome {
    let served = solana::serve::start(request)?;
    println!("{}", solana::serve::describe(&served));
    wait_for_ever()
}

fn wait_for_ever() -> ! {
    loop {
        std::thread::park();
    }
}
