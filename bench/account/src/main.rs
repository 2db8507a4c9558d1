//! `cargo xtask bench account`: transfers between numbered accounts from POST to COMPLETED, on the bus in
//! the process and through Apache Kafka, beside the pipeline as its source draws it, in one run.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

mod load;
mod peer;
mod probe;
mod report;
mod setup;
mod subject;
mod wire;

use clap::Parser;
use report::Line;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use subject::{Subject, Who};
use testbed::served::PORTAGE;

/// As the product's binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What goes wrong ends the benchmark.
type Outcome<T = ()> = Result<T, String>;

/// With this first word the program is the peer.
pub(crate) const PEER: &str = "peer";

#[derive(Debug, Parser)]
#[command(
    about = "Account transfers from POST to COMPLETED beside the pipeline as its source draws it"
)]
struct Args {
    /// Number of transfers per second while times are taken.
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// Seconds for each row.
    #[arg(long, default_value_t = 15)]
    seconds: u64,
    /// Maximum number of open transfers while throughput is measured.
    #[arg(long, default_value_t = 2_000)]
    open: u64,
    /// Pairs of an account that pays and one that receives.
    #[arg(long, default_value_t = 500)]
    pairs: u64,
    /// Where the stores are: on the disk that is to be measured, where an unprivileged user may go.
    #[arg(long, default_value = "/tmp")]
    dir: PathBuf,
    /// The rows: who is measured, in this order.
    #[arg(long, value_delimiter = ',', default_value = "portage,portage-kafka,source-kafka")]
    rows: Vec<Who>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.split_first() {
        Some((word, rest)) if word == PORTAGE => {
            let words = std::iter::once(PORTAGE).chain(rest.iter().map(String::as_str));
            return server::cli::run(words.map(OsString::from));
        }
        Some((word, rest)) if word == PEER => run(peer::serve(rest)),
        Some(_) | None => run(measure(&Args::parse())),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("bench account: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(work: impl Future<Output = Outcome>) -> Outcome {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(work)
}

async fn measure(args: &Args) -> Outcome {
    let folder = tempfile::tempdir_in(&args.dir);
    let folder = folder.map_err(|error| format!("{}: {error}", args.dir.display()))?;
    let sync = testbed::fdatasync(folder.path(), 8192).map_err(|error| error.to_string())?;
    println!("fdatasync of 8 KiB here: {} µs (median of 300)", sync.as_micros());
    let time = Duration::from_secs(args.seconds);
    let mut lines = Vec::new();
    for who in &args.rows {
        let subject = Subject::start(*who, folder.path(), &args.dir, args.pairs).await?;
        let paced = subject.measure(&load::Plan::Paced { rate: args.rate, time }).await?;
        lines.push(Line::print(*who, report::Load::Paced, paced));
        let full = subject.measure(&load::Plan::Full { open: args.open, time }).await?;
        lines.push(Line::print(*who, report::Load::Full, full));
        let counted = subject.end()?;
        println!("{:<13} {counted}", who.name());
    }
    report::verdict(&lines, args.rate);
    Ok(())
}
