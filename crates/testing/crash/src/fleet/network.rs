//! A proxy between processes and PostgreSQL: connections of one process fall silent, by pool and direction, are
//! half open, or lose the answer to a COMMIT, while clients work.
//!
//! Besides the history, the books and the ends of all transfers, the campaign checks that a process which cannot
//! write neither renews its lease nor says that it is ready, and that the others carry on with its transfers.

use super::probe::{Worker, open_since, ready};
use super::tables::Tables;
use super::{Fleet, Part, Plan, part};
use crate::env::Env;
use crate::kill::check_kept;
use crate::rng::Rng;
use crate::server::{Role, Site};
use crate::{Outcome, clock, probe};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use testbed::{Direction, Healing, Options, Side, Silence, Strike};

/// How long a client waits for a reply: it asks another server then.
pub const REPLY: Duration = Duration::from_secs(5);
/// Within this time a process that cannot write has given up its lease and says so, the others have
/// ended what it held, and a process that can write again works. The settings below come to less than
/// half of it; the rest is for a busy machine.
const BOUND: Duration = Duration::from_secs(25);
/// How long it must stay as it is then.
const STAYS: Duration = Duration::from_secs(3);
/// A process works again when it has said so this often in a row: more often than a pool has
/// connections, of which one may be dead.
const IN_A_ROW: usize = 12;

const MEMBERS: [Part; 3] =
    [part("spot", Role::Spot, 0), part("serve-1", Role::Alone, 1), part("serve-2", Role::Alone, 1)];
/// The members that answer clients, and carry.
const SERVERS: (usize, usize) = (1, 2);

const fn servers() -> [usize; 2] {
    [SERVERS.0, SERVERS.1]
}

/// Times that are short, so that what depends on them is seen within the bound.
const TIMES: [(&str, &str); 4] = [
    ("PORTAGE_DATABASE__CONNECT_TIMEOUT_MS", "1500"),
    ("PORTAGE_DATABASE__LOCK_TIMEOUT_MS", "1000"),
    ("PORTAGE_DATABASE__STATEMENT_TIMEOUT_MS", "3000"),
    ("PORTAGE_DATABASE__ANSWER_TIMEOUT_MS", "4000"),
];

/// What is done to the connections of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionFault {
    /// These directions are silent, of connections that are made later too.
    Frozen(&'static [Direction]),
    /// Those that are open are silent for ever; new ones are as they should be.
    Lost,
    /// One side of those that are open is closed, and the other does not notice.
    HalfOpen(Side),
    /// The answers to the next COMMITs are swallowed, with all that would come after them.
    Unanswered,
}

/// A fault of the connections between a process and the database.
#[derive(Debug, Clone, Copy)]
struct Fault {
    name: &'static str,
    /// The `application_name` of those that are concerned; all where there is none.
    pool: Option<&'static str>,
    how: ConnectionFault,
}

const WRITERS: Option<&str> = Some("portage: writer");

/// What a short campaign is about.
const FIRST: [Fault; 2] = [
    fault("writers frozen", WRITERS, ConnectionFault::Frozen(&Direction::ALL)),
    fault("a COMMIT's answer swallowed", WRITERS, ConnectionFault::Unanswered),
];

/// These come in an order that is drawn.
const OTHERS: [Fault; 11] = [
    fault("writers' connections lost", WRITERS, ConnectionFault::Lost),
    fault("writers hear nothing", WRITERS, ConnectionFault::Frozen(&[Direction::FromServer])),
    fault(
        "what writers send does not arrive",
        WRITERS,
        ConnectionFault::Frozen(&[Direction::FromClient]),
    ),
    fault(
        "writers half open, closed at the database",
        WRITERS,
        ConnectionFault::HalfOpen(Side::Server),
    ),
    fault(
        "writers half open, closed at the process",
        WRITERS,
        ConnectionFault::HalfOpen(Side::Client),
    ),
    fault("all frozen", None, ConnectionFault::Frozen(&Direction::ALL)),
    fault("all connections lost", None, ConnectionFault::Lost),
    fault("all half open, closed at the database", None, ConnectionFault::HalfOpen(Side::Server)),
    fault("leases frozen", Some("portage: leases"), ConnectionFault::Frozen(&Direction::ALL)),
    fault("questions frozen", Some("portage: questions"), ConnectionFault::Frozen(&Direction::ALL)),
    fault("searches frozen", Some("portage: searches"), ConnectionFault::Frozen(&Direction::ALL)),
];

const fn fault(name: &'static str, pool: Option<&'static str>, how: ConnectionFault) -> Fault {
    Fault { name, pool, how }
}

impl Fault {
    /// Whether the process cannot write as long as it lasts.
    fn cannot_write(self) -> bool {
        matches!(self.how, ConnectionFault::Frozen(_)) && [None, WRITERS].contains(&self.pool)
    }

    fn silence(self) -> Option<Silence> {
        let (directions, later, closed) = match self.how {
            ConnectionFault::Frozen(directions) => (directions, true, None),
            ConnectionFault::Lost => (&Direction::ALL[..], false, None),
            ConnectionFault::HalfOpen(side) => (&Direction::ALL[..], false, Some(side)),
            ConnectionFault::Unanswered => return None,
        };
        let (name, directions) = (self.pool.map(str::to_owned), directions.to_vec());
        Some(Silence { name, directions, later, closed })
    }
}

/// What came of it.
#[derive(Debug, Default, Clone)]
pub struct Silenced {
    /// How many faults there were.
    pub faults: u64,
    /// Transfers that had not ended when a fault began.
    pub open: u64,
    /// By what was done.
    pub by: BTreeMap<&'static str, u64>,
    /// The longest time until a process that could not write said so and had given up its lease.
    pub gave_up: Duration,
    /// The longest time until everything had ended that was open when a fault began.
    pub ended: Duration,
    /// How long it took.
    pub took: Duration,
}

/// What one fault came to.
#[derive(Debug, Default, Clone, Copy)]
struct Struck {
    open: u64,
    gave_up: Duration,
    ended: Duration,
}

impl Silenced {
    fn add(&mut self, struck: &Struck) {
        self.open += struck.open;
        if self.gave_up < struck.gave_up {
            self.gave_up = struck.gave_up;
        }
        if self.ended < struck.ended {
            self.ended = struck.ended;
        }
    }
}

/// The fleet, with what is known of its workers.
#[derive(Debug)]
pub struct Network {
    fleet: Fleet,
    /// The workers by their number among the members.
    workers: BTreeMap<usize, Worker>,
}

impl Network {
    /// Starts it in fresh folders below `below`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(program: &Path, below: &Path) -> Outcome<Self> {
        // sessions that fell silent stay at the server until it ends
        let postgres = Options { max_connections: 600, ..Options::default() };
        let plan = Plan { members: &MEMBERS, postgres, settings: &TIMES };
        let fleet = Fleet::of(&plan, program, below)?;
        let begun = Worker::in_order(&fleet.database)?;
        let workers: BTreeMap<usize, Worker> = servers().into_iter().zip(begun).collect();
        if workers.len() != servers().len() {
            return Err(format!("not every server has a lease: {workers:?}"));
        }
        Ok(Self { fleet, workers })
    }

    /// Where clients find it.
    pub fn sites(&self) -> Vec<Site> {
        let members = servers().into_iter().filter_map(|server| self.fleet.members.get(server));
        members.map(|member| member.site.clone()).collect()
    }

    /// Plays this number of faults, one after the other, of those whose name holds this text.
    ///
    /// # Errors
    /// What was lost, stands, or does not hold.
    pub fn run(&mut self, env: &Env, faults: u64, only: &str, rng: &mut Rng) -> Outcome<Silenced> {
        let begun = clock::now();
        let mut silenced = Silenced::default();
        let mut order: Vec<Fault> = Vec::new();
        env.workload.up.send_replace(true);
        while silenced.faults < faults {
            if order.is_empty() {
                order = rng.order(&FIRST, &OTHERS);
                order.retain(|fault| fault.name.contains(only));
            }
            let fault = order.pop().ok_or_else(|| format!("no fault of the name {only}"))?;
            let victim = if rng.percent(50) { SERVERS.1 } else { SERVERS.0 };
            let name = self.fleet.members.get(victim).map(|member| member.name);
            let what = format!("{} ({})", fault.name, name.unwrap_or_default());
            let struck =
                self.strike(fault, victim, env, rng).map_err(|why| format!("{what}: {why}"))?;
            silenced.add(&struck);
            silenced.faults += 1;
            *silenced.by.entry(fault.name).or_default() += 1;
            env.say(&format!("{} faults, the last: {what}", silenced.faults));
        }
        silenced.took = begun.elapsed();
        Ok(silenced)
    }

    fn strike(&mut self, fault: Fault, victim: usize, env: &Env, rng: &mut Rng) -> Outcome<Struck> {
        self.worked(env, rng)?;
        let healings = [Healing::Late, Healing::Never, Healing::Closed];
        let healing = rng.one(&healings).copied().unwrap_or(Healing::Late);
        let open = Tables::of(&self.fleet.database).open_now()?.count;
        let begun = clock::now();
        self.begins(fault, victim)?;
        // what was on its way when it began is part of it
        std::thread::sleep(Duration::from_millis(200));
        let at = Tables::of(&self.fleet.database).open_now()?.at;
        let mut struck = Struck { open, ..Struck::default() };
        if fault.cannot_write() {
            self.gives_up(victim, at)?;
            struck.gave_up = begun.elapsed();
        }
        self.all_end(at, "they were open when it began")?;
        struck.ended = begun.elapsed();
        if fault.cannot_write() {
            self.stays_out(victim, at)?;
        }
        if let ConnectionFault::Frozen(_) = fault.how {
            // a lease that cannot be renewed has ended by then
            std::thread::sleep(STAYS);
            let at = Tables::of(&self.fleet.database).open_now()?.at;
            self.all_end(at, "they were opened while it lasted")?;
        }
        self.proxy(victim)?.heal(healing);
        self.recovers(env, &format!("healed: {healing:?}"))?;
        // what is silent still would fill the server, fault by fault
        self.proxy(victim)?.heal(Healing::Closed);
        Ok(struck)
    }

    fn proxy(&self, member: usize) -> Outcome<&testbed::Proxy> {
        let member = self.fleet.members.get(member);
        member.and_then(|member| member.proxies.first()).ok_or_else(|| "no proxy".to_owned())
    }

    fn begins(&self, fault: Fault, victim: usize) -> Outcome {
        let proxy = self.proxy(victim)?;
        match fault.silence() {
            Some(silence) => {
                // a pool connects when it is asked for something
                let hit = proxy.silence(&silence);
                if hit == 0 && !silence.later {
                    return Err("there was no connection to break".to_owned());
                }
            }
            None => proxy.strike(&[Strike::ReplySwallowed; 4]),
        }
        Ok(())
    }

    /// Clients work for a while, and no process ends by itself.
    fn worked(&mut self, env: &Env, rng: &mut Rng) -> Outcome {
        let calls = env.workload.journal.calls();
        let sent = || (env.workload.journal.calls() > calls + 64).then_some(());
        clock::until(BOUND, sent).ok_or("clients get nowhere")?;
        std::thread::sleep(Duration::from_micros(rng.below(400_000)));
        self.lives(env)
    }

    fn lives(&mut self, env: &Env) -> Outcome {
        for member in &mut self.fleet.members {
            member.lives()?;
        }
        env.workload.broken().map_or(Ok(()), Err)
    }

    /// A process that cannot write: it says so, and its lease ends.
    fn gives_up(&self, victim: usize, at: u64) -> Outcome {
        let begun = clock::now();
        let out = || self.out(victim).is_ok_and(|out| out).then_some(());
        if clock::until(BOUND, out).is_some() {
            return Ok(());
        }
        let (renewed, says_ready) = self.seen(victim)?;
        let lease = if renewed { "renewed its lease" } else { "gave up its lease" };
        let word = if says_ready { "said ready" } else { "did not say ready" };
        let stand = open_since(&self.fleet.database, at)?;
        let seconds = begun.elapsed().as_secs();
        Err(format!(
            "the process could not write, {lease} and {word} for {seconds} s; {stand} transfers stood"
        ))
    }

    /// Whether it holds a lease, and whether it says that it is ready.
    fn seen(&self, victim: usize) -> Outcome<(bool, bool)> {
        let worker = self.workers.get(&victim).ok_or("no process of that number")?;
        let site = &self.fleet.members.get(victim).ok_or("no process of that number")?.site;
        Ok((worker.leased(&self.fleet.database)?, ready(site)))
    }

    fn out(&self, victim: usize) -> Outcome<bool> {
        Ok(self.seen(victim)? == (false, false))
    }

    /// It stays out as long as it cannot write, and the others are ready.
    fn stays_out(&self, victim: usize, at: u64) -> Outcome {
        let back = || (!self.out(victim).unwrap_or(true)).then_some(());
        if clock::until(STAYS, back).is_some() {
            let (leased, says_ready) = self.seen(victim)?;
            let stand = open_since(&self.fleet.database, at)?;
            return Err(format!(
                "the process cannot write, and came back: leased {leased}, ready {says_ready}; \
                 {stand} transfers stand"
            ));
        }
        for other in servers().into_iter().filter(|server| *server != victim) {
            let in_time = || self.seen(other).is_ok_and(|seen| seen == (true, true)).then_some(());
            clock::until(BOUND, in_time).ok_or("the others do not say that they are ready")?;
        }
        Ok(())
    }

    /// Everything that was open at this time of the database ends.
    fn all_end(&self, at: u64, what: &str) -> Outcome {
        let database = &self.fleet.database;
        let none = || open_since(database, at).is_ok_and(|open| open == 0).then_some(());
        if clock::until(BOUND, none).is_some() {
            return Ok(());
        }
        Err(format!("{} transfers stand after {BOUND:?}: {what}", open_since(database, at)?))
    }

    /// Every process works again, what was acknowledged is there, and the service's own proof holds.
    fn recovers(&mut self, env: &Env, what: &str) -> Outcome {
        let at = Tables::of(&self.fleet.database).open_now()?.at;
        for server in servers() {
            let works = || self.seen(server).is_ok_and(|seen| seen == (true, true));
            let always = || (0..IN_A_ROW).all(|_| works()).then_some(());
            if clock::until(BOUND, always).is_none() {
                let (leased, says_ready) = self.seen(server)?;
                return Err(format!("{what}: leased {leased}, ready {says_ready}"));
            }
        }
        self.all_end(at, what)?;
        self.lives(env)?;
        check_kept(&env.workload, &Tables::of(&self.fleet.database), true)?;
        probe::proof(&env.workload, env.runtime())
    }

    /// Everything reaches its end, and all of it is proven.
    ///
    /// # Errors
    /// What has not ended, or does not hold.
    pub fn settle(&mut self, env: &mut Env) -> Outcome {
        super::settle(&mut self.fleet, env)
    }
}
