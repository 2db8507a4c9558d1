//! A clock that a sleep moves forward instead of waiting.

use crate::ManualClock;
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;

/// Stands still as a [`ManualClock`] does, but a sleep moves it on by its length and ends once the other tasks had a turn:
/// loops with long waits pass at once, and the ticks say how long they would have taken. It shows zero first. Clones are
/// the same clock.
#[derive(Debug, Clone, Default)]
pub struct SkippingClock(ManualClock);

impl SkippingClock {
    /// Moves the time on.
    pub fn forward(&self, ms: Millis) {
        self.0.forward(ms);
    }
}

impl Clock for SkippingClock {
    fn now(&self) -> Millis {
        self.0.now()
    }

    fn ticks(&self) -> u64 {
        self.0.ticks()
    }

    fn sleep(&self, ms: Millis) -> Fut<'static, ()> {
        self.forward(ms);
        // a loop that only sleeps would keep the other tasks of its thread from running
        Box::pin(tokio::task::yield_now())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test starts its own tasks")]
mod tests {
    use super::*;
    use kernel::ports::clock::TICKS;

    #[tokio::test]
    async fn a_sleep_moves_the_time_and_lets_others_run() {
        let clock = SkippingClock::default();
        let other = tokio::spawn(async {});
        clock.sleep(60_000).await;
        assert_eq!((clock.now(), clock.ticks()), (60_000, 60_000 * TICKS));
        assert!(other.is_finished());
        clock.forward(1);
        assert_eq!(clock.now(), 60_001);
    }
}
