//! The command line of the campaign: replays one run by its seed, or plays runs on all cores for some minutes.

use super::drawn::DrawnFlows;
use super::mutations::MutatedBuild;
use super::search::{names, search};
use super::{Build, Counts, Options, run, shrunk, within};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Minimum number of faults of a campaign for 10 transfers.
const FAULTS_OF_TEN: u64 = 3;
/// Maximum number of transfers of a campaign for one crash.
const FOR_A_CRASH: u64 = 200;
/// Minimum number of transfers of a campaign that is judged by its rates.
const JUDGED: u64 = 2_000;

/// How long a failing run is made smaller.
const SHRINKING: Duration = Duration::from_secs(120);

/// Makes what is tried; once for each run.
pub type Make = Arc<dyn Fn() -> Arc<dyn Build> + Send + Sync>;

pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// What was asked for on the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// The flows whose cases are drawn; none: internal transfers, whose knobs are drawn.
    drawn: Option<DrawnFlows>,
    pub(super) seed: Option<u64>,
    with: Vec<String>,
    pub(super) trace: bool,
    pub(super) minutes: u64,
    pub(super) seconds: u64,
    pub(super) runs: u64,
    from: u64,
    pub(super) threads: Option<usize>,
    pub(super) wrong: Option<String>,
    wrongs: bool,
    kept: Vec<Options>,
}

impl Program {
    /// Reads a command line.
    ///
    /// # Errors
    /// A word that means nothing here.
    pub fn read(args: &[String]) -> Result<Self, String> {
        let mut program = Self::default();
        let mut words = args.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--trace" => program.trace = true,
                "--wrongs" => program.wrongs = true,
                _ => match DrawnFlows::of_flag(word) {
                    Some(flows) => program.drawn = Some(flows),
                    None => program.valued(word, words.next())?,
                },
            }
        }
        Ok(program)
    }

    /// Whether a campaign of drawn cases can do what was asked for.
    ///
    /// # Errors
    /// Which word means nothing there.
    pub(super) fn fits_drawn(&self, flag: &str) -> Result<(), String> {
        let turned = self.kept.iter().any(|kept| !kept.turned().is_empty());
        if turned || !self.with.is_empty() {
            return Err(format!("{flag} has no knobs"));
        }
        if self.wrongs {
            return Err(format!("{flag} takes one wrong build: --wrong NAME"));
        }
        Ok(())
    }

    /// The seed of the n-th run: the kept ones, then those from the first on; `None` where that is enough.
    pub(super) fn nth_seed(&self, n: u64, end: Option<Instant>) -> Option<u64> {
        if let Some(kept) = usize::try_from(n).ok().and_then(|n| self.kept.get(n)) {
            return Some(kept.seed);
        }
        let n = n - u64::try_from(self.kept.len()).unwrap_or(0);
        let over = end.is_some_and(|end| now() >= end);
        let enough = n >= self.runs && self.runs > 0;
        let idle = end.is_none() && self.runs == 0;
        (!over && !enough && !idle).then(|| self.from + n)
    }

    /// Reads a word that has a value.
    fn valued(&mut self, word: &str, value: Option<&String>) -> Result<(), String> {
        let value = value.ok_or_else(|| format!("{word} wants a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{word} wants a number"));
        match word {
            "--seed" => self.seed = Some(number()?),
            "--with" => self.with.extend(value.split(',').map(str::to_owned)),
            "--minutes" => self.minutes = number()?,
            "--seconds" => self.seconds = number()?,
            "--runs" => self.runs = number()?,
            "--from" => self.from = number()?,
            "--threads" => self.threads = usize::try_from(number()?).ok(),
            "--wrong" => self.wrong = Some(value.clone()),
            "--kept" => {
                let text = std::fs::read_to_string(value).map_err(|e| format!("{value}: {e}"))?;
                self.kept = kept(&text)?;
            }
            _ => return Err(format!("what is {word}?")),
        }
        Ok(())
    }
}

/// The runs of a file: a seed at the beginning of each line, the knobs that are turned in it, then
/// why it is kept.
fn kept(text: &str) -> Result<Vec<Options>, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let one = |line: &str| {
        let (seed, rest) = line.split_once(' ').unwrap_or((line, ""));
        let knobs: Vec<&str> = rest.split(' ').take_while(|word| word.contains('=')).collect();
        let why = rest.split_whitespace().nth(knobs.len());
        let seed = seed.parse().ok().filter(|_| why.is_some());
        let seed = seed.ok_or_else(|| format!("a seed and why it is kept, not: {line}"))?;
        knobs.into_iter().try_fold(Options::drawn(seed), Options::set)
    };
    lines.map(one).collect()
}

/// Does what was asked for; false where something is wrong.
pub fn main(program: &Program, plain: &Make, say: &Say) -> bool {
    if let Some(flows) = program.drawn {
        return flows.main(program, say);
    }
    let make = match &program.wrong {
        Some(name) => mutated(plain.clone(), name.as_str().into()),
        None => plain.clone(),
    };
    let idle = program.minutes == 0 && program.seconds == 0 && program.runs == 0;
    match (program.seed, &program.wrong) {
        (Some(seed), _) => one(program, seed, &make, say),
        (None, Some(name)) if idle => search(&[name], plain, say),
        (None, _) if program.wrongs => search(&names(), plain, say),
        (None, _) => campaign(program, &make, say),
    }
}

fn mutated(make: Make, name: Arc<str>) -> Make {
    Arc::new(move || Arc::new(MutatedBuild::new(make(), &name)))
}

/// One run, read along where that was asked for.
fn one(program: &Program, seed: u64, make: &Make, say: &Say) -> bool {
    let turned = program.with.iter().try_fold(Options::drawn(seed), |o, text| o.set(text));
    let options = match turned {
        Ok(options) => options,
        Err(why) => {
            say(&why);
            return false;
        }
    };
    say(&options.to_string());
    let reader = program.trace.then(|| say.clone());
    let verdict = run(&options, make(), reader);
    say(&format!("hash {:016x}", verdict.hash));
    say(&told(&verdict.counts));
    match &verdict.broken {
        Some(what) => {
            say(&format!("BROKEN: {what}"));
            false
        }
        None => true,
    }
}

/// What the threads of a campaign share.
struct Shared {
    next: AtomicU64,
    stop: AtomicBool,
    counts: Mutex<Counts>,
    failed: Mutex<Option<Options>>,
    /// When it is over, where it ends by the clock.
    end: Option<Instant>,
    /// The runs that were not at their end then.
    cut: Mutex<Vec<u64>>,
}

/// Runs on all cores until the time is over or something is wrong. A run that is slower than that
/// is cut off and named: slowness is no finding.
fn campaign(program: &Program, make: &Make, say: &Say) -> bool {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = program.threads.unwrap_or(cores);
    let seconds = program.minutes * 60 + program.seconds;
    let begun = now();
    let shared = Shared {
        next: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        counts: Mutex::default(),
        failed: Mutex::default(),
        end: (seconds > 0).then(|| begun + Duration::from_secs(seconds)),
        cut: Mutex::default(),
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(options) = shared.next_run(program) {
                    shared.play(&options, make);
                }
            });
        }
    });
    let took = now().duration_since(begun);
    let counts = shared.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let failed = shared.failed.lock().unwrap_or_else(PoisonError::into_inner).clone();
    say(&told(&counts));
    say(&throughput(&counts, took, threads));
    let cut = shared.cut.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if !cut.is_empty() {
        say(&format!("  not at their end when the time was over: {cut:?}"));
    }
    if let Some(options) = failed {
        let end = now() + SHRINKING;
        return report(&options, make, say, &|| now() < end);
    }
    let complaints = sober(&counts);
    complaints.iter().for_each(|complaint| say(complaint));
    complaints.is_empty()
}

impl Shared {
    fn late(&self) -> bool {
        self.end.is_some_and(|end| now() >= end)
    }

    fn next_run(&self, program: &Program) -> Option<Options> {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        let seed = program.nth_seed(n, self.end).filter(|_| !self.stop.load(Ordering::Relaxed))?;
        let kept = usize::try_from(n).ok().and_then(|n| program.kept.get(n));
        Some(kept.cloned().unwrap_or_else(|| Options::drawn(seed)))
    }

    fn play(&self, options: &Options, make: &Make) {
        let verdict = within(options, make(), None, &|| !self.late());
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).add(&verdict.counts);
        if verdict.cut {
            self.cut.lock().unwrap_or_else(PoisonError::into_inner).push(options.seed);
        }
        if verdict.broken.is_some() {
            self.stop.store(true, Ordering::Relaxed);
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            let first = failed.as_ref().is_none_or(|other| other.seed > options.seed);
            if first {
                *failed = Some(options.clone());
            }
        }
    }
}

/// The failing run, and a small one that fails too.
fn report(options: &Options, make: &Make, say: &Say, patient: &dyn Fn() -> bool) -> bool {
    let verdict = run(options, make(), None);
    let broken = verdict.broken.unwrap_or_else(|| "not again".to_owned());
    say(&format!("BROKEN: {broken}\n  replay: {}", options.replay()));
    let (small, verdict) = shrunk(options, &|| make(), patient);
    let broken = verdict.broken.unwrap_or_default();
    say(&format!("  shrunk: {small}\n  which is: {broken}\n  replay: {} --trace", small.replay()));
    false
}

/// A campaign in which too little went wrong proves nothing.
fn sober(counts: &Counts) -> Vec<String> {
    let mut complaints = Vec::new();
    if counts.transfers < JUDGED {
        return complaints;
    }
    let (faults, crashes) = (counts.all_faults(), counts.all_crashes());
    if faults * 10 < counts.transfers * FAULTS_OF_TEN {
        complaints.push("too few faults: under 0.3 for each transfer".to_owned());
    }
    if crashes * FOR_A_CRASH < counts.transfers {
        complaints.push("too few crashes: under one for 200 transfers".to_owned());
    }
    complaints
}

/// `a / b` with two decimals.
fn ratio(a: u64, b: u64) -> String {
    let hundredths = (u128::from(a) * 100).checked_div(u128::from(b)).unwrap_or(0);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

fn told(counts: &Counts) -> String {
    let Counts { runs, transfers, calls, steps, cells, .. } = counts;
    let (faults, crashes) = (counts.all_faults(), counts.all_crashes());
    let mut text = format!(
        "{runs} runs, {transfers} transfers, {calls} port calls, {steps} steps, {faults} faults ({} a \
         transfer), {crashes} crashes (one for {} transfers), {} cells",
        ratio(faults, *transfers),
        ratio(*transfers, crashes),
        cells.len()
    );
    let lists: [(&str, &BTreeMap<&'static str, u64>); 3] =
        [("faults", &counts.faults), ("actions", &counts.actions), ("ends", &counts.ends)];
    for (name, list) in lists {
        let words: Vec<_> = list.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
        // writing to a text never fails
        let _written = write!(text, "\n  {name}: {}", words.join(", "));
    }
    let words: Vec<_> = counts.crashes.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
    let _written = write!(text, "\n  deaths: {}", words.join(", "));
    text
}

fn throughput(counts: &Counts, took: Duration, threads: usize) -> String {
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let ms = if ms == 0 { 1 } else { ms };
    let cores = u64::try_from(threads).unwrap_or(1);
    let a_second = counts.transfers * 1_000 / ms;
    let faster = counts.virtual_ms / ms / cores;
    format!(
        "{}.{:03} s on {threads} threads: {a_second} transfers a second, {} a core; \
         time ran {faster} times as fast on each",
        ms / 1_000,
        ms % 1_000,
        a_second / cores
    )
}

#[expect(clippy::disallowed_methods, reason = "a command ends by the real clock")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::{Counts, DrawnFlows, Options, Program, kept, sober};
    use crate::campaign::Knob;

    fn read(line: &str) -> Result<Program, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Program::read(&words)
    }

    #[test]
    fn a_command_line_is_read() {
        let program = read("--seed 7 --with a=1,b=2 --trace").unwrap();
        assert_eq!((program.seed, program.trace), (Some(7), true));
        assert_eq!(program.with, ["a=1", "b=2"]);
        assert_eq!(read("--minutes 3").unwrap().minutes, 3);
        assert!(read("--wrongs").unwrap().wrongs);
        for (flag, flows) in [("--account", DrawnFlows::Account), ("--chains", DrawnFlows::Chains)]
        {
            let read = |rest: &str| read(&format!("{flag} {rest}")).unwrap();
            let one = read("--seed 7");
            assert_eq!((one.drawn, one.fits_drawn(flag)), (Some(flows), Ok(())));
            assert!(read("--seed 7 --with a=1").fits_drawn(flag).is_err());
            assert!(read("--wrongs").fits_drawn(flag).is_err());
        }
        for wrong in ["--seed", "--seed x", "--what 1", "what"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_kept_seed_says_why() {
        let runs = vec![Options::drawn(7), Options::drawn(9).with(Knob::Workers, 1)];
        assert_eq!(kept("# seeds\n\n7 a late deposit\n9 workers=1 so\n"), Ok(runs));
        for wrong in ["7\n", "x why\n", "9 workers=1\n", "9 wrokers=1 so\n"] {
            assert!(kept(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_campaign_in_which_little_goes_wrong_is_none() {
        let mut counts = Counts { transfers: 10_000, ..Counts::default() };
        counts.faults.insert("x", 3_000);
        counts.crashes.insert("y".to_owned(), 50);
        assert_eq!(sober(&counts), [""; 0]);
        counts.faults.insert("x", 2_999);
        assert_eq!(sober(&counts).len(), 1);
        counts.crashes.insert("y".to_owned(), 49);
        assert_eq!(sober(&counts).len(), 2);
    }
}
