//! Limits the rate of requests at one provider: a token bucket that refills by the clock.

use kernel::ids::Millis;
use kernel::ports::clock::TICKS;
use std::sync::{Mutex, PoisonError};

/// Ticks of a second.
const SECOND: u64 = 1_000 * TICKS;

/// How many requests may go out, and when the next one may.
#[derive(Debug)]
pub(super) struct RequestBudget {
    /// Ticks that one request costs.
    cost: u64,
    /// Ticks that may be spent ahead.
    ahead: u64,
    /// Up to when the budget is spent, in ticks.
    spent: Mutex<u64>,
}

impl RequestBudget {
    pub(super) fn new(per_second: u64, burst: u64) -> Self {
        let cost = SECOND.checked_div(per_second).unwrap_or(SECOND);
        let ahead = cost.saturating_mul(burst.saturating_sub(1));
        Self { cost, ahead, spent: Mutex::new(0) }
    }

    /// Takes one request, and says for how many milliseconds it waits; `None` where that is longer than
    /// `most`, and nothing is taken.
    pub(super) fn take(&self, now: u64, most: Millis) -> Option<Millis> {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let begins = if *spent > now { *spent } else { now };
        let wait = begins.saturating_sub(now).saturating_sub(self.ahead).div_ceil(TICKS);
        if wait > most {
            return None;
        }
        *spent = begins.saturating_add(self.cost);
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_the_rate_counts() {
        let budget = RequestBudget::new(10, 3);
        assert_eq!([(); 3].map(|()| budget.take(SECOND, 500)), [Some(0); 3]);
        assert_eq!(budget.take(SECOND, 500), Some(100));
        assert_eq!(budget.take(SECOND, 50), None, "it would wait longer than it may");
        assert_eq!(budget.take(2 * SECOND, 0), Some(0), "a second later there is room again");
    }
}
