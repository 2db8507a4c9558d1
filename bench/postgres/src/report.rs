//! What is printed: a row for each run, the ratios that were aimed at, and whether the run counts.

#![expect(clippy::float_arithmetic, reason = "figures for a report; no money here")]

use crate::http::Host;
use crate::load::Spread;
use crate::probe::Run;

/// What one row measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    /// The saga as a user would write it.
    Naive,
    /// The bare statements of a batch.
    Bare,
    /// Portage in this process.
    Ours,
    /// The same, with Spot served by a process of its own.
    OursSpot,
    /// Two such workers before one Spot.
    OursTwo,
    /// The bare statements behind HTTP, a post for each transfer.
    BareHttp,
    /// Portage behind HTTP, a post for each transfer.
    OursHttp,
    /// The bare statements behind HTTP, in batches.
    BareBatch,
    /// Portage behind HTTP, by the batch route.
    OursBatch,
}

impl What {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Bare => "bare",
            Self::Ours => "ours",
            Self::OursSpot => "ours-spot",
            Self::OursTwo => "ours-two",
            Self::BareHttp => "bare-http",
            Self::OursHttp => "ours-http",
            Self::BareBatch => "bare-batch",
            Self::OursBatch => "ours-batch",
        }
    }

    /// Whose tables it needs; none for the saga, which has its own.
    pub(crate) const fn host(self) -> Option<Host> {
        match self {
            Self::Naive => None,
            Self::Bare | Self::BareHttp | Self::BareBatch => Some(Host::Bare),
            Self::Ours | Self::OursSpot | Self::OursTwo | Self::OursHttp | Self::OursBatch => {
                Some(Host::Ours)
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Line {
    what: What,
    spread: Spread,
    level: usize,
    run: Run,
}

impl Line {
    /// Prints a row and keeps it.
    pub(crate) fn show(what: What, spread: Spread, level: usize, run: Run) -> Self {
        println!(
            "{:<10} {:<7} {:>5} in flight {:>8.0}/s   p50 {:>7.2} ms   p99 {:>8.2} ms   PG {:>6.1} µs   own {:>6.1} µs   WAL {:>5.0} B   {:>6.4} fsync   others {:>4.2} cores",
            what.name(),
            spread.name(),
            level,
            run.rate(),
            run.quantile(0.5),
            run.quantile(0.99),
            run.cpu_micros(),
            run.own_micros(),
            run.wal_each(),
            run.syncs_each(),
            run.others(),
        );
        Self { what, spread, level, run }
    }
}

/// What the naive saga cost the database where it was measured before (`docs/guide/speed.md`), in
/// microseconds: outside of it, another saga or another machine is being measured.
const NAIVE_CPU: (f64, f64) = (650.0, 1_380.0);

/// What was aimed at: whose figure, of whose, at how many in flight, on one hot account, how much.
const AIMS: [(What, What, usize, bool, f64); 6] = [
    (What::Ours, What::Bare, 1_024, false, 0.6),
    (What::Ours, What::Naive, 1_024, false, 20.0),
    (What::Ours, What::Naive, 1_024, true, 20.0),
    (What::OursBatch, What::Naive, 1_024, false, 15.0),
    (What::OursHttp, What::Naive, 1_024, false, 7.0),
    (What::OursHttp, What::BareHttp, 256, false, 0.6),
];
/// The p50 of a transfer alone, of the naive saga's.
const ALONE: f64 = 0.7;

/// Prints every ratio to the naive saga and to the bare statements, then what was aimed at.
pub(crate) fn verdict(lines: &[Line]) {
    let find = |what, level, hot| {
        let same = |line: &&Line| {
            line.what == what && (line.spread == Spread::Hot) == hot && line.level == level
        };
        lines.iter().find(same)
    };
    println!("\n{:<10} {:<7} {:>5}  of naive  of bare", "", "", "");
    for line in lines.iter().filter(|line| line.what != What::Naive) {
        let of = |what| find(what, line.level, line.spread == Spread::Hot);
        let ratio = |other: Option<&Line>| {
            other.map_or_else(
                || "-".to_owned(),
                |o| format!("{:.2}", line.run.rate() / o.run.rate()),
            )
        };
        println!(
            "{:<10} {:<7} {:>5}  {:>8}  {:>7}",
            line.what.name(),
            line.spread.name(),
            line.level,
            ratio(of(What::Naive)),
            ratio(of(What::Bare))
        );
    }
    println!();
    for (what, other, level, hot, aim) in AIMS {
        let (Some(ours), Some(theirs)) = (find(what, level, hot), find(other, level, hot)) else {
            continue;
        };
        let ratio = ours.run.rate() / theirs.run.rate();
        let (what, other, spread) = (what.name(), other.name(), ours.spread.name());
        said(
            &format!("{what} at {level} {spread}"),
            ratio,
            &format!("{aim} x {other}"),
            ratio >= aim,
        );
    }
    if let (Some(ours), Some(theirs)) = (find(What::Ours, 1, false), find(What::Naive, 1, false)) {
        let ratio = ours.run.quantile(0.5) / theirs.run.quantile(0.5);
        said("ours, p50 of one alone", ratio, &format!("at most {ALONE} x naive"), ratio <= ALONE);
    }
    if let Some(naive) = find(What::Naive, 1_024, false) {
        let micros = naive.run.cpu_micros();
        let (low, high) = NAIVE_CPU;
        let word = if (low..=high).contains(&micros) { "the run counts" } else { "VOID" };
        println!(
            "naive at 1024: {micros:.0} µs of PostgreSQL a transfer ({low:.0} to {high:.0} before): {word}"
        );
    }
    let busy = lines.iter().filter(|line| line.run.others() > 0.3).count();
    if busy > 0 {
        println!("{busy} of {} rows shared the machine with others: repeat it alone", lines.len());
    }
}

/// What was aimed at after a load that lasted.
const LASTED: f64 = 15.0;

/// Prints how fast the last minute of it was, beside the naive saga's few seconds.
pub(crate) fn lasted(lines: &[Line], last: &Line, minutes: u64) {
    let naive = |line: &&Line| {
        line.what == What::Naive && line.spread == last.spread && line.level == last.level
    };
    if let Some(naive) = lines.iter().find(naive) {
        let ratio = last.run.rate() / naive.run.rate();
        let what = format!("the last of {minutes} minutes of {}", last.what.name());
        said(&what, ratio, &format!("{LASTED} x naive"), ratio >= LASTED);
    }
}

fn said(what: &str, ratio: f64, aim: &str, met: bool) {
    println!("{what}: {ratio:.2} (aim {aim}): {}", if met { "met" } else { "NOT met" });
}
