//! The generic tests for a flow that events drive: every step twice, every step failed, a crash at every event
//! of the log: each write of the journal, each publication, each poll that gives something, each commit of
//! offsets.
//!
//! An [`AccountCase`] is some transfers that are opened together, and how each must end. Whatever is done to it,
//! each transfer ends; each COMPLETED has one move and no other has any; the balances add up; every event is on
//! its topic under one number; every message that moved something has its inbox row; no key stays parked, no
//! letter is dead, and no operator is asked.

mod anywhere;
mod cases;
mod client;
mod deaths;
mod drawn;
mod lasting;
mod matrix;
mod oracle;
mod play;
mod ports;
mod workers;

pub use anywhere::AccountDoor;
pub use cases::{ACCOUNT_CASES, AccountCase, CaseAccount, CaseTransfer, TransferEnd};
pub use deaths::{DeathPoint, DyingWrites, NextAccountDeath};
pub use drawn::{AccountPlay, AccountRun};
pub use lasting::{FaultWindow, LastingFault, LastingRun, WrongClock};
pub use matrix::AccountMatrix;
pub use workers::{WorkerRun, two_workers};

use super::FreshSite;
use crate::bus::BusTrouble;
use crate::event_log::LoggedEvent;
use crate::journal::Fault;
use crate::service::{PortWraps, simulated};
use play::play;
use std::fmt;
use std::sync::Arc;

/// The flow, and what it is played with.
#[derive(Clone)]
pub struct AccountTrial {
    /// The cases that are played.
    pub cases: Vec<AccountCase>,
    /// The schedules that each disturbance is tried with.
    pub seeds: std::ops::Range<u64>,
    /// Whether it is played fused, plain, or both.
    pub fuse: Vec<bool>,
    /// What makes the journal of each run.
    pub site: FreshSite,
    /// Around the ports of each process: where a wrong build stands.
    pub wraps: PortWraps,
}

impl fmt::Debug for AccountTrial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountTrial").field("cases", &self.cases).finish_non_exhaustive()
    }
}

impl Default for AccountTrial {
    /// All cases on the simulated journal, fused.
    fn default() -> Self {
        Self {
            cases: ACCOUNT_CASES.to_vec(),
            seeds: 0..1,
            fuse: vec![true],
            site: Arc::new(simulated),
            wraps: PortWraps::default(),
        }
    }
}

/// One place to disturb, counted over all processes of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// The write of the journal with this number.
    Write(u64, Fault),
    /// The call of the bus with this number.
    Bus(u64, BusTrouble),
}

/// Plays every case without a disturbance.
pub fn undisturbed(trial: &AccountTrial) {
    each(trial, |_| Vec::new());
}

/// Each step is done twice: the answer of each write and of each call of the bus is lost after its effect, and
/// what is published arrives twice.
pub fn every_step_twice(trial: &AccountTrial) {
    use BusTrouble::{LoseReply, PanicAfter, Twice};
    each(trial, |log| {
        let all = spots(log, &[Fault::LostAfter], &[LoseReply, PanicAfter, Twice]);
        let together = spots(log, &[Fault::LostAfter], &[Twice]);
        all.into_iter().map(|spot| vec![spot]).chain([together]).collect()
    });
}

/// Each step fails once, in every way that leaves the process alive; a member is taken for dead.
pub fn every_step_failed(trial: &AccountTrial) {
    use BusTrouble::{Half, LoseRequest, PanicBefore, PutOut};
    each(trial, |log| {
        let faults = [Fault::LostBefore, Fault::Full];
        let all = spots(log, &faults, &[LoseRequest, PanicBefore, Half, PutOut]);
        let together = spots(log, &[Fault::LostBefore], &[PutOut]);
        all.into_iter().map(|spot| vec![spot]).chain([together]).collect()
    });
}

/// The process dies before, at and after each event of the log. Gives back where it died.
pub fn crash_at_every_event(trial: &AccountTrial) -> AccountMatrix {
    let mut matrix = AccountMatrix::default();
    for (case, fuse, seed) in runs(trial) {
        let log = play(trial, case, (fuse, seed), &[]);
        for spot in deaths(&log) {
            play(trial, case, (fuse, seed), &[spot]);
            matrix.died(fuse, &log, spot);
        }
    }
    matrix
}

/// The process dies at one event of the log in `every`, and then each write of the next one fails, once in each
/// run: also those that send a message again.
pub fn writes_failed_after_a_death(trial: &AccountTrial, every: usize) {
    for (case, fuse, seed) in runs(trial) {
        let log = play(trial, case, (fuse, seed), &[]);
        for first in deaths(&log).into_iter().step_by(every) {
            let next = play(trial, case, (fuse, seed), &[first]);
            let later = spots(&next, &[Fault::LostBefore], &[]);
            let behind = later.into_iter().filter(|spot| is_behind(first, *spot));
            behind.for_each(|spot| drop(play(trial, case, (fuse, seed), &[first, spot])));
        }
    }
}

/// Whether a write comes after a death; where that is a call of the bus, every write may.
const fn is_behind(death: Spot, write: Spot) -> bool {
    match (death, write) {
        (Spot::Write(first, _), Spot::Write(later, _)) => later > first,
        (Spot::Bus(..), Spot::Write(..)) => true,
        (_, Spot::Bus(..)) => false,
    }
}

/// The process dies at one event of the log in `every`, and once more at each of the next three events while the
/// next one recovers.
pub fn crash_in_pairs(trial: &AccountTrial, every: usize) {
    each(trial, |log| {
        let mut all = Vec::new();
        for first in deaths(log).into_iter().step_by(every) {
            for later in 1..=3 {
                all.push(vec![first, dies_later(first, later)]);
            }
        }
        all
    });
}

/// The death at an event of the same sort that comes `later` places after the first.
const fn dies_later(first: Spot, later: u64) -> Spot {
    match first {
        Spot::Write(n, _) => Spot::Write(n + later, Fault::CrashAfter),
        Spot::Bus(n, _) => Spot::Bus(n + later, BusTrouble::CrashAfter),
    }
}

fn deaths(log: &[LoggedEvent]) -> Vec<Spot> {
    use BusTrouble::{CrashAfter, CrashBefore, CrashHalf};
    spots(log, &[Fault::CrashBefore, Fault::CrashAfter], &[CrashBefore, CrashAfter, CrashHalf])
}

/// Each event of the log with each of these troubles that it can have.
fn spots(log: &[LoggedEvent], faults: &[Fault], troubles: &[BusTrouble]) -> Vec<Spot> {
    let mut all = Vec::new();
    for event in log {
        match event {
            LoggedEvent::Write { n, .. } => {
                all.extend(faults.iter().map(|fault| Spot::Write(*n, *fault)));
            }
            LoggedEvent::Bus { n, call } => {
                let has = call.troubles().into_iter().filter(|trouble| troubles.contains(trouble));
                all.extend(has.map(|trouble| Spot::Bus(*n, trouble)));
            }
            LoggedEvent::Call { .. } => {}
        }
    }
    all
}

fn runs(trial: &AccountTrial) -> impl Iterator<Item = (&AccountCase, bool, u64)> {
    // a claim that is a unit of its own is driven on by what is sent again, which keeps no order
    let plays = |case: &AccountCase, fuse: bool| fuse || !case.parks;
    trial.cases.iter().flat_map(move |case| {
        let fuses = trial.fuse.iter().filter(move |fuse| plays(case, **fuse));
        fuses.flat_map(move |fuse| trial.seeds.clone().map(move |seed| (case, *fuse, seed)))
    })
}

fn each(trial: &AccountTrial, disturb: impl Fn(&[LoggedEvent]) -> Vec<Vec<Spot>>) {
    for (case, fuse, seed) in runs(trial) {
        let log = play(trial, case, (fuse, seed), &[]);
        for spots in disturb(&log) {
            play(trial, case, (fuse, seed), &spots);
        }
    }
}
