//! A real adapter inside the simulation: each call of it runs to its end on a runtime of its own, while the simulation's
//! poll waits. No virtual time passes in a call, and none is read but the simulation's.

use crate::world::breath;
use kernel::answer::{Answer, Cause};
use kernel::attempt::{Attempt, Lock};
use kernel::ids::{AssetId, ChainId, FlowId, Millis};
use kernel::ports::Fut;
use kernel::ports::chain::{
    AttemptProof, CarriedOut, Chain, ChainIdentity, Concern, FeeBalance, ForeignUse, GoneLane,
    LaneMark, LanePresence, LaneSpent, LanesOnChain, NewLane, ProviderReport, ReturnedLane,
    SignRequest, Signed, Unsigned,
};
use kernel::ports::deposits::{DepositSource, VaultPage};
use kernel::ports::facts::{FactSource, Gathered};
use kernel::ports::sending::SendPermission;
use kernel::record::Record;
use std::fmt;
use std::sync::Arc;

/// The local chain that a real adapter is connected to, with the runtime of its calls.
pub trait AdapterHost: Clone + Send + Sync + 'static {
    /// Runs a call to its end, once the blocks are made whose time has come.
    fn runs<T>(&self, call: impl Future<Output = T>) -> T;
    /// Something was signed, whether it is stored or not.
    fn saw_signing(&self, _: &SignRequest) {}
    /// These are about to be sent.
    fn sees_sending(&self, _: &[Attempt]) {}
}

/// The adapter of one process.
pub struct BridgedPort<H> {
    pub host: H,
    pub inner: Arc<dyn Chain>,
}

impl<H> fmt::Debug for BridgedPort<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BridgedPort").finish_non_exhaustive()
    }
}

impl<H: AdapterHost> BridgedPort<H> {
    /// One call, from its turn among the tasks to its end.
    async fn call<T>(&self, call: impl Future<Output = T> + Send) -> T {
        breath().await;
        self.host.runs(call)
    }
}

impl<H: AdapterHost> Chain for BridgedPort<H> {
    fn id(&self) -> ChainId {
        self.inner.id()
    }

    fn identity(&self) -> Fut<'_, Result<Option<ChainIdentity>, Cause>> {
        Box::pin(self.call(self.inner.identity()))
    }

    fn bind(&self, identity: &ChainIdentity) {
        self.inner.bind(identity);
    }

    fn ask_before_sending(&self, permission: &Arc<dyn SendPermission>) {
        self.inner.ask_before_sending(permission);
    }

    fn providers(&self) -> Vec<ProviderReport> {
        self.inner.providers()
    }

    fn is_trouble(&self, cause: &Cause) -> bool {
        self.inner.is_trouble(cause)
    }

    fn cap(&self, act: &str) -> usize {
        self.inner.cap(act)
    }

    fn rests_for(&self, act: &str, record: &Record) -> Option<Millis> {
        self.inner.rests_for(act, record)
    }

    fn lanes(&self, act: &str) -> Vec<Arc<str>> {
        self.inner.lanes(act)
    }

    fn next_lock<'a>(
        &'a self,
        lane: &'a str,
        stored: Option<&'a Lock>,
        members: &'a [Record],
    ) -> Fut<'a, Result<Lock, Cause>> {
        Box::pin(self.call(self.inner.next_lock(lane, stored, members)))
    }

    fn ahead<'a>(&'a self, marks: &'a [LaneMark]) -> Fut<'a, Result<Vec<LaneSpent>, Cause>> {
        Box::pin(self.call(self.inner.ahead(marks)))
    }

    fn new_lanes<'a>(
        &'a self,
        lanes: &'a [Arc<str>],
        since: Option<u64>,
    ) -> Fut<'a, Result<Option<Vec<NewLane>>, Cause>> {
        Box::pin(self.call(self.inner.new_lanes(lanes, since)))
    }

    fn proves_by_several(&self) -> bool {
        self.inner.proves_by_several()
    }

    fn note_carried_out(&self, carried_out: &CarriedOut) {
        self.inner.note_carried_out(carried_out);
    }

    fn raise_floor(&self, height: u64) {
        self.inner.raise_floor(height);
    }

    fn foreign<'a>(&'a self, mark: &'a LaneMark) -> Fut<'a, Result<Vec<ForeignUse>, Cause>> {
        Box::pin(self.call(self.inner.foreign(mark)))
    }

    fn lanes_on_chain(&self) -> Fut<'_, Result<Option<LanesOnChain>, Cause>> {
        Box::pin(self.call(self.inner.lanes_on_chain()))
    }

    fn lane_presence<'a>(
        &'a self,
        lane: &'a str,
        since: Option<u64>,
    ) -> Fut<'a, Result<LanePresence, Cause>> {
        Box::pin(self.call(self.inner.lane_presence(lane, since)))
    }

    fn returned<'a>(&'a self, gone: &'a [GoneLane]) -> Fut<'a, Result<Vec<ReturnedLane>, Cause>> {
        Box::pin(self.call(self.inner.returned(gone)))
    }

    fn fee_balance(&self) -> Fut<'_, Result<Option<FeeBalance>, Cause>> {
        Box::pin(self.call(self.inner.fee_balance()))
    }

    fn concerns(&self) -> Vec<Concern> {
        self.inner.concerns()
    }

    fn sign<'a>(&'a self, request: &'a SignRequest) -> Fut<'a, Result<Signed, Unsigned>> {
        Box::pin(async move {
            let signed = self.call(self.inner.sign(request)).await;
            self.host.saw_signing(request);
            signed
        })
    }

    fn broadcast<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<Result<(), Cause>>> {
        Box::pin(async move {
            breath().await;
            self.host.sees_sending(attempts);
            self.host.runs(self.inner.broadcast(attempts))
        })
    }

    fn prove<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<AttemptProof>> {
        Box::pin(self.call(self.inner.prove(attempts)))
    }
}

/// What the rules learn at the adapter of one process.
pub struct BridgedFacts<H> {
    pub host: H,
    pub inner: Arc<dyn FactSource>,
}

impl<H> fmt::Debug for BridgedFacts<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BridgedFacts").finish_non_exhaustive()
    }
}

impl<H: AdapterHost> FactSource for BridgedFacts<H> {
    fn facts<'a>(&'a self, rule: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Gathered>> {
        Box::pin(async move {
            breath().await;
            self.host.runs(self.inner.facts(rule, records))
        })
    }

    fn ask<'a>(&'a self, act: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Answer>> {
        self.inner.ask(act, records)
    }
}

/// The deposits that one process reads at its adapter.
pub struct BridgedDeposits<H> {
    pub host: H,
    pub inner: Arc<dyn DepositSource>,
    /// By how many milliseconds the chain's dates are ahead of the simulation's.
    pub ahead: Millis,
}

impl<H> fmt::Debug for BridgedDeposits<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BridgedDeposits").finish_non_exhaustive()
    }
}

impl<H: AdapterHost> DepositSource for BridgedDeposits<H> {
    fn chain(&self) -> ChainId {
        self.inner.chain()
    }

    fn flow(&self) -> FlowId {
        self.inner.flow()
    }

    fn asset(&self) -> AssetId {
        self.inner.asset()
    }

    fn vault(&self) -> Arc<str> {
        self.inner.vault()
    }

    fn interval(&self) -> Millis {
        self.inner.interval()
    }

    fn normal_lag(&self) -> Millis {
        self.inner.normal_lag()
    }

    fn movements<'a>(
        &'a self,
        behind: Option<&'a str>,
        limit: usize,
    ) -> Fut<'a, Result<VaultPage, Cause>> {
        Box::pin(async move {
            breath().await;
            let page = self.host.runs(self.inner.movements(behind, limit))?;
            Ok(VaultPage { read_to: page.read_to.saturating_sub(self.ahead), ..page })
        })
    }
}
