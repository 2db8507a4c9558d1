//! Tasks that a test stops all at once, as the end of a process does.

use kernel::ports::Fut;
use kernel::ports::spawn::{Spawn, Task};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use tokio::task::JoinHandle;

/// The tasks of one process under test, on the runtime of the test, which outlives it.
#[derive(Debug, Default)]
pub struct KillableTasks {
    running: Mutex<Vec<JoinHandle<()>>>,
    ended: AtomicBool,
    /// Never begun: what a test does by hand.
    without: Option<Task>,
}

impl KillableTasks {
    /// All tasks but this one; `None` runs all of them.
    pub fn without(without: Option<Task>) -> Self {
        Self { without, ..Self::default() }
    }

    /// Stops them all without a wait, as the end of a process from within does; none begins after it.
    pub fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        for task in &*self.running.lock().unwrap_or_else(PoisonError::into_inner) {
            task.abort();
        }
    }

    /// Stops them all where they stand, as a kill does, and waits until they are gone.
    ///
    /// # Panics
    /// If a task has panicked.
    pub async fn kill(&self) {
        loop {
            let running =
                std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
            if running.is_empty() {
                return;
            }
            for task in running {
                task.abort();
                if let Err(fault) = task.await {
                    assert!(!fault.is_panic(), "a task panicked: {fault}");
                }
            }
        }
    }
}

impl Spawn for KillableTasks {
    #[expect(clippy::disallowed_methods, reason = "this is Spawn")]
    fn spawn(&self, task: Task, future: Fut<'static, ()>) {
        if self.without.is_some_and(|without| without.name == task.name) {
            return;
        }
        let task = tokio::spawn(future);
        if self.ended.load(Ordering::SeqCst) {
            task.abort();
        }
        self.running.lock().unwrap_or_else(PoisonError::into_inner).push(task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::ports::spawn::OnEnd;
    use std::sync::Arc;

    const FIRST: Task = Task { name: "first", on_end: OnEnd::EndsProcess };
    const SECOND: Task = Task { name: "second", on_end: OnEnd::EndsProcess };

    /// A task that runs until it is stopped; the count of its handles says whether it is gone.
    fn endless(alive: &Arc<()>) -> Fut<'static, ()> {
        let alive = alive.clone();
        Box::pin(async move {
            std::future::pending::<()>().await;
            drop(alive);
        })
    }

    #[tokio::test]
    async fn a_kill_waits_until_all_tasks_are_gone() {
        let (tasks, alive) = (KillableTasks::default(), Arc::new(()));
        tasks.spawn(FIRST, endless(&alive));
        tasks.spawn(SECOND, endless(&alive));
        tokio::task::yield_now().await;
        assert_eq!(Arc::strong_count(&alive), 3);
        tasks.kill().await;
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    #[tokio::test]
    #[should_panic(expected = "a task panicked")]
    async fn a_kill_tells_of_a_task_that_panicked() {
        let tasks = KillableTasks::default();
        tasks.spawn(FIRST, Box::pin(async { panic!("a fault") }));
        tokio::task::yield_now().await;
        tasks.kill().await;
    }

    #[tokio::test]
    async fn no_task_begins_after_the_end() {
        let (tasks, begun) = (KillableTasks::default(), Arc::new(AtomicBool::new(false)));
        tasks.end();
        let begins = begun.clone();
        tasks.spawn(FIRST, Box::pin(async move { begins.store(true, Ordering::SeqCst) }));
        tasks.kill().await;
        assert!(!begun.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn a_task_that_is_left_out_is_not_begun() {
        let (tasks, alive) = (KillableTasks::without(Some(SECOND)), Arc::new(()));
        tasks.spawn(FIRST, endless(&alive));
        tasks.spawn(SECOND, endless(&alive));
        assert_eq!(Arc::strong_count(&alive), 2);
        tasks.kill().await;
    }
}
