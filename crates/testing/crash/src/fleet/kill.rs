//! Kills processes of a fleet and its database, one alone or all at the same moment, while clients work and the
//! others go on.

use super::member::Member;
use super::tables::{Sql, Tables, lose};
use super::{Fleet, SERVE};
use crate::aim::Aim;
use crate::env::Env;
use crate::kill::{check_kept, proven};
use crate::rng::Rng;
use crate::store::Store as _;
use crate::{Outcome, clock, probe};
use std::collections::BTreeMap;
use std::time::Duration;

/// Number of kills after which every acknowledged key is checked again.
const ALL_AFTER: u64 = 10;
/// A token lives an hour.
const TOKEN_AFTER: Duration = Duration::from_secs(1_500);

/// What came of it.
#[derive(Debug, Default, Clone)]
pub struct Killed {
    /// How often something was killed.
    pub kills: u64,
    /// Of them with a transfer that had not ended.
    pub open: u64,
    /// By who was killed.
    pub by: BTreeMap<&'static str, u64>,
    /// How long it took.
    pub took: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    /// A process of ours.
    Member(usize),
    /// The server, and the database beneath all.
    Database,
    /// Everything, as when the machine goes.
    All,
}

impl Victim {
    fn drawn(rng: &mut Rng, members: usize) -> Self {
        let most = u64::try_from(members).unwrap_or(1);
        match rng.below(100) {
            0..70 => Self::Member(usize::try_from(rng.below(most)).unwrap_or_default()),
            70..88 => Self::Database,
            _ => Self::All,
        }
    }

    /// Whether clients can be answered while it is away.
    const fn answers(self) -> bool {
        !matches!(self, Self::Member(SERVE) | Self::Database | Self::All)
    }
}

/// Kills this number of times. With `lose_one` an acknowledged transfer is taken out of the database on the way.
///
/// # Errors
/// What was lost, or does not hold.
pub fn run(
    fleet: &mut Fleet,
    env: &Env,
    kills: u64,
    mut lose_one: bool,
    rng: &mut Rng,
) -> Outcome<Killed> {
    let begun = clock::now();
    let mut token = begun;
    let mut killed = Killed::default();
    env.workload.up.send_replace(true);
    let aim = Aim::of(kills);
    while aim.goes_on(killed.kills, killed.open) {
        if token.elapsed() > TOKEN_AFTER {
            env.renew()?;
            token = clock::now();
        }
        worked(fleet, env, rng)?;
        let victim = Victim::drawn(rng, fleet.members.len());
        fleet.strike(victim, env, rng, &mut killed)?;
        check_kept(
            &env.workload,
            &Tables::of(&fleet.database),
            killed.kills.is_multiple_of(ALL_AFTER),
        )?;
        if killed.kills.is_multiple_of(4) {
            probe::proof(&env.workload, env.runtime())?;
        }
        if lose_one && let Some(key) = env.workload.book.last() {
            lose(&fleet.database, &key)?;
            lose_one = false;
        }
        env.workload.up.send_replace(true);
        if killed.kills.is_multiple_of(10) {
            env.say(&format!("{} kills, {:?}", killed.kills, killed.by));
        }
    }
    killed.took = begun.elapsed();
    aim.met(killed.kills, killed.open).map(|()| killed)
}

/// Clients work for a while, and no process ends by itself.
fn worked(fleet: &mut Fleet, env: &Env, rng: &mut Rng) -> Outcome {
    let calls = env.workload.journal.calls();
    // on a busy machine clients take their time to see that it is up
    let sent = || (env.workload.journal.calls() > calls + 32).then_some(());
    clock::until(Duration::from_secs(5), sent);
    if rng.percent(30) {
        probe::funding(&env.workload, &Tables::of(&fleet.database))?;
    }
    std::thread::sleep(Duration::from_micros(rng.below(400_000)));
    for member in &mut fleet.members {
        member.lives()?;
    }
    env.workload.broken().map_or(Ok(()), Err)
}

impl Fleet {
    fn strike(&mut self, victim: Victim, env: &Env, rng: &mut Rng, killed: &mut Killed) -> Outcome {
        if !victim.answers() {
            env.workload.up.send_replace(false);
        }
        let name = match victim {
            Victim::Member(n) => {
                let member = self.members.get_mut(n).ok_or("no process of that number")?;
                member.kill()?;
                member.name
            }
            Victim::Database => {
                self.postgres.kill9()?;
                "postgres"
            }
            Victim::All => {
                self.postgres.kill9()?;
                for member in &mut self.members {
                    member.kill()?;
                }
                "all"
            }
        };
        // the others go on without it
        std::thread::sleep(Duration::from_micros(rng.below(300_000)));
        if matches!(victim, Victim::Database | Victim::All) {
            self.postgres.restart()?;
        }
        killed.kills += 1;
        *killed.by.entry(name).or_default() += 1;
        killed.open += u64::from(Tables::of(&self.database).open_transfers()? > 0);
        for member in &mut self.members {
            member.lives()?;
            if member.running.is_none() {
                member.start()?;
            }
        }
        Ok(())
    }
}

/// Everything reaches its end, and all of it is proven.
///
/// # Errors
/// What has not ended, or does not hold.
pub fn settle(fleet: &mut Fleet, env: &mut Env) -> Outcome {
    settled(&mut fleet.members, env, &fleet.database)
}

/// The same of these processes and this database.
pub(super) fn settled(members: &mut [Member], env: &mut Env, database: &dyn Sql) -> Outcome {
    env.renew()?;
    env.workload.over.store(true, std::sync::atomic::Ordering::Relaxed);
    env.workload.up.send_replace(true);
    env.clients_end()?;
    proven(env, &Tables::of(database))?;
    env.site.run(&["check"])?;
    env.site.run(&["audit", "verify"])?;
    // whoever asks others stops first
    for member in members.iter_mut().rev() {
        member.stop()?;
    }
    env.faults_of_history()
}
