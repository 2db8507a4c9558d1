//! The power campaign: rounds of work under a trace, each followed by losses of power at chosen lines of it.

use super::acks::{Ack, acks};
use super::disk::Disk;
use super::trace::{Call, calls};
use crate::book::{ASSET, Wish, ended};
use crate::env::{Env, client, fresh_folder};
use crate::folder::Folder;
use crate::history::Kind;
use crate::kill::after_restart;
use crate::rng::Rng;
use crate::server::{Site, TIMEOUT};
use crate::store::Store as _;
use crate::strace::{Inject, Trace};
use crate::{Outcome, clock, create};
use std::path::Path;
use std::time::Duration;

/// Number of images that are made of each trace.
const IMAGES: u64 = 4;
/// One round in this number begins with an empty folder.
const ANEW: u64 = 5;
/// What changes a disk, and what tells a client.
const SEEN: &str = "openat,write,pwrite64,ftruncate,rename,unlink,fsync,fdatasync,writev,sendto";
/// The wrong build: a sync is asked for and never done.
const NO_SYNC: Inject = Inject { calls: "fsync,fdatasync", what: "retval=0", when: None };

/// What came of it.
#[derive(Debug, Default, Clone)]
pub struct Lost {
    /// How often the power was lost.
    pub losses: u64,
    /// Of them while the very first start was on its way or just behind.
    pub first: u64,
    /// Of them while it stopped.
    pub stopping: u64,
    /// Promises that were looked for afterwards.
    pub promises: u64,
    /// Writes that were not synced, in all images.
    pub unsynced: u64,
    /// How long it took.
    pub took: Duration,
}

/// A trace with the folder that it began on.
struct Round {
    base: Disk,
    calls: Vec<Call>,
    acks: Vec<(usize, Ack)>,
    lines: u64,
}

/// Takes the power this number of times. `no_sync` makes the server a wrong one, whose syncs do nothing.
///
/// # Errors
/// What was promised and is gone, or does not hold.
pub fn run(env: &mut Env, losses: u64, no_sync: bool, rng: &mut Rng) -> Outcome<Lost> {
    let begun = clock::now();
    let (mut lost, mut rounds) = (Lost::default(), 0_u64);
    while lost.losses < losses {
        rounds += 1;
        if rounds % ANEW == 1 {
            anew(env, no_sync, &mut lost, rng)?;
        } else {
            round(env, no_sync, &mut lost, rng)?;
        }
        if rounds.is_multiple_of(10) {
            env.renew()?;
            let (losses, promises) = (lost.losses, lost.promises);
            env.say(&format!("{losses} losses of power, {promises} promises kept"));
        }
    }
    lost.took = begun.elapsed();
    if lost.promises == 0 || lost.unsynced == 0 {
        return Err(format!("nothing was put to the test: {lost:?}"));
    }
    Ok(lost)
}

fn watched(env: &Env, no_sync: bool) -> Trace {
    let inject = no_sync.then_some(NO_SYNC);
    Trace { bytes: true, inject, ..Trace::to(env.trace_file(), SEEN) }
}

fn seen(env: &Env, base: Disk) -> Outcome<Round> {
    let text = std::fs::read(env.trace_file()).map_err(|fault| format!("the trace: {fault}"))?;
    let text = String::from_utf8_lossy(&text);
    let calls = calls(&text);
    let acks = acks(&calls);
    let lines = u64::try_from(text.lines().count()).unwrap_or(u64::MAX);
    Ok(Round { base, calls, acks, lines })
}

/// Clients work; the next round goes on with what the last loss left.
fn round(env: &mut Env, no_sync: bool, lost: &mut Lost, rng: &mut Rng) -> Outcome {
    let base = Disk::of(&env.site.data)?;
    let mut server = env.site.start(Some(&watched(env, no_sync)))?;
    if !server.ready() {
        return Err(format!("it does not start after a loss of power: {}", env.site.last_words()));
    }
    after_restart(env, true)?;
    env.workload.up.send_replace(true);
    std::thread::sleep(Duration::from_millis(40 + rng.below(250)));
    let stops = rng.percent(30);
    if stops {
        env.workload.up.send_replace(false);
        server.terminate()?;
        server.ends_within(Duration::from_millis(rng.below(400)));
    }
    if let Some(status) = server.ended().filter(|status| !status.success()) {
        return Err(format!("it ended by itself with {status}: {}", env.site.last_words()));
    }
    env.workload.up.send_replace(false);
    server.kill()?;
    env.workload.broken().map_or(Ok(()), Err)?;
    let round = seen(env, base)?;
    let losses = lost.losses;
    for _ in 1..IMAGES {
        // mostly near the end, where clients work
        let early = rng.percent(20);
        let line = if early { rng.below(round.lines) } else { round.late(rng) };
        image(env, &round, line, lost, Some(rng))?;
    }
    let next = fresh_folder(env.below(), "next")?;
    lost.unsynced += round.leave(round.lines, &next, Some(rng))?;
    lost.losses += 1;
    lost.stopping += if stops { lost.losses - losses } else { 0 };
    let fault = |fault: std::io::Error| format!("{}: {fault}", next.display());
    std::fs::remove_dir_all(&env.site.data).map_err(fault)?;
    std::fs::rename(&next, &env.site.data).map_err(fault)
}

/// A first start on an empty folder, and the first transfers.
fn anew(env: &Env, no_sync: bool, lost: &mut Lost, rng: &mut Rng) -> Outcome {
    let mut site = env.site.clone();
    site.data = fresh_folder(env.below(), "anew")?;
    let base = Disk::of(&site.data)?;
    let server = site.start(Some(&watched(env, no_sync)))?;
    if !server.ready() {
        return Err(format!("it does not start on an empty folder: {}", site.last_words()));
    }
    let wish = |kind, units| Wish { kind, user: 4001, in_to_spot: true, units, asset: ASSET };
    for (key, kind, units) in
        [("in", Kind::Deposit, 9), ("one", Kind::Transfer, 5), ("two", Kind::Transfer, 3)]
    {
        let (client, wish) = (env.workload.client(), wish(kind, units));
        env.runtime().block_on(create::put(&client, key, &wish))?;
    }
    // until there is a seal
    std::thread::sleep(Duration::from_millis(300));
    server.kill()?;
    let round = seen(env, base)?;
    // the worst of all ends: nothing but what was synced
    image(env, &round, round.lines, lost, None)?;
    for _ in 1..IMAGES {
        let early = rng.percent(40);
        let line = if early { rng.below(round.lines) } else { round.late(rng) };
        image(env, &round, line, lost, Some(rng))?;
    }
    lost.first += IMAGES;
    Ok(())
}

impl Round {
    /// A line near the end, or one right behind an answer.
    fn late(&self, rng: &mut Rng) -> u64 {
        let answered = rng.one(&self.acks).filter(|_| rng.0.is_multiple_of(2));
        let line = answered.and_then(|(line, _)| u64::try_from(*line).ok());
        line.unwrap_or_else(|| self.lines / 3 + rng.below(self.lines - self.lines / 3))
    }

    /// Writes into an empty folder what a loss of power after a line leaves. Gives how many writes
    /// were not synced then.
    fn leave(&self, line: u64, into: &Path, rng: Option<&mut Rng>) -> Outcome<u64> {
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        let mut disk = self.base.clone();
        for call in self.calls.iter().filter(|call| call.begun <= line) {
            if call.ended.is_some_and(|ended| ended <= line) {
                disk.see(call);
            } else {
                disk.see(&Call { ended: None, result: None, ..call.clone() });
            }
        }
        disk.lose_power(into, rng)?;
        Ok(u64::try_from(disk.unsynced()).unwrap_or(u64::MAX))
    }
}

/// One loss of power, and a start on what it left, beside the stage's own folder.
fn image(env: &Env, round: &Round, line: u64, lost: &mut Lost, rng: Option<&mut Rng>) -> Outcome {
    let mut site = env.site.clone();
    site.data = fresh_folder(env.below(), "image")?;
    lost.unsynced += round.leave(line, &site.data, rng)?;
    lost.losses += 1;
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    let told: Vec<&Ack> =
        round.acks.iter().filter(|(at, _)| *at <= line).map(|(_, ack)| ack).collect();
    let found = stands(env, &site, &told);
    lost.promises += u64::try_from(told.len()).unwrap_or(u64::MAX);
    found.map_err(|fault| format!("power lost at line {line} of the trace: {fault}"))
}

/// The server starts on an image, everything that was told is there, and all of it is sound.
fn stands(env: &Env, site: &Site, told: &[&Ack]) -> Outcome {
    let mut server = site.start(None)?;
    if !server.ready() {
        return Err(format!("it does not start: {}", site.last_words()));
    }
    let folder = Folder::open(&site.data)?;
    for ack in told {
        kept(&folder, ack)?;
    }
    let ended = || folder.open_transfers().is_ok_and(|open| open == 0).then_some(());
    clock::until(TIMEOUT, ended).ok_or("transfers reach no end")?;
    for ack in told {
        kept(&folder, ack)?;
    }
    let asked = client(site)?;
    let proof = env.runtime().block_on(asked.conservation());
    let proof = proof.map_err(|fault| format!("no proof: {fault}"))?;
    if !proof.ok || proof.halted.is_some() {
        return Err(format!("the service's own proof fails: {proof:?}"));
    }
    server.terminate()?;
    let stopped = server.ends_within(TIMEOUT).ok_or("it does not stop")?;
    if !stopped.success() {
        return Err(format!("it stopped with {stopped}"));
    }
    site.run(&["audit", "verify"]).map(drop)
}

fn kept(folder: &Folder, ack: &Ack) -> Outcome {
    let same = match ack {
        Ack::Transfer { key, id, in_to_spot, units, state } => {
            folder.bound(key)?.is_some_and(|row| {
                let asked = (row.in_to_spot, row.units) == (*in_to_spot, *units);
                row.id == *id && asked && (!ended(state) || row.state == *state)
            })
        }
        Ack::Booked { id, user, units } => {
            folder.operation(*id)?.is_some_and(|found| found == (*user, *units))
        }
    };
    if same { Ok(()) } else { Err(format!("told to a client and gone: {ack:?}")) }
}
