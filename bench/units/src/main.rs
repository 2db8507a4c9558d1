//! `cargo xtask bench units`: units with an inbox row, and closes of attempts, beside plain units of as
//! many rows, on both stores in one run.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(
    clippy::disallowed_methods,
    clippy::float_arithmetic,
    reason = "a benchmark takes times and ratios"
)]

mod stores;
mod work;

use clap::Parser;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use work::{Kind, Workload};

/// As the product's binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What goes wrong ends the benchmark.
type Outcome<T = ()> = Result<T, String>;

#[derive(Debug, Parser)]
#[command(about = "Units of attempts and inboxes beside plain units of as many rows")]
struct Args {
    /// How often each kind is written, in turn; the median counts.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Where the stores are made: on the disk that is to be measured, where an unprivileged user
    /// may go.
    #[arg(long, default_value = "/tmp")]
    dir: PathBuf,
}

/// What is compared: the kind, the plain one beside it, and the aim of their ratio.
const PAIRS: [(Kind, Kind, f64); 3] = [
    (Kind::Inbox, Kind::PlainPairs, 1.3),
    (Kind::Claims, Kind::PlainHundreds, f64::INFINITY),
    (Kind::Closes, Kind::PlainHundreds, 1.3),
];

fn main() -> Outcome {
    let args = Args::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|why| why.to_string())?;
    runtime.block_on(measure(&args))
}

async fn measure(args: &Args) -> Outcome {
    let folder = tempfile::tempdir_in(&args.dir);
    let folder = folder.map_err(|why| format!("{}: {why}", args.dir.display()))?;
    println!(
        "| store | units | ms | plain units | ms | ratio | aim |\n|---|---|---|---|---|---|---|"
    );
    let site = stores::Site::start(&args.dir)?;
    for (name, journal) in
        [("SQLite", stores::sqlite(folder.path())?), ("PostgreSQL", site.journal().await?)]
    {
        let mut workload = Workload::new(journal);
        // the first round warms up what is cached and prepared
        round(&mut workload).await?;
        let mut rounds = Vec::with_capacity(args.rounds);
        for _ in 0..args.rounds {
            rounds.push(round(&mut workload).await?);
        }
        for (kind, plain, aim) in PAIRS {
            let (ours, beside) = (median(&rounds, kind), median(&rounds, plain));
            let ratio = ours.as_secs_f64() / beside.as_secs_f64();
            let aim = if aim.is_finite() { format!("{aim:.1}") } else { "none".to_owned() };
            println!(
                "| {name} | {} | {} | {} | {} | {ratio:.2} | {aim} |",
                kind.name(),
                ours.as_millis(),
                plain.name(),
                beside.as_millis()
            );
        }
    }
    Ok(())
}

/// Each kind once, one after the other.
async fn round(workload: &mut Workload) -> Outcome<Vec<(Kind, Duration)>> {
    let mut times = Vec::new();
    for kind in Kind::ALL {
        let units = workload.prepare(kind).await?;
        let begun = Instant::now();
        workload.write(units).await?;
        times.push((kind, begun.elapsed()));
    }
    Ok(times)
}

fn median(rounds: &[Vec<(Kind, Duration)>], kind: Kind) -> Duration {
    let of = rounds.iter().flatten().filter(|(other, _)| *other == kind);
    let mut times: Vec<Duration> = of.map(|(_, time)| *time).collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
