//! Implements the engine's runtime ports on the real machine: the clock, random numbers and tasks.

use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::clock::{Clock, Rng};
use kernel::ports::spawn::{OnEnd, Spawn, Task};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Ends the process at once: for a store that can no longer keep its word.
pub type Fatal = Arc<dyn Fn(String) + Send + Sync>;

#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the Clock")]
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the Clock")]
    fn now(&self) -> Millis {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn ticks(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn sleep(&self, ms: Millis) -> Fut<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}

/// The machine's randomness, drawn in handfuls.
#[derive(Debug, Default)]
pub struct SystemRng(Mutex<Vec<u8>>);

/// How many bytes one handful has.
const HANDFUL: usize = 1024;

impl Rng for SystemRng {
    #[expect(clippy::expect_used, reason = "without randomness no id is safe to give")]
    fn next(&self) -> u64 {
        let mut drawn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if drawn.is_empty() {
            drawn.resize(HANDFUL, 0);
            getrandom::fill(&mut drawn).expect("the machine has randomness");
        }
        let rest = drawn.len().saturating_sub(8);
        let eight = drawn.split_off(rest);
        eight.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte))
    }
}

/// Runs something small beside everything else; nothing depends on its end.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place besides Spawn, for futures of any kind"
)]
pub fn beside(future: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(future);
}

/// Tasks of the runtime. A death that means the end ends the process, unless it is ending anyway.
#[derive(Clone)]
pub struct Tasks {
    ending: Arc<AtomicBool>,
    fatal: Fatal,
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tasks").field("ending", &self.ending).finish_non_exhaustive()
    }
}

impl Tasks {
    /// Tasks that call `fatal` when one of them dies.
    pub fn new(fatal: Fatal) -> Self {
        Self { ending: Arc::default(), fatal }
    }

    /// From now on tasks may end.
    pub fn ending(&self) {
        self.ending.store(true, Ordering::Relaxed);
    }
}

impl Spawn for Tasks {
    #[expect(clippy::disallowed_methods, reason = "this is Spawn")]
    fn spawn(&self, task: Task, future: Fut<'static, ()>) {
        let running = tokio::spawn(future);
        if task.on_end == OnEnd::Harmless {
            return;
        }
        let Self { ending, fatal } = self.clone();
        tokio::spawn(async move {
            let how = match running.await {
                Ok(()) if task.on_end == OnEnd::EndsWhenDone => return,
                Ok(()) => "ended",
                Err(fault) if fault.is_panic() => "panicked",
                Err(_) => "was cancelled",
            };
            if !ending.load(Ordering::Relaxed) {
                fatal(format!("task `{}` {how}, and nothing works without it", task.name));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{SystemRng, Tasks};
    use kernel::ports::clock::Rng;
    use kernel::ports::spawn::{OnEnd, Spawn, Task};
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use tokio::sync::mpsc;

    #[test]
    fn draws_do_not_repeat() {
        let rng = SystemRng::default();
        let drawn: BTreeSet<u64> = (0..1000).map(|_| rng.next()).collect();
        assert_eq!(drawn.len(), 1000);
    }

    #[tokio::test]
    async fn a_death_that_matters_is_told() {
        let (tell, mut told) = mpsc::unbounded_channel();
        let tasks = Tasks::new(Arc::new(move |what| drop(tell.send(what))));
        let task = |name, on_end| Task { name, on_end };
        tasks.spawn(task("small", OnEnd::Harmless), Box::pin(async {}));
        tasks.spawn(task("finished", OnEnd::EndsWhenDone), Box::pin(async {}));
        tasks.spawn(task("big", OnEnd::EndsProcess), Box::pin(async { panic!("on purpose") }));
        let what = told.recv().await.unwrap();
        assert!(what.contains("`big` panicked"), "{what}");
        tasks.ending();
        tasks.spawn(task("last", OnEnd::EndsProcess), Box::pin(async {}));
        tokio::task::yield_now().await;
        assert!(told.try_recv().is_err());
    }
}
