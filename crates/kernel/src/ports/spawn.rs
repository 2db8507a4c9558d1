//! The port that starts background tasks. Each has a name, and says what happens when it ends.

use super::Fut;

/// What the death of a task means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnEnd {
    /// The process ends: nothing works without it.
    EndsProcess,
    /// It ends when its work is done; dying before that ends the process.
    EndsWhenDone,
    /// Nothing else is harmed; it ends by itself in the normal course.
    Harmless,
}

/// A task's name and on_end. The list of all tasks is one enum in the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// Its name, in logs.
    pub name: &'static str,
    /// What its death means.
    pub on_end: OnEnd,
}

/// Starts tasks beside the caller.
pub trait Spawn: Send + Sync {
    /// Runs `future` beside the caller until it ends.
    fn spawn(&self, task: Task, future: Fut<'static, ()>);
}
