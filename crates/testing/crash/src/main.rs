//! `cargo xtask crash`: runs kills, power losses, full and failing disks against the real binary.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool speaks to its terminal"
)]

use clap::Parser;
use crash::account::WrongStore;
use crash::env::Env;
use crash::fleet::{Fleet, Network, Pair};
use crash::record::Record;
use crash::rng::Rng;
use crash::{
    Outcome, account, faults, fleet, gateway, history, kill, power, relay, strace, swap, workload,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Kill a real server again and again, take its power and its disk, and see that nothing is lost.
#[derive(Debug, Parser)]
#[command(
    name = "crash",
    bin_name = "cargo xtask crash",
    version = None,
    after_help = "Example:\n  cargo xtask crash --kills 1000 --power 200 --faults --prove --seed 7"
)]
struct Cli {
    /// The binary under test; `cargo xtask crash` builds and names it.
    #[arg(long, value_name = "FILE")]
    server: PathBuf,
    /// Number of kills of a lone server.
    #[arg(long, default_value_t = 0)]
    kills: u64,
    /// Number of kills in a fleet on PostgreSQL: servers, workers, Spot and the database.
    #[arg(long, default_value_t = 0)]
    postgres: u64,
    /// How many seconds one of two workers of such a fleet is paused, twice: measures the speed of the others.
    #[arg(long, default_value_t = 0, value_name = "SECONDS")]
    still: u64,
    /// Number of faults of the connections to PostgreSQL: silent, half open, in one direction, by pool.
    #[arg(long, default_value_t = 0)]
    wire: u64,
    /// Number of rounds on a primary with a synchronous standby: waits cancelled and ended, promotions.
    #[arg(long, default_value_t = 0)]
    pair: u64,
    /// Of the faults of --wire and the rounds of --pair only those whose name holds this.
    #[arg(long, default_value = "", value_name = "TEXT")]
    only: String,
    /// Number of power losses.
    #[arg(long, default_value_t = 0)]
    power: u64,
    /// No room, and a broken disk, at every write and sync of one transfer.
    #[arg(long)]
    faults: bool,
    /// Of many such places only each n-th.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    stride: u64,
    /// How many seconds to run gateways before remote ledgers that answer every route alike, repeat, delay
    /// and confuse messages.
    #[arg(long, default_value_t = 0, value_name = "SECONDS")]
    gateway: u64,
    /// Kills in the pipeline of account transfers: servers, PostgreSQL and two brokers of Apache Kafka, by chance
    /// and at the two moments between journal and broker; another program forges messages.
    #[arg(long, default_value_t = 0)]
    account: u64,
    /// Number of kills beneath the relay: servers and PostgreSQL before a local chain, by chance and at the four
    /// moments between journal and chain.
    #[arg(long, default_value_t = 0, requires = "devnet")]
    relay: u64,
    /// Number of kills beneath the swaps: servers and PostgreSQL before a local Solana, by chance and at the four
    /// moments between journal and chain.
    #[arg(long, default_value_t = 0, requires = "devnet")]
    swap: u64,
    /// How many deposits customers make at least while servers of swaps are killed.
    #[arg(long, default_value_t = 0)]
    deposits: u64,
    /// The local chains; `cargo xtask crash --relay` and `--swap` build and name them.
    #[arg(long, value_name = "FILE")]
    devnet: Option<PathBuf>,
    /// Kills of a lone server whose log takes nothing: its reader is gone, or its disk is full.
    #[arg(long, default_value_t = 0)]
    dead_log: u64,
    /// Jumps of the wall clock of a server, forward and back, while a ledger is away and it is killed.
    #[arg(long, default_value_t = 0, value_name = "JUMPS")]
    clock: u64,
    /// Show that the campaign can fail: on servers that are made wrong from outside it must.
    #[arg(long)]
    prove: bool,
    /// What chance is drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many clients send requests at once.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=64))]
    clients: u64,
    /// Where the folders go; kept where something is found.
    #[arg(long, value_name = "DIR")]
    below: Option<PathBuf>,
    /// Write the figures into this page.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Of which commit they are.
    #[arg(long, default_value = "an unnamed commit")]
    commit: String,
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
    if cli.kills > 0 || cli.power > 0 || cli.faults || cli.prove || cli.dead_log > 0 {
        strace::ready()?;
    }
    let below = cli.below.clone().unwrap_or_else(|| {
        std::env::temp_dir().join(format!("portage-crash-{}", std::process::id()))
    });
    std::fs::create_dir_all(&below).map_err(|fault| format!("{}: {fault}", below.display()))?;
    let below = below.canonicalize().map_err(|fault| format!("{}: {fault}", below.display()))?;
    println!("seed {}, below {}", cli.seed, below.display());
    let mut rng = Rng(cli.seed);
    // each part draws from numbers of its own, whichever of them run
    let (kills, losses, disk, wrong) = (rng.fork(), rng.fork(), rng.fork(), rng.fork());
    let (many, lost_there, still) = (rng.fork(), rng.fork(), rng.fork());
    let (silent, replicated) = (rng.fork(), rng.fork());
    let (gateways, accounts, relays) = (rng.fork(), rng.fork(), rng.fork());
    let (mutes, clocks, swaps) = (rng.fork(), rng.fork(), rng.fork());
    if cli.kills > 0 {
        killed(cli, &below, kills)?;
    }
    if cli.power > 0 {
        lost(cli, &below, losses)?;
    }
    if cli.faults {
        faulted(cli, &below, disk)?;
    }
    if cli.postgres > 0 {
        fleet_killed(cli, &below, many)?;
    }
    if cli.still > 0 {
        stood_still(cli, &below, still)?;
    }
    if cli.wire > 0 {
        silenced(cli, &below, silent)?;
    }
    if cli.pair > 0 {
        paired(cli, &below, replicated)?;
    }
    if cli.gateway > 0 {
        behind_gateways(cli, &below, gateways)?;
    }
    if cli.dead_log > 0 {
        killed_mute(cli, &below, mutes)?;
    }
    if cli.clock > 0 {
        clock_jumped(cli, &below, clocks)?;
    }
    if cli.account > 0 {
        accounts_killed(cli, &below, accounts)?;
    }
    if let Some(devnet) = cli.devnet.as_deref().filter(|_| cli.relay > 0) {
        let site = relay::Site { program: &cli.server, devnet, below: &below };
        relays_killed(cli, &site, relays)?;
    }
    if let Some(devnet) = cli.devnet.as_deref().filter(|_| cli.swap > 0) {
        let site = relay::Site { program: &cli.server, devnet, below: &below };
        swaps_killed(cli, &site, swaps)?;
    }
    if cli.prove {
        proven(cli, &below, wrong)?;
    }
    if cli.prove && cli.postgres > 0 {
        fleet_proven(cli, &below, lost_there)?;
    }
    std::fs::remove_dir_all(&below).map_err(|fault| format!("{}: {fault}", below.display()))
}

fn record(cli: &Cli) -> Option<Record> {
    let built = if cli.server.components().any(|part| part.as_os_str() == "release") {
        "release build"
    } else {
        "test build"
    };
    let of = format!("Commit {}, {built}, seed {}", cli.commit, cli.seed);
    cli.record.clone().map(|page| Record { page, of })
}

fn killed(cli: &Cli, below: &Path, mut rng: Rng) -> Outcome {
    let mut env = Env::set(&cli.server, below, "kills")?;
    env.clients(cli.clients, &mut rng);
    let killed = kill::run(&mut env, cli.kills, false, &mut rng)?;
    kill::settle(&mut env)?;
    let (met, known) = (env.met()?, env.workload.book.all().len());
    let (kills, open, points) = (killed.kills, killed.open, &killed.points);
    env.say(&format!("{kills} kills, {open} with a transfer open: {points:?}"));
    env.say(&format!("{met:?}"));
    record(cli).map_or(Ok(()), |record| record.kills(&killed, &met, known))
}

/// The kills again, and the ends that a process must come to, with a log that takes nothing.
fn killed_mute(cli: &Cli, below: &Path, mut rng: Rng) -> Outcome {
    let mut env = Env::mute(&cli.server, below, "dead-log")?;
    env.clients(cli.clients, &mut rng);
    let killed = kill::run(&mut env, cli.dead_log, false, &mut rng)?;
    let broken = faults::run_broken(&env)?;
    kill::settle(&mut env)?;
    let (met, known) = (env.met()?, env.workload.book.all().len());
    env.say(&format!("{} kills, {} broken disks; {met:?}", killed.kills, broken.faults));
    record(cli).map_or(Ok(()), |record| record.dead_log(&killed, broken.faults, known))
}

/// A clock that jumps beneath a server and its remote ledgers.
fn clock_jumped(cli: &Cli, below: &Path, rng: Rng) -> Outcome {
    let jumped = gateway::run_jumps(&cli.server, below, cli.clock, rng)?;
    println!("clock: {jumped:?}");
    record(cli).map_or(Ok(()), |record| record.clock(&jumped))
}

fn lost(cli: &Cli, below: &Path, mut rng: Rng) -> Outcome {
    let mut env = Env::set(&cli.server, below, "power")?;
    env.clients(cli.clients, &mut rng);
    let lost = power::run(&mut env, cli.power, false, &mut rng)?;
    kill::settle(&mut env)?;
    env.say(&format!("{lost:?}"));
    record(cli).map_or(Ok(()), |record| record.power(&lost))
}

fn faulted(cli: &Cli, below: &Path, mut rng: Rng) -> Outcome {
    let mut env = Env::set(&cli.server, below, "faults")?;
    let faulted = faults::run(&mut env, cli.stride, &mut rng)?;
    kill::settle(&mut env)?;
    env.say(&format!("{faulted:?}"));
    record(cli).map_or(Ok(()), |record| record.faults(&faulted))
}

/// A fleet with money in it, and clients who begin.
fn furnished(cli: &Cli, below: &Path, name: &str, rng: &mut Rng) -> Outcome<(Fleet, Env)> {
    let fleet = Fleet::start(&cli.server, &below.join(name))?;
    let mut env = Env::at(fleet.site()?, below.join(name), name)?;
    env.runtime().block_on(workload::furnish(&env.workload))?;
    env.clients(cli.clients, rng);
    Ok((fleet, env))
}

fn fleet_killed(cli: &Cli, below: &Path, mut rng: Rng) -> Outcome {
    let (mut fleet, mut env) = furnished(cli, below, "fleet", &mut rng)?;
    let killed = fleet::run(&mut fleet, &env, cli.postgres, false, &mut rng)?;
    fleet::settle(&mut fleet, &mut env)?;
    let (met, known) = (env.met()?, env.workload.book.all().len());
    let (kills, open, by) = (killed.kills, killed.open, &killed.by);
    env.say(&format!("{kills} kills, {open} with a transfer open: {by:?}"));
    env.say(&format!("{met:?}"));
    record(cli).map_or(Ok(()), |record| record.fleet(&killed, &met, known))
}

/// How often each kind of answer was met. A campaign must meet all, one chosen fault need not.
fn met(cli: &Cli, env: &Env) -> Outcome<BTreeMap<&'static str, u64>> {
    if cli.only.is_empty() { env.met() } else { Ok(history::met(&env.history()?)) }
}

/// A man in the middle between two servers and their database.
fn silenced(cli: &Cli, below: &Path, mut rng: Rng) -> Outcome {
    let below = below.join("wire");
    let mut network = Network::start(&cli.server, &below)?;
    let mut env = Env::among(network.sites(), below, "wire", fleet::REPLY)?;
    env.runtime().block_on(workload::furnish(&env.workload))?;
    env.clients(cli.clients, &mut rng);
    let silenced = network.run(&env, cli.wire, &cli.only, &mut rng)?;
    network.settle(&mut env)?;
    env.say(&format!("{silenced:?}"));
    let (met, known) = (met(cli, &env)?, env.workload.book.all().len());
    env.say(&format!("{known} keys, {met:?}"));
    record(cli).map_or(Ok(()), |record| record.wire(&silenced, &met, known))
}

/// A primary and its standby beneath two servers.
fn paired(cli: &Cli, below: &Path, mut rng: Rng) -> Outcome {
    let below = below.join("pair");
    let mut pair = Pair::start(&cli.server, &below)?;
    let mut env = Env::among(pair.sites(), below, "pair", fleet::REPLY)?;
    env.runtime().block_on(workload::furnish(&env.workload))?;
    env.clients(cli.clients, &mut rng);
    let paired = pair.run(&env, cli.pair, &cli.only, &mut rng)?;
    pair.settle(&mut env)?;
    env.say(&format!("{paired:?}"));
    let (met, known) = (met(cli, &env)?, env.workload.book.all().len());
    env.say(&format!("{known} keys, {met:?}"));
    record(cli).map_or(Ok(()), |record| record.pair(&paired, &met, known))
}

/// The pace of a fleet beside a worker that stands still.
fn stood_still(cli: &Cli, below: &Path, mut rng: Rng) -> Outcome {
    let (mut fleet, mut env) = furnished(cli, below, "still", &mut rng)?;
    let each = Duration::from_secs(cli.still);
    let stood = fleet::stand(&mut fleet, &env, each, &mut rng)?;
    fleet::settle(&mut fleet, &mut env)?;
    let table = fleet::shown(&stood);
    println!("{table}");
    record(cli).map_or(Ok(()), |record| record.still(each, cli.clients, &table))
}

/// Remote ledgers behind gateways that are not one with them.
fn behind_gateways(cli: &Cli, below: &Path, rng: Rng) -> Outcome {
    let length = Duration::from_secs(cli.gateway);
    let met = gateway::run(&cli.server, below, length, rng)?;
    println!("gateway: {met:?}");
    Ok(())
}

/// The pipeline of account transfers, and with `--prove` two databases that are made wrong.
fn accounts_killed(cli: &Cli, below: &Path, mut rng: Rng) -> Outcome {
    let wrongs = [
        (WrongStore::Lost, "an account transfer that vanishes", "acknowledged and gone"),
        (WrongStore::MovedTwice, "a move that is booked twice", "the accounts hold"),
    ];
    for (wrong, what, words) in wrongs.into_iter().filter(|_| cli.prove) {
        let found = account::run(&cli.server, below, 2, Some(wrong), rng.fork()).map(drop);
        red(what, found, &[words])?;
    }
    let killed = account::run(&cli.server, below, cli.account, None, rng)?;
    println!("account: {killed:?}");
    record(cli).map_or(Ok(()), |record| record.account(&killed))
}

/// The relay before a local chain, and with `--prove` two databases that are made wrong.
fn relays_killed(cli: &Cli, site: &relay::Site<'_>, mut rng: Rng) -> Outcome {
    let wrongs = [
        (relay::WrongStore::Lost, "a payment that vanishes", "acknowledged and gone"),
        (relay::WrongStore::Forgotten, "a payment whose attempt is forgotten", "was paid twice"),
    ];
    for (wrong, what, words) in wrongs.into_iter().filter(|_| cli.prove) {
        let found = relay::run(site, 4, Some(wrong), rng.fork()).map(drop);
        red(what, found, &[words])?;
    }
    let killed = relay::run(site, cli.relay, None, rng)?;
    println!("relay: {killed:?}");
    record(cli).map_or(Ok(()), |record| record.relay(&killed))
}

/// The swaps before a local chain, and with `--prove` two databases that are made wrong.
fn swaps_killed(cli: &Cli, site: &relay::Site<'_>, mut rng: Rng) -> Outcome {
    let wrongs = [
        (swap::WrongStore::Lost, "a deposit that vanishes", "a refund of no deposit"),
        (swap::WrongStore::Forgotten, "a refund whose attempt is forgotten", "given back twice"),
    ];
    for (wrong, what, words) in wrongs.into_iter().filter(|_| cli.prove) {
        let found = swap::run(site, 4, 0, Some(wrong), rng.fork()).map(drop);
        red(what, found, &[words])?;
    }
    let killed = swap::run(site, cli.swap, cli.deposits, None, rng)?;
    println!("swap: {killed:?}");
    record(cli).map_or(Ok(()), |record| record.swap(&killed))
}

/// A database that forgets what was acknowledged, and what must be said of it.
fn fleet_proven(cli: &Cli, below: &Path, mut rng: Rng) -> Outcome {
    let (mut fleet, env) = furnished(cli, below, "fleet-lose-one", &mut rng)?;
    let found = fleet::run(&mut fleet, &env, 20, true, &mut rng).map(drop);
    red("a database that forgets", found, &["acknowledged and gone"])
}

/// Servers that are made wrong from outside, and what must be said of them.
fn proven(cli: &Cli, below: &Path, mut rng: Rng) -> Outcome {
    let mut env = Env::set(&cli.server, below, "no-sync")?;
    env.clients(cli.clients, &mut rng);
    let found = power::run(&mut env, 40, true, &mut rng).map(drop);
    red("syncs that do nothing", found, &["power lost at", "after a loss of power", "gone"])?;
    let mut env = Env::set(&cli.server, below, "lose-one")?;
    env.clients(cli.clients, &mut rng);
    let found = kill::run(&mut env, 40, true, &mut rng).map(drop);
    red("a transfer that vanishes", found, &["acknowledged and gone"])
}

fn red(what: &str, found: Outcome, words: &[&str]) -> Outcome {
    match found {
        Ok(()) => Err(format!("{what}: not found")),
        Err(why) if words.iter().any(|word| why.contains(word)) => {
            println!("{what}: found: {}", why.lines().next().unwrap_or_default());
            Ok(())
        }
        Err(why) => Err(format!("{what}: stopped by something else: {why}")),
    }
}
