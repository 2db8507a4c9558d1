//! Runs two servers on a replicated pair: a primary, and a standby that every COMMIT waits for. Waits are cancelled
//! and ended while the standby is away; then it is back, or it is promoted, with the old primary dead, alive or
//! frozen. What was acknowledged before is at the promoted one.

use super::member::Member;
use super::probe::{open_since, ready};
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
use testbed::{Copied, Options, Server};

/// The name that the primary knows its standby by.
const STANDBY: &str = "standby";
/// How long processes may take to notice what was done to their database, and to end what is open.
const BOUND: Duration = Duration::from_secs(30);
/// How long waits are cancelled and ended, and how often.
const WHILE: u32 = 12;
const EVERY: Duration = Duration::from_millis(100);
/// The database is not the one that the process worked on: its supervisor starts it again.
const ELSEWHERE: i32 = 75;

/// One names the database by an address that is led to the promoted one, the other by two hosts.
const MEMBERS: [Part; 3] =
    [part("spot", Role::Spot, 0), part("serve-1", Role::Alone, 1), part("serve-2", Role::Alone, 2)];

const TIMES: [(&str, &str); 4] = [
    ("PORTAGE_DATABASE__CONNECT_TIMEOUT_MS", "1500"),
    ("PORTAGE_DATABASE__LOCK_TIMEOUT_MS", "1000"),
    ("PORTAGE_DATABASE__STATEMENT_TIMEOUT_MS", "3000"),
    ("PORTAGE_DATABASE__ANSWER_TIMEOUT_MS", "4000"),
];

/// What becomes of COMMITs that wait for a standby which is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PendingCommits {
    /// Nothing is done: they wait.
    Left,
    /// They are cancelled: acknowledged with a warning.
    Cancelled,
    /// Their sessions are ended: not answered.
    Ended,
    /// One or the other, by chance.
    Either,
}

/// What becomes of the old primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OldPrimary {
    /// It stays the primary, and the standby comes back.
    Stays,
    /// It is dead before the standby is promoted.
    Dead,
    /// It goes on beside the promoted one, with the connections that it has, for a while.
    Alive,
    /// It answers nothing, and goes on for a while when the other was promoted.
    Frozen,
}

#[derive(Debug, Clone, Copy)]
struct Schedule {
    name: &'static str,
    waits: PendingCommits,
    old: OldPrimary,
}

/// What a short campaign is about.
const FIRST: [Schedule; 2] = [
    schedule("waits cancelled, the primary dead", PendingCommits::Cancelled, OldPrimary::Dead),
    schedule(
        "waits cancelled or ended, the primary alive",
        PendingCommits::Either,
        OldPrimary::Alive,
    ),
];

/// These come in an order that is drawn.
const OTHERS: [Schedule; 5] = [
    schedule("waits ended, the primary dead", PendingCommits::Ended, OldPrimary::Dead),
    schedule("waits cancelled, the primary alive", PendingCommits::Cancelled, OldPrimary::Alive),
    schedule("waits cancelled, the primary frozen", PendingCommits::Cancelled, OldPrimary::Frozen),
    schedule("waits left alone, the primary dead", PendingCommits::Left, OldPrimary::Dead),
    schedule(
        "waits cancelled or ended, the standby back",
        PendingCommits::Either,
        OldPrimary::Stays,
    ),
];

const fn schedule(name: &'static str, waits: PendingCommits, old: OldPrimary) -> Schedule {
    Schedule { name, waits, old }
}

/// What came of it.
#[derive(Debug, Default, Clone)]
pub struct Paired {
    /// How many rounds were made.
    pub rounds: u64,
    /// Times that the standby was promoted.
    pub promoted: u64,
    /// COMMITs whose wait was cancelled.
    pub cancelled: u64,
    /// COMMITs whose session was ended while they waited.
    pub ended: u64,
    /// Processes that ended since their database was another one, and were started again.
    pub restarted: u64,
    /// By what was done.
    pub by: BTreeMap<&'static str, u64>,
    /// How long it took.
    pub took: Duration,
}

/// The fleet and its pair.
#[derive(Debug)]
pub struct Pair {
    /// Its server is the primary.
    fleet: Fleet,
    standby: Server,
    /// The database at the primary.
    here: Copied,
    /// Where the primary is among two hosts.
    host: usize,
}

impl Drop for Pair {
    fn drop(&mut self) {
        // a database that waits for a standby would not be dropped
        let _gone = self.fleet.postgres.kill9();
        let _gone = self.standby.kill9();
    }
}

impl Pair {
    /// Starts it in fresh folders below `below`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(program: &Path, below: &Path) -> Outcome<Self> {
        let postgres = Options { max_connections: 300, ..Options::default() };
        let plan = Plan { members: &MEMBERS, postgres, settings: &TIMES };
        let mut fleet = Fleet::of(&plan, program, below)?;
        let standby = fleet.postgres.standby(STANDBY)?;
        fleet.postgres.require_standby(STANDBY)?;
        let here = fleet.database.at(&fleet.postgres)?;
        let pair = Self { fleet, standby, here, host: 0 };
        pair.leads(1, &pair.standby)?;
        Ok(pair)
    }

    /// Where clients find it.
    pub fn sites(&self) -> Vec<Site> {
        servers(&self.fleet.members).map(|member| member.site.clone()).collect()
    }

    /// Plays this number of rounds, of those whose name holds this text.
    ///
    /// # Errors
    /// What was lost, stands, or does not hold.
    pub fn run(&mut self, env: &Env, rounds: u64, only: &str, rng: &mut Rng) -> Outcome<Paired> {
        let begun = clock::now();
        let mut paired = Paired::default();
        let mut order: Vec<Schedule> = Vec::new();
        env.workload.up.send_replace(true);
        while paired.rounds < rounds {
            if order.is_empty() {
                order = rng.order(&FIRST, &OTHERS);
                order.retain(|schedule| schedule.name.contains(only));
            }
            let schedule = order.pop().ok_or_else(|| format!("no round of the name {only}"))?;
            let name = schedule.name;
            self.round(schedule, env, rng, &mut paired).map_err(|why| format!("{name}: {why}"))?;
            paired.rounds += 1;
            *paired.by.entry(name).or_default() += 1;
            env.say(&format!("{} rounds, the last: {name}", paired.rounds));
        }
        paired.took = begun.elapsed();
        Ok(paired)
    }

    fn round(
        &mut self,
        schedule: Schedule,
        env: &Env,
        rng: &mut Rng,
        paired: &mut Paired,
    ) -> Outcome {
        self.worked(env, rng)?;
        self.standby.detach()?;
        self.fleet.postgres.until_waits(1)?;
        self.disturbed(schedule.waits, rng, paired)?;
        match schedule.old {
            OldPrimary::Stays => self.standby.attach()?,
            OldPrimary::Dead => {
                self.fleet.postgres.kill9()?;
                self.promoted(None, rng, paired)?;
            }
            OldPrimary::Alive => self.promoted(Some(schedule.waits), rng, paired)?,
            OldPrimary::Frozen => {
                self.fleet.postgres.freeze()?;
                self.promoted(Some(schedule.waits), rng, paired)?;
            }
        }
        self.recovers(env)
    }

    /// Waits are cancelled and ended for a while, as by a person or a timeout.
    fn disturbed(&self, waits: PendingCommits, rng: &mut Rng, paired: &mut Paired) -> Outcome {
        disturbed(&self.fleet.postgres, waits, rng, paired)
    }

    /// The standby becomes the primary, and gets a standby of its own.
    ///
    /// With `alive` the old primary goes on beside it for a while, with the connections that it has.
    fn promoted(
        &mut self,
        alive: Option<PendingCommits>,
        rng: &mut Rng,
        paired: &mut Paired,
    ) -> Outcome {
        self.standby.promote()?;
        paired.promoted += 1;
        let address = self.standby.address()?;
        for member in &self.fleet.members {
            // of two hosts the other one is it already
            if let [proxy] = member.proxies.as_slice() {
                proxy.lead_to(&address);
            }
        }
        if let Some(waits) = alive {
            // where it was frozen
            self.fleet.postgres.thaw()?;
            disturbed(&self.fleet.postgres, waits, rng, paired)?;
            self.fleet.postgres.kill9()?;
        }
        self.here = self.fleet.database.at(&self.standby)?;
        paired.restarted += self.restarted()?;
        // what cut it off from the old one is not for those that follow it
        self.standby.sql("ALTER SYSTEM RESET primary_conninfo")?;
        let next = self.standby.standby(STANDBY)?;
        self.standby.require_standby(STANDBY)?;
        self.leads(self.host, &next)?;
        self.host = 1_usize.saturating_sub(self.host);
        self.fleet.postgres = std::mem::replace(&mut self.standby, next);
        Ok(())
    }

    /// This one of two hosts is that server from now on.
    fn leads(&self, host: usize, server: &Server) -> Outcome {
        let address = server.address()?;
        for member in self.fleet.members.iter().filter(|member| member.proxies.len() == 2) {
            let proxy = member.proxies.get(host).ok_or("a third host")?;
            proxy.lead_to(&address);
        }
        Ok(())
    }

    /// Every process finds that its database is another one, ends for it, and is started again.
    fn restarted(&mut self) -> Outcome<u64> {
        let mut times = 0;
        for member in self.fleet.members.iter_mut().filter(|member| !member.proxies.is_empty()) {
            let process = member.running.as_mut().ok_or("it does not run")?;
            let Some(status) = process.ends_within(BOUND) else {
                return Err(format!(
                    "{} goes on for {BOUND:?} without its database: {}",
                    member.name,
                    member.site.last_words()
                ));
            };
            if status.code() != Some(ELSEWHERE) {
                let words = member.site.last_words();
                return Err(format!("{} ended by itself with {status}: {words}", member.name));
            }
            member.running = None;
            member.start()?;
            times += 1;
        }
        Ok(times)
    }

    /// Clients work for a while, and no process ends by itself.
    fn worked(&mut self, env: &Env, rng: &mut Rng) -> Outcome {
        let calls = env.workload.journal.calls();
        let sent = || (env.workload.journal.calls() > calls + 64).then_some(());
        clock::until(BOUND, sent).ok_or("clients get nowhere")?;
        std::thread::sleep(Duration::from_micros(rng.below(400_000)));
        for member in &mut self.fleet.members {
            member.lives()?;
        }
        env.workload.broken().map_or(Ok(()), Err)
    }

    /// What was acknowledged is there, every process works, and the service's own proof holds.
    fn recovers(&mut self, env: &Env) -> Outcome {
        check_kept(&env.workload, &Tables::of(&self.here), true).map_err(|why| {
            let faults: Vec<&str> = why.lines().collect();
            let some = faults.iter().take(5).copied().collect::<Vec<_>>().join("\n");
            format!("what was acknowledged is missing or changed ({} times):\n{some}", faults.len())
        })?;
        let all = || servers(&self.fleet.members).all(|member| ready(&member.site)).then_some(());
        clock::until(BOUND, all).ok_or("not every process says that it is ready")?;
        let at = Tables::of(&self.here).open_now()?.at;
        let none = || open_since(&self.here, at).is_ok_and(|open| open == 0).then_some(());
        if clock::until(BOUND, none).is_none() {
            let stand = open_since(&self.here, at)?;
            return Err(format!("{stand} transfers stand after {BOUND:?}{}", self.halted()?));
        }
        for member in &mut self.fleet.members {
            member.lives()?;
        }
        env.workload.broken().map_or(Ok(()), Err)?;
        probe::proof(&env.workload, env.runtime())
    }

    /// What halted it, where something did.
    fn halted(&self) -> Outcome<String> {
        let why = self.here.sql("SELECT value FROM service_state WHERE name = 'halted'")?;
        Ok(if why.is_empty() { why } else { format!("; halted: {why}") })
    }

    /// Everything reaches its end, and all of it is proven.
    ///
    /// # Errors
    /// What has not ended, or does not hold.
    pub fn settle(&mut self, env: &mut Env) -> Outcome {
        super::settled(&mut self.fleet.members, env, &self.here)
    }
}

/// The members that answer clients, and carry.
fn servers(members: &[Member]) -> impl Iterator<Item = &Member> {
    members.iter().filter(|member| member.site.role == Role::Alone)
}

fn disturbed(
    primary: &Server,
    waits: PendingCommits,
    rng: &mut Rng,
    paired: &mut Paired,
) -> Outcome {
    for _ in 0..WHILE {
        std::thread::sleep(EVERY);
        let cancel = match waits {
            PendingCommits::Left => continue,
            PendingCommits::Cancelled => true,
            PendingCommits::Ended => false,
            PendingCommits::Either => rng.percent(50),
        };
        if cancel {
            paired.cancelled += u64::from(primary.cancel_waits()?);
        } else {
            paired.ended += u64::from(primary.terminate_waits()?);
        }
    }
    Ok(())
}
