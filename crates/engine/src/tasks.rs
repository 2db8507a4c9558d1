//! Every background task of the engine, in one enum that says what its death means.

use kernel::ports::spawn::{Fate, Task};

/// A background task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// Opens what callers hand in. Without it nothing begins.
    Intake,
    /// Calls one system for one state of one flow. Without it money of that state stands still.
    Station,
    /// Brings what is due and what nobody holds. Without it nothing is ever recovered.
    Scanner,
    /// Proves conservation. Without it a loss would go unseen.
    Checker,
    /// Finds out who a ledger is, again until it answers.
    Adopter,
    /// Writes one case or flag, again until it is durable.
    Case,
    /// Waits for one write that somebody else holds up.
    Write,
    /// Seals the audit. Without it changes would go unseen.
    Sealer,
    /// Holds what is open against the thresholds. Without it nobody is asked.
    Watch,
    /// Listens to whether one ledger answers at all. Without it its silence is nobody's case.
    Pulse,
    /// Tells callers of ends that another worker brought about. Without it they wait in vain.
    Waker,
    /// Renews this worker's lease. Without it others take over what it holds.
    Lease,
    /// Does what a person asked for, whether or not the person waits for it.
    Deed,
    /// Raises the horizon below which ledgers forget. Without it their memory grows.
    Horizon,
}

impl Background {
    /// Its name and fate, for the spawner.
    pub const fn task(self) -> Task {
        let (name, fate) = match self {
            Self::Intake => ("intake", Fate::EndsProcess),
            Self::Station => ("station", Fate::EndsProcess),
            Self::Scanner => ("scanner", Fate::EndsProcess),
            Self::Checker => ("checker", Fate::EndsProcess),
            Self::Adopter => ("adopter", Fate::EndsWhenDone),
            Self::Case => ("case", Fate::EndsWhenDone),
            Self::Write => ("write", Fate::EndsWhenDone),
            Self::Sealer => ("sealer", Fate::EndsProcess),
            Self::Watch => ("watch", Fate::EndsProcess),
            Self::Pulse => ("pulse", Fate::EndsProcess),
            Self::Waker => ("waker", Fate::EndsProcess),
            Self::Lease => ("lease", Fate::EndsProcess),
            Self::Deed => ("deed", Fate::EndsWhenDone),
            Self::Horizon => ("horizon", Fate::EndsProcess),
        };
        Task { name, fate }
    }
}
