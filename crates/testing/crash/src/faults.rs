//! The disk campaign fills the disk, or makes it fail, at every write and sync of one transfer.
//!
//! No room: nothing is acknowledged that is not there, and it goes on once there is room. A failure:
//! the process ends with exit code 74 before it answers anything else; so does a sync of the journal
//! that finds no room, since it is unknown what is in the file then. After a start without faults every
//! transfer reaches its end.

use crate::book::{ASSET, Wish, ended};
use crate::create::CreateResult;
use crate::env::Env;
use crate::folder::Folder;
use crate::history::Kind;
use crate::kill::after_restart;
use crate::points::{Of, SYNC, files};
use crate::rng::Rng;
use crate::server::{Server, TIMEOUT};
use crate::store::Store as _;
use crate::strace::{Attached, Inject, Trace};
use crate::workload::FIRST_USER;
use crate::{Outcome, clock, probe};
use std::collections::BTreeMap;
use std::time::Duration;

/// The code of a process whose disk failed.
const BROKEN_DISK: i32 = 74;
/// More calls than a transfer has.
const BEYOND: u64 = 400;

/// What came of it.
#[derive(Debug, Default, Clone)]
pub struct Faulted {
    /// Faults that were put in.
    pub faults: u64,
    /// By what was hit, and how.
    pub by: BTreeMap<String, u64>,
    /// Answers to the transfer under test: acknowledged, refused, unknown.
    pub told: (u64, u64, u64),
    /// How long it took.
    pub took: Duration,
}

/// Where a fault is put.
#[rustfmt::skip]
const TARGETS: [(&str, &str, Of); 4] = [
    ("the journal's log is written", "pwrite64",  Of::Wal),
    ("the journal's log is synced",  SYNC,        Of::Wal),
    ("Spot's log is written",        "pwrite64",  Of::SpotLog),
    ("Spot's log is synced",         "fdatasync", Of::SpotLog),
];

/// What is wrong with the disk, and what comes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// No room for one call; then the process is killed.
    FullThenKilled,
    /// No room from that call on, until there is.
    FullForAWhile,
    /// One call fails with an error of the device.
    Broken,
}

const FAULTS: [Fault; 3] = [Fault::FullThenKilled, Fault::FullForAWhile, Fault::Broken];

/// One fault at one place.
#[derive(Debug, Clone, Copy)]
struct Case {
    name: &'static str,
    calls: &'static str,
    of: Of,
    fault: Fault,
    in_to_spot: bool,
    n: u64,
}

impl Case {
    /// The process cannot go on.
    fn ends(&self) -> bool {
        self.fault == Fault::Broken || self.of == Of::Wal && self.calls == SYNC
    }
}

/// Puts every fault at every n-th place, up to the first place beyond the last; with a stride above
/// 1 only at some of many.
///
/// # Errors
/// What does not hold.
pub fn run(env: &mut Env, stride: u64, rng: &mut Rng) -> Outcome<Faulted> {
    let begun = clock::now();
    let mut faulted = Faulted::default();
    for (name, calls, of) in TARGETS {
        for fault in FAULTS {
            for in_to_spot in [true, false] {
                // of few places each one, of many some
                let step = if of == Of::Wal && calls != SYNC { stride } else { 1 };
                let mut n = 1 + rng.below(step);
                while n < BEYOND {
                    let case = Case { name, calls, of, fault, in_to_spot, n };
                    if !try_one(env, case, &mut faulted)
                        .map_err(|why| format!("{case:?}: {why}"))?
                    {
                        break;
                    }
                    n += step;
                }
                env.say(&format!("{fault:?} where {name}: beyond the last with {n}"));
            }
        }
    }
    faulted.took = begun.elapsed();
    let kinds = TARGETS.len() * FAULTS.len();
    if faulted.by.len() != kinds {
        return Err(format!("not every fault was met everywhere: {:?}", faulted.by));
    }
    Ok(faulted)
}

/// The first write and sync of each file fail once: the process ends at each, as it must, whatever becomes of its log.
///
/// # Errors
/// What does not hold.
pub fn run_broken(env: &Env) -> Outcome<Faulted> {
    let begun = clock::now();
    let mut faulted = Faulted::default();
    for (name, calls, of) in TARGETS {
        let case = Case { name, calls, of, fault: Fault::Broken, in_to_spot: true, n: 1 };
        if !try_one(env, case, &mut faulted).map_err(|why| format!("{case:?}: {why}"))? {
            return Err(format!("the fault was not met: {case:?}"));
        }
    }
    faulted.took = begun.elapsed();
    Ok(faulted)
}

/// True: the fault was met.
fn try_one(env: &Env, case: Case, faulted: &mut Faulted) -> Outcome<bool> {
    let mut server = env.site.start(None)?;
    if !server.ready() {
        return Err(format!("it does not start: {}", env.site.last_words()));
    }
    after_restart(env, false)?;
    at_rest(env)?;
    let strace = Attached::to(server.pid(), &trace(env, case))?;
    let key = format!("{}-{}", env.workload.name, env.workload.journal.calls());
    let told = put(env, &key, case)?;
    let met = met(env);
    if met && case.ends() {
        let status = server.ends_within(Duration::from_secs(10));
        let status = status.ok_or("it goes on with a broken disk")?;
        if status.code() != Some(BROKEN_DISK) {
            return Err(format!("it ended with {status}, not with exit code {BROKEN_DISK}"));
        }
        silent(env)?;
    } else if met && case.fault == Fault::FullForAWhile {
        // whatever it says now must hold too
        put(env, &format!("{key}-more"), case)?;
        strace.detach()?;
        until_ended(env, &format!("{key}-more"), case)?;
        until_ended(env, &key, case)?;
    }
    server.kill()?;
    if met {
        faulted.faults += 1;
        let what = format!("{:?}, {}", case.fault, case.name);
        *faulted.by.entry(what).or_default() += 1;
        match &told {
            CreateResult::Known { .. } => faulted.told.0 += 1,
            CreateResult::Refused(_) => faulted.told.1 += 1,
            CreateResult::Unreachable | CreateResult::Unknown(_) => faulted.told.2 += 1,
        }
    }
    let again = afterwards(env, &key, case, &told)?;
    again.kill()?;
    Ok(met)
}

/// A start without faults: what was said holds, and the transfer reaches its end.
fn afterwards(env: &Env, key: &str, case: Case, told: &CreateResult) -> Outcome<Server> {
    let server = env.site.start(None)?;
    if !server.ready() {
        return Err(format!("it does not start afterwards: {}", env.site.last_words()));
    }
    after_restart(env, false)?;
    let found = Folder::open(&env.site.data)?.bound(key)?;
    if let (CreateResult::Refused(code), Some(row)) = (told, &found)
        && case.fault != Fault::FullForAWhile
    {
        return Err(format!("refused with {code}, and there it is: {row:?}"));
    }
    until_ended(env, key, case)?;
    at_rest(env)?;
    probe::funding(&env.workload, &Folder::open(&env.site.data)?)?;
    probe::proof(&env.workload, env.runtime())?;
    Ok(server)
}

/// Nothing was sent to a client after the fault, as far as the trace looks at that.
fn silent(env: &Env) -> Outcome {
    let trace = std::fs::read_to_string(env.trace_file()).unwrap_or_default();
    let after = trace.lines().skip_while(|line| !line.contains("(INJECTED)"));
    let sent = after.filter(|line| line.contains("writev(") && line.contains("<socket:")).count();
    if sent == 0 { Ok(()) } else { Err(format!("{sent} answers after the fault:\n{trace}")) }
}

fn trace(env: &Env, case: Case) -> Trace {
    let what = match case.fault {
        Fault::FullThenKilled | Fault::FullForAWhile => "error=ENOSPC",
        Fault::Broken => "error=EIO",
    };
    let more = if case.fault == Fault::FullForAWhile { "+" } else { "" };
    let inject = Inject { calls: case.calls, what, when: Some(format!("{}{more}", case.n)) };
    if case.of == Of::Wal && case.calls == SYNC {
        // SQLite says fsync and nobody else does here, so answers can be looked at beside it
        let inject = Some(Inject { calls: "fsync", ..inject });
        return Trace { inject, ..Trace::to(env.trace_file(), "writev") };
    }
    let files = files(case.of, &env.site.data);
    Trace { inject: Some(inject), files, ..Trace::to(env.trace_file(), case.calls) }
}

fn put(env: &Env, key: &str, case: Case) -> Outcome<CreateResult> {
    let (kind, in_to_spot) = (Kind::Transfer, case.in_to_spot);
    let wish = Wish { kind, user: FIRST_USER, in_to_spot, units: 1_000, asset: ASSET };
    env.runtime().block_on(env.workload.put(1, key, &wish))
}

/// The fault was put in. A call after the answer may still be on its way.
fn met(env: &Env) -> bool {
    let seen = || {
        let trace = std::fs::read_to_string(env.trace_file()).unwrap_or_default();
        trace.contains("(INJECTED)").then_some(())
    };
    clock::until(Duration::from_millis(150), seen).is_some()
}

fn until_ended(env: &Env, key: &str, case: Case) -> Outcome {
    let mut fault = None;
    let end = clock::until(TIMEOUT, || match put(env, key, case) {
        Ok(CreateResult::Known { state, .. }) => ended(&state).then_some(()),
        Ok(CreateResult::Refused(_) | CreateResult::Unreachable | CreateResult::Unknown(_)) => None,
        Err(why) => {
            fault = Some(why);
            Some(())
        }
    });
    match (fault, end) {
        (Some(fault), _) => Err(fault),
        (None, Some(())) => Ok(()),
        (None, None) => Err(format!("{key} reaches no end: {}", env.site.last_words())),
    }
}

fn at_rest(env: &Env) -> Outcome {
    let folder = Folder::open(&env.site.data)?;
    let rest = || folder.open_transfers().is_ok_and(|open| open == 0).then_some(());
    clock::until(TIMEOUT, rest).ok_or_else(|| "transfers reach no end".to_owned())
}
