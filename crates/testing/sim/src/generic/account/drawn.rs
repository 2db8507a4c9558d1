//! Draws an account case from a seed with its faults: failed calls, deaths, repeated and reordered messages, a
//! parked key, and a second worker that continues when the first one ends.

use super::cases::{AccountCase, CaseAccount, CaseTransfer, TransferEnd};
use super::lasting::{LastingFault, LastingRun, play_lasting};
use super::play::play;
use super::workers::{WorkerRun, two_workers};
use super::{AccountTrial, Spot, spots};
use crate::bus::BusTrouble;
use crate::event_log::LoggedEvent;
use crate::generic::draws::{one_of, swarm, within};
use crate::generic::{Played, WorkerEnd};
use crate::journal::Fault;
use crate::service::PortWraps;
use crate::world::SplitMix;
use kernel::accounts::NumberedStatus;
use std::fmt;

/// The accounts of a case are the first of these.
const NUMBERS: [&str; 5] = ["A-1", "B-1", "C-1", "D-1", "E-1"];
/// No case opens it.
const MISSING: &str = "X-1";
/// Maximum number of things that go wrong in a run.
const DISTURBANCES: u64 = 6;
/// About how many calls of the bus a worker makes before it rests.
const CALLS: u64 = 90;
/// The number of runs of which one has faults that last.
const LASTING: u64 = 5;

const TROUBLES: [BusTrouble; 11] = [
    BusTrouble::LoseRequest,
    BusTrouble::LoseReply,
    BusTrouble::PanicBefore,
    BusTrouble::PanicAfter,
    BusTrouble::CrashBefore,
    BusTrouble::CrashAfter,
    BusTrouble::Half,
    BusTrouble::CrashHalf,
    BusTrouble::Twice,
    BusTrouble::Reversed,
    BusTrouble::PutOut,
];

/// How a drawn case is played.
#[derive(Debug, Clone)]
pub enum AccountPlay {
    /// By one process after another.
    Processes {
        /// Whether units are fused.
        fuse: bool,
        /// What may go wrong with writes.
        faults: Vec<Fault>,
        /// What may go wrong with calls of the bus.
        troubles: Vec<BusTrouble>,
        /// Number of things that go wrong, out of those.
        disturbances: u64,
    },
    /// By two workers, of which the first one ends.
    Workers(WorkerRun),
    /// By one process, while faults last.
    Lasting(LastingRun),
}

/// A run that a seed stands for: the same one with the same code.
#[derive(Debug, Clone)]
pub struct AccountRun {
    /// The seed that everything is drawn from.
    pub seed: u64,
    /// The accounts, and the transfers between them.
    pub case: AccountCase,
    /// Who plays it, and what goes wrong.
    pub play: AccountPlay,
}

impl AccountRun {
    /// The run of a seed.
    pub fn of(seed: u64) -> Self {
        let mut draws = SplitMix(seed ^ 0xACC0_0717_5EED_0001);
        let two = draws.once_in(1, 4);
        let fuse = two || draws.once_in(2, 3);
        // what is sent again by the scanner keeps no order, and two workers have no key parked for both
        let parks = draws.once_in(1, 3) && fuse && !two;
        let repeats = draws.once_in(1, 3) && !two;
        let case = drawn_case(&mut draws, parks, repeats);
        let play = if two {
            AccountPlay::Workers(workers(&mut draws, seed))
        } else {
            processes(&mut draws, fuse, parks)
        };
        // draws of its own: what the other seeds draw stays what it was
        let mut draws = SplitMix(seed ^ 0xACC0_0717_5EED_000D);
        if draws.once_in(1, LASTING) {
            let case = AccountCase { parks: false, repeats: false, ..case };
            let play = AccountPlay::Lasting(LastingRun::drawn(&mut draws, seed, &case));
            return Self { seed, case, play };
        }
        Self { seed, case, play }
    }

    /// Every kind of thing that goes wrong, as [`Played::kinds`] names them.
    pub fn kinds() -> Vec<String> {
        let writes = Fault::ALL.iter().map(|fault| format!("write {fault:?}"));
        let troubles = TROUBLES.iter().map(|trouble| format!("bus {trouble:?}"));
        let lasting = LastingFault::KINDS.into_iter().map(str::to_owned);
        writes.chain(troubles).chain(lasting).collect()
    }

    /// Plays it, with this around the ports of each process.
    ///
    /// # Panics
    /// Where something is wrong, with what the oracles say.
    pub fn play(&self, wraps: &PortWraps) -> Played {
        match &self.play {
            AccountPlay::Lasting(run) => {
                let kinds = run.windows.iter().map(|window| window.fault.kind().to_owned());
                let planned: Vec<String> = run.windows.iter().map(ToString::to_string).collect();
                let log = play_lasting(&self.case, run, wraps);
                Played { kinds: kinds.collect(), planned: planned.join("; "), log }
            }
            AccountPlay::Workers(run) => {
                let log =
                    two_workers(&self.case, &WorkerRun { wraps: wraps.clone(), ..run.clone() });
                let troubles = run.troubles.iter();
                played(troubles.map(|(n, trouble)| Spot::Bus(*n, *trouble)).collect(), log)
            }
            AccountPlay::Processes { fuse, faults, troubles, disturbances } => {
                let trial = AccountTrial { wraps: wraps.clone(), ..AccountTrial::default() };
                let log = play(&trial, &self.case, (*fuse, self.seed), &[]);
                let all = spots(&log, faults, troubles);
                let mut draws = SplitMix(self.seed ^ 0xACC0_0717_5EED_0002);
                let picks = (0..*disturbances).filter_map(|_| one_of(&mut draws, &all));
                let picks: Vec<Spot> = picks.collect();
                let log = play(&trial, &self.case, (*fuse, self.seed), &picks);
                played(picks, log)
            }
        }
    }
}

fn played(spots: Vec<Spot>, log: Vec<LoggedEvent>) -> Played {
    let kind = |spot: &Spot| match spot {
        Spot::Write(_, fault) => format!("write {fault:?}"),
        Spot::Bus(_, trouble) => format!("bus {trouble:?}"),
    };
    Played { kinds: spots.iter().map(kind).collect(), planned: format!("{spots:?}"), log }
}

fn processes(draws: &mut SplitMix, fuse: bool, parks: bool) -> AccountPlay {
    let faults = swarm(draws, &Fault::ALL);
    let mut troubles = swarm(draws, &TROUBLES);
    // the messages of a parked key are compared by their order on the topic
    troubles.retain(|trouble| !parks || *trouble != BusTrouble::Reversed);
    let disturbances = within(draws, 0, DISTURBANCES);
    AccountPlay::Processes { fuse, faults, troubles, disturbances }
}

fn workers(draws: &mut SplitMix, seed: u64) -> WorkerRun {
    let end = if draws.once_in(1, 2) { WorkerEnd::Killed } else { WorkerEnd::Paused };
    let after = within(draws, 0, 400);
    // the second worker is the one that must go on
    let alive: Vec<BusTrouble> = TROUBLES.into_iter().filter(|trouble| !trouble.kills()).collect();
    let kinds = swarm(draws, &alive);
    let troubles = (0..within(draws, 0, DISTURBANCES)).filter_map(|_| {
        let n = within(draws, 4, CALLS);
        Some((n, one_of(draws, &kinds)?))
    });
    WorkerRun { troubles: troubles.collect(), ..WorkerRun::of(end, after, seed) }
}

fn drawn_case(draws: &mut SplitMix, parks: bool, repeats: bool) -> AccountCase {
    let many = usize::try_from(within(draws, 2, 5)).unwrap_or(2);
    let accounts: Vec<CaseAccount> = NUMBERS
        .into_iter()
        .take(many)
        .map(|number| {
            let frozen = draws.once_in(1, 8);
            let status = if frozen { NumberedStatus::Frozen } else { NumberedStatus::Active };
            CaseAccount { number, has: u128::from(within(draws, 0, 150)), status }
        })
        .collect();
    let numbers: Vec<&'static str> = accounts.iter().map(|account| account.number).collect();
    let mut transfers = Vec::new();
    for n in 0..within(draws, 2, 10) {
        let (from, to) = (end_of(draws, &numbers), end_of(draws, &numbers));
        // each amount is there once: the check of the first one is told from others by it
        let amount = u128::from(within(draws, 0, 6) * 10 + n + 1);
        if from != to {
            transfers.push(CaseTransfer { from, to, amount, end: TransferEnd::Either });
        }
    }
    let ends: Vec<TransferEnd> =
        transfers.iter().map(|one| end(&accounts, &transfers, one)).collect();
    transfers.iter_mut().zip(ends).for_each(|(transfer, end)| transfer.end = end);
    AccountCase {
        name: "drawn",
        accounts: accounts.into(),
        parks: parks && !transfers.is_empty(),
        transfers: transfers.into(),
        completed: None,
        repeats,
    }
}

fn end_of(draws: &mut SplitMix, numbers: &[&'static str]) -> &'static str {
    let known = if draws.once_in(1, 16) { None } else { one_of(draws, numbers) };
    known.unwrap_or(MISSING)
}

/// How a transfer must end, whatever the order of all.
fn end(accounts: &[CaseAccount], all: &[CaseTransfer], transfer: &CaseTransfer) -> TransferEnd {
    let known = |number: &str| accounts.iter().find(|account| account.number == number);
    let pays = |one: &CaseTransfer| {
        let payer = known(one.from).filter(|payer| payer.status == NumberedStatus::Active);
        payer.filter(|_| known(one.to).is_some()).map(|payer| payer.has)
    };
    let Some(has) = pays(transfer) else { return TransferEnd::Failed };
    let sum = |of: &dyn Fn(&CaseTransfer) -> bool| -> u128 {
        all.iter().filter(|one| pays(one).is_some() && of(one)).map(|one| one.amount).sum()
    };
    let comes = sum(&|one| one.to == transfer.from);
    let goes = sum(&|one| one.from == transfer.from);
    if transfer.amount > has + comes {
        TransferEnd::Failed
    } else if goes <= has {
        TransferEnd::Completed
    } else {
        TransferEnd::Either
    }
}

/// What it is, on one line.
impl fmt::Display for AccountRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, case, play } = self;
        let how = match play {
            AccountPlay::Processes { fuse: true, disturbances, .. } => {
                format!("fused, {disturbances} faults")
            }
            AccountPlay::Processes { disturbances, .. } => format!("plain, {disturbances} faults"),
            AccountPlay::Lasting(run) => {
                let faults: Vec<String> = run.windows.iter().map(ToString::to_string).collect();
                let fuse = if run.fuse { "fused" } else { "plain" };
                format!("{fuse}, batches of {}, {}", run.batch, faults.join("; "))
            }
            AccountPlay::Workers(run) => {
                format!("two workers, {:?} after {} ms", run.end, run.after)
            }
        };
        let flag = |on: bool, name: &'static str| if on { name } else { "" };
        let flags =
            (flag(case.parks, ", a parked key"), flag(case.repeats, ", all published again"));
        write!(f, "seed={seed} {how}{}{};", flags.0, flags.1)?;
        for CaseAccount { number, has, status } in &*case.accounts {
            write!(f, " {number} {has} {}", status.name())?;
        }
        f.write_str(";")?;
        for CaseTransfer { from, to, amount, end } in &*case.transfers {
            write!(f, " {from}>{to} {amount} {end:?}")?;
        }
        Ok(())
    }
}
