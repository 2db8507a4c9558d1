//! The faulty link between an engine and its chain port: it loses calls, panics, and kills the process at a call.

use crate::world::{Crash, breath, die};
use kernel::answer::Cause;
use kernel::attempt::{Attempt, Lock};
use kernel::flow::table::S;
use kernel::ids::{ChainId, Millis};
use kernel::ports::Fut;
use kernel::ports::chain::{
    AttemptProof, CarriedOut, Chain, ChainIdentity, Concern, FeeBalance, ForeignUse, GoneLane,
    LaneMark, LanePresence, LaneSpent, LanesOnChain, NewLane, ProviderReport, ReturnedLane,
    SignRequest, Signed, Unsigned,
};
use kernel::record::Record;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Which call of a chain port it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// A lock is asked for.
    Lock,
    /// The port signs one form of an attempt.
    Sign,
    /// The newest forms of some attempts are sent.
    Broadcast,
    /// Some attempts are looked at on the chain.
    Prove,
}

/// One call of a chain port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainCall {
    /// Which call it was.
    pub moment: Moment,
    /// Where the transfers stood that it was about.
    pub states: Vec<S>,
}

/// What goes wrong with one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChainTrouble {
    /// The port hears nothing of it.
    LoseRequest,
    /// The port did it, and its reply is lost.
    LoseReply,
    /// The port panics before it does it.
    PanicBefore,
    /// The port panics when it has done it.
    PanicAfter,
    /// Our process dies before it.
    CrashBefore,
    /// Our process dies when it is done.
    CrashAfter,
    /// The port is called twice, as by a retry below it.
    Twice,
}

impl ChainTrouble {
    /// What leaves our process alive.
    pub const HINDRANCES: [Self; 4] =
        [Self::LoseRequest, Self::LoseReply, Self::PanicBefore, Self::PanicAfter];

    const fn arrives(self) -> bool {
        match self {
            Self::LoseRequest | Self::PanicBefore | Self::CrashBefore => false,
            Self::LoseReply | Self::PanicAfter | Self::CrashAfter | Self::Twice => true,
        }
    }
}

#[derive(Default)]
struct Plan {
    calls: u64,
    planned: BTreeMap<u64, ChainTrouble>,
    /// Every call in order, with what it was.
    log: Vec<ChainCall>,
}

/// What goes wrong with a call, by what it is.
type Chosen = Box<dyn Fn(&ChainCall) -> Option<ChainTrouble> + Send + Sync>;

/// A chain port at the end of a bad link. It outlives the processes that use it.
pub struct FaultyChain {
    inner: Mutex<Arc<dyn Chain>>,
    chosen: Chosen,
    crash: Crash,
    plan: Mutex<Plan>,
}

impl fmt::Debug for FaultyChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyChain").finish_non_exhaustive()
    }
}

/// A panic that no hook prints: it is meant.
fn panic(why: &'static str) -> ! {
    resume_unwind(Box::new(why))
}

impl FaultyChain {
    /// A link to this port on which nothing goes wrong yet.
    pub fn new(inner: Arc<dyn Chain>, crash: Crash) -> Self {
        let chosen = Box::new(|_: &ChainCall| None);
        Self { inner: Mutex::new(inner), chosen, crash, plan: Mutex::default() }
    }

    /// The same link, where what a call is decides what goes wrong with it.
    #[must_use]
    pub fn choosing(
        mut self,
        chosen: impl Fn(&ChainCall) -> Option<ChainTrouble> + Send + Sync + 'static,
    ) -> Self {
        self.chosen = Box::new(chosen);
        self
    }

    /// The link leads to this port from now on.
    pub fn swap(&self, inner: Arc<dyn Chain>) {
        *self.inner.lock().unwrap_or_else(PoisonError::into_inner) = inner;
    }

    fn inner(&self) -> Arc<dyn Chain> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn plan_now(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of calls that were begun.
    pub fn calls(&self) -> u64 {
        self.plan_now().calls
    }

    /// What each call was, in order.
    pub fn log(&self) -> Vec<Moment> {
        self.plan_now().log.iter().map(|call| call.moment).collect()
    }

    /// Each call, in order, with what it was about.
    pub fn log_of_calls(&self) -> Vec<ChainCall> {
        self.plan_now().log.clone()
    }

    /// The n-th call, counted from 0, goes wrong.
    pub fn plan(&self, n: u64, trouble: ChainTrouble) {
        self.plan_now().planned.insert(n, trouble);
    }

    fn begin(&self, call: ChainCall) -> Option<ChainTrouble> {
        let chosen = (self.chosen)(&call);
        let mut plan = self.plan_now();
        let n = plan.calls;
        plan.calls += 1;
        plan.log.push(call);
        plan.planned.remove(&n).or(chosen)
    }

    /// One call begins: `None` where the port hears nothing of it.
    async fn begun(
        &self,
        moment: Moment,
        states: Vec<S>,
    ) -> Option<(Arc<dyn Chain>, Option<ChainTrouble>)> {
        breath().await;
        let trouble = self.begin(ChainCall { moment, states });
        match trouble {
            Some(ChainTrouble::PanicBefore) => panic("the chain port panics before it runs"),
            Some(ChainTrouble::CrashBefore) => {
                die(&self.crash, "crashed before a chain call").await
            }
            _ => {}
        }
        let arrives = trouble.is_none_or(ChainTrouble::arrives);
        arrives.then(|| (self.inner(), trouble))
    }

    /// One call is over: `None` where its reply is lost.
    async fn over<T>(&self, trouble: Option<ChainTrouble>, reply: T) -> Option<T> {
        match trouble {
            Some(ChainTrouble::PanicAfter) => panic("the chain port panics after it ran"),
            Some(ChainTrouble::CrashAfter) => die(&self.crash, "crashed after a chain call").await,
            _ => {}
        }
        (trouble != Some(ChainTrouble::LoseReply)).then_some(reply)
    }
}

/// Where transfers stand that are signed for.
fn stand(members: &[Record]) -> Vec<S> {
    members.iter().map(|member| member.head.state).collect()
}

/// Where the members of attempts stand.
fn state(attempts: &[Attempt]) -> Vec<S> {
    attempts.iter().map(|attempt| attempt.state).collect()
}

impl Chain for FaultyChain {
    fn id(&self) -> ChainId {
        self.inner().id()
    }

    fn identity(&self) -> Fut<'_, Result<Option<ChainIdentity>, Cause>> {
        Box::pin(async move { self.inner().identity().await })
    }

    fn bind(&self, identity: &ChainIdentity) {
        self.inner().bind(identity);
    }

    fn cap(&self, act: &str) -> usize {
        self.inner().cap(act)
    }

    fn providers(&self) -> Vec<ProviderReport> {
        self.inner().providers()
    }

    fn is_trouble(&self, cause: &Cause) -> bool {
        self.inner().is_trouble(cause)
    }

    fn rests_for(&self, act: &str, record: &Record) -> Option<Millis> {
        self.inner().rests_for(act, record)
    }

    fn concerns(&self) -> Vec<Concern> {
        self.inner().concerns()
    }

    fn lanes(&self, act: &str) -> Vec<Arc<str>> {
        self.inner().lanes(act)
    }

    fn next_lock<'a>(
        &'a self,
        lane: &'a str,
        stored: Option<&'a Lock>,
        members: &'a [Record],
    ) -> Fut<'a, Result<Lock, Cause>> {
        Box::pin(async move {
            let lost = || Err(Cause::of("TIMEOUT"));
            let Some((port, trouble)) = self.begun(Moment::Lock, stand(members)).await else {
                return lost();
            };
            let reply = port.next_lock(lane, stored, members).await;
            self.over(trouble, reply).await.unwrap_or_else(lost)
        })
    }

    fn ahead<'a>(&'a self, marks: &'a [LaneMark]) -> Fut<'a, Result<Vec<LaneSpent>, Cause>> {
        Box::pin(async move { self.inner().ahead(marks).await })
    }

    fn new_lanes<'a>(
        &'a self,
        lanes: &'a [Arc<str>],
        since: Option<u64>,
    ) -> Fut<'a, Result<Option<Vec<NewLane>>, Cause>> {
        Box::pin(async move { self.inner().new_lanes(lanes, since).await })
    }

    fn proves_by_several(&self) -> bool {
        self.inner().proves_by_several()
    }

    fn note_carried_out(&self, carried_out: &CarriedOut) {
        self.inner().note_carried_out(carried_out);
    }

    fn raise_floor(&self, height: u64) {
        self.inner().raise_floor(height);
    }

    fn foreign<'a>(&'a self, mark: &'a LaneMark) -> Fut<'a, Result<Vec<ForeignUse>, Cause>> {
        Box::pin(async move { self.inner().foreign(mark).await })
    }

    fn lanes_on_chain(&self) -> Fut<'_, Result<Option<LanesOnChain>, Cause>> {
        Box::pin(async move { self.inner().lanes_on_chain().await })
    }

    fn lane_presence<'a>(
        &'a self,
        lane: &'a str,
        since: Option<u64>,
    ) -> Fut<'a, Result<LanePresence, Cause>> {
        Box::pin(async move { self.inner().lane_presence(lane, since).await })
    }

    fn returned<'a>(&'a self, gone: &'a [GoneLane]) -> Fut<'a, Result<Vec<ReturnedLane>, Cause>> {
        Box::pin(async move { self.inner().returned(gone).await })
    }

    fn fee_balance(&self) -> Fut<'_, Result<Option<FeeBalance>, Cause>> {
        Box::pin(async move { self.inner().fee_balance().await })
    }

    fn sign<'a>(&'a self, request: &'a SignRequest) -> Fut<'a, Result<Signed, Unsigned>> {
        Box::pin(async move {
            let lost = || Err(Cause::of("TIMEOUT").into());
            let Some((port, trouble)) = self.begun(Moment::Sign, stand(&request.members)).await
            else {
                return lost();
            };
            if trouble == Some(ChainTrouble::Twice) {
                drop(port.sign(request).await);
            }
            let reply = port.sign(request).await;
            self.over(trouble, reply).await.unwrap_or_else(lost)
        })
    }

    fn broadcast<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<Result<(), Cause>>> {
        Box::pin(async move {
            let lost = || vec![Err(Cause::of("TIMEOUT")); attempts.len()];
            let Some((port, trouble)) = self.begun(Moment::Broadcast, state(attempts)).await else {
                return lost();
            };
            if trouble == Some(ChainTrouble::Twice) {
                drop(port.broadcast(attempts).await);
            }
            let reply = port.broadcast(attempts).await;
            self.over(trouble, reply).await.unwrap_or_else(lost)
        })
    }

    fn prove<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<AttemptProof>> {
        Box::pin(async move {
            let lost = || vec![AttemptProof::NotYet(Cause::of("TIMEOUT")); attempts.len()];
            let Some((port, trouble)) = self.begun(Moment::Prove, state(attempts)).await else {
                return lost();
            };
            let reply = port.prove(attempts).await;
            self.over(trouble, reply).await.unwrap_or_else(lost)
        })
    }
}
