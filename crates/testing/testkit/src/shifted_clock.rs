//! A clock that shows real time plus a shift that a test sets.

use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;

/// Real time plus a shift, and a sleep ends sooner by what the clock is shifted meanwhile. Its ticks are real and not
/// shifted; all clocks of a process share them. Clones are the same clock.
#[derive(Debug, Clone)]
pub struct ShiftedClock(Arc<watch::Sender<Millis>>);

impl Default for ShiftedClock {
    fn default() -> Self {
        Self::new()
    }
}

impl ShiftedClock {
    /// A clock that shows real time until it is shifted.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    /// Shifts the time further by `ms`, and wakes those whose sleep is over by that.
    pub fn forward(&self, ms: Millis) {
        self.0.send_modify(|ahead| *ahead = ahead.saturating_add(ms));
    }
}

/// The time since 1970 when the first clock of this process was read, and the machine's count then: the sum of the first
/// and of what was counted since goes forward only, and differs from every other process's.
static STARTED: LazyLock<(Duration, Instant)> = LazyLock::new(|| (since_1970(), instant()));

#[expect(clippy::disallowed_methods, reason = "this is the Clock")]
fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "this is the Clock")]
fn instant() -> Instant {
    Instant::now()
}

impl Clock for ShiftedClock {
    fn now(&self) -> Millis {
        let real = u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX);
        real.saturating_add(*self.0.borrow())
    }

    fn ticks(&self) -> u64 {
        let (time, begun) = *STARTED;
        let nanos = time.saturating_add(begun.elapsed()).as_nanos();
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }

    fn sleep(&self, ms: Millis) -> Fut<'static, ()> {
        let (clock, mut shift) = (self.clone(), self.0.subscribe());
        let until = self.now().saturating_add(ms);
        Box::pin(async move {
            loop {
                let left = until.saturating_sub(clock.now());
                if left == 0 {
                    return;
                }
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_millis(left)) => {}
                    // it cannot fail: this future has a clone of the sender
                    _ = shift.changed() => {}
                }
            }
        })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test starts its own tasks")]
mod tests {
    use super::*;

    const HOUR: Millis = 3_600_000;

    #[test]
    fn a_shift_moves_the_time_and_not_the_ticks() {
        let (clock, real) = (ShiftedClock::new(), ShiftedClock::new());
        let (begun, same) = (clock.ticks(), clock.clone());
        same.forward(HOUR);
        assert!(clock.now() >= real.now() + HOUR - 60_000, "clones are the same clock");
        let counted = clock.ticks().saturating_sub(begun);
        assert!(counted < 60_000_000_000, "{counted}");
        assert!(real.ticks() >= begun);
    }

    #[tokio::test]
    async fn a_shift_wakes_those_whose_sleep_it_ends() {
        let clock = ShiftedClock::new();
        let (short, long) = (tokio::spawn(clock.sleep(HOUR)), tokio::spawn(clock.sleep(9 * HOUR)));
        tokio::task::yield_now().await;
        assert!(!short.is_finished());
        clock.forward(HOUR);
        short.await.expect("it wakes");
        assert!(!long.is_finished());
        long.abort();
    }

    #[tokio::test]
    async fn a_sleep_ends_by_itself_too() {
        let clock = ShiftedClock::new();
        let begun = clock.now();
        clock.sleep(5).await;
        assert!(clock.now() >= begun + 5);
    }
}
