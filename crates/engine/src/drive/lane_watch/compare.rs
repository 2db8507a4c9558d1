//! Compares lanes with what the chain has spent of them, for the lane watch: each lane of which the journal
//! has a row, whichever worker has its key, and each key of this process. A key without a row gets one at
//! first sight, before the first claim of the chain.

use crate::chains::ChainPool;
use crate::chains::Chains;
use crate::commit::outcome::WriteOutcome;
use crate::drive::lane_watch::LANES_MOVED;
use crate::plan::chain_stop::stops_name;
use crate::plan::lane_state::{LaneState, anchors, prefix};
use crate::state::select::caught;
use kernel::answer::Cause;
use kernel::ids::ChainId;
use kernel::ports::chain::{LaneMark, LaneSpent, LaneStart, NewLane};
use kernel::ports::journal::{RESTORED_ROW, Resource};
use kernel::unit::{Guard, Put, Unit};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A lane of which the chain has spent more than the journal has attempts.
pub(crate) struct AheadLane {
    pub name: Arc<str>,
    pub state: LaneState,
    /// From where on what it spent is to be explained; `None`: nothing that is kept shows that.
    pub mark: Option<LaneMark>,
    /// The last lock that the chain was seen to have spent of it.
    pub spent: LaneStart,
}

impl Chains {
    /// How often the engine has stopped a chain.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub(crate) async fn stops_counted(&self, chain: ChainId) -> Result<u32, Cause> {
        let counted = self.shared.parts.journal.resource(stops_name(chain)).await?;
        Ok(counted.map_or(0, |row| row.version))
    }

    /// Every lane that this process may take locks from.
    pub(crate) fn lane_names(&self, pool: &ChainPool) -> BTreeSet<Arc<str>> {
        self.sent_acts().into_iter().flat_map(|act| pool.port.lanes(act)).collect()
    }

    /// Every act that the flows carried here send.
    fn sent_acts(&self) -> BTreeSet<&'static str> {
        let tables = self.shared.parts.offered.iter().map(|flow| self.shared.plan.table(*flow));
        let acts = tables.flat_map(|table| {
            let sending = table.all().filter(|state| table.sends(*state));
            sending.filter_map(|state| table.makes(state)).map(|act| table.act(act).name)
        });
        acts.collect()
    }

    /// The lanes of which the chain has spent more than every stored attempt. A lane that another worker
    /// used since its row was read is none of them: its attempts are stored before they are sent. One that
    /// is proven gone signs nothing.
    ///
    /// # Errors
    /// Why that is not known now.
    pub(crate) async fn lanes_ahead(&self, pool: &Arc<ChainPool>) -> Result<Vec<AheadLane>, Cause> {
        self.read_lanes(pool).await?;
        if self.take_back_gone(pool).await? {
            self.read_lanes(pool).await?;
        }
        let mut ahead = self.begin_new_lanes(pool).await?;
        let mut lanes = BTreeMap::new();
        for (name, state) in pool.stored_lanes() {
            // one that is proven gone spends nothing more; what it was seen to have spent is still to be read
            let signs = state.gone_at().is_none() || state.ahead.is_some();
            let Some((lock, anchor)) = state.last().filter(|_| signs) else { continue };
            let mark = LaneMark { lane: name.clone(), lock, anchor, seen: state.ahead.clone() };
            lanes.insert(name, (state, mark));
        }
        let marks: Vec<LaneMark> = lanes.values().map(|(_, mark)| mark.clone()).collect();
        if marks.is_empty() {
            return Ok(ahead);
        }
        let found = caught(async { pool.port.ahead(&marks).await }).await;
        let found = found.unwrap_or_else(|| Err(Cause::of("PANIC")))?;
        for LaneSpent { lane: name, lock, height } in found {
            let Some((state, mark)) = lanes.get(&name) else { continue };
            // what the chain has spent, the journal had before it was sent
            let now = self.lane_state(pool.id(), &name).await?;
            if now != *state {
                pool.lane_is(&name, now);
                pool.lane_check.request_look();
                continue;
            }
            let anchor = match mark.anchor {
                Some(anchor) => Some(anchor),
                None => self.first_anchor(pool.id(), &name).await?,
            };
            let mark = Some(LaneMark { anchor, ..mark.clone() });
            ahead.push(AheadLane {
                name,
                state: state.clone(),
                mark,
                spent: LaneStart { lock, height },
            });
        }
        Ok(ahead)
    }

    /// Gives each key of this process its row when it is first seen, and raises the floor of the port to what the
    /// journal has stored of the chain. Returns the lanes of which it cannot be known any more what they
    /// spent since.
    async fn begin_new_lanes(&self, pool: &ChainPool) -> Result<Vec<AheadLane>, Cause> {
        let stored = pool.stored_lanes();
        let unseen = |name: &Arc<str>| match stored.get(name) {
            Some(state) => state.last().is_none(),
            None => !pool.is_unreadable(name),
        };
        let names: BTreeSet<Arc<str>> =
            self.lane_names(pool).into_iter().chain(stored.keys().cloned()).collect();
        let names: Vec<Arc<str>> = names.into_iter().filter(unseen).collect();
        self.raise_to_attempts(pool, &stored).await?;
        if names.is_empty() && pool.has_asked_lanes() {
            return Ok(Vec::new());
        }
        let complete = self.complete_until(pool.id(), &stored).await?;
        complete.height.into_iter().for_each(|height| pool.port.raise_floor(height));
        let shown = caught(async { pool.port.new_lanes(&names, complete.height).await }).await;
        let Some(shown) = shown.unwrap_or_else(|| Err(Cause::of("PANIC")))? else {
            pool.lanes_asked(false);
            return Ok(Vec::new());
        };
        let first = shown.iter().map(|new| new.now.height).min();
        if let Some(height) = complete.height.or(first) {
            self.store_complete(pool.id(), &complete, height).await?;
        }
        let mut lost = Vec::new();
        for new in shown {
            let state = stored.get(&new.lane).cloned().unwrap_or_default();
            if new.start.is_some() {
                self.store_new_lane(pool, &state, &new).await?;
            } else {
                let NewLane { lane: name, now: spent, .. } = new;
                lost.push(AheadLane { name, state, mark: None, spent });
            }
        }
        pool.lanes_asked(true);
        Ok(lost)
    }

    /// Raises the floor of the port to what the rows of lanes do not have: a later form of an attempt that another
    /// worker has, and the forms of the last attempt of a row of an earlier release.
    async fn raise_to_attempts(
        &self,
        pool: &ChainPool,
        stored: &BTreeMap<Arc<str>, LaneState>,
    ) -> Result<(), Cause> {
        let lacks = |state: &LaneState| match state.open {
            Some(id) => !pool.carried.carries(id),
            None => state.lock.is_some() && state.height.is_none(),
        };
        for (name, _) in stored.iter().filter(|(_, state)| lacks(state)) {
            let journal = &self.shared.parts.journal;
            let last = journal.attempts_of_lane(pool.id(), name.clone(), 1).await?;
            let highest = last.iter().flat_map(anchors).max();
            highest.into_iter().for_each(|height| pool.port.raise_floor(height));
        }
        Ok(())
    }

    /// Stores the row of a lane when it is first seen.
    async fn store_new_lane(
        &self,
        pool: &ChainPool,
        before: &LaneState,
        new: &NewLane,
    ) -> Result<(), Cause> {
        let after = before.begun(new);
        let (guard, put) = before.becomes(pool.id(), &new.lane, &after);
        let now = match self.shared.writer.write(Unit::guarded(vec![guard], vec![put])).await {
            WriteOutcome::Done(_) => after,
            // another worker saw it first
            WriteOutcome::Lost(_) => self.lane_state(pool.id(), &new.lane).await?,
            WriteOutcome::NotWritten(why) => return Err(why.cause),
        };
        pool.lane_is(&new.lane, now);
        Ok(())
    }

    /// The unit in which two persons accept what the chain was seen to have spent of lanes: each counts from
    /// there, and what it spent before is not read any more.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub(crate) async fn accepts_lanes(&self, chain: ChainId) -> Result<Unit, Cause> {
        let mut unit = Unit::default();
        let prefix = prefix(chain);
        for row in self.shared.parts.journal.resources(prefix.as_str().into()).await? {
            let (Some(lane), Some(state)) =
                (row.name.strip_prefix(&*prefix), LaneState::read(&row))
            else {
                continue;
            };
            if state.ahead.is_some() {
                let (guard, put) = state.becomes(chain, lane, &state.accepted());
                unit.guards.push(guard);
                unit.then.puts.push(put);
            }
        }
        Ok(unit)
    }

    /// The height up to which the journal has everything that our keys did, for a key that it has no row of.
    /// The first look of a journal fixes it, and so does the first one after it was restored: at what it had
    /// stored of the chain by then. A later look must not find a later height, since workers with other keys
    /// go on meanwhile.
    async fn complete_until(
        &self,
        chain: ChainId,
        stored: &BTreeMap<Arc<str>, LaneState>,
    ) -> Result<CompleteUntil, Cause> {
        let journal = &self.shared.parts.journal;
        let restored = journal.resource(RESTORED_ROW.into()).await?.map_or(0, |row| row.version);
        let row = journal.resource(complete_name(chain)).await?;
        let version = row.as_ref().map_or(0, |row| row.version);
        if let Some(found) =
            row.and_then(|row| CompleteUntil::read(&row)).filter(|found| found.restored == restored)
        {
            return Ok(found);
        }
        let mut height = stored.values().filter_map(LaneState::known_height).max();
        for (name, _) in stored.iter().filter(|(_, state)| state.lock.is_some()) {
            let last = journal.attempts_of_lane(chain, name.clone(), 1).await?;
            height = last.iter().flat_map(anchors).chain(height).max();
        }
        // a journal that was set back to before its first look may have paid with any key since
        let height = height.or_else(|| (restored > 0).then_some(0));
        Ok(CompleteUntil { version, stored: false, restored, height })
    }

    /// Stores the height up to which the journal is complete, where it is not stored yet.
    async fn store_complete(
        &self,
        chain: ChainId,
        complete: &CompleteUntil,
        height: u64,
    ) -> Result<(), Cause> {
        if complete.stored {
            return Ok(());
        }
        let name = complete_name(chain);
        let guard = Guard::Resource { name: name.clone(), version: complete.version };
        let value = json!({ "restored": complete.restored, "height": height }).to_string().into();
        let unit = Unit::guarded(vec![guard], vec![Put::Resource { name, value }]);
        // where another worker fixed it, it is read again
        self.shared.writer.write(unit).await.done(LANES_MOVED).map(drop)
    }

    /// The lowest height at which a form of a lane's last attempt was signed.
    async fn first_anchor(&self, chain: ChainId, lane: &Arc<str>) -> Result<Option<u64>, Cause> {
        let last = self.shared.parts.journal.attempts_of_lane(chain, lane.clone(), 1).await?;
        Ok(last.iter().flat_map(anchors).min())
    }
}

/// The name of the row with the height up to which a journal has everything that our keys did on a chain.
fn complete_name(chain: ChainId) -> Arc<str> {
    format!("complete:{}", chain.name()).into()
}

/// Up to which height the journal has everything that our keys did.
struct CompleteUntil {
    /// The version of its row; 0: there is none.
    version: u32,
    /// The row says it.
    stored: bool,
    /// How often the journal had been restored when that was fixed.
    restored: u32,
    /// `None`: the journal is new to the chain.
    height: Option<u64>,
}

impl CompleteUntil {
    fn read(row: &Resource) -> Option<Self> {
        let value: Value = serde_json::from_str(&row.value).ok()?;
        let restored = u32::try_from(value.get("restored")?.as_u64()?).ok()?;
        let height = Some(value.get("height")?.as_u64()?);
        Some(Self { version: row.version, stored: true, restored, height })
    }
}
