//! Reads and reserves lanes, which are rows of the journal. A lane is free or has one open attempt, and
//! keeps its last lock. The unit that claims and the unit that closes each compare and swap the row; the
//! copy in this process only saves reads.

use crate::chains::ChainPool;
use crate::chains::Chains;
use crate::plan::lane_state::{LaneState, prefix, resource_name};
use crate::state::select::race;
use kernel::answer::Cause;
use kernel::attempt::AttemptId;
use kernel::ids::{ChainId, Id, Millis};
use kernel::ports::clock::TICKS;
use kernel::ports::meter::Seen;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What this process knows of a chain's lanes.
#[derive(Debug, Default)]
pub(crate) struct LaneTable {
    known: BTreeMap<Arc<str>, LaneState>,
    /// Rows that cannot be read: never taken.
    foreign: BTreeSet<Arc<str>>,
    /// The lanes for which this process signs something now.
    reserved: BTreeSet<Arc<str>>,
    /// The lanes that had trouble, and until when each rests.
    rests: BTreeMap<Arc<str>, Millis>,
    /// Whether a lane without a row may have been spent by other programs, so that it is not taken; `None`:
    /// the chain was not asked yet.
    needs_row: Option<bool>,
    /// The height up to which the port was told what the attempts of a lane carried out.
    told: BTreeMap<Arc<str>, u64>,
    /// When the rows were read, by the clock's ticks.
    read_at: Option<u64>,
    /// Where the search for a free one begins, so that all of them take turns.
    turn: usize,
}

impl LaneTable {
    /// The lanes with an open attempt that are not among these.
    fn without_key(&self, lanes: &BTreeSet<Arc<str>>) -> Vec<(Arc<str>, AttemptId)> {
        let others = self.known.iter().filter(|(name, _)| !lanes.contains(*name));
        others.filter_map(|(name, state)| Some((name.clone(), state.open?))).collect()
    }

    /// Reserves a free lane, where there is one.
    fn reserve(&mut self, lanes: &[Arc<str>], now: Millis) -> Option<(Arc<str>, LaneState)> {
        self.read_at?;
        let free = |lane: &&Arc<str>| {
            let rests = self.rests.get(*lane).is_some_and(|until| *until > now);
            let known = self.known.get(*lane);
            let taken =
                known.map_or_else(|| self.needs_row == Some(true), |state| !state.is_free());
            !rests && !taken && !self.reserved.contains(*lane) && !self.foreign.contains(*lane)
        };
        let from = self.turn.checked_rem(lanes.len()).unwrap_or_default();
        let (before, behind) = lanes.split_at(from);
        let lane = behind.iter().chain(before).find(free)?.clone();
        self.turn = from.saturating_add(1);
        self.reserved.insert(lane.clone());
        let state = self.known.get(&lane).cloned().unwrap_or_default();
        Some((lane, state))
    }
}

/// A lane for which this process signs, until this is dropped.
pub(crate) struct ReservedLane {
    pool: Arc<ChainPool>,
    pub name: Arc<str>,
    pub state: LaneState,
}

impl Drop for ReservedLane {
    fn drop(&mut self) {
        self.pool.lanes().reserved.remove(&self.name);
        self.pool.freed.notify_waiters();
    }
}

impl ReservedLane {
    /// Lets the lane rest until then, after something went wrong with it.
    pub(crate) fn rests(&self, until: Millis) {
        self.pool.lanes().rests.insert(self.name.clone(), until);
    }
}

impl ChainPool {
    /// What this process knows of a lane; `None`: it was never used, or its row cannot be read.
    pub(crate) fn lane(&self, lane: &str) -> Option<LaneState> {
        self.lanes().known.get(lane).cloned()
    }

    /// Every lane of which the journal has a row, as far as this process knows.
    pub(crate) fn stored_lanes(&self) -> BTreeMap<Arc<str>, LaneState> {
        self.lanes().known.clone()
    }

    /// The height up to which the port was told what the attempts of a lane carried out.
    pub(crate) fn told_height(&self, lane: &str) -> Option<u64> {
        self.lanes().told.get(lane).copied()
    }

    /// Notes that the port was told of a lane up to that height.
    pub(crate) fn told_until(&self, lane: Arc<str>, height: u64) {
        self.lanes().told.insert(lane, height);
    }

    /// The lanes of which the chain was seen to have spent more than every attempt.
    pub(crate) fn lanes_seen_ahead(&self) -> Vec<(Arc<str>, LaneState)> {
        let mut lanes = self.stored_lanes();
        lanes.retain(|_, state| state.ahead.is_some());
        lanes.into_iter().collect()
    }

    /// True for a lane whose row is none of this release's.
    pub(crate) fn is_unreadable(&self, lane: &str) -> bool {
        self.lanes().foreign.contains(lane)
    }

    /// True where the chain showed the lanes at first new.
    pub(crate) fn has_asked_lanes(&self) -> bool {
        self.lanes().needs_row.is_some()
    }

    /// Notes that the chain was asked for lanes without a row, and whether a lane without a row may be taken.
    pub(crate) fn lanes_asked(&self, needs_row: bool) {
        self.lanes().needs_row = Some(needs_row);
    }

    /// The lanes that are retired, as far as this process knows, with the block at which each was proven gone.
    pub(crate) fn retired_lanes(&self) -> Vec<(Arc<str>, Option<u64>)> {
        let table = self.lanes();
        let retired = table.known.iter().filter(|(_, state)| state.retired.is_some());
        retired.map(|(name, state)| (name.clone(), state.gone_at())).collect()
    }

    /// Notes that the chain has a lane again that was proven gone.
    pub(crate) fn has_returned_lanes(&self) -> bool {
        let back = |state: &LaneState| {
            state.retired.as_ref().is_some_and(|retired| retired.returned_at.is_some())
        };
        self.lanes().known.values().any(back)
    }

    /// The lanes with an open attempt whose key this process does not have.
    pub(crate) fn without_key(&self, lanes: &BTreeSet<Arc<str>>) -> Vec<(Arc<str>, AttemptId)> {
        self.lanes().without_key(lanes)
    }

    /// Notes the state in which a unit of this process left a lane. A later unit may have left it in a
    /// later one, and have said so first.
    pub(crate) fn lane_is(&self, lane: &Arc<str>, state: LaneState) {
        let free = state.is_free();
        let mut table = self.lanes();
        if table.known.get(lane).is_none_or(|known| known.version <= state.version) {
            table.known.insert(lane.clone(), state);
        }
        drop(table);
        if free {
            self.freed.notify_waiters();
        }
    }
}

impl ChainPool {
    /// The attempts of this process that these lanes carry; `None` for a lane that carries none. A retired
    /// lane that carries none is left out.
    fn open_in<'a>(
        &self,
        lanes: impl IntoIterator<Item = &'a Arc<str>>,
    ) -> Vec<(&'a Arc<str>, Option<AttemptId>)> {
        let table = self.lanes();
        let open = |lane: &'a Arc<str>| {
            let state = table.known.get(lane);
            let open = state.and_then(|state| state.open);
            let retired = state.is_some_and(|state| state.retired.is_some());
            let open = open.filter(|id| self.carried.carries(*id));
            (open.is_some() || !retired).then_some((lane, open))
        };
        lanes.into_iter().filter_map(open).collect()
    }
}

impl Chains {
    /// Measures the lanes of a chain that this process may use.
    pub(crate) fn measure_lanes(&self, pool: &ChainPool) {
        let lanes = self.lane_names(pool);
        let (chain, now) = (pool.id().name(), self.shared.parts.journal.now());
        let (mut free, mut busy) = (0_usize, 0_usize);
        for (lane, open) in pool.open_in(&lanes) {
            let count = if open.is_some() { &mut busy } else { &mut free };
            *count = count.saturating_add(1);
            let open_for = open.map(|id| now.saturating_sub(Id(id.0).at()));
            self.shared.parts.meter.see(Seen::Lane { chain, lane, open_for });
        }
        self.shared.parts.meter.see(Seen::Lanes { chain, free, busy });
    }

    /// Reads the rows of a chain's lanes.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub(crate) async fn read_lanes(&self, pool: &ChainPool) -> Result<(), Cause> {
        let prefix = prefix(pool.id());
        let began = self.shared.parts.clock.ticks();
        let rows = self.shared.parts.journal.resources(prefix.as_str().into()).await?;
        let mut table = pool.lanes();
        for row in rows {
            let Some(lane) = row.name.strip_prefix(&*prefix).map(Arc::<str>::from) else {
                continue;
            };
            let Some(state) = LaneState::read(&row) else {
                tracing::error!(lane = %row.name, value = %row.value, "a lane that cannot be read");
                table.foreign.insert(lane);
                continue;
            };
            table.foreign.remove(&lane);
            // what a unit of this process wrote since may be newer than what was read
            let newer = |known: &LaneState| known.version > state.version;
            if !table.known.get(&lane).is_some_and(newer) {
                table.known.insert(lane, state);
            }
        }
        table.read_at = Some(began);
        let highest = table.known.values().filter_map(LaneState::last_height).max();
        drop(table);
        // a provider that has not seen what the journal has stored is behind
        highest.into_iter().for_each(|height| pool.port.raise_floor(height));
        pool.freed.notify_waiters();
        Ok(())
    }

    /// Waits for a free lane for this act.
    pub(crate) async fn reserve_lane(&self, pool: &Arc<ChainPool>, act: &str) -> ReservedLane {
        let every = self.shared.parts.settings.scan_interval_ms;
        loop {
            let freed = pool.freed.notified();
            let lanes = pool.port.lanes(act);
            let now = self.shared.parts.journal.now();
            let reserved = pool.lanes().reserve(&lanes, now);
            if let Some((name, state)) = reserved {
                return ReservedLane { pool: pool.clone(), name, state };
            }
            let read_at = pool.lanes().read_at;
            let age = read_at.map(|at| self.shared.parts.clock.ticks().saturating_sub(at) / TICKS);
            if age.is_none_or(|age| age >= every) {
                match self.read_lanes(pool).await {
                    Ok(()) => {}
                    Err(cause) => tracing::error!(%cause, "the lanes of a chain cannot be read"),
                }
                let again = pool.lanes().reserve(&lanes, now);
                if let Some((name, state)) = again {
                    return ReservedLane { pool: pool.clone(), name, state };
                }
            }
            race(freed, self.shared.parts.clock.sleep(every)).await;
        }
    }

    /// The state of a lane in the journal now.
    ///
    /// # Errors
    /// The cause for which the journal does not answer; `LANE_UNREADABLE` where its row is none of ours.
    pub(crate) async fn lane_state(&self, chain: ChainId, lane: &str) -> Result<LaneState, Cause> {
        let row = self.shared.parts.journal.resource(resource_name(chain, lane)).await?;
        let Some(row) = row else { return Ok(LaneState::default()) };
        LaneState::read(&row).ok_or_else(|| Cause::because("LANE_UNREADABLE", row.value))
    }
}

#[cfg(test)]
mod tests {
    use super::LaneTable;
    use crate::plan::lane_state::{LaneRetirement, LaneState};
    use kernel::attempt::AttemptId;
    use std::sync::Arc;

    /// Turns red where a retired lane is taken.
    #[test]
    fn a_retired_lane_is_not_reserved() {
        let retired =
            LaneRetirement { by: "portage|ada".into(), at: 5, gone_at: None, returned_at: None };
        let free = LaneState::default().retired(retired);
        let lanes: Vec<Arc<str>> = vec!["a".into()];
        let mut table = LaneTable { read_at: Some(1), ..LaneTable::default() };
        table.known.insert("a".into(), free);
        assert!(table.reserve(&lanes, 0).is_none());
    }

    /// Turns red where a key that is dropped with its attempt open goes without a word.
    #[test]
    fn an_open_attempt_whose_key_is_gone_is_found() {
        let mut table = LaneTable::default();
        let busy = LaneState { open: Some(AttemptId(1)), ..LaneState::default() };
        table.known.insert("here".into(), busy.clone());
        table.known.insert("gone".into(), busy);
        table.known.insert("free".into(), LaneState::default());
        let here = std::iter::once("here".into()).collect();
        assert_eq!(table.without_key(&here), [("gone".into(), AttemptId(1))]);
    }

    #[test]
    fn lanes_take_turns_and_a_busy_one_is_not_taken() {
        let lanes: Vec<Arc<str>> = ["a", "b", "c"].map(Into::into).into();
        let mut table = LaneTable::default();
        assert!(table.reserve(&lanes, 0).is_none(), "nothing was read yet");
        table.read_at = Some(1);
        let busy = LaneState { open: Some(AttemptId(1)), ..LaneState::default() };
        table.known.insert("b".into(), busy);
        table.rests.insert("c".into(), 10);
        let mut next = |now| table.reserve(&lanes, now).map(|(lane, _)| lane.to_string());
        assert_eq!(next(9).as_deref(), Some("a"));
        assert_eq!(next(9), None);
        assert_eq!(next(10).as_deref(), Some("c"));
        assert_eq!(next(10), None);
    }
}
