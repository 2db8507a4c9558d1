//! Finds out whether a key of a chain is used elsewhere. Before the first claim of this process, when a
//! pause of the chain ends, and whenever the chain is ahead of a lane, the watch compares every lane with
//! the chain, and this process claims nothing until that is done. Beside that it compares them now and
//! then.
//!
//! Where the chain has spent more of a lane than the journal has attempts, the watch stops claims and sends
//! on the chain, and notes in the lane's row what it saw. It reads what spent the lane and stores that as
//! attempts (`foreign`). The stop ends by itself once every spent lock of *those* lanes has an attempt: any
//! worker lifts it, whatever keys it has, and one that has none of them lifts nothing that it cannot explain.

pub(crate) mod compare;

use crate::chains::ChainPool;
use crate::chains::Chains;
use crate::drive::foreign::LaneProgress;
use crate::drive::foreign_payments::ForeignPayments;
use crate::drive::lane_watch::compare::AheadLane;
use crate::drive::status_sync::StatusSync;
use crate::plan::chain_stop::LANES;
use crate::plan::chain_stop::{LANE_AHEAD, lane_stop, stops_name};
use crate::state::cases::Cases;
use crate::state::select::race;
use crate::state::shared::SharedState;
use kernel::answer::Cause;
use kernel::ids::{ChainId, Millis};
use kernel::operators::{Case, Scope, Severity, Subject};
use kernel::ports::journal::ServiceStatus;
use kernel::unit::{Guard, Put, Unit};
use std::sync::Arc;

/// The interval at which the lanes are looked at again, in milliseconds.
const EVERY: Millis = 60_000;
/// The most lanes that a case names.
const NAMED: usize = 10;

/// The cause for which a look is repeated: a row that it compared was written meanwhile.
const LANES_MOVED: &str = "LANES_MOVED";

/// The result of a look.
enum LaneLook {
    /// No lane is ahead.
    Level,
    /// The chain is ahead of one, and some of what it spent was stored: the next look goes on.
    Stored,
    /// The chain is ahead of one, and nothing explains it.
    Ahead,
}

impl Chains {
    /// Closes claims where a pause of a chain ends: persons may have used a key meanwhile, so the watch
    /// looks before anything is claimed.
    pub(crate) fn close_lane_checks(&self, status: &ServiceStatus) {
        for pool in self.pools() {
            let scope = Scope::Chain(pool.id());
            let stands = status.paused.iter().any(|paused| paused.scope == scope);
            if !stands && self.shared.controls.scope_paused(scope) {
                pool.lane_check.close();
            }
        }
    }

    /// Stops claims and sends on the chain, and opens a case. The unit that stores the stop notes in the row
    /// of each lane what the chain was seen to have spent: only its explanation lifts the stop.
    ///
    /// # Errors
    /// Why it is not stored; this process claims and sends nothing meanwhile.
    async fn stop_lanes(&self, pool: &ChainPool, ahead: &[AheadLane]) -> Result<(), Cause> {
        let (chain, scope) = (pool.id(), Scope::Chain(pool.id()));
        self.shared.controls.pause(scope);
        let facts = ahead_facts(ahead);
        tracing::error!(chain = chain.name(), %facts, "a key is used elsewhere: claims and sends stand");
        let case = Case {
            kind: LANE_AHEAD,
            severity: Severity::Critical,
            subject: Subject::Chain(chain),
            facts: facts.clone(),
        };
        let mut unit = Unit::puts(lane_stop(chain, &facts).into());
        unit.then.puts.push(Put::Case(case.clone()));
        let mut marked = Vec::with_capacity(ahead.len());
        for AheadLane { name, state, spent, .. } in ahead {
            let after = state.seen_ahead(spent.clone());
            let (guard, put) = state.becomes(chain, name, &after);
            unit.guards.push(guard);
            unit.then.puts.push(put);
            marked.push((name, after));
        }
        let outcome = self.shared.writer.write(unit).await;
        self.shared.controls.stored(scope);
        // where another worker wrote a lane meanwhile it is looked at again
        outcome.done(LANES_MOVED)?;
        self.cases.noted(&case);
        marked.into_iter().for_each(|(name, after)| pool.lane_is(name, after));
        Ok(())
    }
}

/// What was seen of lanes that are ahead, as text for operators.
fn ahead_facts(ahead: &[AheadLane]) -> Arc<str> {
    let line = |AheadLane { name, state, spent, .. }: &AheadLane| match state.last() {
        Some((last, _)) => format!(
            "lane {name}: the last stored lock is {last}, the chain has spent {}",
            spent.lock
        ),
        None => format!(
            "lane {name}: the journal never used it, the chain has spent {}, and no provider keeps the \
             blocks that show when",
            spent.lock
        ),
    };
    let mut lines: Vec<String> = ahead.iter().take(NAMED).map(line).collect();
    let more = ahead.len().saturating_sub(lines.len());
    if more > 0 {
        lines.push(format!("and {more} more lanes"));
    }
    lines.join("; ").into()
}

/// Finds keys that are used elsewhere, and stores what they signed.
pub(crate) struct LaneWatch {
    pub(crate) shared: Arc<SharedState>,
    pub(crate) cases: Arc<Cases>,
    pub(crate) chains: Arc<Chains>,
    pub(crate) status: Arc<StatusSync>,
    pub(crate) payments: Arc<ForeignPayments>,
}

impl LaneWatch {
    pub(crate) fn new(
        shared: &Arc<SharedState>,
        cases: &Arc<Cases>,
        chains: &Arc<Chains>,
        status: &Arc<StatusSync>,
        payments: &Arc<ForeignPayments>,
    ) -> Arc<Self> {
        Arc::new(Self {
            shared: shared.clone(),
            cases: cases.clone(),
            chains: chains.clone(),
            status: status.clone(),
            payments: payments.clone(),
        })
    }

    /// Looks at the lanes of a chain, at first and whenever a look is wanted; again and again as long as
    /// the chain is ahead of one.
    pub(crate) async fn run_lane_watch(self: Arc<Self>, pool: Arc<ChainPool>) {
        let mut tries = 0_u32;
        self.chains.log_missing_keys(&pool).await;
        // which chain it is comes first: another one's keys say nothing
        pool.binding.settled().await;
        loop {
            match self.look_at_lanes(&pool).await {
                Ok(LaneLook::Level) => {
                    tries = 0;
                    self.chains.look_at_keys(&pool).await;
                    race(pool.lane_check.bell.notified(), self.shared.parts.clock.sleep(EVERY))
                        .await;
                }
                Ok(LaneLook::Stored) => tries = 0,
                Ok(LaneLook::Ahead) => self.look_later(&pool, &mut tries).await,
                Err(cause) => {
                    tracing::warn!(chain = pool.id().name(), %cause, "whether a lane is ahead is not known");
                    self.look_later(&pool, &mut tries).await;
                }
            }
        }
    }

    async fn look_later(&self, pool: &ChainPool, tries: &mut u32) {
        *tries = tries.saturating_add(1);
        let wait = self.shared.due(*tries).saturating_sub(self.shared.parts.journal.now());
        let wait = if wait == 0 { 1 } else { wait };
        race(pool.lane_check.bell.notified(), self.shared.parts.clock.sleep(wait)).await;
    }

    /// One look at all lanes of the journal and of this process.
    async fn look_at_lanes(&self, pool: &Arc<ChainPool>) -> Result<LaneLook, Cause> {
        // the count and the pause before the lanes: a stop that comes in between loses the unit that lifts it
        let stops = self.chains.stops_counted(pool.id()).await?;
        let status = self.shared.parts.journal.service_status().await?;
        let pause = lane_pause(&status, pool.id());
        let ahead = self.chains.lanes_ahead(pool).await?;
        if ahead.is_empty() {
            self.resumes_lanes(pool, LaneLift { pause, stops }).await?;
            self.chains.read_orphans(pool, stops).await?;
            pool.lane_check.leaves(Vec::new());
            pool.lane_check.open(stops);
            return Ok(LaneLook::Level);
        }
        pool.lane_check.forget();
        if pause.is_none() || ahead.iter().any(|lane| lane.state.ahead.is_none()) {
            self.chains.stop_lanes(pool, &ahead).await?;
            return Ok(LaneLook::Ahead);
        }
        let (mut stored, mut unexplained) = (false, Vec::new());
        for lane in &ahead {
            match self.explain(pool, lane).await {
                Ok(LaneProgress::Some) => stored = true,
                Ok(LaneProgress::Nothing(why)) => {
                    unexplained.push(format!("{}: {why}", lane.name).into())
                }
                Err(cause) => unexplained.push(format!("{}: {cause}", lane.name).into()),
            }
        }
        for line in &unexplained {
            tracing::warn!(chain = pool.id().name(), %line, "a lane is ahead");
        }
        pool.lane_check.leaves(unexplained);
        Ok(if stored { LaneLook::Stored } else { LaneLook::Ahead })
    }

    /// Lifts the pause of the watch once everything that was spent has an attempt. The chain goes on,
    /// unless another pause stops it. The unit is guarded by each lane that the pause is about, as it was
    /// when it was compared with the chain, and by the count of stops.
    async fn resumes_lanes(&self, pool: &ChainPool, lift: LaneLift) -> Result<(), Cause> {
        let (chain, subject) = (pool.id(), Subject::Chain(pool.id()));
        let LaneLift { pause, stops } = lift;
        let marked = pool.lanes_seen_ahead();
        if marked.is_empty() && pause.is_none() {
            return Ok(());
        }
        tracing::warn!(chain = chain.name(), "each lock that was spent elsewhere is explained");
        let fact = "each lock that was spent is stored as an attempt".into();
        let close = Put::Close { kind: LANE_AHEAD.into(), subject, fact };
        let mut guards = vec![Guard::Resource { name: stops_name(chain), version: stops }];
        let mut puts: Vec<Put> = pause.map(Put::Unpause).into_iter().chain([close]).collect();
        let mut explained = Vec::with_capacity(marked.len());
        for (name, state) in marked {
            let after = state.explained();
            let (guard, put) = state.becomes(chain, &name, &after);
            guards.push(guard);
            puts.push(put);
            explained.push((name, after));
        }
        // where a lane or the count moved, what that means is looked at again
        self.shared.writer.write(Unit::guarded(guards, puts)).await.done(LANES_MOVED)?;
        explained.into_iter().for_each(|(name, after)| pool.lane_is(&name, after));
        self.cases.forget_case(LANE_AHEAD, subject);
        self.status.refresh().await.map(drop)
    }
}

/// What a look found before it compared the lanes.
#[derive(Debug, Clone, Copy)]
struct LaneLift {
    /// The pause that stops the chain because it is ahead of a lane.
    pause: Option<u64>,
    /// How often the engine had stopped the chain.
    stops: u32,
}

/// The number of the pause that stops the chain because it is ahead of a lane.
fn lane_pause(status: &ServiceStatus, chain: ChainId) -> Option<u64> {
    let paused = status.paused.iter().find(|paused| is_lane_pause(paused, chain));
    paused.map(|paused| paused.number)
}

/// Whether a pause is the one that stops a chain because it is ahead of a lane.
pub(crate) fn is_lane_pause(paused: &kernel::operators::Paused, chain: ChainId) -> bool {
    paused.scope == Scope::Chain(chain) && &*paused.caller == LANES
}
