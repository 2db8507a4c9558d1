//! `cargo xtask bench relay`: payments from POST to COMPLETED by the real server on a local chain, beside the
//! loop that one would write: a transaction for each transfer, its nonce from the RPC.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

mod chain;
mod clock;
mod load;
mod peer;
mod report;
mod run;
mod subject;

use chain::{Chain, Contract};
use clap::Parser;
use load::Plan;
use report::Row;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use subject::Subject;
use testbed::served::PORTAGE;

/// As the product's binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What goes wrong ends the benchmark.
type Outcome<T = ()> = Result<T, String>;

#[derive(Debug, Parser)]
#[command(about = "The relay from POST to COMPLETED beside the loop that one would write")]
struct Args {
    /// Number of transfers in each of the rows `paced` and `full`.
    #[arg(long, default_value_t = 60_000)]
    transfers: u64,
    /// Number of transfers per second while times are taken.
    #[arg(long, default_value_t = 1_000)]
    rate: u32,
    /// Full-access keys of the relay's account.
    #[arg(long, default_value_t = 150)]
    keys: usize,
    /// Receivers that the token knows.
    #[arg(long, default_value_t = 500)]
    receivers: usize,
    /// Number of transfers in the row whose receivers are new, which has a tenth as many receivers, and in
    /// the row on the VM.
    #[arg(long, default_value_t = 5_000)]
    few: u64,
    /// Seconds of the loop.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
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
            println!("bench relay: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(args: &Args) -> Outcome {
    let folder = tempfile::tempdir_in(&args.dir);
    let folder = folder.map_err(|error| format!("{}: {error}", args.dir.display()))?;
    let sync = testbed::fdatasync(folder.path(), 8192).map_err(|error| error.to_string())?;
    println!("fdatasync of 8 KiB here: {} µs (median of 300)", sync.as_micros());
    println!(
        "{} keys, {} receivers, a block each {} ms, two providers",
        args.keys,
        args.receivers,
        chain::BLOCK.as_millis()
    );
    let new = usize::try_from(args.few / 10).unwrap_or(usize::MAX);
    let mut rows = Vec::new();

    let chain = Chain::start(Contract::Native, args.keys, args.receivers, new)?;
    let subject = Subject::start(&folder.path().join("native"), chain)?;
    // each receiver is asked about once; later its registration is known
    let known = u64::try_from(args.receivers).unwrap_or(u64::MAX);
    subject.measure(&Plan::full(known), chain::known)?;
    let plan = Plan::paced(args.transfers, args.rate);
    rows.push(Row::print("paced", subject.measure(&plan, chain::known)?));
    let plan = Plan::full(args.transfers);
    rows.push(Row::print("full", subject.measure(&plan, chain::known)?));
    rows.push(Row::print("new", subject.measure(&Plan::full(args.few), chain::new)?));
    println!("{:<6} {}", "", subject.end()?);

    let chain = Chain::start(Contract::Vm, args.keys, args.receivers, 0)?;
    let subject = Subject::start(&folder.path().join("vm"), chain)?;
    rows.push(Row::print("vm", subject.measure(&Plan::full(args.few), chain::known)?));
    println!("{:<6} {}", "", subject.end()?);

    let chain = Chain::start(Contract::Native, args.keys, args.receivers, 0)?;
    let peer = peer::run(&chain, Duration::from_secs(args.seconds))?;
    rows.push(Row::print("loop", peer));
    report::verdict(&rows, args.rate);
    Ok(())
}
