//! Faults that last, beside transfers that go on: a clock is wrong, a topic, a partition or a size is not taken, a
//! broker loses what it acknowledged, strangers write to topics, the row of an account is locked.
//!
//! Nothing else goes wrong in such a run. So each transfer that none of its faults concerns must end as soon as
//! without them, each other one soon after they are over, and each alarm must come at its time.

mod concern;
mod draw;
mod observed;
mod play;
mod stranger;

pub(super) use play::play_lasting;

use crate::bus::BrokerFault;
use kernel::ids::Millis;
use std::fmt;

/// Whose wall clock is wrong. All go on with the same monotonic time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongClock {
    /// The process's and the journal's, as on one machine.
    Machine,
    /// The database's, by which the journal's time goes.
    Journal,
    /// The broker's, which stamps messages.
    Broker,
}

/// A fault that lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastingFault {
    /// The broker does less than it should.
    Broker(BrokerFault),
    /// Others than this service write to its topics.
    Strangers,
    /// Another session has the row of this account locked.
    LockedAccount(&'static str),
    /// A wall clock is wrong by this number of milliseconds.
    Clock(WrongClock, i64),
}

impl LastingFault {
    /// Every kind, as [`LastingFault::kind`] names them.
    pub(super) const KINDS: [&'static str; 7] = [
        "a topic or partition takes nothing",
        "a size is refused",
        "acknowledged and lost",
        "strangers write",
        "an account is locked",
        "a clock is ahead",
        "a clock is behind",
    ];

    /// The kind of thing that goes wrong.
    pub(super) const fn kind(&self) -> &'static str {
        let [nothing, size, lost, strangers, locked, ahead, behind] = Self::KINDS;
        match self {
            Self::Broker(BrokerFault::TakesNothing(_)) => nothing,
            Self::Broker(BrokerFault::RefusesAbove(_)) => size,
            Self::Broker(BrokerFault::Loses(_)) => lost,
            Self::Strangers => strangers,
            Self::LockedAccount(_) => locked,
            Self::Clock(_, 0..) => ahead,
            Self::Clock(..) => behind,
        }
    }
}

/// A fault, and when it begins and ends, in milliseconds after the run began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultWindow {
    /// What goes wrong meanwhile.
    pub fault: LastingFault,
    /// The time at which it begins.
    pub from: Millis,
    /// When it is over.
    pub until: Millis,
}

impl fmt::Display for FaultWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} from {} to {}", self.fault, self.from, self.until)
    }
}

/// A case that is played while faults last.
#[derive(Debug, Clone)]
pub struct LastingRun {
    /// The schedule of all tasks.
    pub seed: u64,
    /// Whether units are fused.
    pub fuse: bool,
    /// The most messages that are taken at once.
    pub batch: usize,
    /// The faults, each with its time.
    pub windows: Vec<FaultWindow>,
    /// When each transfer is opened, in milliseconds after the run began.
    pub opens: Vec<Millis>,
}

impl LastingRun {
    /// When the last fault is over.
    fn over(&self) -> Millis {
        self.windows.iter().map(|window| window.until).max().unwrap_or(0)
    }

    fn has(&self, is: impl Fn(&LastingFault) -> bool) -> bool {
        self.windows.iter().any(|window| is(&window.fault))
    }
}
