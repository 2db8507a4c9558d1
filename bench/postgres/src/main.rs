//! `cargo xtask bench postgres`: transfers between Funding in PostgreSQL and Spot, beside the saga that
//! a user would write and the bare statements, on one server in one run.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

mod bare;
mod http;
mod lasting;
mod load;
mod ours;
mod peers;
mod probe;
mod report;
mod site;

use clap::Parser;
use load::Spread;
use peers::Subject;
use report::{Line, What};
use site::Site;
use std::path::PathBuf;
use std::time::Duration;

/// As the product's binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What goes wrong ends the benchmark.
type Outcome<T = ()> = Result<T, String>;

#[derive(Debug, Parser)]
#[command(about = "Durable transfers on PostgreSQL beside the naive saga and the bare statements")]
struct Args {
    /// How many are in flight, one row for each.
    #[arg(long, value_delimiter = ',', default_value = "1,16,64,256,1024")]
    levels: Vec<usize>,
    /// Seconds for each row.
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Users that the money is spread over.
    #[arg(long, default_value_t = 100_000)]
    users: u64,
    /// Where the cluster and the logs are made: on the disk that is to be measured, where an
    /// unprivileged user may go.
    #[arg(long, default_value = "/tmp")]
    dir: PathBuf,
    /// Which rows are measured, in this order.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "naive,bare,ours,ours-spot,ours-two,bare-http,ours-http,bare-batch,ours-batch"
    )]
    rows: Vec<What>,
    /// Connections of the naive saga; the best of them counts.
    #[arg(long, value_delimiter = ',', default_value = "8,16,64")]
    pools: Vec<usize>,
    /// Number of minutes that ours then runs at the highest level, a row for each, while the server
    /// vacuums.
    #[arg(long, default_value_t = 0)]
    minutes: u64,
    /// Says after each row which statements cost most, and what the store's writers did.
    #[arg(long)]
    profile: bool,
    /// A look at whether it runs at all: its figures mean nothing.
    #[arg(long)]
    quick: bool,
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(Debug, clap::Subcommand)]
enum Role {
    /// A server for the benchmark; not for people.
    #[command(hide = true)]
    Host { host: http::Host, url: String, folder: PathBuf },
}

fn main() -> Outcome {
    let mut args = Args::parse();
    if args.quick {
        (args.levels, args.pools) = (vec![1, 64], vec![16]);
        (args.seconds, args.users) = (1, 1_000);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|why| why.to_string())?;
    match &args.role {
        Some(Role::Host { host, url, folder }) => runtime.block_on(http::serve(*host, url, folder)),
        None => runtime.block_on(measure(&args)),
    }
}

async fn measure(args: &Args) -> Outcome {
    let folder = tempfile::tempdir_in(&args.dir);
    let folder = folder.map_err(|why| format!("{}: {why}", args.dir.display()))?;
    let sync = testbed::fdatasync(folder.path(), 8192).map_err(|why| why.to_string())?;
    println!("fdatasync of 8 KiB here: {} µs (median of 300)", sync.as_micros());
    let site = Site::start(&args.dir, args.profile)?;
    let (mut lines, mut last) = (Vec::new(), None);
    for what in &args.rows {
        let subject = Subject::open(*what, &site, args, folder.path()).await?;
        if lines.is_empty() {
            println!("{}", site.says(subject.database())?);
        }
        for spread in [Spread::Users(args.users), Spread::Hot] {
            for level in &args.levels {
                site.forget(subject.database())?;
                let run = subject.run(&site, spread, *level, Duration::from_secs(args.seconds));
                lines.push(Line::show(*what, spread, *level, run.await?));
                if args.profile {
                    println!("{}\n{}", subject.says(), site.statements(subject.database())?);
                }
            }
        }
        if *what == What::Ours
            && let Some(level) = args.levels.iter().max()
        {
            let load = (Spread::Users(args.users), *level);
            last = lasting::lasts((*what, &subject), &site, load, args.minutes).await?;
        }
    }
    report::verdict(&lines);
    if let Some(last) = last {
        report::lasted(&lines, &last, args.minutes);
    }
    Ok(())
}
