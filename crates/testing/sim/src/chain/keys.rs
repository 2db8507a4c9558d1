//! The keys of the paying account, as the nodes of the simulated chain show them: a node that lags shows a deleted
//! key, and a node that lies shows none.

use super::node::Mood;
use super::state::{Locking, SimChain, State};
use kernel::answer::Cause;
use kernel::attempt::Lock;
use kernel::ports::chain::{GoneLane, LanePresence, LaneStart, LanesOnChain, ReturnedLane};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The number of a new key is the block's height times this: above each that was signed before.
const NONCE_RANGE: u64 = 1_000_000;

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

    /// Whether the account has no such key, by the blocks up to this height.
    pub(super) fn is_deleted(&self, lane: &str, upto: u64) -> bool {
        let deleted = self.deleted.get(lane).copied().filter(|at| *at <= upto);
        deleted.is_some_and(|deleted| self.added_at(lane, upto).is_none_or(|at| at < deleted))
    }

    /// The block that added the key of a lane again, by the blocks up to this height.
    fn added_at(&self, lane: &str, upto: u64) -> Option<u64> {
        self.added.get(lane).copied().filter(|at| *at <= upto)
    }

    /// The number that the chain began the key of a lane with when it was added again; 0: it was not.
    pub(super) fn began_at(&self, lane: &str, upto: u64) -> u64 {
        self.added_at(lane, upto).map_or(0, |at| at * NONCE_RANGE)
    }

    fn key_list(&self, mood: Mood) -> KeyList {
        let last = self.shown_final();
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

    /// The account's owner adds the key of a lane again.
    pub fn add_key(&self, lane: &str) {
        let mut state = self.now();
        let height = state.height;
        state.added.insert(lane.into(), height);
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

    /// Those of these lanes that two nodes show again.
    pub(super) fn returned(&self, gone: &[GoneLane]) -> Result<Vec<ReturnedLane>, Cause> {
        let Some(lists) = self.key_lists() else { return Ok(Vec::new()) };
        let [one, other] = &lists;
        let (height, state) = (lower(one, other), self.now());
        let mut returned = Vec::new();
        for GoneLane { lane, height: gone } in gone {
            let shows = |list: &&KeyList| list.final_height > *gone && list.lanes.contains(lane);
            match lists.iter().filter(shows).count() {
                0 => {}
                1 => return Err(Cause::of("PROVIDERS_DISAGREE")),
                _ => {
                    let start = state.added_at(lane, height).map(|at| LaneStart {
                        lock: Lock::from((at * NONCE_RANGE).to_string().as_str()),
                        height: at,
                    });
                    returned.push(ReturnedLane { lane: lane.clone(), height, start });
                }
            }
        }
        Ok(returned)
    }
}

fn lower(one: &KeyList, other: &KeyList) -> u64 {
    if one.final_height < other.final_height { one.final_height } else { other.final_height }
}
