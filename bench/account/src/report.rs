//! What is printed: a row for each run, the ratios of the run, and what was aimed at.

#![expect(clippy::float_arithmetic, reason = "figures for readers; no money here")]

use crate::probe::Run;
use crate::subject::Who;

/// Of which load a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// A fixed number of transfers per second.
    Paced,
    /// As many as go.
    Full,
}

impl Load {
    const fn name(self) -> &'static str {
        match self {
            Self::Paced => "paced",
            Self::Full => "full",
        }
    }
}

/// A row: whose run it is, and under which load.
#[derive(Debug)]
pub(crate) struct Line {
    who: Who,
    load: Load,
    run: Run,
}

impl Line {
    /// Prints a row and keeps it.
    pub(crate) fn print(who: Who, load: Load, run: Run) -> Self {
        println!(
            "{:<13} {:<5} {:>7.0}/s   p50 {:>8.1} ms   p99 {:>8.1} ms   own {:>6.0} µs   PG {:>6.0} µs   broker {:>6.0} µs, {:>4.2} cores   {} transfers, {} followed",
            who.name(),
            load.name(),
            run.rate(),
            run.quantile(0.5),
            run.quantile(0.99),
            run.each(run.cost.own),
            run.each(run.cost.postgres),
            run.each(run.cost.broker),
            run.cores(run.cost.broker),
            run.transfers,
            run.micros.len(),
        );
        Self { who, load, run }
    }
}

/// What was aimed at: who, how many a second at full load, and the p50 in milliseconds while times are
/// taken.
const AIMS: [(Who, f64, f64); 2] =
    [(Who::Portage, 5_000.0, 50.0), (Who::PortageKafka, 1_500.0, 150.0)];

/// Prints the ratios to the source's shape, then what was aimed at.
pub(crate) fn verdict(lines: &[Line], rate: u32) {
    let find = |who, load| {
        let line = lines.iter().find(|line| line.who == who && line.load == load);
        line.map(|line| &line.run)
    };
    println!();
    for (who, ..) in AIMS {
        let ours = (find(who, Load::Paced), find(who, Load::Full));
        let source = (find(Who::SourceKafka, Load::Paced), find(Who::SourceKafka, Load::Full));
        if let ((Some(paced), Some(full)), (Some(slow), Some(peer))) = (ours, source) {
            println!(
                "{:<13} {:.1} times the source's transfers a second, {:.4} of its p50 and {:.4} of its p99 at {rate}/s",
                who.name(),
                full.rate() / peer.rate(),
                paced.quantile(0.5) / slow.quantile(0.5),
                paced.quantile(0.99) / slow.quantile(0.99),
            );
        }
    }
    for (who, full, p50) in AIMS {
        if let Some(run) = find(who, Load::Full) {
            aimed(who, "transfers/s", run.rate(), &format!("{full}"), run.rate() >= full);
        }
        if let Some(run) = find(who, Load::Paced) {
            let found = run.quantile(0.5);
            aimed(
                who,
                &format!("p50 ms at {rate}/s"),
                found,
                &format!("at most {p50}"),
                found <= p50,
            );
        }
    }
}

fn aimed(who: Who, what: &str, found: f64, aim: &str, met: bool) {
    let word = if met { "met" } else { "NOT met" };
    println!("{:<13} {what}: {found:.1} (aim {aim}): {word}", who.name());
}
