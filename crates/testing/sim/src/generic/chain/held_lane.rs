//! Plays a case while no block takes what one of its lanes signs. Nothing else goes wrong: a transfer that no such
//! transaction pays or registers must end as soon as without that, and the others soon after it is over.

use super::drawn::PER_DISTURBANCE;
use super::{Calm, ChainCase, ChainTrial, play};
use crate::chain::{ChainRules, HeldBack, LinkedChain, PlayedChain};
use crate::generic::Played;
use kernel::ids::Millis;
use kernel::record::{Account, Record};
use std::collections::BTreeSet;

/// A lane that is held back.
#[derive(Debug, Clone, Copy)]
pub struct HeldLane {
    /// Whether it is played fused.
    pub fuse: bool,
    /// The first block that takes nothing of it.
    pub from: u64,
    /// For how many blocks that is so.
    pub blocks: u64,
}

impl HeldLane {
    /// The kind of disturbance that it is.
    pub(super) const KIND: &'static str = "a lane is held back";
}

/// When a transfer of a case ended.
#[derive(Debug)]
pub(super) struct TransferEnd {
    /// From when it was taken in.
    after: Millis,
    /// A transaction that pays it, or registers its receiver, was held back.
    held_back: bool,
}

/// When each of these transfers ended.
pub(super) fn ends<C: PlayedChain>(
    linked: &[LinkedChain<C>],
    ended: &[Record],
) -> Vec<TransferEnd> {
    let held: BTreeSet<HeldBack> =
        linked.iter().flat_map(|linked| linked.chain.held_back()).collect();
    let waits = |record: &Record, held: &HeldBack| {
        let registers = held.registers.clone().map(Account::Named);
        held.id == record.id || registers.is_some_and(|account| account == record.target().account)
    };
    let end = |record: &Record| TransferEnd {
        after: record.updated_at.saturating_sub(record.id.at()),
        held_back: held.iter().any(|held| waits(record, held)),
    };
    ended.iter().map(end).collect()
}

/// Plays a case so, and holds the end of each transfer against the same case undisturbed.
pub(super) fn held_lane<C: ChainCase>(
    trial: &ChainTrial<C>,
    case: &C,
    seed: u64,
    held: HeldLane,
) -> Played {
    let HeldLane { fuse, from, blocks } = held;
    let calm = play(trial, case, (fuse, seed), &[]);
    let rules = ChainRules { holds_from: from, holds_for: blocks, ..trial.rules };
    let trial = ChainTrial { rules, ..trial.clone() };
    let Calm { log, ends, .. } = play(&trial, case, (fuse, seed), &[]);
    let usual = calm.ends.iter().map(|end| end.after).max().unwrap_or(0);
    let most = |end: &TransferEnd| {
        // what is tried again on the one lane that is left waits once more at most
        let soon = 2 * usual + case.backoff().cap;
        if end.held_back { soon + (from + blocks) * rules.block_ms + PER_DISTURBANCE } else { soon }
    };
    let late: Vec<&TransferEnd> = ends.iter().filter(|end| end.after > most(end)).collect();
    assert!(
        late.is_empty(),
        "{}, {}, {:?} seed={seed} {held:?}: {late:?} ended late, and undisturbed all after {usual} ms",
        case.flow(),
        case.words(),
        rules.locking
    );
    let kinds = ends.iter().any(|end| end.held_back).then(|| HeldLane::KIND.to_owned());
    Played { kinds: kinds.into_iter().collect(), planned: format!("{held:?}"), log }
}
