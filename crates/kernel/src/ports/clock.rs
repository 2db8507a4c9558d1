//! The ports to time and to random numbers.

use super::Fut;
use crate::ids::Millis;

/// How many ticks of a [`Clock`] make a millisecond.
pub const TICKS: u64 = 1_000_000;

/// Time that passes. It orders nothing and moves no money: stored times are the journal's.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970; may jump.
    fn now(&self) -> Millis;
    /// Nanoseconds of a clock that only goes forward; for durations in metrics.
    fn ticks(&self) -> u64;
    /// Waits for this many milliseconds.
    fn sleep(&self, ms: Millis) -> Fut<'static, ()>;
}

/// A source of random numbers.
pub trait Rng: Send + Sync {
    /// The next random number.
    fn next(&self) -> u64;
}
