//! Draws a case of a flow that sends from a seed with its faults: writes and calls that fail, repeat or kill the
//! process, calm or faulty chains, and a second worker that continues when the first one ends.

use super::held_lane::{HeldLane, held_lane};
use super::set_back::{ChainSetBack, LANES, set_back};
use super::workers::{ChainWorkers, two_workers};
use super::{Calm, ChainCase, ChainTrial, Spot, play, spots, twice};
use crate::chain::{ChainRules, ChainTrouble, Locking};
use crate::generic::draws::{one_of, swarm, within};
use crate::generic::relay::RelayCase;
use crate::generic::swaps::SwapCase;
use crate::generic::{Played, WorkerEnd};
use crate::journal::Fault;
use crate::service::PortWraps;
use crate::world::SplitMix;
use std::fmt;

/// Maximum number of things that go wrong in a run, beside what its chains do.
const DISTURBANCES: u64 = 6;
/// A wallet signs with one of our keys in one block of this number.
const STRANGERS: u64 = 20;
/// The longest that one thing that goes wrong once delays the end of all, in milliseconds: what is lost with it expires
/// first, and each wait doubles up to its bound.
pub(super) const PER_DISTURBANCE: u64 = 60_000;
/// A contract that refuses whatever comes begins with it within this number of blocks.
const REFUSES_BY: u64 = 30;
/// Nodes stop to show what blocks hold within this number of blocks.
const HIDES_BY: u64 = 60;
/// For how many blocks they do, where that is longer than a transfer may wait without a case.
const HIDES_LONG: u64 = 800;
/// A lane is held back within this number of blocks.
const HELD_BY: u64 = 20;
/// About how many calls of a chain a worker makes before it rests.
const CALLS: u64 = 30;

const TROUBLES: [ChainTrouble; 7] = [
    ChainTrouble::LoseRequest,
    ChainTrouble::LoseReply,
    ChainTrouble::PanicBefore,
    ChainTrouble::PanicAfter,
    ChainTrouble::CrashBefore,
    ChainTrouble::CrashAfter,
    ChainTrouble::Twice,
];

/// Some transfers of one of the flows that send.
#[derive(Debug, Clone)]
pub(crate) enum DrawnCase {
    Relay(RelayCase),
    Swaps(SwapCase),
}

/// How a drawn case is played.
#[derive(Debug, Clone)]
pub enum ChainPlay {
    /// By one process after another.
    Processes {
        /// Whether it is played fused.
        fuse: bool,
        /// What may go wrong with writes.
        faults: Vec<Fault>,
        /// What may go wrong with calls of chains, and with what is learnt.
        troubles: Vec<ChainTrouble>,
        /// Number of things that go wrong, out of those.
        disturbances: u64,
    },
    /// By two workers, of which the first one ends.
    Workers(ChainWorkers),
    /// By processes whose journal is set back.
    SetBack(ChainSetBack),
    /// By one process, while a lane is held back.
    HeldLane(HeldLane),
}

/// A run that a seed stands for: the same one with the same code.
#[derive(Debug, Clone)]
pub struct ChainRun {
    seed: u64,
    pub(crate) case: DrawnCase,
    pub(crate) rules: ChainRules,
    pub(crate) play: ChainPlay,
}

impl ChainRun {
    /// The run of a seed.
    pub fn of(seed: u64) -> Self {
        let mut draws = SplitMix(seed ^ 0xC4A1_0717_5EED_0001);
        let case = if draws.once_in(1, 2) {
            DrawnCase::Relay(RelayCase::drawn(&mut draws))
        } else {
            DrawnCase::Swaps(SwapCase::drawn(&mut draws))
        };
        let mut rules = rules(&mut draws);
        let play = ChainPlay::drawn(&mut draws);
        // drawn last, so that all else of a seed stays what it was
        if matches!(case, DrawnCase::Relay(_)) && draws.once_in(1, 3) {
            rules.refuses_from = within(&mut draws, 1, REFUSES_BY);
        }
        let mut play = play;
        if matches!(case, DrawnCase::Relay(_)) && rules.locking == Locking::Nonce {
            draw_wallets(&mut draws, &mut rules);
        }
        if let ChainPlay::Workers(workers) = &mut play {
            draw_operators(&mut draws, workers);
        }
        let is_relay = matches!(case, DrawnCase::Relay(_));
        if is_relay && rules.locking == Locking::Nonce && draws.once_in(1, 3) {
            play = draw_set_back(&mut draws, &mut rules);
        } else if is_relay && rules.locking != Locking::Reference && draws.once_in(1, 6) {
            play = draw_held_lane(&mut draws, &mut rules);
        }
        Self { seed, case, rules, play }
    }

    /// Every kind of thing that goes wrong, as [`Played::kinds`] names them.
    pub(crate) fn kinds() -> Vec<String> {
        let writes = Fault::ALL.iter().map(|fault| format!("write {fault:?}"));
        let calls = TROUBLES.iter().map(|trouble| format!("chain {trouble:?}"));
        let learns = TROUBLES.iter().filter(|trouble| **trouble != ChainTrouble::Twice);
        let learns = learns.map(|trouble| format!("facts {trouble:?}"));
        writes
            .chain(calls)
            .chain(learns)
            .chain(ChainSetBack::kinds())
            .chain([HeldLane::KIND.to_owned()])
            .collect()
    }

    fn flow(&self) -> &'static str {
        match &self.case {
            DrawnCase::Relay(case) => case.flow(),
            DrawnCase::Swaps(case) => case.flow(),
        }
    }

    pub(crate) fn transfers(&self) -> usize {
        match &self.case {
            DrawnCase::Relay(case) => case.receivers.len(),
            DrawnCase::Swaps(case) => case.deposits.len(),
        }
    }

    /// Plays it, with this around the ports of each process.
    ///
    /// # Panics
    /// Where something is wrong, with what the oracles say.
    pub fn play(&self, wraps: &PortWraps) -> Played {
        match &self.case {
            DrawnCase::Relay(case) => self.play_case(case, wraps),
            DrawnCase::Swaps(case) => self.play_case(case, wraps),
        }
    }

    fn play_case<C: ChainCase>(&self, case: &C, wraps: &PortWraps) -> Played {
        let trial = ChainTrial { wraps: wraps.clone(), ..ChainTrial::new(self.rules) };
        self.play.of_case(&trial, case, self.seed)
    }
}

impl ChainPlay {
    /// One process after another, or two workers, and what goes wrong.
    pub fn drawn(draws: &mut SplitMix) -> Self {
        if draws.once_in(1, 4) {
            return Self::Workers(workers(draws));
        }
        Self::Processes {
            fuse: draws.once_in(2, 3),
            faults: swarm(draws, &Fault::ALL),
            troubles: swarm(draws, &TROUBLES),
            disturbances: within(draws, 0, DISTURBANCES),
        }
    }

    /// Plays a case of this trial so.
    ///
    /// # Panics
    /// Where something is wrong, with what the oracles say.
    pub fn of_case<C: ChainCase>(&self, trial: &ChainTrial<C>, case: &C, seed: u64) -> Played {
        match self {
            Self::Workers(workers) => {
                let log = two_workers(trial, case, seed, workers);
                let kinds =
                    workers.troubles.iter().map(|(_, trouble)| format!("chain {trouble:?}"));
                Played { kinds: kinds.collect(), planned: format!("{:?}", workers.troubles), log }
            }
            Self::SetBack(plan) => set_back(trial, case, seed, plan),
            Self::HeldLane(held) => held_lane(trial, case, seed, *held),
            Self::Processes { fuse, faults, troubles, disturbances } => {
                let played = (*fuse, seed);
                let calm = play(trial, case, played, &[]);
                let once = troubles.iter().filter(|trouble| **trouble != ChainTrouble::Twice);
                let once: Vec<ChainTrouble> = once.copied().collect();
                let mut all = spots(&calm, faults, &once);
                if troubles.contains(&ChainTrouble::Twice) {
                    // after another disturbance its number may be that of a call which must not come twice
                    let node_signs = |chain: usize| {
                        calm.chains
                            .get(chain)
                            .is_none_or(|(locking, _)| *locking == Locking::Reference)
                    };
                    let safe = |spot: &Spot| !matches!(spot, Spot::Call(at, ..) if node_signs(*at));
                    all.extend(twice(&calm).into_iter().filter(safe));
                }
                let mut draws = SplitMix(seed ^ 0xC4A1_0717_5EED_0002);
                let picks = (0..*disturbances).filter_map(|_| one_of(&mut draws, &all));
                let picks: Vec<Spot> = picks.collect();
                let Calm { log, took, .. } = play(trial, case, played, &picks);
                let most = 2 * calm.took + PER_DISTURBANCE * (disturbances + 1);
                assert!(
                    trial.rules.is_rough() || took <= most,
                    "{}, {}, {:?} fuse={fuse} seed={seed} {picks:?}: it took {took} ms, and {} undisturbed",
                    case.flow(),
                    case.words(),
                    trial.rules.locking,
                    calm.took
                );
                let kinds = picks.iter().map(|spot| kind(*spot)).collect();
                Played { kinds, planned: format!("{picks:?}"), log }
            }
        }
    }
}

fn kind(spot: Spot) -> String {
    match spot {
        Spot::Write(_, fault) => format!("write {fault:?}"),
        Spot::Call(_, _, trouble) => format!("chain {trouble:?}"),
        Spot::Learn(_, trouble) => format!("facts {trouble:?}"),
    }
}

/// The locks of the relay's chain, and what goes wrong on each chain. The chains of the swaps have locks of their own.
fn rules(draws: &mut SplitMix) -> ChainRules {
    let lockings = [Locking::Nonce, Locking::Marker, Locking::Reference];
    let calm = ChainRules::calm(one_of(draws, &lockings).unwrap_or(Locking::Nonce));
    let mut rules = ChainRules { lanes: if draws.once_in(1, 2) { 2 } else { 1 }, ..calm };
    if draws.once_in(1, 2) {
        let rough = ChainRules::rough(rules.locking);
        let mut or_none = |rate| if draws.once_in(1, 2) { rate } else { 0 };
        rules.reorganises = or_none(rough.reorganises);
        rules.loses = or_none(rough.loses);
        rules.misleads = or_none(rough.misleads);
        rules.strangers = or_none(STRANGERS);
    }
    rules
}

/// Wallets that use our keys, and nodes that do not show what those did for a while.
fn draw_wallets(draws: &mut SplitMix, rules: &mut ChainRules) {
    if draws.once_in(1, 2) {
        rules.strangers = within(draws, 4, STRANGERS);
    }
    rules.wallets_pay = draws.once_in(1, 2);
    if rules.strangers > 0 && draws.once_in(1, 3) {
        rules.hides_from = within(draws, 1, HIDES_BY);
        rules.hides_for = if draws.once_in(1, 4) { HIDES_LONG } else { within(draws, 10, 60) };
    }
}

/// A person who pauses the chain for a while, and a journal that fails over when the first worker ends.
fn draw_operators(draws: &mut SplitMix, workers: &mut ChainWorkers) {
    if draws.once_in(1, 3) {
        let from = within(draws, 0, 10_000);
        workers.paused = Some(from..from + within(draws, 500, 30_000));
    }
    if draws.once_in(1, 4) {
        workers.fails_over = Some(within(draws, 0, workers.after));
    }
}

/// A journal that is set back: to before the first of the case, or to somewhere in it. No wallet signs meanwhile.
fn draw_set_back(draws: &mut SplitMix, rules: &mut ChainRules) -> ChainPlay {
    let most = if draws.once_in(1, 3) { 30 } else { 8_000 };
    let (after, lost) = (within(draws, 0, most), within(draws, 1_000, 20_000));
    *rules = ChainRules { lanes: LANES, strangers: 0, wallets_pay: false, hides_from: 0, ..*rules };
    ChainPlay::SetBack(ChainSetBack { after, lost, dies: draws.once_in(1, 2) })
}

/// A lane that no block takes anything of for a while, shorter or longer than a form is valid. Nothing else goes wrong.
fn draw_held_lane(draws: &mut SplitMix, rules: &mut ChainRules) -> ChainPlay {
    *rules = ChainRules { lanes: 2, id: rules.id, ..ChainRules::calm(rules.locking) };
    let blocks = within(draws, 10, 4 * rules.validity);
    let (fuse, from) = (draws.once_in(2, 3), within(draws, 1, HELD_BY));
    ChainPlay::HeldLane(HeldLane { fuse, from, blocks })
}

fn workers(draws: &mut SplitMix) -> ChainWorkers {
    let end = if draws.once_in(1, 2) { WorkerEnd::Killed } else { WorkerEnd::Paused };
    let after = within(draws, 0, 8_000);
    // the second worker is the one that must go on, and not every call may come twice
    let kinds = swarm(draws, &ChainTrouble::HINDRANCES);
    let troubles = (0..within(draws, 0, DISTURBANCES)).filter_map(|_| {
        let n = within(draws, 0, CALLS);
        Some((n, one_of(draws, &kinds)?))
    });
    let troubles = troubles.collect();
    let apart = draws.once_in(1, 2);
    ChainWorkers { end, after, troubles, apart, paused: None, fails_over: None }
}

impl fmt::Display for ChainRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChainRules { locking, lanes, reorganises, loses, misleads, strangers, .. } = self.rules;
        let refuses = self.rules.refuses_from;
        let how = match &self.play {
            ChainPlay::Processes { fuse: true, disturbances, .. } => {
                format!("fused, {disturbances} faults")
            }
            ChainPlay::Processes { disturbances, .. } => format!("plain, {disturbances} faults"),
            ChainPlay::Workers(run) => format!("two workers, {:?} after {} ms", run.end, run.after),
            ChainPlay::SetBack(plan) => {
                format!("its journal set back by {} ms, to {} ms", plan.lost, plan.after)
            }
            ChainPlay::HeldLane(held) => {
                format!("a lane held back for {} blocks from {}", held.blocks, held.from)
            }
        };
        write!(f, "seed={} {} {how}, {lanes} lanes", self.seed, self.flow())?;
        let rates = [
            (reorganises, "reorganises"),
            (loses, "loses"),
            (misleads, "misleads"),
            (strangers, "a wallet signs"),
            (u64::from(self.rules.wallets_pay), "a wallet pays"),
            (self.rules.hides_from, "blocks are hidden from"),
        ];
        for (rate, what) in rates {
            if rate > 0 {
                write!(f, ", {what} one in {rate}")?;
            }
        }
        if refuses > 0 {
            write!(f, ", the contract refuses all from block {refuses}")?;
        }
        match &self.case {
            DrawnCase::Relay(case) => write!(f, "; {locking:?}: {}", case.receivers.join(" ")),
            DrawnCase::Swaps(case) => {
                write!(f, "; quarantine {:?}:", case.quarantine)?;
                let mut deposits = case.deposits.iter();
                deposits.try_for_each(|d| write!(f, " {}>{:?} {}", d.sender, d.receiver, d.amount))
            }
        }
    }
}
