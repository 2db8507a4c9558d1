//! The end of the first of two workers: its process is killed, or it pauses for long.

use crate::world::Sim;
use kernel::ids::Millis;

/// What becomes of the first of two workers in the middle of what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerEnd {
    /// Its process is killed.
    Killed,
    /// It stands still for longer than its leases and its session, and goes on as if nothing had been.
    Paused,
}

/// How long the worker stands still.
const PAUSE: Millis = 25_000;

impl WorkerEnd {
    /// Ends this process so, or makes it stand still for longer than its leases and go on.
    pub(crate) fn befalls(self, process: &Sim) {
        match self {
            Self::Killed => process.kill("killed by the test"),
            Self::Paused => {
                process.pause();
                process.run_for(PAUSE);
                process.resume();
            }
        }
    }
}
