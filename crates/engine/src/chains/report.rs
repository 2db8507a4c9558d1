//! Lists the lanes of a chain for operators: the journal's state of each, the attempt that has it, and
//! whether the chain has its key.

use crate::chains::ChainPool;
use crate::chains::Chains;
use crate::plan::lane_state::{LaneRetirement, LaneState, prefix};
use crate::state::select::{First, caught, race};
use kernel::answer::Cause;
use kernel::attempt::{Attempt, Purpose};
use kernel::ids::{ChainId, Id, Millis};
use kernel::operators::Paused;
use kernel::ports::chain::{
    ChainIdentity, FeeBalance, LanesOnChain, ProviderReport, ProviderState,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How long the report waits for the chain, in milliseconds.
const ASKED_FOR: Millis = 3_000;

/// The lanes of a chain, as the journal has them now.
#[derive(Debug, Clone)]
pub struct ChainReport {
    /// What stops claims and sends on the chain: pauses of the engine and of persons.
    pub paused: Vec<Paused>,
    /// Why the chain is ahead of lanes, as far as nothing explains it, as this process saw it last.
    pub unexplained: Arc<[Arc<str>]>,
    /// The chain that the journal is bound to; `None`: it is not bound yet.
    pub identity: Option<ChainIdentity>,
    /// Each provider, as this process saw it last.
    pub providers: Vec<ProviderReport>,
    /// Every lane that was ever used, or that this process may use, by name.
    pub lanes: Vec<LaneReport>,
    /// What the account has for fees, where this process can ask for it.
    pub fees: Option<FeeBalance>,
    /// Why the chain does not say now what it has.
    pub unasked: Option<Cause>,
    /// When it was read, by the journal's time.
    pub at: Millis,
}

/// The providers of a chain, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderCounts {
    /// How many providers the settings name.
    pub configured: usize,
    /// How many of them answer and show the chain that the journal is bound to.
    pub usable: usize,
    /// How many of them show another chain.
    pub wrong_chain: usize,
}

/// The state of a lane.
#[derive(Debug, Clone)]
pub struct LaneReport {
    /// The key or account that it is.
    pub name: Arc<str>,
    /// The lock of its last attempt; `None`: it was never used.
    pub lock: Option<Arc<str>>,
    /// This process may take locks from it.
    pub usable: bool,
    /// Its row cannot be read, so that no attempt takes it.
    pub unreadable: bool,
    /// The attempt that has it.
    pub attempt: Option<OpenAttempt>,
    /// No attempt takes it any more.
    pub retired: Option<LaneRetirement>,
    /// Whether the chain has it, as its providers showed a moment ago; `None`: they did not say.
    pub on_chain: Option<bool>,
}

/// An attempt that is not proven yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenAttempt {
    /// The id of the attempt.
    pub id: Id,
    /// How many transfers it carries.
    pub members: usize,
    /// How many forms were signed under its lock.
    pub forms: usize,
    /// The newest form takes the lock and pays no member.
    pub void: bool,
    /// A form may be on the wire.
    pub sent: bool,
}

impl From<&Attempt> for OpenAttempt {
    fn from(attempt: &Attempt) -> Self {
        Self {
            id: Id(attempt.id.0),
            members: attempt.members.len(),
            forms: attempt.forms.len(),
            void: attempt.forms.last().is_some_and(|form| form.purpose == Purpose::Void),
            sent: attempt.sent,
        }
    }
}

impl Chains {
    /// What a chain's port reports now under the kind of a case.
    pub fn chain_concern(&self, chain: ChainId, kind: &str) -> Option<Arc<str>> {
        let concerns = self.pool(chain)?.port.concerns();
        concerns.into_iter().find(|concern| concern.kind == kind).map(|concern| concern.facts)
    }

    /// True for a chain on which this process sends, or takes in what is to be sent.
    pub fn reaches(&self, chain: ChainId) -> bool {
        self.pool(chain).is_some()
    }

    /// How many providers a chain has, and how many of them may count; nothing for a chain that this
    /// process does not reach.
    pub fn provider_counts(&self, chain: ChainId) -> Option<ProviderCounts> {
        let providers = self.pool(chain)?.port.providers();
        let of = |state| providers.iter().filter(|one| one.state == state).count();
        Some(ProviderCounts {
            configured: providers.len(),
            usable: of(ProviderState::Usable),
            wrong_chain: of(ProviderState::WrongChain),
        })
    }

    /// The lanes of a chain: those that were used, and those that this process may use.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub async fn chain_report(&self, chain: ChainId) -> Result<ChainReport, Cause> {
        let offered = self.shared.parts.offered.iter().map(|flow| self.shared.plan.table(*flow));
        let acts: Vec<&str> =
            offered.flat_map(|table| table.acts.iter().map(|act| act.name)).collect();
        let journal = &self.shared.parts.journal;
        let prefix = prefix(chain);
        let status = journal.service_status().await?;
        let scope = kernel::operators::Scope::Chain(chain);
        let paused = status.paused.into_iter().filter(|paused| paused.scope == scope).collect();
        // attempts before lanes: one that is closed in between is not shown as a lane's
        let open = journal.open_attempts(chain).await?;
        let mut open: BTreeMap<Arc<str>, OpenAttempt> =
            open.iter().map(|attempt| (attempt.lane.clone(), attempt.into())).collect();
        let rows = journal.resources(prefix.as_str().into()).await?;
        let pool = self.pool(chain);
        let mut usable: BTreeSet<Arc<str>> = pool
            .into_iter()
            .flat_map(|pool| acts.iter().flat_map(|act| pool.port.lanes(act)))
            .collect();
        let mut lanes = Vec::new();
        for row in rows {
            let Some(name) = row.name.strip_prefix(&*prefix).map(Arc::<str>::from) else {
                continue;
            };
            let state = LaneState::read(&row);
            let busy = state.as_ref().is_none_or(|state| state.open.is_some());
            let (unreadable, state) = (state.is_none(), state.unwrap_or_default());
            lanes.push(LaneReport {
                lock: state.lock.map(|lock| lock.0),
                usable: usable.remove(&name),
                unreadable,
                attempt: open.remove(&name).filter(|_| busy),
                retired: state.retired,
                on_chain: None,
                name,
            });
        }
        lanes.extend(usable.into_iter().map(LaneReport::unused));
        lanes.sort_by(|one, other| one.name.cmp(&other.name));
        let unexplained = pool.map(|pool| pool.lane_check.unexplained()).unwrap_or_default();
        let at = journal.now();
        let report = ChainReport {
            paused,
            unexplained,
            identity: pool.and_then(|pool| pool.binding.bound()),
            providers: Vec::new(),
            lanes,
            fees: None,
            unasked: None,
            at,
        };
        let Some(pool) = pool else { return Ok(report) };
        // asked first: what they show now is among the answers
        let report = self.with_chain(pool, report).await;
        Ok(ChainReport { providers: pool.port.providers(), ..report })
    }

    /// Adds what the chain has of the lanes and of fees, as far as it answers within a while: operators see
    /// the rest also where no provider answers.
    async fn with_chain(&self, pool: &ChainPool, mut report: ChainReport) -> ChainReport {
        let asked =
            caught(async { (pool.port.lanes_on_chain().await, pool.port.fee_balance().await) });
        let asked = match race(asked, self.shared.parts.clock.sleep(ASKED_FOR)).await {
            First::Left(asked) => asked.ok_or(Cause::of("PANIC")),
            First::Right(()) => Err(Cause::of("TIMEOUT")),
        };
        let (lanes, fees) = match asked {
            Ok(asked) => asked,
            Err(cause) => {
                report.unasked = Some(cause);
                return report;
            }
        };
        match lanes {
            Ok(None) => {}
            Ok(Some(LanesOnChain { lanes: there, .. })) => {
                for lane in &mut report.lanes {
                    lane.on_chain = Some(there.contains(&lane.name));
                }
            }
            Err(cause) => report.unasked = Some(cause),
        }
        match fees {
            Ok(fees) => report.fees = fees,
            Err(cause) => report.unasked = Some(cause),
        }
        report
    }
}

impl LaneReport {
    /// A lane that this process may use and that no attempt ever had.
    fn unused(name: Arc<str>) -> Self {
        Self {
            name,
            lock: None,
            usable: true,
            unreadable: false,
            attempt: None,
            retired: None,
            on_chain: None,
        }
    }
}
