//! The rig: the real store, the real Spot core, the real engine and the server's own routes in one
//! process that a test can hinder, stop dead at an exact point, and start again on what is left.

mod checks;
mod control;
mod home;
mod http;
mod image;
mod journal;
mod knock;
mod ledger;
mod lies;
mod life;
pub(crate) mod points;
mod socket;

pub(crate) use checks::Money;
pub(crate) use home::Kept;
pub(crate) use http::{Ask, Reply, Way};
pub(crate) use knock::Knock;

use control::Control;
use home::Home;
use kernel::ids::Id;
use life::Life;
use points::Point;
use std::thread;
use std::time::Duration;

/// How a rig is set up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    /// Where the journal is.
    pub kept: Kept,
    /// `engine.fuse`.
    pub fuse: bool,
    /// Places in the ring before intake and stations.
    pub ring: usize,
    /// How long a create waits for the end.
    pub patience_ms: u64,
    /// How long it waits for the durable opening.
    pub open_ms: u64,
    /// So many more engines work on the same journal, and take what is not theirs.
    pub rivals: u64,
    /// `alerts.target_pending_seconds`.
    pub target_pending_s: u64,
    /// `limits.warn_per_minute`.
    pub warn_per_minute: u32,
}

/// Open, withdraw and the next claim in one write where the source is Funding.
pub(crate) const FUSED: Setup = Setup {
    kept: Kept::Folder,
    fuse: true,
    ring: 1_000,
    patience_ms: 3_000,
    open_ms: 5_000,
    rivals: 0,
    target_pending_s: 60,
    warn_per_minute: 0,
};
/// Each step in a write of its own.
pub(crate) const PLAIN: Setup = Setup { fuse: false, ..FUSED };

/// How long anything may take that ends by itself.
pub(crate) const SOON: u64 = 6_000;

/// One server on one folder, through all its lives.
pub(crate) struct Rig {
    setup: Setup,
    life: Option<Life>,
    home: Home,
    /// Where the next lives are stopped, the last one first.
    ahead: Vec<Point>,
    /// The last transfer that was to be opened, in whichever life.
    last: Id,
}

/// What a process left that was stopped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crash {
    /// The last transfer that was to be opened.
    pub id: Id,
    /// The state's number in its row, where it has one.
    pub state: Option<i16>,
}

impl Rig {
    /// A server on an empty folder, and an empty database.
    pub(crate) fn start(setup: Setup) -> Self {
        let home = Home::fresh(setup.kept);
        let life = Some(Life::begin(&setup, &home, None));
        Self { setup, life, home, ahead: Vec::new(), last: Id::default() }
    }

    fn life(&self) -> &Life {
        self.life.as_ref().expect("the server runs")
    }

    pub(crate) fn control(&self) -> &Control {
        &self.life().control
    }

    /// Waits until it holds, but not for ever.
    pub(crate) fn until(&self, mut holds: impl FnMut() -> bool) -> bool {
        let step = 4;
        for _ in 0..SOON / step {
            if holds() {
                return true;
            }
            thread::sleep(Duration::from_millis(step));
        }
        false
    }

    /// Sends a request into a crash point, and starts again on what the crash left.
    pub(crate) fn crash_at(&mut self, point: Point, ask: &Ask) -> Crash {
        self.control().stop_at(point);
        let _cut = self.send(ask);
        self.crashed(&format!("{point:?}"))
    }

    /// As [`Rig::crash_at`], unless the answer comes first.
    pub(crate) fn crash_or_answer(&mut self, point: Point, ask: &Ask) -> Result<Crash, Reply> {
        self.control().stop_at(point);
        let sent = self.send(ask);
        self.until(|| self.control().dead() || sent.is_answered());
        if self.control().dead() {
            return Ok(self.crashed(&format!("{point:?}")));
        }
        Err(self.reply(sent))
    }

    /// The lives to come are stopped at these points, each at its own.
    pub(crate) fn crash_again_at(&mut self, points: &[Point]) {
        self.ahead = points.iter().rev().copied().collect();
    }

    /// Stops the server now, and starts again on what is left.
    pub(crate) fn crash(&mut self) -> Crash {
        self.control().stop_now();
        self.crashed("now")
    }

    /// Waits for the crash, and starts again on what it left.
    pub(crate) fn crashed(&mut self, point: &str) -> Crash {
        assert!(self.until(|| self.control().dead()), "no crash: {point} was never reached");
        let left = self.control().left().expect("a crash leaves a folder");
        self.last = self.control().opened().last().copied().unwrap_or(self.last);
        self.life = None;
        self.home.left_with(left);
        let state = self.home.stored_state(self.last);
        let next = self.ahead.pop();
        self.life = Some(Life::begin(&self.setup, &self.home, next));
        Crash { id: self.last, state }
    }
}
