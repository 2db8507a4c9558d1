//! A clock on which each reading of the ticks is later than the one before.

use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Another clock's time, on which each reading of the ticks is a nanosecond later than the one before: two moments
/// differ, as they do on a real clock, while the other clock stands. A sleep ends at once and moves nothing.
pub struct SteppingClock {
    base: Arc<dyn Clock>,
    readings: AtomicU64,
}

impl std::fmt::Debug for SteppingClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SteppingClock").field("readings", &self.readings).finish_non_exhaustive()
    }
}

impl SteppingClock {
    /// A clock with this one's time.
    pub fn over(base: Arc<dyn Clock>) -> Self {
        Self { base, readings: AtomicU64::new(0) }
    }
}

impl Clock for SteppingClock {
    fn now(&self) -> Millis {
        self.base.now()
    }

    fn ticks(&self) -> u64 {
        let later = self.readings.fetch_add(1, Ordering::SeqCst);
        self.base.ticks().saturating_add(later)
    }

    fn sleep(&self, _: Millis) -> Fut<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ManualClock;
    use kernel::ports::clock::TICKS;

    #[tokio::test]
    async fn each_reading_is_a_nanosecond_later() {
        let base = ManualClock::at(5);
        let clock = SteppingClock::over(Arc::new(base.clone()));
        assert_eq!((clock.now(), clock.ticks(), clock.ticks()), (5, 0, 1));
        clock.sleep(60_000).await;
        assert_eq!((clock.now(), clock.ticks()), (5, 2), "a sleep moves nothing");
        base.forward(1);
        assert_eq!((clock.now(), clock.ticks()), (6, TICKS + 3));
    }
}
