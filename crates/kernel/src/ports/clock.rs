//! The ports to time and to random numbers.

use super::Fut;
use crate::ids::Millis;
use std::sync::{Arc, Mutex, PoisonError};

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

/// The time of a journal: the clock's, but never before what was written, and never at a standstill. A clock that is set
/// back leaves it ahead; until the clock has caught up it goes on at half its speed, so that every wait and every age that
/// began before ends after twice its length at most.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct JournalTime {
    clock: Arc<dyn Clock>,
    last: Mutex<LastTime>,
}

/// The time that was said last, and the count of ticks then.
#[derive(Debug)]
struct LastTime {
    at: Millis,
    ticks: u64,
}

impl JournalTime {
    /// The time by this clock, after a last write at `written`.
    pub fn new(clock: Arc<dyn Clock>, written: Millis) -> Self {
        let last = LastTime { at: written, ticks: clock.ticks() };
        Self { clock, last: Mutex::new(last) }
    }

    /// The time of this moment, which a write may carry.
    pub fn now(&self) -> Millis {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.now(self.clock.now(), self.clock.ticks())
    }

    /// How far it is ahead of the clock.
    pub fn ahead(&self) -> Millis {
        self.now().saturating_sub(self.clock.now())
    }

    /// Advances the time to that of a write; an earlier one changes nothing.
    pub fn advance_to(&self, at: Millis) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if at > last.at {
            *last = LastTime { at, ticks: self.clock.ticks() };
        }
    }
}

impl LastTime {
    fn now(&mut self, clock: Millis, ticks: u64) -> Millis {
        const HALF: u64 = 2 * TICKS;
        let ahead = ticks.saturating_sub(self.ticks) / HALF;
        let at = self.at.saturating_add(ahead);
        *self = if clock >= at {
            Self { at: clock, ticks }
        } else {
            // what is no whole millisecond yet counts at the next call
            Self { at, ticks: self.ticks.saturating_add(ahead.saturating_mul(HALF)) }
        };
        self.at
    }
}

/// A source of random numbers.
pub trait Rng: Send + Sync {
    /// The next random number.
    fn next(&self) -> u64;
}

#[cfg(test)]
mod tests {
    use super::{LastTime, TICKS};

    /// A second in ticks.
    const SECOND: u64 = 1_000 * TICKS;

    #[test]
    fn it_is_the_clocks_and_goes_on_where_the_clock_is_set_back() {
        let mut time = LastTime { at: 0, ticks: 0 };
        assert_eq!(time.now(5_000, 0), 5_000);
        assert_eq!(time.now(6_000, SECOND), 6_000);
        // an hour ahead for a moment, and back
        assert_eq!(time.now(3_606_000, SECOND), 3_606_000);
        assert_eq!(time.now(6_000, SECOND), 3_606_000);
        assert_eq!(time.now(36_000, 31 * SECOND), 3_621_000);
        // two hours later the clock has caught up
        assert_eq!(time.now(7_206_000, 7_201 * SECOND), 7_206_000);
        assert_eq!(time.now(7_207_000, 7_202 * SECOND), 7_207_000);
    }

    #[test]
    fn it_loses_nothing_where_it_is_asked_often() {
        let mut time = LastTime { at: 31_536_000_000, ticks: 0 };
        let mut now = 0;
        for n in 0..=4_000 {
            now = time.now(61_000, n * TICKS / 1_000);
        }
        assert_eq!(now, 31_536_000_002);
    }
}
