//! Chooses the lock of a lane's next attempt, and finds what the chain has spent of lanes beyond the journal.
//!
//! A nonce says nothing of what was spent before it. So a lane counts from its newest transaction that spent a lock: the
//! account's value is the next lock only where that transaction is the one that spent the stored one.

use super::SolanaLink;
use super::history::{LaneUse, NOT_SHOWN};
use super::snapshot::{LaneAt, NonceView};
use super::tx::lock_of;
use kernel::answer::Cause;
use kernel::attempt::Lock;
use kernel::ports::chain::{KEY_ABSENT, LANE_AHEAD, LaneMark, LaneSpent, LaneStart, NewLane};
use solana_hash::Hash;
use std::sync::{Arc, PoisonError};

/// The lock of a lane that has spent none: the chain set its first nonce, and no transaction has spent it.
pub(super) const UNSPENT: &str = "unspent";

/// The last lock that a lane had spent when its nonce had this value.
#[derive(Debug, Clone)]
pub(super) struct LastSpent {
    value: Hash,
    /// `None`: it had spent none.
    used: Option<LaneUse>,
}

impl LastSpent {
    fn lock(&self) -> Lock {
        self.used.as_ref().map_or_else(|| UNSPENT.into(), |used| used.lock.clone())
    }

    /// The slot at which it was spent.
    fn slot(&self, otherwise: u64) -> u64 {
        self.used.as_ref().map_or(otherwise, |used| used.seen.slot)
    }
}

impl SolanaLink {
    /// The lock of the lane's next attempt, behind `stored`.
    pub(super) async fn next_lock(&self, lane: &str, stored: Option<&Lock>) -> Result<Lock, Cause> {
        if self.rest.left(self.clock.ticks()).is_some() {
            return Err(Cause::of("TOKEN_RESTS"));
        }
        let own = self.lanes.iter().find(|own| ***own == *lane);
        let lane = own.ok_or(Cause::of("NO_KEY"))?;
        let snapshots = self.snapshot(0).await?;
        let at = self.agreed_lane(lane, &snapshots, 0)?;
        let nonce = self.usable(at.nonce)?;
        let Some(stored) = stored else { return Ok(lock_of(&nonce.value)) };
        let last = self.last_spent(lane, &nonce, at.slot).await?;
        if last.lock().on_chain() == stored.on_chain() {
            return Ok(lock_of(&nonce.value));
        }
        let facts = format!("the chain has spent {}, the journal {stored}", last.lock());
        Err(Cause::because(LANE_AHEAD, facts))
    }

    fn usable(&self, nonce: Option<NonceView>) -> Result<NonceView, Cause> {
        let nonce = nonce.ok_or(Cause::of(KEY_ABSENT))?;
        if nonce.authority == self.vault.key { Ok(nonce) } else { Err(Cause::of("KEY_RESTRICTED")) }
    }

    /// The last lock that a lane has spent, where providers show that nonce at that slot. As long as the nonce is the
    /// same, nothing was spent since.
    async fn last_spent(
        &self,
        lane: &Arc<str>,
        nonce: &NonceView,
        slot: u64,
    ) -> Result<LastSpent, Cause> {
        let known = {
            let known = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(lane).filter(|last| last.value == nonce.value).cloned()
        };
        if let Some(last) = known {
            return Ok(last);
        }
        // read behind the nonce: what spent it since is shown too, and nothing is passed over
        let mut walk = self.walk(lane, slot, |_| true).await?;
        if walk.uses.is_empty() && !walk.begins {
            return Err(Cause::because(NOT_SHOWN, format!("what {lane} did last")));
        }
        let used = walk.uses.drain(..).next();
        if used.as_ref().is_some_and(|used| used.lock == lock_of(&nonce.value)) {
            // the nonce is older than what spent it
            return Err(Cause::because(crate::rpc::BEHIND, format!("the nonce of {lane}")));
        }
        let last = LastSpent { value: nonce.value, used };
        let mut known = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(lane.clone(), last.clone());
        Ok(last)
    }

    /// The lanes of which final blocks have spent more than the marks say.
    pub(super) async fn ahead(&self, marks: &[LaneMark]) -> Result<Vec<LaneSpent>, Cause> {
        let seen = marks.iter().filter_map(|mark| mark.seen.as_ref());
        // whatever the providers show now: what was seen once stays spent
        seen.for_each(|seen| self.rpc.raise_floor(seen.height));
        let lanes: Vec<Arc<str>> = marks.iter().map(|mark| mark.lane.clone()).collect();
        let snapshots = self.snapshot_with(&lanes).await?;
        let mut ahead = Vec::new();
        for LaneMark { lane, lock, anchor, .. } in marks {
            let least = anchor.unwrap_or_default();
            let LaneAt { nonce, slot } = self.agreed_lane(lane, &snapshots, least)?;
            let Some(nonce) = nonce.filter(|nonce| lock_of(&nonce.value).0[..] != *lock.on_chain())
            else {
                continue;
            };
            let last = self.last_spent(lane, &nonce, slot).await?;
            if last.lock().on_chain() != lock.on_chain() {
                let height = last.slot(slot);
                ahead.push(LaneSpent { lane: lane.clone(), lock: last.lock(), height });
            }
        }
        Ok(ahead)
    }

    /// Those of the lanes that the chain has, each with what it has spent last, and what it had at a slot.
    pub(super) async fn new_lanes(
        &self,
        lanes: &[Arc<str>],
        since: Option<u64>,
    ) -> Result<Vec<NewLane>, Cause> {
        let snapshots = self.snapshot_with(lanes).await?;
        let mut found = Vec::new();
        for lane in lanes {
            let LaneAt { nonce, slot } = self.agreed_lane(lane, &snapshots, 0)?;
            let Some(nonce) = nonce else { continue };
            let last = self.last_spent(lane, &nonce, slot).await?;
            let now = LaneStart { lock: last.lock(), height: slot };
            let start = match since.filter(|since| *since < last.slot(0)) {
                Some(since) => self.stood_at(lane, since, slot).await?,
                None => now.clone(),
            };
            found.push(NewLane { lane: lane.clone(), now, start: Some(start) });
        }
        Ok(found)
    }

    /// The last lock that a lane had spent at a slot.
    async fn stood_at(&self, lane: &str, slot: u64, shown_at: u64) -> Result<LaneStart, Cause> {
        let walk = self.walk(lane, shown_at, |used| used.seen.slot <= slot).await?;
        match walk.uses.last().filter(|used| used.seen.slot <= slot) {
            Some(used) => Ok(LaneStart { lock: used.lock.clone(), height: slot }),
            None if walk.begins => Ok(LaneStart { lock: UNSPENT.into(), height: slot }),
            None => Err(Cause::because(NOT_SHOWN, format!("what {lane} had spent at slot {slot}"))),
        }
    }
}
