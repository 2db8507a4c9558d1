//! What is printed: a row for each run, the ratios that were aimed at, and whether the run counts.

#![expect(clippy::float_arithmetic, reason = "figures for people; no money here")]

use crate::load::Spread;
use crate::probe::Run;

/// Who was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    /// The saga as a user would write it.
    Naive,
    /// The bare statements of a batch.
    Bare,
}

impl What {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Bare => "bare",
        }
    }
}

/// One row.
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
            "{:<8} {:<7} {:>5} in flight {:>8.0}/s   p50 {:>7.2} ms   p99 {:>8.2} ms   PG {:>6.1} µs   own {:>6.1} µs   WAL {:>5.0} B   {:>6.4} fsync   others {:>4.2} cores",
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

/// Prints the ratios that were aimed at.
pub(crate) fn verdict(lines: &[Line]) {
    let find = |what, hot, level| {
        let same = |line: &&Line| {
            line.what == what && (line.spread == Spread::Hot) == hot && line.level == level
        };
        lines.iter().find(same)
    };
    println!();
    let levels: std::collections::BTreeSet<usize> = lines.iter().map(|line| line.level).collect();
    for hot in [false, true] {
        for level in &levels {
            let Some(naive) = find(What::Naive, hot, *level) else { continue };
            let Some(bare) = find(What::Bare, hot, *level) else { continue };
            println!(
                "{:<7} {level:>5} in flight: bare is {:>5.1} x naive",
                bare.spread.name(),
                bare.run.rate() / naive.run.rate()
            );
        }
    }
    if let Some(naive) = find(What::Naive, false, 1_024) {
        let micros = naive.run.cpu_micros();
        let (low, high) = NAIVE_CPU;
        let word = if (low..=high).contains(&micros) { "the run counts" } else { "VOID" };
        println!(
            "naive at 1024: {micros:.0} µs of PostgreSQL a transfer ({low:.0} to {high:.0} before): {word}"
        );
    }
}
