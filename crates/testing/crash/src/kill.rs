//! The kill campaign: runs many lives of one server on one folder, and ends each by SIGKILL.

use crate::aim::Aim;
use crate::book::missing;
use crate::env::Env;
use crate::folder::{Folder, lose};
use crate::points::{POINTS, Phase, Point};
use crate::rng::Rng;
use crate::server::{Server, TIMEOUT};
use crate::store::Store;
use crate::workload::{self, Workload};
use crate::{Outcome, clock, probe};
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

/// Minimum number of hits of each named point.
pub const OFTEN: u64 = 5;
/// Number of lives after which every acknowledged key is checked again.
const ALL_AFTER: u64 = 40;
/// A token lives an hour.
const TOKEN_AFTER: Duration = Duration::from_secs(1_500);

/// What came of it.
#[derive(Debug, Default, Clone)]
pub struct Killed {
    /// How often the server was killed.
    pub kills: u64,
    /// Of them with a transfer that had not ended.
    pub open: u64,
    /// Of them before the server listened.
    pub starting: u64,
    /// Hits of each named point.
    pub points: BTreeMap<&'static str, u64>,
    /// The last one left a transfer open: what is next may be about recovery.
    pub left: bool,
    /// Restarts that were checked.
    pub checked: u64,
    /// How long a start took, in milliseconds.
    pub starts: Vec<u64>,
    /// How long it took.
    pub took: Duration,
}

/// How a life ends.
#[derive(Debug, Clone, Copy)]
enum Ending {
    /// This time after the server listened, in microseconds.
    After(u64),
    /// This time after the server was started, in microseconds.
    Starting(u64),
    /// At a named point, the n-th.
    At(&'static Point, u64),
}

/// Kills the server this number of times. With `lose_one` an acknowledged transfer is taken out of the folder
/// between two lives.
///
/// # Errors
/// What was lost, or does not hold.
pub fn run(env: &mut Env, kills: u64, mut lose_one: bool, rng: &mut Rng) -> Outcome<Killed> {
    let begun = clock::now();
    let mut token = begun;
    let mut killed = Killed::default();
    for point in &POINTS {
        killed.points.insert(point.name, 0);
    }
    let mut lives = 0;
    let aim = Aim::of(kills);
    while aim.goes_on(killed.kills, killed.open) || (wanting(&killed) && aim.may(lives)) {
        lives += 1;
        if token.elapsed() > TOKEN_AFTER {
            env.renew()?;
            token = clock::now();
        }
        let ending = ending(&killed, kills, rng);
        life(env, ending, lives, &mut killed, rng)?;
        if lose_one && let Some(key) = env.workload.book.last() {
            lose(&env.site.data, &key)?;
            lose_one = false;
        }
        if lives.is_multiple_of(100) {
            let (kills, open) = (killed.kills, killed.open);
            env.say(&format!("{kills} kills, {open} of them with a transfer open"));
        }
    }
    killed.took = begun.elapsed();
    aim.met(killed.kills, killed.open)?;
    if wanting(&killed) {
        return Err(format!("not every point was hit {OFTEN} times: {:?}", killed.points));
    }
    Ok(killed)
}

fn wanting(killed: &Killed) -> bool {
    killed.points.values().any(|hits| *hits < OFTEN)
}

/// Points first that were hit least, in turns with chance.
fn ending(killed: &Killed, kills: u64, rng: &mut Rng) -> Ending {
    let wanting = wanting(killed);
    let least =
        POINTS.iter().filter(|point| wanting || point.phase == Phase::Load).min_by_key(|point| {
            (killed.points.get(point.name).copied().unwrap_or_default(), rng.next())
        });
    let short = killed.kills.saturating_mul(2) > kills && wanting;
    let share = if wanting { 50 } else { 30 };
    if let Some(point) = least.filter(|_| short || rng.percent(share)) {
        return Ending::At(point, 1 + rng.below(point.most));
    }
    match rng.below(100) {
        0..20 if killed.left => Ending::Starting(rng.below(60_000)),
        0..85 => Ending::After(rng.below(60_000)),
        _ => Ending::After(rng.below(500_000)),
    }
}

fn life(env: &mut Env, ending: Ending, lives: u64, killed: &mut Killed, rng: &mut Rng) -> Outcome {
    let trace = match ending {
        Ending::At(point, n) => Some(point.trace(&env.site.data, env.trace_file(), n)),
        Ending::After(_) | Ending::Starting(_) => None,
    };
    let begun = clock::now();
    env.site.stderr = env.site.stderr.of_next_life();
    let mut server = env.site.start(trace.as_ref())?;
    let listens = match ending {
        Ending::Starting(after) => {
            std::thread::sleep(Duration::from_micros(after));
            false
        }
        Ending::After(_) | Ending::At(..) => server.ready(),
    };
    if listens {
        if trace.is_none() {
            killed.starts.push(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        }
        after_restart(env, lives.is_multiple_of(ALL_AFTER))?;
        if lives.is_multiple_of(4) {
            probe::proof(&env.workload, env.runtime())?;
        }
        killed.checked += 1;
        worked(env, ending, &mut server, rng)?;
    }
    // what it did by itself, before it is killed by hand
    let by_itself = server.ended();
    let hit = by_itself.is_some_and(|status| status.signal() == Some(9));
    match (by_itself, ending) {
        (Some(status), Ending::At(point, n)) if !hit && point.phase != Phase::Drain => {
            return Err(format!("it ended with {status}, to be killed at {} {n}", point.name));
        }
        (Some(status), Ending::After(_) | Ending::Starting(_)) => {
            return Err(format!("it ended by itself with {status}"));
        }
        (Some(_) | None, _) => {}
    }
    env.workload.up.send_replace(false);
    let stopped = by_itself.is_some() && !hit;
    server.kill()?;
    if stopped {
        return Ok(());
    }
    killed.kills += 1;
    killed.starting += u64::from(!listens);
    if let Ending::At(point, _) = ending
        && hit
    {
        *killed.points.entry(point.name).or_default() += 1;
    }
    let open = Folder::open(&env.site.data).and_then(|folder| folder.open_transfers());
    killed.left = open.is_ok_and(|open| open > 0);
    killed.open += u64::from(killed.left);
    Ok(())
}

/// Clients work until the life is over.
fn worked(env: &Env, ending: Ending, server: &mut Server, rng: &mut Rng) -> Outcome {
    let calls = env.workload.journal.calls();
    env.workload.up.send_replace(true);
    if matches!(ending, Ending::After(_)) {
        // on a busy machine clients take their time to see that it is up
        let sent = || (env.workload.journal.calls() > calls).then_some(());
        clock::until(Duration::from_millis(500), sent);
    }
    let limit = match ending {
        Ending::After(after) => Duration::from_micros(after),
        Ending::Starting(_) => return Ok(()),
        Ending::At(point, _) if point.phase == Phase::Load => Duration::from_secs(2),
        Ending::At(..) => Duration::from_millis(30),
    };
    let begun = clock::now();
    let folder = Folder::open(&env.site.data)?;
    while begun.elapsed() < limit && server.ended().is_none() {
        if rng.percent(10) {
            probe::funding(&env.workload, &folder)?;
        }
        let left = limit.saturating_sub(begun.elapsed());
        let step = Duration::from_millis(2);
        std::thread::sleep(if left < step { left } else { step });
    }
    if let Ending::At(point, _) = ending
        && point.phase == Phase::Drain
    {
        env.workload.up.send_replace(false);
        server.terminate()?;
        if server.ends_within(TIMEOUT).is_none() {
            return Err("it does not stop".to_owned());
        }
    }
    env.workload.broken().map_or(Ok(()), Err)
}

/// What must hold right after a start, of what was answered since the last one or of everything.
pub(crate) fn after_restart(env: &Env, everything: bool) -> Outcome {
    check_kept(&env.workload, &Folder::open(&env.site.data)?, everything)
}

/// What was answered since this was asked last, or everything, is in the store, whose books add up.
pub(crate) fn check_kept(workload: &Workload, store: &dyn Store, everything: bool) -> Outcome {
    let known = if everything { workload.book.all() } else { workload.book.fresh() };
    let mut faults = missing(store, &known)?;
    faults.extend(workload.book.faults());
    if !faults.is_empty() {
        return Err(faults.join("\n"));
    }
    probe::funding(workload, store)
}

/// Everything reaches its end, and all of it is proven.
///
/// # Errors
/// What has not ended, or does not hold.
pub fn settle(env: &mut Env) -> Outcome {
    env.renew()?;
    let mut server = env.site.start(None)?;
    if !server.ready() {
        return Err("it does not start any more".to_owned());
    }
    env.workload.over.store(true, std::sync::atomic::Ordering::Relaxed);
    env.workload.up.send_replace(true);
    env.clients_end()?;
    proven(env, &Folder::open(&env.site.data)?)?;
    server.terminate()?;
    let stopped = server.ends_within(TIMEOUT).ok_or("it does not stop")?;
    if !stopped.success() {
        return Err(format!("it stopped with {stopped}"));
    }
    env.site.run(&["check"])?;
    env.site.run(&["audit", "verify"])?;
    env.faults_of_history()
}

/// While the service runs and no client asks for more: everything has ended, is there as it was answered,
/// and adds up.
pub(crate) fn proven(env: &Env, store: &dyn Store) -> Outcome {
    let ended =
        clock::until(TIMEOUT, || store.open_transfers().is_ok_and(|n| n == 0).then_some(()));
    if ended.is_none() {
        return Err(format!("{} transfers reach no end", store.open_transfers()?));
    }
    probe::funding(&env.workload, store)?;
    probe::proof(&env.workload, env.runtime())?;
    whole(env, store)?;
    balances(env)
}

/// Every row is known by its key, once, and every key that was answered has its row.
fn whole(env: &Env, store: &dyn Store) -> Outcome {
    let rows = store.all()?;
    let mut ids = BTreeMap::new();
    for row in &rows {
        if let Some(other) = ids.insert(row.id.clone(), row.key.clone()) {
            return Err(format!("{} is the id of {other} and {}", row.id, row.key));
        }
    }
    // what was opened and never answered is known by now: its client asked until it was told
    for row in rows {
        let known = env.workload.book.of(crate::history::Kind::Transfer, &row.key);
        let Some(known) = known else { return Err(format!("no client asked for {row:?}")) };
        if known.id != row.id || known.wish.body() != row.body {
            return Err(format!("known as {known:?}, found {row:?}"));
        }
        env.workload.book.learn(&row.key, crate::book::Known { state: row.state, ..known });
    }
    let mut faults = missing(store, &env.workload.book.all())?;
    faults.extend(env.workload.book.faults());
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// What a user has, once each ledger answers.
fn accounts(env: &Env, user: u64) -> Outcome<Vec<client::types::AccountRow>> {
    let mut last = format!("accounts of {user}: no answer");
    let all = clock::until(TIMEOUT, || {
        match env.runtime().block_on(env.workload.client().accounts(Some(user), 0)) {
            Ok(found) if found.silent.is_empty() => Some(found.accounts),
            Ok(found) => {
                last = format!("accounts of {user}: silent are {:?}", found.silent);
                None
            }
            Err(fault) => {
                last = format!("accounts of {user}: {fault}");
                None
            }
        }
    });
    all.ok_or(last)
}

/// What every user has is what the answers come to.
fn balances(env: &Env) -> Outcome {
    for (user, (funding, spot)) in workload::balances(&env.workload.book)? {
        let rows = accounts(env, user)?;
        let has = |ledger: &str| -> Outcome<i64> {
            let mine = |row: &&client::types::AccountRow| {
                row.account == ledger && row.asset == crate::book::ASSET
            };
            rows.iter().find(mine).map_or(Ok(0), |row| {
                Ok(crate::create::units(&row.available)? + crate::create::units(&row.frozen)?)
            })
        };
        let found = (has("FUNDING")?, has("SPOT")?);
        if found != (funding, spot) {
            return Err(format!(
                "user {user} has {found:?}, and should have {:?}",
                (funding, spot)
            ));
        }
    }
    Ok(())
}
