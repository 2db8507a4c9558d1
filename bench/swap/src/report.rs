//! What is printed: a line for each state and each row, and what was aimed at.

#![expect(
    clippy::as_conversions,
    clippy::float_arithmetic,
    reason = "figures for readers; no money here"
)]

use crate::subject::Run;
use std::time::Duration;

/// The states between a deposit and its refund, by their numbers; the last one has the chain's finality in it.
const STATES: [(i64, &str); 4] =
    [(0, "detected"), (-10, "to be refunded"), (-15, "refund ready"), (-17, "refunding")];
/// The state in which the chain is waited for.
const SENT: i64 = -17;
/// The same, once it was not final at the first look.
const AWAITED: i64 = -20;

/// Prints the time in each state beside the chain's finality.
pub(crate) fn paced(run: &Run, finality: Duration) {
    let finality = finality.as_secs_f64() * 1_000.0;
    println!("paced  {} deposits; the chain's finality is {finality:.0} ms", run.deposits);
    let mut met = true;
    for (state, name) in STATES {
        let mut times = run.dwell.get(&state).cloned().unwrap_or_default();
        if state == SENT {
            times.extend(run.dwell.get(&AWAITED).into_iter().flatten());
            times.sort_unstable();
        }
        let own = if state == SENT { finality } else { 0.0 };
        let (half, most) = (quantile(&times, 0.5) - own, quantile(&times, 0.99) - own);
        met &= half < 100.0;
        println!(
            "       {name:<15} own p50 {half:>7.0} ms   p99 {most:>7.0} ms   of {}",
            times.len()
        );
    }
    let calls = run.requests.values().sum::<u64>() as f64 / run.deposits as f64;
    println!("       {calls:.1} requests a deposit, the watch of the vault among them");
    for (method, count) in &run.requests {
        println!("         {method} {:.1}", *count as f64 / run.deposits as f64);
    }
    println!("own p50 in each state (aim below 100 ms): {}", if met { "met" } else { "NOT met" });
}

/// Prints payments a second beside what the lanes allow.
pub(crate) fn full(run: &Run, lanes: usize, finality: Duration) {
    let rate = run.deposits as f64 / run.took.as_secs_f64();
    let most = lanes as f64 / finality.as_secs_f64();
    println!(
        "full   {} deposits in {:.1} s: {rate:.2}/s, {:.2} of what {lanes} lanes allow ({most:.2}/s)   {:.0} µs of CPU each",
        run.deposits,
        run.took.as_secs_f64(),
        rate / most,
        run.cpu.as_secs_f64() * 1e6 / run.deposits as f64,
    );
}

/// A quantile of sorted times.
fn quantile(sorted: &[u64], q: f64) -> f64 {
    let at = ((sorted.len() as f64 * q) as usize).saturating_sub(1);
    sorted.get(at).map_or(f64::NAN, |millis| *millis as f64)
}
