//! The adapter inside the simulation: each call of it runs to its end on a runtime of its own, while the simulation's
//! poll waits. No virtual time passes in a call, and none is read but the simulation's.

use super::local_chain::LocalChain;
use kernel::answer::{Answer, Cause};
use kernel::attempt::{Attempt, Lock};
use kernel::ids::{ChainId, Millis};
use kernel::ports::Fut;
use kernel::ports::chain::{
    AttemptProof, CarriedOut, Chain, ChainIdentity, Concern, FeeBalance, ForeignUse, GoneLane,
    LaneMark, LanePresence, LaneSpent, LanesOnChain, NewLane, ProviderReport, ReturnedLane,
    SignRequest, Signed, Unsigned,
};
use kernel::ports::facts::{FactSource, Gathered};
use kernel::ports::sending::SendPermission;
use kernel::record::Record;
use links::near::{NearChain, NearFacts};
use sim::world::breath;
use std::sync::Arc;

/// The adapter of one process.
pub(crate) struct BridgedPort {
    pub(crate) chain: LocalChain,
    pub(crate) near: NearChain,
}

impl BridgedPort {
    /// One call, from its turn among the tasks to its end.
    async fn call<T>(&self, call: impl Future<Output = T>) -> T {
        breath().await;
        self.chain.runs(call)
    }
}

impl Chain for BridgedPort {
    fn id(&self) -> ChainId {
        self.near.id()
    }

    fn identity(&self) -> Fut<'_, Result<Option<ChainIdentity>, Cause>> {
        Box::pin(self.call(self.near.identity()))
    }

    fn bind(&self, identity: &ChainIdentity) {
        self.near.bind(identity);
    }

    fn ask_before_sending(&self, permission: &Arc<dyn SendPermission>) {
        self.near.ask_before_sending(permission);
    }

    fn providers(&self) -> Vec<ProviderReport> {
        self.near.providers()
    }

    fn is_trouble(&self, cause: &Cause) -> bool {
        self.near.is_trouble(cause)
    }

    fn cap(&self, act: &str) -> usize {
        self.near.cap(act)
    }

    fn rests_for(&self, act: &str, record: &Record) -> Option<Millis> {
        self.near.rests_for(act, record)
    }

    fn lanes(&self, act: &str) -> Vec<Arc<str>> {
        self.near.lanes(act)
    }

    fn next_lock<'a>(
        &'a self,
        lane: &'a str,
        stored: Option<&'a Lock>,
        members: &'a [Record],
    ) -> Fut<'a, Result<Lock, Cause>> {
        Box::pin(self.call(self.near.next_lock(lane, stored, members)))
    }

    fn ahead<'a>(&'a self, marks: &'a [LaneMark]) -> Fut<'a, Result<Vec<LaneSpent>, Cause>> {
        Box::pin(self.call(self.near.ahead(marks)))
    }

    fn new_lanes<'a>(
        &'a self,
        lanes: &'a [Arc<str>],
        since: Option<u64>,
    ) -> Fut<'a, Result<Option<Vec<NewLane>>, Cause>> {
        Box::pin(self.call(self.near.new_lanes(lanes, since)))
    }

    fn proves_by_several(&self) -> bool {
        self.near.proves_by_several()
    }

    fn note_carried_out(&self, carried_out: &CarriedOut) {
        self.near.note_carried_out(carried_out);
    }

    fn raise_floor(&self, height: u64) {
        self.near.raise_floor(height);
    }

    fn foreign<'a>(&'a self, mark: &'a LaneMark) -> Fut<'a, Result<Vec<ForeignUse>, Cause>> {
        Box::pin(self.call(self.near.foreign(mark)))
    }

    fn lanes_on_chain(&self) -> Fut<'_, Result<Option<LanesOnChain>, Cause>> {
        Box::pin(self.call(self.near.lanes_on_chain()))
    }

    fn lane_presence<'a>(
        &'a self,
        lane: &'a str,
        since: Option<u64>,
    ) -> Fut<'a, Result<LanePresence, Cause>> {
        Box::pin(self.call(self.near.lane_presence(lane, since)))
    }

    fn returned<'a>(&'a self, gone: &'a [GoneLane]) -> Fut<'a, Result<Vec<ReturnedLane>, Cause>> {
        Box::pin(self.call(self.near.returned(gone)))
    }

    fn fee_balance(&self) -> Fut<'_, Result<Option<FeeBalance>, Cause>> {
        Box::pin(self.call(self.near.fee_balance()))
    }

    fn concerns(&self) -> Vec<Concern> {
        self.near.concerns()
    }

    fn sign<'a>(&'a self, request: &'a SignRequest) -> Fut<'a, Result<Signed, Unsigned>> {
        Box::pin(async move {
            let signed = self.call(self.near.sign(request)).await;
            self.chain.saw_signing(request);
            signed
        })
    }

    fn broadcast<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<Result<(), Cause>>> {
        Box::pin(async move {
            breath().await;
            self.chain.sees_sending(attempts);
            self.chain.runs(self.near.broadcast(attempts))
        })
    }

    fn prove<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<AttemptProof>> {
        Box::pin(self.call(self.near.prove(attempts)))
    }
}

/// What the rules learn at the adapter of one process.
pub(crate) struct BridgedFacts {
    pub(crate) chain: LocalChain,
    pub(crate) near: NearFacts,
}

impl FactSource for BridgedFacts {
    fn facts<'a>(&'a self, rule: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Gathered>> {
        Box::pin(async move {
            breath().await;
            self.chain.runs(self.near.facts(rule, records))
        })
    }

    fn ask<'a>(&'a self, act: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Answer>> {
        self.near.ask(act, records)
    }
}
