//! `cargo xtask bench swap`: deposits on a local Solana until they are given back, by the real server: its own time in
//! each state beside the chain's finality, its requests for a payment, and payments a second beside what lanes allow.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

mod report;
mod states;
mod subject;

use clap::Parser;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use subject::{Load, Subject};
use testbed::served::PORTAGE;

/// As the product's binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What goes wrong ends the benchmark.
type Outcome<T = ()> = Result<T, String>;

#[derive(Debug, Parser)]
#[command(about = "Deposits on a local Solana until they are given back")]
struct Args {
    /// Number of deposits in the row `paced`.
    #[arg(long, default_value_t = 60)]
    deposits: u64,
    /// Number of deposits in the row `full`.
    #[arg(long, default_value_t = 400)]
    many: u64,
    /// Nonce accounts of the vault's key.
    #[arg(long, default_value_t = 16)]
    lanes: usize,
    /// Milliseconds from slot to slot in the row `paced`, as on the network; the row `full` has a quarter of it.
    #[arg(long, default_value_t = 400)]
    block_millis: u64,
    /// Number of blocks until one is final.
    #[arg(long, default_value_t = 31)]
    finality: u64,
    /// Where the stores are: on the disk that is to be measured.
    #[arg(long, default_value = "/tmp")]
    dir: PathBuf,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some((word, rest)) = words.split_first()
        && word == PORTAGE
    {
        let words = std::iter::once(PORTAGE).chain(rest.iter().map(String::as_str));
        return server::cli::run(words.map(OsString::from));
    }
    match measure(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("bench swap: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(args: &Args) -> Outcome {
    let folder = tempfile::tempdir_in(&args.dir);
    let folder = folder.map_err(|error| format!("{}: {error}", args.dir.display()))?;
    let at = |name: &str| folder.path().join(name);
    let Args { lanes, finality, .. } = *args;
    let block = Duration::from_millis(args.block_millis);
    let subject = Subject::start(&at("paced"), subject::Setup { lanes, finality, block })?;
    // fewer than the lanes carry, so that no deposit waits for one
    let between = block.saturating_mul(2);
    let run = subject.measure(Load { deposits: args.deposits, between })?;
    report::paced(&run, subject.finality());
    subject.end()?;
    let block = block / 4;
    let subject = Subject::start(&at("full"), subject::Setup { lanes, finality, block })?;
    let run = subject.measure(Load { deposits: args.many, between: Duration::ZERO })?;
    report::full(&run, lanes, subject.finality());
    subject.end()
}
