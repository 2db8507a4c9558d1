//! `cargo xtask crash`: kills, power losses, full and failing disks, against the real binary.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool speaks to its terminal"
)]

use clap::Parser;
use crash::rng::Rng;
use crash::stage::Stage;
use crash::{Outcome, faults, kill, power, strace};
use std::path::PathBuf;
use std::process::ExitCode;

/// Kill a real server again and again, take its power and its disk, and see that nothing is lost.
#[derive(Debug, Parser)]
#[command(name = "crash", bin_name = "cargo xtask crash", version = None)]
struct Cli {
    /// The binary under test.
    #[arg(long, value_name = "FILE")]
    server: PathBuf,
    /// So many kills.
    #[arg(long, default_value_t = 0)]
    kills: u64,
    /// So many losses of power.
    #[arg(long, default_value_t = 0)]
    power: u64,
    /// No room, and a broken disk, at every write and sync of one transfer.
    #[arg(long)]
    faults: bool,
    /// Of many such places only each n-th.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    stride: u64,
    /// Make the server a wrong one on purpose, which must be found.
    #[arg(long, value_enum)]
    wrong: Option<Wrong>,
    /// What chance is drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Clients at once.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=64))]
    clients: u64,
    /// Where the folders go; kept where something is found.
    #[arg(long, value_name = "DIR")]
    below: Option<PathBuf>,
}

/// A wrong build, made from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Wrong {
    /// Its syncs do nothing.
    NoSync,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("\ncrash: {why}\nseed {}", cli.seed);
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Outcome {
    strace::ready()?;
    let below = cli.below.clone().unwrap_or_else(|| {
        std::env::temp_dir().join(format!("portage-crash-{}", std::process::id()))
    });
    std::fs::create_dir_all(&below).map_err(|fault| format!("{}: {fault}", below.display()))?;
    let below = below.canonicalize().map_err(|fault| format!("{}: {fault}", below.display()))?;
    println!("seed {}, below {}", cli.seed, below.display());
    let mut rng = Rng(cli.seed);
    if cli.kills > 0 {
        let mut rng = rng.fork();
        let mut stage = Stage::set(&cli.server, &below, "kills")?;
        stage.clients(cli.clients, &mut rng);
        let killed = kill::run(&mut stage, cli.kills, &mut rng)?;
        kill::settle(&mut stage)?;
        println!("{killed:?}");
    }
    if cli.power > 0 {
        let mut rng = rng.fork();
        let mut stage = Stage::set(&cli.server, &below, "power")?;
        stage.clients(cli.clients, &mut rng);
        let lost = power::run(&mut stage, cli.power, cli.wrong == Some(Wrong::NoSync), &mut rng)?;
        kill::settle(&mut stage)?;
        println!("{lost:?}");
    }
    if cli.faults {
        let mut rng = rng.fork();
        let mut stage = Stage::set(&cli.server, &below, "faults")?;
        let faulted = faults::run(&mut stage, cli.stride, &mut rng)?;
        kill::settle(&mut stage)?;
        println!("{faulted:?}");
    }
    std::fs::remove_dir_all(&below).map_err(|fault| format!("{}: {fault}", below.display()))
}
