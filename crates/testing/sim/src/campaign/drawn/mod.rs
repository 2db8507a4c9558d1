//! Runs campaigns of drawn cases: one run for each seed, on all cores, until an oracle finds a fault.
//!
//! A run has few transfers and few disturbances, so that one that fails is read as it is: nothing is shrunk.

mod account;
mod chains;
mod totals;

use super::program::{Program, Say};
use crate::generic::Played;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use totals::Totals;

/// Number of seeds that must find a wrong build; one that they do not find is a hole in the campaign.
const SEEDS: u64 = 1_000;

/// The sort of run that two workers play.
const WORKERS: &str = "with two workers";

/// A run that a seed stands for: the same one with the same code.
trait DrawnRun: fmt::Display {
    fn transfers(&self) -> usize;

    /// Which of its campaign's sorts of run it is.
    fn sorts(&self) -> Vec<&'static str>;

    /// Whether a worker is killed, beside what goes wrong with writes and calls.
    fn kills(&self) -> bool;

    /// Plays it, with the wrong build of that name. Panics where something is wrong, with what the oracles say.
    fn play(&self, wrong: Option<&str>) -> Played;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DrawnFlows {
    Account,
    Chains,
}

/// How the cases of some flows are drawn.
struct DrawnCampaign {
    flag: &'static str,
    what: &'static str,
    draw: fn(u64) -> Box<dyn DrawnRun>,
    knows_wrong: fn(&str) -> bool,
    /// Every kind of thing that goes wrong.
    kinds: fn() -> Vec<String>,
    sorts: &'static [&'static str],
}

impl DrawnFlows {
    pub(super) fn of_flag(flag: &str) -> Option<Self> {
        let all = [Self::Account, Self::Chains];
        all.into_iter().find(|flows| flows.campaign().flag == flag)
    }

    const fn campaign(self) -> DrawnCampaign {
        match self {
            Self::Account => account::CAMPAIGN,
            Self::Chains => chains::CAMPAIGN,
        }
    }

    /// Does what was asked for; false where something is wrong.
    pub(super) fn main(self, program: &Program, say: &Say) -> bool {
        let campaign = self.campaign();
        if let Err(why) = program.fits_drawn(campaign.flag) {
            say(&why);
            return false;
        }
        let wrong = program.wrong.as_deref();
        if let Some(name) = wrong.filter(|name| !(campaign.knows_wrong)(name)) {
            say(&format!("there is no wrong build {name} of {}", campaign.what));
            return false;
        }
        let idle = program.minutes == 0 && program.seconds == 0 && program.runs == 0;
        match (program.seed, wrong) {
            (Some(seed), _) => campaign.one(program, seed, say),
            (None, Some(name)) if idle => campaign.search(name, say),
            (None, _) => campaign.runs(program, say),
        }
    }
}

/// Plays a run, or says what was wrong.
fn played(run: &dyn DrawnRun, wrong: Option<&str>) -> Result<Played, String> {
    catch_unwind(AssertUnwindSafe(|| run.play(wrong))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_else(|| "a panic without a word".to_owned())
    })
}

impl DrawnCampaign {
    /// The line that replays a run.
    fn replay(&self, program: &Program, seed: u64) -> String {
        let wrong =
            program.wrong.as_ref().map_or_else(String::new, |name| format!(" --wrong {name}"));
        format!("cargo xtask sim {}{wrong} --seed {seed}", self.flag)
    }

    fn one(&self, program: &Program, seed: u64, say: &Say) -> bool {
        let run = (self.draw)(seed);
        say(&run.to_string());
        match played(&*run, program.wrong.as_deref()) {
            Ok(played) => {
                if program.trace {
                    played.log.iter().for_each(|event| say(&format!("{event:?}")));
                }
                say(&format!(
                    "planned: {}; {} events, all is well",
                    played.planned,
                    played.log.len()
                ));
                true
            }
            Err(why) => {
                say(&format!("BROKEN: {why}"));
                false
            }
        }
    }

    /// Searches the seeds from 0 for the first that finds a wrong build.
    fn search(&self, name: &str, say: &Say) -> bool {
        let found = (0..SEEDS).find_map(|seed| {
            let broken = played(&*(self.draw)(seed), Some(name)).err()?;
            Some((seed, broken))
        });
        match &found {
            Some((seed, why)) => say(&format!("{name}: found by seed {seed}: {why}")),
            None => say(&format!("{name}: not found in {SEEDS} seeds")),
        }
        found.is_some()
    }

    /// Runs on all cores until the time is over or something is wrong.
    fn runs(&self, program: &Program, say: &Say) -> bool {
        let wrong = program.wrong.as_deref();
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
                        && let Some(seed) =
                            program.nth_seed(next.fetch_add(1, Ordering::Relaxed), end)
                    {
                        let run = (self.draw)(seed);
                        match played(&*run, wrong) {
                            Ok(played) => {
                                let mut totals =
                                    totals.lock().unwrap_or_else(PoisonError::into_inner);
                                totals.add(&*run, &played);
                            }
                            Err(why) => {
                                stop.store(true, Ordering::Relaxed);
                                let mut broken =
                                    broken.lock().unwrap_or_else(PoisonError::into_inner);
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
                (self.draw)(*seed),
                self.replay(program, *seed)
            ));
            return false;
        }
        let missing = totals.missing(self);
        missing.iter().for_each(|what| say(what));
        missing.is_empty()
    }
}

#[expect(clippy::disallowed_methods, reason = "a command ends by the real clock")]
fn now() -> Instant {
    Instant::now()
}
