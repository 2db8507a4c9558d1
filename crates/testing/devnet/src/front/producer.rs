//! When blocks are made: by the clock, or by request.

use super::{Node, clock};
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::Duration,
};

/// When a block is produced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocks {
    /// By the clock, one in each such interval.
    Every(Duration),
    /// Only when the handle's `advance` or a control route asks for it.
    Manual,
}

impl Blocks {
    /// The time of the next block in nanoseconds since 1970: the clock's, or one interval after the last.
    pub(crate) fn time_after(self, last: u64, interval: Duration) -> u64 {
        match self {
            Self::Every(_) => clock::nanoseconds(),
            Self::Manual => last.saturating_add(u64::try_from(interval.as_nanos()).unwrap_or(0)),
        }
    }
}

/// Held while the producer makes a block, so that none follows a pause.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    paused: Mutex<bool>,
}

impl Pause {
    pub(crate) fn set(&self, paused: bool) {
        *self.paused.lock().unwrap_or_else(PoisonError::into_inner) = paused;
    }
}

/// Makes blocks at their interval until the chain's handle is gone.
pub(super) fn run<N: Node>(node: &Arc<N>, interval: Duration, stopped: &Receiver<()>) {
    // A sender that is dropped ends the wait, as a message would.
    while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
        let paused = node.pause().paused.lock().unwrap_or_else(PoisonError::into_inner);
        if !*paused {
            node.produce();
        }
    }
}
