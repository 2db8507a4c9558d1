//! What is printed: a line for each row, the ratios of the run, and what was aimed at.

#![expect(clippy::float_arithmetic, reason = "figures for readers; no money here")]

use crate::run::{Run, quantile};

/// A row by its name.
#[derive(Debug)]
pub(crate) struct Row {
    name: &'static str,
    run: Run,
}

impl Row {
    /// Prints it and keeps it.
    pub(crate) fn print(name: &'static str, run: Run) -> Self {
        println!(
            "{name:<6} accepted {:>7.0}/s   completed {:>6.0}/s   POST p50 {:>7.1} ms p99 {:>7.1} ms   to COMPLETED p50 {:>8.1} ms p99 {:>8.1} ms   {:.3} RPC calls each   {:>5.0} µs of CPU   {} in {:.1} s",
            run.rate(run.accepted_in),
            run.rate(run.completed_in),
            quantile(&run.posts, 0.5),
            quantile(&run.posts, 0.99),
            quantile(&run.ends, 0.5),
            quantile(&run.ends, 0.99),
            run.calls(),
            run.each(),
            run.transfers,
            run.completed_in.as_secs_f64(),
        );
        println!("       {}", run.calls_by_kind());
        Self { name, run }
    }
}

/// Prints the ratios to the loop, then what was aimed at.
pub(crate) fn verdict(rows: &[Row], rate: u32) {
    let find = |name| rows.iter().find(|row| row.name == name).map(|row| &row.run);
    let (Some(paced), Some(full), Some(new), Some(peer)) =
        (find("paced"), find("full"), find("new"), find("loop"))
    else {
        return;
    };
    let done = full.rate(full.completed_in);
    println!();
    println!(
        "{:.1} times the loop's transfers a second, {:.3} of its RPC calls for a transfer",
        done / peer.rate(peer.completed_in),
        full.calls() / peer.calls(),
    );
    let post = quantile(&paced.posts, 0.99);
    aimed(&format!("POST p99 ms at {rate}/s"), post, "below 50", post < 50.0);
    aimed("completed/s", done, "5000", done >= 5_000.0);
    let seconds = full.completed_in.as_secs_f64();
    aimed(&format!("seconds for {}", full.transfers), seconds, "below 60", seconds < 60.0);
    let calls = full.calls();
    aimed("RPC calls for a transfer", calls, "at most 0.05", calls <= 0.05);
    let calls = new.calls();
    aimed("RPC calls with new receivers", calls, "at most 0.1", calls <= 0.1);
}

fn aimed(what: &str, found: f64, aim: &str, met: bool) {
    let word = if met { "met" } else { "NOT met" };
    println!("{what}: {found:.3} (aim {aim}): {word}");
}
