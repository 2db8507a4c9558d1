//! The account campaign kills two servers on one PostgreSQL and an Apache Kafka of two brokers, and any of those too,
//! by chance and at two named moments, while clients move money between accounts and another program forges messages.

mod clients;
mod forged;
mod moments;
mod oracle;
mod services;

use crate::aim::Aim;
use crate::rng::Rng;
use crate::{Outcome, clock};
use moments::Moment;
pub use oracle::Ends;
use services::Services;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Number of kills after which every acknowledged transfer is checked again.
const ALL_AFTER: u64 = 10;
/// Before each kill of this number another program writes into the topics.
const FORGED_EACH: u64 = 4;
/// How long a broker that is alone acknowledges messages before it is killed too.
const ALONE: Duration = Duration::from_secs(3);
/// A token lives an hour.
const TOKEN_AFTER: Duration = Duration::from_secs(1_500);

/// A fault that the campaign makes itself, which its oracles must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongStore {
    /// An acknowledged transfer is gone.
    Lost,
    /// A move is booked a second time.
    MovedTwice,
}

/// What came of it.
#[derive(Debug, Default, Clone)]
pub struct Killed {
    /// How many kills there were.
    pub kills: u64,
    /// Of them with a transfer that had not ended.
    pub open: u64,
    /// By what was killed, or at which moment.
    pub by: BTreeMap<&'static str, u64>,
    /// Messages that came again and had no effect, as the servers that lived to the end counted them.
    pub seen_again: u64,
    /// Messages that another program wrote into the topics.
    pub forged: u64,
    /// Dead letters that came of them.
    pub dead_letters: u64,
    /// Transfers that were acknowledged, by their ends.
    pub ends: Ends,
    /// How long it took.
    pub took: Duration,
}

/// What is killed by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    /// One of the two servers.
    Server(usize),
    /// The database, with all of its processes.
    Database,
    /// One of the two brokers: the other has copies of its partitions.
    Broker(usize),
    /// One broker, and the other one while it is alone with what it acknowledged since; the first may come back first,
    /// and lead without it.
    EachBroker(usize),
    /// Everything, as when the machine goes.
    All,
}

impl Victim {
    fn drawn(rng: &mut Rng) -> Self {
        match rng.below(100) {
            0..60 => Self::Server(usize::from(rng.percent(50))),
            60..80 => Self::Database,
            _ => Self::All,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Server(0) => "serve-1",
            Self::Server(_) => "serve-2",
            Self::Database => "postgres",
            Self::Broker(0) => "kafka-1",
            Self::Broker(_) => "kafka-2",
            Self::EachBroker(_) => "kafka, one broker and then the other",
            Self::All => "all",
        }
    }
}

/// Kills this number of times while clients work, then lets everything come to its end and holds it against the
/// oracles. With a wrong store its fault is made in the middle.
///
/// # Errors
/// What was lost, made or is left, or what stopped the run.
pub fn run(
    program: &Path,
    below: &Path,
    kills: u64,
    mut wrong: Option<WrongStore>,
    mut rng: Rng,
) -> Outcome<Killed> {
    let mut services = Services::start(program, below)?;
    let load = clients::start(&services, &mut rng)?;
    let (begun, mut token) = (clock::now(), clock::now());
    let mut killed = Killed::default();
    let aim = Aim::of(kills);
    while aim.goes_on(killed.kills, killed.open) {
        if token.elapsed() > TOKEN_AFTER {
            services.servers.renew()?;
            token = clock::now();
        }
        let on = Duration::from_micros(rng.below(600_000));
        load.works(&mut services.servers, on)?;
        if killed.kills % FORGED_EACH == 2 {
            killed.forged += services.forge(rng.next())?;
        }
        let which = usize::from(rng.percent(50));
        let name = match killed.kills % 8 {
            1 | 5 => moments::kill_at(Moment::PublishedNotMarked, &mut services)?,
            3 | 7 => moments::kill_at(Moment::WrittenNotCommitted, &mut services)?,
            2 => kill(Victim::Broker(which), &mut services, &mut rng)?,
            6 => kill(Victim::EachBroker(which), &mut services, &mut rng)?,
            _ => kill(Victim::drawn(&mut rng), &mut services, &mut rng)?,
        };
        killed.kills += 1;
        *killed.by.entry(name).or_default() += 1;
        killed.open += u64::from(services.open_transfers()? > 0);
        services.servers.all_run()?;
        let spoilt = wrong.take_if(|_| killed.kills > kills / 2);
        if let Some(wrong) = spoilt {
            services.spoil(wrong)?;
        }
        let everything = spoilt.is_some() || killed.kills.is_multiple_of(ALL_AFTER);
        oracle::kept(&services, &load, everything)?;
        if killed.kills.is_multiple_of(10) {
            say(&format!("{} kills, {:?}", killed.kills, killed.by));
        }
    }
    load.end(&services.servers)?;
    killed.dead_letters = forged::pass_over(&services)?;
    killed.ends = oracle::settle(&mut services, &load)?;
    killed.seen_again = services.seen_again()?;
    services.servers.stop()?;
    killed.took = begun.elapsed();
    aim.met(killed.kills, killed.open)?;
    all_met(&killed).map(|()| killed)
}

/// A word to the terminal.
#[expect(clippy::print_stdout, reason = "the campaign speaks to its terminal")]
fn say(what: &str) {
    println!("account: {what}");
}

/// Kills it, and starts it again after a moment in which the others go on without it.
fn kill(victim: Victim, services: &mut Services, rng: &mut Rng) -> Outcome<&'static str> {
    match victim {
        Victim::Server(n) => services.servers.kill_server(n)?,
        Victim::Database => services.servers.postgres.kill9()?,
        Victim::Broker(n) => services.kafka.kill_broker(n)?,
        Victim::EachBroker(n) => {
            services.kafka.kill_broker(n)?;
            std::thread::sleep(ALONE);
            services.kafka.kill_broker(1 - n)?;
        }
        Victim::All => {
            services.kafka.kill9()?;
            services.servers.postgres.kill9()?;
            services.servers.kill_all()?;
        }
    }
    // the others go on without it
    std::thread::sleep(Duration::from_micros(rng.below(400_000)));
    if matches!(victim, Victim::Database | Victim::All) {
        services.servers.postgres.restart()?;
    }
    match victim {
        Victim::Server(_) | Victim::Database => {}
        Victim::Broker(n) => services.kafka.restart_broker(n)?,
        Victim::EachBroker(n) => {
            services.kafka.restart_broker(n)?;
            std::thread::sleep(ALONE);
            services.kafka.restart_broker(1 - n)?;
        }
        Victim::All => services.kafka.restart()?,
    }
    Ok(victim.name())
}

/// A run in which something never happened proves nothing about it.
fn all_met(killed: &Killed) -> Outcome {
    let moments = [Moment::PublishedNotMarked, Moment::WrittenNotCommitted].map(Moment::name);
    let wanted = moments.into_iter().chain([Victim::EachBroker(0).name()]);
    let missed = wanted.into_iter().find(|name| !killed.by.contains_key(name));
    if let Some(missed) = missed.filter(|_| killed.kills > 7) {
        return Err(format!("no kill was `{missed}`: {:?}", killed.by));
    }
    if killed.kills > FORGED_EACH && (killed.forged == 0 || killed.dead_letters == 0) {
        return Err(format!("no forged message was met: {killed:?}"));
    }
    if killed.ends.completed == 0 || killed.ends.failed == 0 {
        return Err(format!("an end was never met: {:?}", killed.ends));
    }
    Ok(())
}
