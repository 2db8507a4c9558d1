//! A clock that stands still until a test moves it, forwards or back.

use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::clock::{Clock, TICKS};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

#[derive(Debug, Default)]
struct Inner {
    now: Millis,
    ticks: u64,
    wakers: Vec<Waker>,
}

/// Stands still until it is moved, and a sleep lasts until it is moved so far; a runtime is not needed. Its ticks count
/// from zero what it was moved forwards. Clones are the same clock.
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<Mutex<Inner>>);

impl ManualClock {
    /// A clock that shows this time.
    pub fn at(now: Millis) -> Self {
        Self(Arc::new(Mutex::new(Inner { now, ..Inner::default() })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows this time from now on.
    pub fn set(&self, now: Millis) {
        self.change(|_| now);
    }

    /// Moves the time on.
    pub fn forward(&self, ms: Millis) {
        self.change(|now| now.saturating_add(ms));
    }

    fn change(&self, to: impl FnOnce(Millis) -> Millis) {
        let mut inner = self.inner();
        let now = to(inner.now);
        let ahead = now.saturating_sub(inner.now).saturating_mul(TICKS);
        inner.ticks = inner.ticks.saturating_add(ahead);
        inner.now = now;
        let wakers = std::mem::take(&mut inner.wakers);
        drop(inner);
        for waker in wakers {
            waker.wake();
        }
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Millis {
        self.inner().now
    }

    fn ticks(&self) -> u64 {
        self.inner().ticks
    }

    fn sleep(&self, ms: Millis) -> Fut<'static, ()> {
        let (clock, at) = (self.clone(), self.now().saturating_add(ms));
        Box::pin(poll_fn(move |cx| {
            let mut inner = clock.inner();
            if inner.now >= at {
                return Poll::Ready(());
            }
            inner.wakers.push(cx.waker().clone());
            Poll::Pending
        }))
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test starts its own tasks")]
mod tests {
    use super::*;

    #[test]
    fn ticks_count_what_it_was_moved_forwards() {
        let clock = ManualClock::at(500);
        let same = clock.clone();
        assert_eq!((clock.now(), clock.ticks()), (500, 0));
        same.forward(7);
        assert_eq!((clock.now(), clock.ticks()), (507, 7 * TICKS));
        clock.set(100);
        assert_eq!((clock.now(), clock.ticks()), (100, 7 * TICKS), "ticks go forward only");
        clock.set(101);
        assert_eq!((clock.now(), clock.ticks()), (101, 8 * TICKS));
    }

    #[tokio::test]
    async fn a_sleep_lasts_until_the_clock_is_moved_so_far() {
        let clock = ManualClock::default();
        let sleeper = tokio::spawn(clock.sleep(10));
        clock.forward(9);
        tokio::task::yield_now().await;
        assert!(!sleeper.is_finished());
        clock.forward(1);
        sleeper.await.expect("it wakes");
    }
}
