//! `cargo xtask bench internal`: durable transfers, beside a bare log and bare SQLite on one disk.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

mod bare;
mod child;
mod disk;
mod host;
mod load;
mod log;
mod ours;
mod probe;
mod report;
mod wire;

use clap::Parser;
use host::Whose;
use probe::{Run, Syncs};
use report::{Line, What};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// As the product's binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Debug, Parser)]
#[command(about = "Durable transfers beside a bare log and bare SQLite on the same disk")]
struct Args {
    /// How many are in flight, one row for each.
    #[arg(long, value_delimiter = ',', default_value = "1,16,64,256,1024")]
    levels: Vec<usize>,
    /// Seconds for each row.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Where the stores are made; on the disk that is to be measured.
    #[arg(long, default_value = "target/bench-internal")]
    dir: PathBuf,
    /// Only the rows in this process.
    #[arg(long)]
    in_process: bool,
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(Debug, clap::Subcommand)]
enum Role {
    /// A server for the benchmark; not for people.
    #[command(hide = true)]
    Host { whose: Whose, dir: PathBuf },
}

fn main() -> Result<(), String> {
    let args = Args::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| e.to_string())?;
    match &args.role {
        Some(Role::Host { whose, dir }) => runtime.block_on(host::serve(*whose, dir)),
        None => runtime.block_on(measure(&args)),
    }
}

async fn measure(args: &Args) -> Result<(), String> {
    std::fs::create_dir_all(&args.dir).map_err(|e| e.to_string())?;
    let sync = testbed::fdatasync(&args.dir, 4096).map_err(|e| e.to_string())?;
    println!("fdatasync of 4 KiB here: {} µs (median of 300)", sync.as_micros());
    let time = Duration::from_secs(args.seconds);
    let mut lines = Vec::new();
    for what in [What::Log, What::Sqlite, What::Portage] {
        let mut subject = Subject::open(what, &fresh(&args.dir, what.name())?).await?;
        for level in &args.levels {
            let run = subject.run(*level, time).await?;
            lines.push(Line::show(what, *level, run));
        }
    }
    if !args.in_process {
        for (what, whose) in
            [(What::SqliteHttp, Whose::Sqlite), (What::PortageHttp, Whose::Portage)]
        {
            let dir = fresh(&args.dir, what.name())?;
            if let Whose::Sqlite = whose {
                empty_store(&dir)?;
            }
            let mut child = child::Child::start(whose, &dir)?;
            for level in &args.levels {
                let run = child.run(*level, time)?;
                lines.push(Line::show(what, *level, run));
            }
        }
    }
    report::verdict(&lines, sync);
    Ok(())
}

/// An empty folder of that name.
fn fresh(dir: &Path, name: &str) -> Result<PathBuf, String> {
    let dir = dir.join(name);
    if dir.exists() {
        std::fs::remove_dir_all(&dir).map_err(|e| e.to_string())?;
    }
    std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
    Ok(dir)
}

/// The tables of a store, with nothing in them and no caller.
fn empty_store(dir: &Path) -> Result<(), String> {
    let options = store::sqlite::Options {
        dir: dir.to_owned(),
        flows: Arc::new(flows::registry()),
        clock: Arc::new(server::runtime::SystemClock::default()),
        meter: Arc::new(kernel::ports::meter::NoMeter),
        fatal: ours::fatal(),
        max_bytes: None,
    };
    store::sqlite::Embedded::open(options).map(drop).map_err(|e| e.to_string())
}

/// What is measured in this process.
enum Subject {
    Log(log::Log, Arc<Syncs>, Arc<AtomicU64>),
    Sqlite(bare::Bare, Arc<Syncs>, Arc<AtomicU64>),
    Portage(Box<ours::Ours>, Arc<AtomicU64>),
}

impl Subject {
    async fn open(what: What, dir: &Path) -> Result<Self, String> {
        let (syncs, keys) = (Arc::new(Syncs::default()), Arc::new(AtomicU64::new(0)));
        Ok(match what {
            What::Log => Self::Log(log::Log::open(dir, syncs.clone())?, syncs, keys),
            What::Sqlite | What::SqliteHttp => {
                empty_store(dir)?;
                Self::Sqlite(bare::Bare::open(dir, syncs.clone())?, syncs, keys)
            }
            What::Portage | What::PortageHttp => {
                Self::Portage(Box::new(ours::start(dir).await?), keys)
            }
        })
    }

    async fn run(&mut self, level: usize, time: Duration) -> Result<Run, String> {
        match self {
            Self::Log(log, syncs, keys) => {
                let log = log.clone();
                let call = move |_| {
                    let log = log.clone();
                    async move { log.transfer().await }
                };
                load::drive(level, time, keys, syncs, call).await
            }
            Self::Sqlite(bare, syncs, keys) => {
                let bare = bare.clone();
                let call = move |n| {
                    let bare = bare.clone();
                    async move { bare.transfer(n).await }
                };
                load::drive(level, time, keys, syncs, call).await
            }
            Self::Portage(ours, keys) => {
                let engine = ours.engine.clone();
                let flow = engine.flows().named("internal").ok_or("no internal flow")?;
                let call = move |n| load::transfer(engine.clone(), flow, n);
                load::drive(level, time, keys, &ours.syncs, call).await
            }
        }
    }
}
