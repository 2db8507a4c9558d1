//! Three tests that every flow between ledgers calls: every step twice, every step failed, a crash
//! after every write.
//!
//! A [`TestTransfer`] is one transfer and how it must end. Each test first plays the case undisturbed and
//! counts its writes and calls; then it plays it again once for each of them, with that one
//! disturbed. Whatever is done to it, the case must end as it did, with each effect exactly once.

pub mod account;
pub mod chain;
mod draws;
mod next_death;
pub(crate) mod play;
pub mod relay;
pub mod swaps;
mod worker_end;

pub use draws::Played;
pub use next_death::NextDeath;
pub use worker_end::WorkerEnd;

use crate::disk::{DiskFault, SimDisk};
use crate::journal::{Fault, Place};
use crate::ledger::Trouble;
use crate::service::Restart;
use crate::world::Sim;
use conformance::journal::Site;
use kernel::ids::LedgerId;
use kernel::ports::ledger::AccountStatus;
use play::{Disturbed, play};
use std::fmt;
use std::sync::Arc;

/// Makes the place of a journal for one run.
pub type FreshSite = Arc<dyn Fn(&Sim, &Place) -> Site + Send + Sync>;

/// The remote ledger of one service.
#[derive(Clone)]
pub struct RemoteLedger {
    /// Starts it over what its last start left.
    pub restart: Restart,
    /// Where it keeps that, where its disk is simulated.
    pub disk: Option<SimDisk>,
}

impl fmt::Debug for RemoteLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteLedger").field("disk", &self.disk).finish_non_exhaustive()
    }
}

/// One transfer of a user who has [`TestTransfer::HAS`] at both ends, and how it must end.
#[derive(Debug, Clone, Copy)]
pub struct TestTransfer {
    /// What the transfer shows, in a few words.
    pub name: &'static str,
    /// Where the money comes from.
    pub from: LedgerId,
    pub to: LedgerId,
    /// The amount in base units.
    pub amount: u128,
    /// An account that is barred before.
    pub barred: Option<(LedgerId, AccountStatus)>,
    /// The state that it ends in.
    pub ends: &'static str,
}

impl TestTransfer {
    /// What the user has at each of both ledgers.
    pub const HAS: u128 = 500;
}

/// A flow, its cases, and what they are played with.
#[derive(Clone)]
pub struct Trial {
    /// The flow's stored name.
    pub flow: &'static str,
    /// Every way through its table.
    pub cases: Vec<TestTransfer>,
    /// The ledger outside the journal's database.
    pub outside: Arc<dyn Fn(&Sim) -> RemoteLedger + Send + Sync>,
    /// The schedules that each disturbance is tried with.
    pub seeds: std::ops::Range<u64>,
    /// A wrong build around journal and ledgers (see [`crate::wrong`]): a test must turn red.
    pub wrong: Option<&'static str>,
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trial").field("flow", &self.flow).finish_non_exhaustive()
    }
}

/// One place to disturb, counted from where the case begins.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Spot {
    /// The n-th write of the journal.
    Write(u64, Fault),
    /// The n-th call at a ledger that may have an effect.
    Call(LedgerId, u64, Trouble),
    /// The n-th call that changes the disk.
    Disk(u64, DiskFault),
    /// Everything that can have an effect arrives twice.
    Twice,
}

/// Every write and call of the undisturbed scene, each with each of these disturbances.
fn spots(calm: &Disturbed, faults: &[Fault], troubles: &[Trouble]) -> Vec<Spot> {
    let writes = (0..calm.writes).flat_map(|n| faults.iter().map(move |f| Spot::Write(n, *f)));
    let calls = calm.calls.iter().flat_map(|(ledger, calls)| {
        (0..*calls).flat_map(move |n| troubles.iter().map(move |t| Spot::Call(*ledger, n, *t)))
    });
    writes.chain(calls).collect()
}

/// Every call of the undisturbed scene that changes the disk, each with each of these faults.
fn disk_spots(calm: &Disturbed, faults: &[DiskFault]) -> Vec<Vec<Spot>> {
    let spots = (0..calm.disk).flat_map(|n| faults.iter().map(move |f| vec![Spot::Disk(n, *f)]));
    spots.collect()
}

/// Plays every scene, fused and plain, with each of the disturbances that `disturb` finds for it.
fn each(trial: &Trial, disturb: impl Fn(&Disturbed) -> Vec<Vec<Spot>>) {
    for case in &trial.cases {
        for fuse in [true, false] {
            for seed in trial.seeds.clone() {
                let calm = play(trial, case, fuse, seed, &[]);
                for spots in disturb(&calm) {
                    play(trial, case, fuse, seed, &spots);
                }
            }
        }
    }
}

/// Each step is done twice: the answer of each write and each call is lost after its effect, and
/// all requests arrive twice.
pub fn every_step_twice(trial: &Trial) {
    each(trial, |calm| {
        let lost = spots(calm, &[Fault::LostAfter], &[Trouble::LoseReply, Trouble::PanicAfter]);
        let mut all: Vec<_> = lost.iter().map(|spot| vec![*spot]).collect();
        all.push(vec![Spot::Twice]);
        all.push(std::iter::once(Spot::Twice).chain(lost).collect());
        all
    });
}

/// Each step fails once, in every way that leaves the process alive.
pub fn every_step_failed(trial: &Trial) {
    each(trial, |calm| {
        let faults = [Fault::LostBefore, Fault::Full];
        let failed = spots(calm, &faults, &Trouble::HINDRANCES);
        let all = [
            spots(calm, &[Fault::LostBefore], &[Trouble::LoseRequest]),
            spots(calm, &[Fault::Full], &[Trouble::Garbage]),
        ];
        let disk = disk_spots(calm, &[DiskFault::Full]);
        failed.iter().map(|spot| vec![*spot]).chain(all).chain(disk).collect()
    });
}

/// The process dies before and after each write and each call, in the middle of what it does on the
/// disk, and again while it recovers.
pub fn crash_after_every_write(trial: &Trial) {
    each(trial, |calm| {
        let faults = [Fault::CrashBefore, Fault::CrashAfter];
        let once = spots(calm, &faults, &[Trouble::CrashBefore, Trouble::CrashAfter]);
        let mut all: Vec<_> = once.iter().map(|spot| vec![*spot]).collect();
        all.extend(disk_spots(calm, &DiskFault::CRASHES));
        all.extend(disk_spots(calm, &[DiskFault::Broken]));
        for n in 0..calm.writes {
            for k in 1..4 {
                let second = Spot::Write(n + k, Fault::CrashAfter);
                all.push(vec![Spot::Write(n, Fault::CrashAfter), second]);
                all.push(vec![Spot::Write(n, Fault::CrashBefore), second]);
            }
        }
        all
    });
}
