//! The wrapper trait of a chain port: each method passes its call on by default.

use super::Wrapper;
use kernel::answer::Cause;
use kernel::attempt::{Attempt, Lock};
use kernel::ids::{ChainId, Millis};
use kernel::ports::Fut;
use kernel::ports::chain::{
    AttemptProof, CarriedOut, Chain, ChainIdentity, Concern, FeeBalance, ForeignUse, GoneLane,
    LaneMark, LanePresence, LaneSpent, LanesOnChain, NewLane, ProviderReport, ReturnedLane,
    SignRequest, Signed, Unsigned,
};
use kernel::ports::sending::SendPermission;
use kernel::record::Record;
use std::sync::Arc;

/// What stands around a chain port; each default passes its call on.
pub trait ChainWrapper: Send + Sync {
    /// The port that is wrapped.
    fn inner(&self) -> &dyn Chain;
    /// In the place of [`Chain::lanes`].
    fn lanes(&self, act: &str) -> Vec<Arc<str>> {
        self.inner().lanes(act)
    }
    /// In the place of [`Chain::concerns`].
    fn concerns(&self) -> Vec<Concern> {
        self.inner().concerns()
    }
    /// In the place of [`Chain::rests_for`].
    fn rests_for(&self, act: &str, record: &Record) -> Option<Millis> {
        self.inner().rests_for(act, record)
    }
    /// In the place of [`Chain::identity`].
    fn identity(&self) -> Fut<'_, Result<Option<ChainIdentity>, Cause>> {
        self.inner().identity()
    }
    /// In the place of [`Chain::bind`].
    fn bind(&self, identity: &ChainIdentity) {
        self.inner().bind(identity);
    }
    /// In the place of [`Chain::next_lock`].
    fn next_lock<'a>(
        &'a self,
        lane: &'a str,
        stored: Option<&'a Lock>,
        members: &'a [Record],
    ) -> Fut<'a, Result<Lock, Cause>> {
        self.inner().next_lock(lane, stored, members)
    }
    /// In the place of [`Chain::ahead`].
    fn ahead<'a>(&'a self, marks: &'a [LaneMark]) -> Fut<'a, Result<Vec<LaneSpent>, Cause>> {
        self.inner().ahead(marks)
    }
    /// In the place of [`Chain::new_lanes`].
    fn new_lanes<'a>(
        &'a self,
        lanes: &'a [Arc<str>],
        since: Option<u64>,
    ) -> Fut<'a, Result<Option<Vec<NewLane>>, Cause>> {
        self.inner().new_lanes(lanes, since)
    }
    /// In the place of [`Chain::raise_floor`].
    fn raise_floor(&self, height: u64) {
        self.inner().raise_floor(height);
    }
    /// In the place of [`Chain::note_carried_out`].
    fn note_carried_out(&self, carried_out: &CarriedOut) {
        self.inner().note_carried_out(carried_out);
    }
    /// In the place of [`Chain::foreign`].
    fn foreign<'a>(&'a self, mark: &'a LaneMark) -> Fut<'a, Result<Vec<ForeignUse>, Cause>> {
        self.inner().foreign(mark)
    }
    /// In the place of [`Chain::lanes_on_chain`].
    fn lanes_on_chain(&self) -> Fut<'_, Result<Option<LanesOnChain>, Cause>> {
        self.inner().lanes_on_chain()
    }
    /// In the place of [`Chain::lane_presence`].
    fn lane_presence<'a>(
        &'a self,
        lane: &'a str,
        since: Option<u64>,
    ) -> Fut<'a, Result<LanePresence, Cause>> {
        self.inner().lane_presence(lane, since)
    }
    /// In the place of [`Chain::returned`].
    fn returned<'a>(&'a self, gone: &'a [GoneLane]) -> Fut<'a, Result<Vec<ReturnedLane>, Cause>> {
        self.inner().returned(gone)
    }
    /// In the place of [`Chain::fee_balance`].
    fn fee_balance(&self) -> Fut<'_, Result<Option<FeeBalance>, Cause>> {
        self.inner().fee_balance()
    }
    /// In the place of [`Chain::sign`].
    fn sign<'a>(&'a self, request: &'a SignRequest) -> Fut<'a, Result<Signed, Unsigned>> {
        self.inner().sign(request)
    }
    /// In the place of [`Chain::broadcast`].
    fn broadcast<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<Result<(), Cause>>> {
        self.inner().broadcast(attempts)
    }
    /// In the place of [`Chain::prove`].
    fn prove<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<AttemptProof>> {
        self.inner().prove(attempts)
    }
}

impl<T: ChainWrapper> Chain for Wrapper<T> {
    fn id(&self) -> ChainId {
        self.0.inner().id()
    }
    fn cap(&self, act: &str) -> usize {
        self.0.inner().cap(act)
    }
    fn lanes(&self, act: &str) -> Vec<Arc<str>> {
        self.0.lanes(act)
    }
    fn identity(&self) -> Fut<'_, Result<Option<ChainIdentity>, Cause>> {
        self.0.identity()
    }
    fn bind(&self, identity: &ChainIdentity) {
        self.0.bind(identity);
    }
    fn ask_before_sending(&self, permission: &Arc<dyn SendPermission>) {
        self.0.inner().ask_before_sending(permission);
    }
    fn providers(&self) -> Vec<ProviderReport> {
        self.0.inner().providers()
    }
    fn concerns(&self) -> Vec<Concern> {
        self.0.concerns()
    }
    fn rests_for(&self, act: &str, record: &Record) -> Option<Millis> {
        self.0.rests_for(act, record)
    }
    fn next_lock<'a>(
        &'a self,
        lane: &'a str,
        stored: Option<&'a Lock>,
        members: &'a [Record],
    ) -> Fut<'a, Result<Lock, Cause>> {
        self.0.next_lock(lane, stored, members)
    }
    fn ahead<'a>(&'a self, marks: &'a [LaneMark]) -> Fut<'a, Result<Vec<LaneSpent>, Cause>> {
        self.0.ahead(marks)
    }
    fn new_lanes<'a>(
        &'a self,
        lanes: &'a [Arc<str>],
        since: Option<u64>,
    ) -> Fut<'a, Result<Option<Vec<NewLane>>, Cause>> {
        self.0.new_lanes(lanes, since)
    }
    fn is_trouble(&self, cause: &Cause) -> bool {
        self.0.inner().is_trouble(cause)
    }
    fn raise_floor(&self, height: u64) {
        self.0.raise_floor(height);
    }
    fn proves_by_several(&self) -> bool {
        self.0.inner().proves_by_several()
    }
    fn note_carried_out(&self, carried_out: &CarriedOut) {
        self.0.note_carried_out(carried_out);
    }
    fn foreign<'a>(&'a self, mark: &'a LaneMark) -> Fut<'a, Result<Vec<ForeignUse>, Cause>> {
        self.0.foreign(mark)
    }
    fn lanes_on_chain(&self) -> Fut<'_, Result<Option<LanesOnChain>, Cause>> {
        self.0.lanes_on_chain()
    }
    fn lane_presence<'a>(
        &'a self,
        lane: &'a str,
        since: Option<u64>,
    ) -> Fut<'a, Result<LanePresence, Cause>> {
        self.0.lane_presence(lane, since)
    }
    fn returned<'a>(&'a self, gone: &'a [GoneLane]) -> Fut<'a, Result<Vec<ReturnedLane>, Cause>> {
        self.0.returned(gone)
    }
    fn fee_balance(&self) -> Fut<'_, Result<Option<FeeBalance>, Cause>> {
        self.0.fee_balance()
    }
    fn sign<'a>(&'a self, request: &'a SignRequest) -> Fut<'a, Result<Signed, Unsigned>> {
        self.0.sign(request)
    }
    fn broadcast<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<Result<(), Cause>>> {
        self.0.broadcast(attempts)
    }
    fn prove<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<AttemptProof>> {
        self.0.prove(attempts)
    }
}
