//! Finds out whether a key of a chain is used elsewhere. Before the first claim of this process, when a
//! pause of the chain ends, and whenever the chain is ahead of a lane, the watch compares every lane with
//! the chain, and this process claims nothing until that is done. Beside that it compares them now and
//! then.
//!
//! Where the chain has spent more of a lane than the journal has attempts, the watch stops claims and sends
//! on the chain. It reads what spent the lane and stores that as attempts (`foreign`). The stop ends by
//! itself once every spent lock has an attempt.

use crate::alerts::cases::{Cases, LANES};
use crate::attempts::ChainPool;
use crate::attempts::Chains;
use crate::attempts::foreign::LaneProgress;
use crate::attempts::lanes::LaneState;
use crate::attempts::stops::{LANE_AHEAD, stop};
use crate::controls::status_sync::StatusSync;
use crate::pipeline::select::{caught, race};
use crate::shared::SharedState;
use kernel::answer::Cause;
use kernel::attempt::Lock;
use kernel::ids::{ChainId, Millis};
use kernel::operators::{Case, Scope, Severity, Subject};
use kernel::ports::chain::{LaneMark, LaneSpent};
use kernel::ports::journal::ServiceStatus;
use kernel::unit::Put;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// The interval at which the lanes are looked at again, in milliseconds.
const EVERY: Millis = 60_000;
/// The most lanes that a case names.
const NAMED: usize = 10;

/// Whether this process may claim: it saw that no lane is ahead.
#[derive(Debug, Default)]
pub(crate) struct LaneCheck {
    checked: AtomicBool,
    changed: Notify,
    /// A look is wanted.
    bell: Notify,
    /// What the last look could not explain, as text.
    open: Mutex<Arc<[Arc<str>]>>,
}

impl LaneCheck {
    /// Closes claims in this process until every lane was looked at: the chain may be ahead of one.
    pub(crate) fn close(&self) {
        self.checked.store(false, Ordering::SeqCst);
        self.bell.notify_one();
    }

    /// Has the watch look at the lanes soon; claims go on meanwhile.
    pub(crate) fn look(&self) {
        self.bell.notify_one();
    }

    pub(crate) fn is_open(&self) -> bool {
        self.checked.load(Ordering::SeqCst)
    }

    fn open(&self) {
        self.checked.store(true, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    /// Waits until no lane is ahead.
    pub(crate) async fn passed(&self) {
        loop {
            let changed = self.changed.notified();
            if self.is_open() {
                return;
            }
            changed.await;
        }
    }

    /// What the last look could not explain.
    pub(crate) fn unexplained(&self) -> Arc<[Arc<str>]> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn leaves(&self, open: Vec<Arc<str>>) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = open.into();
    }
}

/// A lane of which the chain has spent more than the journal has attempts.
pub(crate) struct AheadLane {
    pub name: Arc<str>,
    pub state: LaneState,
    pub mark: LaneMark,
    /// The last lock that the chain has spent of it.
    pub spent: Lock,
}

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

    /// Every lane that this process may take locks from, and every retired one that may still sign. One
    /// that is proven gone signs nothing.
    fn watched_lanes(&self, pool: &ChainPool) -> BTreeSet<Arc<str>> {
        let mut names = self.lane_names(pool);
        for (lane, gone_at) in pool.retired_lanes() {
            if gone_at.is_some() {
                names.remove(&lane);
            } else {
                names.insert(lane);
            }
        }
        names
    }

    /// Every lane that this process may take locks from.
    pub(crate) fn lane_names(&self, pool: &ChainPool) -> BTreeSet<Arc<str>> {
        self.sent_acts().into_iter().flat_map(|act| pool.port.lanes(act)).collect()
    }

    /// The lanes of which the chain has spent more than every stored attempt. A lane that another worker
    /// used since its row was read is none of them: its attempts are stored before they are sent.
    pub(crate) async fn lanes_ahead(&self, pool: &Arc<ChainPool>) -> Result<Vec<AheadLane>, Cause> {
        self.read_lanes(pool).await?;
        if self.take_back_gone(pool).await? {
            self.read_lanes(pool).await?;
        }
        let names = self.watched_lanes(pool);
        let mut lanes = Vec::with_capacity(names.len());
        for name in names {
            let Some(state) = pool.lane(&name) else { continue };
            let Some((lock, anchor)) = state.last() else { continue };
            lanes.push((state, LaneMark { lane: name, lock, anchor }));
        }
        let marks: Vec<LaneMark> = lanes.iter().map(|(_, mark)| mark.clone()).collect();
        if marks.is_empty() {
            return Ok(Vec::new());
        }
        let found = caught(async { pool.port.ahead(&marks).await }).await;
        let found = found.unwrap_or_else(|| Err(Cause::of("PANIC")))?;
        let mut ahead = Vec::new();
        for LaneSpent { lane: name, lock: spent, .. } in found {
            let Some((state, mark)) = lanes.iter().find(|(_, mark)| mark.lane == name) else {
                continue;
            };
            // what the chain has spent, the journal had before it was sent
            let now = self.lane_state(pool.id(), &name).await?;
            if now != *state {
                pool.lane_is(&name, now);
                pool.lane_check.look();
                continue;
            }
            let anchor = match mark.anchor {
                Some(anchor) => Some(anchor),
                None => self.first_anchor(pool.id(), &name).await?,
            };
            let mark = LaneMark { anchor, ..mark.clone() };
            ahead.push(AheadLane { name, state: state.clone(), mark, spent });
        }
        Ok(ahead)
    }

    /// The lowest height at which a form of a lane's last attempt was signed.
    async fn first_anchor(&self, chain: ChainId, lane: &Arc<str>) -> Result<Option<u64>, Cause> {
        let last = self.shared.parts.journal.attempts_of_lane(chain, lane.clone(), 1).await?;
        let forms = last.iter().flat_map(|attempt| &attempt.forms);
        Ok(forms.filter_map(|form| form.anchor).min())
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

    /// Stops claims and sends on the chain, and opens a case. The stop is stored when this returns.
    async fn stop_lanes(&self, pool: &ChainPool, ahead: &[AheadLane]) {
        let (chain, scope) = (pool.id(), Scope::Chain(pool.id()));
        let line = |lane: &AheadLane| {
            let AheadLane { name, mark, spent, .. } = lane;
            format!(
                "lane {name}: the last stored lock is {}, the chain has spent {spent}",
                mark.lock
            )
        };
        let mut lines: Vec<String> = ahead.iter().take(NAMED).map(line).collect();
        let more = ahead.len().saturating_sub(lines.len());
        if more > 0 {
            lines.push(format!("and {more} more lanes"));
        }
        let facts: Arc<str> = lines.join("; ").into();
        self.shared.controls.pause(scope);
        tracing::error!(chain = chain.name(), %facts, "a key is used elsewhere: claims and sends stand");
        let reason: Arc<str> = format!("{LANE_AHEAD}: {facts}").into();
        let counted = stop(chain, reason.clone());
        let puts = vec![Put::Pause { scope, reason, caller: LANES.into() }, counted];
        let (kind, severity, subject) = (LANE_AHEAD, Severity::Critical, Subject::Chain(chain));
        let case = Case { kind, severity, subject, facts };
        if self.cases.noted(&case) {
            self.cases.open_case(case, puts).await;
        } else {
            self.cases.insist(puts).await;
        }
        self.shared.controls.stored(scope);
    }
}

/// Finds keys that are used elsewhere, and stores what they signed.
pub(crate) struct LaneWatch {
    pub(super) shared: Arc<SharedState>,
    pub(super) cases: Arc<Cases>,
    pub(super) chains: Arc<Chains>,
    pub(super) status: Arc<StatusSync>,
}

impl LaneWatch {
    pub(crate) fn new(
        shared: &Arc<SharedState>,
        cases: &Arc<Cases>,
        chains: &Arc<Chains>,
        status: &Arc<StatusSync>,
    ) -> Arc<Self> {
        Arc::new(Self {
            shared: shared.clone(),
            cases: cases.clone(),
            chains: chains.clone(),
            status: status.clone(),
        })
    }

    /// Looks at the lanes of a chain, at first and whenever a look is wanted; again and again as long as
    /// the chain is ahead of one.
    pub(crate) async fn run_lane_watch(self: Arc<Self>, pool: Arc<ChainPool>) {
        let mut tries = 0_u32;
        self.chains.names_missing_keys(&pool).await;
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

    /// One look at all lanes of this process.
    async fn look_at_lanes(&self, pool: &Arc<ChainPool>) -> Result<LaneLook, Cause> {
        let ahead = self.chains.lanes_ahead(pool).await?;
        let status = self.shared.parts.journal.service_status().await?;
        let pause = lane_pause(&status, pool.id());
        if ahead.is_empty() {
            if let Some(number) = pause {
                self.resumes_lanes(pool, number).await?;
            }
            pool.lane_check.leaves(Vec::new());
            pool.lane_check.open();
            return Ok(LaneLook::Level);
        }
        pool.lane_check.checked.store(false, Ordering::SeqCst);
        if pause.is_none() {
            self.chains.stop_lanes(pool, &ahead).await;
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
    /// unless another pause stops it.
    async fn resumes_lanes(&self, pool: &ChainPool, number: u64) -> Result<(), Cause> {
        let (kind, subject) = (LANE_AHEAD, Subject::Chain(pool.id()));
        tracing::warn!(chain = pool.id().name(), "each lock that was spent elsewhere is explained");
        let fact = "each lock that was spent is stored as an attempt".into();
        let close = Put::Close { kind: kind.into(), subject, fact };
        self.cases.insist(vec![Put::Unpause(number), close]).await;
        self.cases.forget_case(kind, subject);
        self.status.refresh().await.map(drop)
    }
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
