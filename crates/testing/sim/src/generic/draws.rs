//! Helpers that draw a run from its seed, and the result of such a run.

use crate::event_log::LoggedEvent;
use crate::world::SplitMix;

/// What happened in a drawn run after which all was well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    /// What went wrong, as it was planned: the kind of each.
    pub kinds: Vec<String>,
    /// The same with the write or call that each came to.
    pub planned: String,
    /// The events of the run.
    pub log: Vec<LoggedEvent>,
}

/// A number that is not below `low` and not above `high`.
pub(crate) const fn within(draws: &mut SplitMix, low: u64, high: u64) -> u64 {
    low + draws.next() % (high - low + 1)
}

/// One of these; none of none.
pub(crate) fn one_of<T: Copy>(draws: &mut SplitMix, all: &[T]) -> Option<T> {
    let many = u64::try_from(all.len()).unwrap_or(u64::MAX);
    let at = draws.next().checked_rem(many)?;
    all.get(usize::try_from(at).ok()?).copied()
}

/// Each of these in half of the runs: what is always there hides what only shows without it.
pub(crate) fn swarm<T: Copy>(draws: &mut SplitMix, all: &[T]) -> Vec<T> {
    all.iter().copied().filter(|_| draws.once_in(1, 2)).collect()
}
