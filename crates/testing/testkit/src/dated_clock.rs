//! A clock that shows a time of day from elsewhere, such as a chain's.

use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Another clock's ticks and sleeps with a time of day that a function says, plus a shift that a test sets.
pub struct DatedClock {
    base: Arc<dyn Clock>,
    date: Box<dyn Fn() -> Millis + Send + Sync>,
    shift: AtomicI64,
}

impl std::fmt::Debug for DatedClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatedClock").field("shift", &self.shift).finish_non_exhaustive()
    }
}

impl DatedClock {
    /// A clock with these ticks that shows this time of day.
    pub fn over(base: Arc<dyn Clock>, date: impl Fn() -> Millis + Send + Sync + 'static) -> Self {
        Self { base, date: Box::new(date), shift: AtomicI64::new(0) }
    }

    /// Lets the time of day be wrong by this many milliseconds; the ticks go on.
    pub fn shift(&self, ms: i64) {
        self.shift.store(ms, Ordering::SeqCst);
    }
}

impl Clock for DatedClock {
    fn now(&self) -> Millis {
        (self.date)().saturating_add_signed(self.shift.load(Ordering::SeqCst))
    }

    fn ticks(&self) -> u64 {
        self.base.ticks()
    }

    fn sleep(&self, ms: Millis) -> Fut<'static, ()> {
        self.base.sleep(ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ManualClock;
    use kernel::ports::clock::TICKS;

    #[test]
    fn it_shows_the_date_and_its_shift() {
        let base = ManualClock::default();
        let clock = DatedClock::over(Arc::new(base.clone()), || 1_000);
        base.forward(7);
        assert_eq!((clock.now(), clock.ticks()), (1_000, 7 * TICKS));
        clock.shift(-400);
        assert_eq!(clock.now(), 600);
    }
}
