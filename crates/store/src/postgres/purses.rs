//! What accounts hold, as this process wrote it last: to move their money again, nothing is read.
//!
//! It is only believed. A write changes a balance only where it still is what was believed, or
//! nothing at all ([`Fault::Believed`](super::fault::Fault::Believed)): a transfer that several
//! processes share, an operator's SQL, nothing slips between. Where beliefs fail they rest for so
//! many groups, twice as many each time: processes that share their accounts soon read always.

use super::board::{Board, Held, Purse};
use super::needs::Needs;
use crate::rules::Balance;
use kernel::ids::{AssetId, UserId};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An asset of a user.
pub(crate) type Owner = (UserId, AssetId);

/// So many are remembered, and as many that were not used since.
const MOST: usize = 131_072;
/// Beliefs rest for no more groups.
const LONGEST: u32 = 512;

/// See the module.
#[derive(Default)]
pub(crate) struct Purses(Mutex<State>);

#[derive(Default)]
struct State {
    young: HashMap<Owner, Balance>,
    /// Those that were young before.
    old: HashMap<Owner, Balance>,
    /// Groups until anything is believed again.
    rest: u32,
    /// How long the next rest is.
    next: u32,
}

impl Purses {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what is known out of what is to be read.
    pub(crate) fn take(&self, needs: &mut Needs) -> Vec<(Owner, Balance)> {
        let mut state = self.state();
        if state.rest > 0 {
            state.rest = state.rest.saturating_sub(1);
            return Vec::new();
        }
        let known = |owner: &Owner| state.young.get(owner).or_else(|| state.old.get(owner));
        let known: Vec<_> = needs
            .purses
            .iter()
            .filter_map(|owner| known(owner).map(|balance| (*owner, *balance)))
            .collect();
        drop(state);
        for (owner, _) in &known {
            needs.purses.remove(owner);
        }
        known
    }

    /// A write that believed these did not happen: they count no more.
    pub(crate) fn doubt(&self, believed: &[Owner]) {
        if believed.is_empty() {
            return;
        }
        let mut state = self.state();
        for owner in believed {
            state.young.remove(owner);
            state.old.remove(owner);
        }
        let doubled = state.next.saturating_mul(2);
        state.next = doubled.clamp(1, LONGEST);
        state.rest = state.next;
    }

    /// Keeps what a write left.
    pub(crate) fn keep(&self, board: &Board) {
        let mut state = self.state();
        if board.believes() {
            state.next /= 2;
        }
        for (owner, purse) in &board.purses {
            if let Purse::Open(Held { now, .. }) = purse
                && now.changed
            {
                state.put(*owner, Balance { stored: true, changed: false, ..*now });
            }
        }
    }
}

impl State {
    fn put(&mut self, owner: Owner, balance: Balance) {
        if self.young.len() >= MOST {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(owner, balance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::money::Amount;
    use kernel::ports::ledger::AccountStatus;

    fn owner(user: u64) -> Owner {
        (UserId(user), AssetId(3))
    }

    fn needs(user: u64) -> Needs {
        Needs { purses: [owner(user)].into(), ..Needs::default() }
    }

    fn board(user: u64, available: u128) -> Board {
        let was = Balance::empty(AccountStatus::Active);
        let now = Balance { available: Amount(available), changed: true, ..was };
        let held = Held { now, ..Held::read(was) };
        Board { purses: [(owner(user), Purse::Open(held))].into(), ..Board::default() }
    }

    #[test]
    fn what_was_written_is_believed_and_not_read() {
        let purses = Purses::default();
        purses.keep(&board(1, 5));
        let mut asked = needs(1);
        let known = purses.take(&mut asked);
        assert_eq!(
            known.first().map(|(_, held)| (held.available, held.changed)),
            Some((Amount(5), false))
        );
        assert!(asked.purses.is_empty());
        assert!(purses.take(&mut needs(2)).is_empty());
    }

    // red for a state that keeps what failed, or that rests as long each time
    #[test]
    fn a_belief_that_fails_rests_longer_each_time() {
        let purses = Purses::default();
        let mut rests = Vec::new();
        for _ in 0..4 {
            purses.doubt(&[owner(1)]);
            assert!(!purses.state().young.contains_key(&owner(1)));
            purses.keep(&board(1, 5));
            let believes = |_: &u32| !purses.take(&mut needs(1)).is_empty();
            rests.push((0_u32..).find(believes));
        }
        assert_eq!(rests, [Some(1), Some(2), Some(4), Some(8)]);
    }

    #[test]
    fn no_more_is_remembered_than_twice_the_most() {
        let purses = Purses::default();
        (0..300_000).for_each(|user| purses.keep(&board(user, 5)));
        let state = purses.state();
        assert!(state.young.len() <= MOST && state.old.len() <= MOST);
        assert!(state.young.contains_key(&owner(299_999)));
    }
}
