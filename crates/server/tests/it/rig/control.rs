//! The hand on the ports: stops the process dead at a point, loses what is on its way.
//!
//! A process that was stopped does nothing more: every call that can have an effect waits for ever
//! from then on, and what the folder held at that moment is all that is left of it.

use super::image;
use super::points::{At, Fault, Point, When};
use kernel::ids::{Id, LedgerId};
use kernel::life::Leg;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;
use tokio::sync::Notify;

/// A fault and how often it strikes.
#[derive(Debug, Clone, Copy)]
struct Hinder {
    ledger: LedgerId,
    leg: Leg,
    fault: Fault,
    times: usize,
}

#[derive(Debug, Default)]
struct State {
    point: Option<Point>,
    /// Writes and calls about transfers since the point was set.
    steps: usize,
    dead: bool,
    left: Option<TempDir>,
    hinders: Vec<Hinder>,
    /// How often a fault struck.
    strikes: usize,
    /// This write is told that the journal is halted.
    halt_at: Option<&'static str>,
    /// The next opening waits until it is let go.
    hold_opening: bool,
    opened: Vec<Id>,
}

/// Shared by all ports of one process.
#[derive(Debug)]
pub(crate) struct Control {
    folder: PathBuf,
    /// Nothing but Spot's own calls can be there by half.
    whole: bool,
    state: Mutex<State>,
    changed: Notify,
}

/// What is known of a call before it is made.
#[derive(Debug)]
pub(crate) struct Watched {
    point: Option<When>,
    before: Option<TempDir>,
}

fn scratch() -> TempDir {
    tempfile::tempdir().expect("a folder for a test")
}

impl Control {
    pub(crate) fn new(folder: PathBuf, whole: bool) -> Self {
        Self { folder, whole, state: Mutex::default(), changed: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process will be stopped there, once.
    pub(crate) fn stop_at(&self, point: Point) {
        let mut state = self.state();
        state.point = Some(point);
        state.steps = 0;
    }

    /// Stops it now.
    pub(crate) fn stop_now(&self) {
        self.die(When::After, None);
    }

    /// Calls of this leg meet the fault, so many times.
    pub(crate) fn hinder(&self, ledger: LedgerId, leg: Leg, fault: Fault, times: usize) {
        self.state().hinders.push(Hinder { ledger, leg, fault, times });
    }

    /// How often a fault struck so far.
    pub(crate) fn strikes(&self) -> usize {
        self.state().strikes
    }

    /// No call is hindered any more.
    pub(crate) fn heal(&self) {
        self.state().hinders.clear();
        self.changed.notify_waiters();
    }

    /// The write that carries this event is told, once, that the journal is halted.
    pub(crate) fn halt_at(&self, what: &'static str) {
        self.state().halt_at = Some(what);
    }

    pub(crate) fn take_halt(&self, tells: impl Fn(&str) -> bool) -> bool {
        let mut state = self.state();
        let hit = state.halt_at.is_some_and(tells);
        if hit {
            state.halt_at = None;
        }
        hit
    }

    /// The next opening of a transfer waits for [`Control::let_go`].
    pub(crate) fn hold_opening(&self) {
        self.state().hold_opening = true;
    }

    pub(crate) async fn held_opening(&self) {
        if std::mem::take(&mut self.state().hold_opening) {
            std::future::pending().await
        }
    }

    pub(crate) fn saw_opening(&self, id: Id) {
        self.state().opened.push(id);
    }

    /// The transfers that were to be opened, in order.
    pub(crate) fn opened(&self) -> Vec<Id> {
        self.state().opened.clone()
    }

    pub(crate) fn dead(&self) -> bool {
        self.state().dead
    }

    /// What the crash left, once there was one.
    pub(crate) fn left(&self) -> Option<TempDir> {
        self.state().left.take()
    }

    /// A dead process goes no further.
    pub(crate) async fn pass(&self) {
        if self.dead() {
            std::future::pending().await
        }
    }

    /// Looks at a call that is about to be made; stops the process where the point is before it.
    /// `at` says whether the call is at a place; `counts` whether it is about a transfer.
    pub(crate) async fn begin(&self, counts: bool, at: impl Fn(At) -> bool) -> Watched {
        self.pass().await;
        let hit = {
            let mut state = self.state();
            let step = state.steps;
            if counts {
                state.steps += 1;
            }
            let point = state.point.filter(|point| match point.at {
                At::Step(n) => counts && n == step,
                At::Write(_) | At::Commit(_) | At::Call(..) => at(point.at),
            });
            if point.is_some() {
                state.point = None;
            }
            point
        };
        let when = hit.map(|point| self.at_once(point));
        if when == Some(When::Before) {
            self.die(When::Before, None);
            self.pass().await;
        }
        let before = matches!(when, Some(When::Torn(_))).then(|| {
            let folder = scratch();
            image::copy(&self.folder, folder.path());
            folder
        });
        Watched { point: when, before }
    }

    /// Half of a write that is there as a whole or not at all is nothing.
    fn at_once(&self, point: Point) -> When {
        match (point.at, point.when) {
            (At::Call(LedgerId::SPOT, _), when) => when,
            (_, When::Torn(_)) if self.whole => When::Before,
            (_, when) => when,
        }
    }

    /// Looks at a call that was made; stops the process where the point is after it.
    pub(crate) async fn end(&self, watched: Watched) {
        self.pass().await;
        if let Some(when) = watched.point {
            self.die(when, watched.before);
            self.pass().await;
        }
    }

    fn die(&self, when: When, before: Option<TempDir>) {
        let mut state = self.state();
        if state.dead {
            return;
        }
        state.dead = true;
        let folder = scratch();
        match (when, before) {
            (When::Torn(share), Some(before)) => {
                image::tear(before.path(), &self.folder, folder.path(), share);
            }
            _ => image::copy(&self.folder, folder.path()),
        }
        state.left = Some(folder);
    }

    /// The fault that this leg meets now.
    pub(crate) fn fault(&self, ledger: LedgerId, is: impl Fn(Leg) -> bool) -> Option<Fault> {
        let mut state = self.state();
        let mut found = state.hinders.iter_mut();
        let hit = found.find(|h| h.ledger == ledger && h.times > 0 && is(h.leg))?;
        hit.times -= 1;
        let fault = hit.fault;
        state.strikes += 1;
        Some(fault)
    }

    /// Waits until the faults are lifted.
    pub(crate) async fn healed(&self) {
        loop {
            let changed = self.changed.notified();
            if self.state().hinders.is_empty() {
                return;
            }
            changed.await;
        }
    }
}
