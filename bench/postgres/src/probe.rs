//! Clocks and processors, and what one run came to.

use crate::site::Counters;
use std::fs;
use std::time::{Duration, Instant};

/// The time now. A benchmark is what clocks are for.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures with the real clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Microseconds since a moment.
pub(crate) fn micros(since: Instant) -> u32 {
    u32::try_from(now().duration_since(since).as_micros()).unwrap_or(u32::MAX)
}

/// The time of the fields of a line of `/proc`, which the kernel counts in hundredths of a second.
fn ticks<'a>(fields: impl Iterator<Item = &'a str>) -> Duration {
    Duration::from_millis(fields.filter_map(|field| field.parse::<u64>().ok()).sum::<u64>() * 10)
}

/// A process's user and system time; nothing where it is gone.
pub(crate) fn cpu_of(process: &str) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    ticks(after.split_whitespace().skip(11).take(2))
}

/// What all processes of this machine used: user, nice, system, interrupts.
pub(crate) fn machine_cpu() -> Duration {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = stat.lines().next().unwrap_or_default();
    let fields: Vec<&str> = line.split_whitespace().skip(1).collect();
    ticks([0, 1, 2, 5, 6].iter().filter_map(|at| fields.get(*at).copied()))
}

/// What one run came to.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub took: Duration,
    /// One duration for each transfer, in microseconds, sorted.
    pub micros: Vec<u32>,
    pub cost: Counters,
}

impl Run {
    pub(crate) fn new(mut micros: Vec<u32>, took: Duration, cost: Counters) -> Self {
        micros.sort_unstable();
        Self { took, micros, cost }
    }
}

#[expect(
    clippy::as_conversions,
    clippy::float_arithmetic,
    reason = "figures for a report; no money here"
)]
impl Run {
    pub(crate) fn rate(&self) -> f64 {
        self.micros.len() as f64 / self.took.as_secs_f64()
    }

    /// A quantile in milliseconds.
    pub(crate) fn quantile(&self, q: f64) -> f64 {
        let at = ((self.micros.len() as f64 * q) as usize).saturating_sub(1);
        self.micros.get(at).map_or(0.0, |us| f64::from(*us) / 1_000.0)
    }

    fn each(&self, of: f64) -> f64 {
        of / self.micros.len() as f64
    }

    /// The database's time for a transfer, in microseconds.
    pub(crate) fn cpu_micros(&self) -> f64 {
        self.each(self.cost.cpu.as_secs_f64() * 1e6)
    }

    /// Of the process that asks it; in process with the load's.
    pub(crate) fn own_micros(&self) -> f64 {
        self.each(self.cost.own.as_secs_f64() * 1e6)
    }

    pub(crate) fn syncs_each(&self) -> f64 {
        self.each(self.cost.syncs as f64)
    }

    pub(crate) fn wal_each(&self) -> f64 {
        self.each(self.cost.wal as f64)
    }

    /// How many cores others kept busy meanwhile.
    pub(crate) fn others(&self) -> f64 {
        let ours = self.cost.cpu + self.cost.own + self.cost.load;
        self.cost.machine.saturating_sub(ours).as_secs_f64() / self.took.as_secs_f64()
    }
}
