//! A machine for the engine: a clock that a test moves on, chance, and tasks that can be killed.

use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::clock::{Clock, Rng};
use kernel::ports::spawn::{Spawn, Task};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Real time, and so much more as the test says. Who sleeps wakes when it is moved.
#[derive(Debug, Clone)]
pub(crate) struct HandClock(Arc<watch::Sender<Millis>>);

impl HandClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    pub(crate) fn forward(&self, ms: Millis) {
        self.0.send_modify(|ahead| *ahead += ms);
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the Clock")]
fn real() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

fn millis(time: Duration) -> Millis {
    u64::try_from(time.as_millis()).expect("a year before the sun goes out")
}

impl Clock for HandClock {
    fn now(&self) -> Millis {
        millis(real()) + *self.0.borrow()
    }

    fn ticks(&self) -> u64 {
        u64::try_from(real().as_nanos()).unwrap_or(u64::MAX)
    }

    fn sleep(&self, ms: Millis) -> Fut<'static, ()> {
        let (clock, mut moved) = (self.clone(), self.0.subscribe());
        let until = self.now() + ms;
        Box::pin(async move {
            loop {
                let left = until.saturating_sub(clock.now());
                if left == 0 {
                    return;
                }
                let nap = tokio::time::sleep(Duration::from_millis(left));
                tokio::select! {
                    () = nap => {}
                    changed = moved.changed() => changed.expect("the clock is held by this task"),
                }
            }
        })
    }
}

/// Numbers that no two draws of this process share.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Chance;

static DRAWN: AtomicU64 = AtomicU64::new(0);

impl Rng for Chance {
    fn next(&self) -> u64 {
        let n = DRAWN.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        n ^ (n >> 31)
    }
}

/// The tasks of one life of the engine.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<Vec<JoinHandle<()>>>, AtomicBool);

impl Tasks {
    /// Stops them all without a wait, as the end of a process from within does; none begins after it.
    pub(crate) fn end(&self) {
        self.1.store(true, Ordering::SeqCst);
        for task in &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            task.abort();
        }
    }

    /// Stops them all where they stand, as a kill does, and waits until they are gone.
    pub(crate) async fn kill(&self) {
        loop {
            let running =
                std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
            if running.is_empty() {
                return;
            }
            for task in running {
                task.abort();
                if let Err(fault) = task.await {
                    assert!(!fault.is_panic(), "a task of the engine panicked: {fault}");
                }
            }
        }
    }
}

impl Spawn for Tasks {
    #[expect(clippy::disallowed_methods, reason = "this is Spawn")]
    fn spawn(&self, _: Task, future: Fut<'static, ()>) {
        let task = tokio::spawn(future);
        if self.1.load(Ordering::SeqCst) {
            task.abort();
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(task);
    }
}
