//! The campaign of account transfers: a drawn case for each seed, on all cores, until something is wrong.
//!
//! A run has few transfers and few disturbances, so that one that fails is read as it is: nothing is shrunk.

use super::program::{Program, Say};
use crate::generic::account::{AccountWraps, DrawnPlay, DrawnRun, Played, WorkerEnd};
use crate::wrong;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A wrong build that is not found in so many seeds is a hole in the campaign.
const SEEDS: u64 = 1_000;
/// A campaign that is judged by what went wrong has at least so many runs.
const JUDGED: u64 = 200;

/// Makes what stands around the ports of a run; once for each run, since a wrong build may remember.
type Wraps = dyn Fn() -> AccountWraps + Send + Sync;

/// What the runs of a campaign came to.
#[derive(Debug, Clone, Default)]
struct Totals {
    runs: u64,
    transfers: u64,
    /// Runs with two workers, with a parked key, and with everything published again.
    workers: u64,
    parked: u64,
    repeated: u64,
    deaths: u64,
    faults: BTreeMap<String, u64>,
}

impl Totals {
    fn add(&mut self, run: &DrawnRun, played: &Played) {
        self.runs += 1;
        self.transfers += u64::try_from(run.case.transfers.len()).unwrap_or(0);
        self.parked += u64::from(run.case.parks);
        self.repeated += u64::from(run.case.repeats);
        if let DrawnPlay::Workers(workers) = &run.play {
            self.workers += 1;
            self.deaths += u64::from(workers.end == WorkerEnd::Killed);
        }
        for (kind, n) in played.faults() {
            self.deaths += if kind.contains("Crash") { n } else { 0 };
            *self.faults.entry(kind).or_insert(0) += n;
        }
    }

    /// A campaign in which too little went wrong proves nothing: what is never drawn, by name.
    fn missing(&self) -> Vec<String> {
        if self.runs < JUDGED {
            return Vec::new();
        }
        let kinds = DrawnRun::kinds().into_iter();
        let never = kinds.filter(|kind| !self.faults.contains_key(kind));
        let mut missing: Vec<String> = never.map(|kind| format!("never drawn: {kind}")).collect();
        let sorts = [("two workers", self.workers), ("a parked key", self.parked)];
        let none = sorts.into_iter().filter(|(_, n)| *n == 0);
        missing.extend(none.map(|(sort, _)| format!("never drawn: {sort}")));
        if self.deaths * 10 < self.runs {
            missing.push("too few deaths: under one for ten runs".to_owned());
        }
        missing
    }

    fn line(&self, took: Duration) -> String {
        let Self { runs, transfers, workers, parked, repeated, deaths, .. } = self;
        let kinds: Vec<_> = self.faults.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
        format!(
            "{runs} runs in {} s, {transfers} transfers, {deaths} deaths; {workers} with two workers, {parked} \
             with a parked key, {repeated} with all published again\n  planned: {}",
            took.as_secs(),
            kinds.join(", ")
        )
    }
}

/// Does what was asked for; false where something is wrong.
pub(super) fn main(program: &Program, say: &Say) -> bool {
    if let Err(why) = program.fits_account() {
        say(&why);
        return false;
    }
    let name = program.wrong.clone();
    if let Some(name) = name.as_ref().filter(|name| wrong::messages(name).is_none()) {
        say(&format!("there is no wrong build {name} of account transfers"));
        return false;
    }
    let wraps = move || name.as_deref().and_then(wrong::messages).unwrap_or_default();
    let idle = program.minutes == 0 && program.seconds == 0 && program.runs == 0;
    match (program.seed, &program.wrong) {
        (Some(seed), _) => one(program, seed, &wraps, say),
        (None, Some(name)) if idle => search(name, &wraps, say),
        (None, _) => campaign(program, &wraps, say),
    }
}

/// Plays the run of a seed, or says what was wrong.
fn played(run: &DrawnRun, wraps: AccountWraps) -> Result<Played, String> {
    catch_unwind(AssertUnwindSafe(|| run.play(&wraps))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_else(|| "a panic without a word".to_owned())
    })
}

/// The line that replays a run.
fn replay(program: &Program, seed: u64) -> String {
    let wrong = program.wrong.as_ref().map_or_else(String::new, |name| format!(" --wrong {name}"));
    format!("cargo xtask sim --account{wrong} --seed {seed}")
}

fn one(program: &Program, seed: u64, wraps: &Wraps, say: &Say) -> bool {
    let run = DrawnRun::of(seed);
    say(&run.to_string());
    match played(&run, wraps()) {
        Ok(played) => {
            if program.trace {
                played.log.iter().for_each(|event| say(&format!("{event:?}")));
            }
            say(&format!("planned: {:?}; {} events, all is well", played.spots, played.log.len()));
            true
        }
        Err(why) => {
            say(&format!("BROKEN: {why}"));
            false
        }
    }
}

/// Searches the seeds from 0 for the first that finds a wrong build.
fn search(name: &str, wraps: &Wraps, say: &Say) -> bool {
    let found = (0..SEEDS).find_map(|seed| {
        let broken = played(&DrawnRun::of(seed), wraps()).err()?;
        Some((seed, broken))
    });
    match &found {
        Some((seed, why)) => say(&format!("{name}: found by seed {seed}: {why}")),
        None => say(&format!("{name}: not found in {SEEDS} seeds")),
    }
    found.is_some()
}

/// Runs on all cores until the time is over or something is wrong.
fn campaign(program: &Program, wraps: &Wraps, say: &Say) -> bool {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let seconds = program.minutes * 60 + program.seconds;
    let begun = now();
    let end = (seconds > 0).then(|| begun + Duration::from_secs(seconds));
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let totals: Mutex<Totals> = Mutex::default();
    let broken: Mutex<BTreeMap<u64, Arc<str>>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..program.threads.unwrap_or(cores) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed)
                    && let Some(seed) = program.nth_seed(next.fetch_add(1, Ordering::Relaxed), end)
                {
                    let run = DrawnRun::of(seed);
                    match played(&run, wraps()) {
                        Ok(played) => {
                            let mut totals = totals.lock().unwrap_or_else(PoisonError::into_inner);
                            totals.add(&run, &played);
                        }
                        Err(why) => {
                            stop.store(true, Ordering::Relaxed);
                            let mut broken = broken.lock().unwrap_or_else(PoisonError::into_inner);
                            broken.insert(seed, why.into());
                        }
                    }
                }
            });
        }
    });
    let totals = totals.lock().unwrap_or_else(PoisonError::into_inner).clone();
    say(&totals.line(now().duration_since(begun)));
    let broken = broken.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some((seed, why)) = broken.first_key_value() {
        say(&format!(
            "BROKEN: {why}\n  which is: {}\n  replay: {}",
            DrawnRun::of(*seed),
            replay(program, *seed)
        ));
        return false;
    }
    let missing = totals.missing();
    missing.iter().for_each(|what| say(what));
    missing.is_empty()
}

#[expect(clippy::disallowed_methods, reason = "a command ends by the real clock")]
fn now() -> Instant {
    Instant::now()
}
