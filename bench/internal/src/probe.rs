//! What a run cost: time, CPU, syncs and bytes, for this process or a child.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Syncs that were asked for in this process, counted where they are made.
#[derive(Debug, Default)]
pub(crate) struct Syncs(AtomicU64);

impl Syncs {
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A process's counters at a moment, from `/proc`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    /// User and system time.
    pub cpu: Duration,
    /// Bytes handed to write calls.
    pub bytes: u64,
    /// The most memory that was resident so far.
    pub peak_kib: u64,
}

impl Counters {
    /// The counters of this process.
    pub(crate) fn own() -> Self {
        Self::of("self")
    }

    /// Of a process by its number; zeros where it cannot be read.
    pub(crate) fn of(process: &str) -> Self {
        let at = PathBuf::from("/proc").join(process);
        let read = |name: &str| fs::read_to_string(at.join(name)).unwrap_or_default();
        let stat = read("stat");
        let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let ticks: u64 =
            after.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<u64>().ok()).sum();
        let field = |text: &str, name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name))
                .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
                .unwrap_or(0)
        };
        Self {
            // the kernel counts in hundredths of a second
            cpu: Duration::from_millis(ticks * 10),
            bytes: field(&read("io"), "wchar:"),
            peak_kib: field(&read("status"), "VmHWM:"),
        }
    }
}

impl Counters {
    /// What was added since a moment; the peak stays a peak.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(before.cpu),
            bytes: self.bytes.saturating_sub(before.bytes),
            peak_kib: self.peak_kib,
        }
    }
}

/// What one run came to.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub transfers: u64,
    pub took: Duration,
    /// One duration for each transfer, in microseconds, sorted.
    pub micros: Vec<u32>,
    pub cost: Counters,
    pub syncs: u64,
}

impl Run {
    pub(crate) fn new(mut micros: Vec<u32>, took: Duration, cost: Counters, syncs: u64) -> Self {
        micros.sort_unstable();
        let transfers = u64::try_from(micros.len()).unwrap_or(u64::MAX);
        Self { transfers, took, micros, cost, syncs }
    }
}

#[expect(
    clippy::as_conversions,
    clippy::float_arithmetic,
    reason = "figures for a report; no money here"
)]
impl Run {
    pub(crate) fn rate(&self) -> f64 {
        self.transfers as f64 / self.took.as_secs_f64()
    }

    /// A quantile in milliseconds.
    pub(crate) fn quantile(&self, q: f64) -> f64 {
        let at = ((self.micros.len() as f64 * q) as usize).saturating_sub(1);
        self.micros.get(at).map_or(0.0, |us| f64::from(*us) / 1_000.0)
    }

    pub(crate) fn each(&self, of: f64) -> f64 {
        of / self.transfers as f64
    }

    pub(crate) fn cpu_micros(&self) -> f64 {
        self.each(self.cost.cpu.as_secs_f64() * 1e6)
    }

    pub(crate) fn syncs_each(&self) -> f64 {
        self.each(self.syncs as f64)
    }

    pub(crate) fn bytes_each(&self) -> f64 {
        self.each(self.cost.bytes as f64)
    }
}

/// The time now. A benchmark is what clocks are for.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures with the real clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Microseconds since a moment.
pub(crate) fn micros(since: Instant) -> u32 {
    u32::try_from(now().duration_since(since).as_micros()).unwrap_or(u32::MAX)
}
