//! A clock that stands still until a check moves it, forwards or back.

use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

#[derive(Debug)]
struct Inner {
    now: Millis,
    ticks: u64,
    wakers: Vec<Waker>,
}

/// The clock. A handle: clones are the same one.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<Mutex<Inner>>);

impl ManualClock {
    /// One that shows this.
    pub fn at(now: Millis) -> Self {
        Self(Arc::new(Mutex::new(Inner { now, ticks: 0, wakers: Vec::new() })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows this from now on.
    pub fn set(&self, now: Millis) {
        let mut inner = self.inner();
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
        let mut inner = self.inner();
        inner.ticks += 1;
        inner.ticks
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
