//! The keys of the account that pays, as the nodes of the simulated chain show them: one that lags shows a key that
//! is deleted, and one that lies shows none.

use super::node::Mood;
use super::state::{Locking, SimChain, State};
use kernel::answer::Cause;
use kernel::ports::chain::{LanePresence, LanesOnChain};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What one node says of the account's keys.
struct KeyList {
    final_height: u64,
    lanes: BTreeSet<Arc<str>>,
}

impl State {
    /// The name of a lane's key.
    pub(super) fn lane_names(&self) -> impl Iterator<Item = Arc<str>> {
        (1..=self.rules.lanes).map(|n| format!("key-{n}").into())
    }

    /// Whether the account has no such key any more, by the blocks up to this height.
    pub(super) fn is_deleted(&self, lane: &str, upto: u64) -> bool {
        self.deleted.get(lane).is_some_and(|at| *at <= upto)
    }

    fn key_list(&self, mood: Mood) -> KeyList {
        let last = self.final_height();
        let (final_height, shows) = match mood {
            Mood::Honest => (last, true),
            Mood::Lags(lag) => (last.saturating_sub(lag), true),
            Mood::Lies => (last, false),
        };
        let there = |lane: &Arc<str>| shows && !self.is_deleted(lane, final_height);
        KeyList { final_height, lanes: self.lane_names().filter(there).collect() }
    }
}

impl SimChain {
    /// The account's owner deletes the key of a lane: no later block takes a transaction of it.
    pub fn delete_key(&self, lane: &str) {
        let mut state = self.now();
        let height = state.height;
        state.deleted.insert(lane.into(), height);
    }

    /// Whether the newest block has the key of a lane no more.
    pub(super) fn has_deleted(&self, lane: &str) -> bool {
        let state = self.now();
        state.is_deleted(lane, state.height)
    }

    /// What two nodes say of the account's keys.
    fn key_lists(&self) -> Option<[KeyList; 2]> {
        let mut state = self.now();
        (state.rules.locking == Locking::Nonce)
            .then(|| state.moods().map(|mood| state.key_list(mood)))
    }

    /// The lanes that either of two nodes shows.
    pub(super) fn lanes_on_chain(&self) -> Option<LanesOnChain> {
        let [one, other] = self.key_lists()?;
        let height = lower(&one, &other);
        Some(LanesOnChain { height, lanes: &one.lanes | &other.lanes, providers: 2 })
    }

    /// Whether two nodes agree that a lane is gone, at blocks from a height on.
    pub(super) fn lane_presence(
        &self,
        lane: &str,
        since: Option<u64>,
    ) -> Result<LanePresence, Cause> {
        let lists = self.key_lists().ok_or(Cause::of("NO_KEY_LIST"))?;
        let [one, other] = &lists;
        let height = lower(one, other);
        let shown_by = lists.iter().filter(|list| list.lanes.contains(lane)).count();
        if shown_by > 0 {
            return Ok(LanePresence::There { height, shown_by, of: 2 });
        }
        if since.is_some_and(|since| height < since) {
            return Err(Cause::of("FEW_PROVIDERS"));
        }
        Ok(LanePresence::Absent { height, providers: 2 })
    }
}

fn lower(one: &KeyList, other: &KeyList) -> u64 {
    if one.final_height < other.final_height { one.final_height } else { other.final_height }
}
