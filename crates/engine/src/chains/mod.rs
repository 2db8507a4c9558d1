//! Attempts on chains, whose effects cannot be repeated: this component gathers transfers into an attempt,
//! stores what it signed before it sends it, and proves what the attempt came to (`design.md` §2).
//!
//! `claim` and `close` are pure plans. `gather` has a claim signed and stored for the pipeline's gatherers,
//! `prove` looks after every attempt that this process carries, `recover` takes over the attempts of other
//! workers. `lane_watch` finds keys that are used elsewhere by what `lane_watch::compare` compares, `foreign` stores what they signed,
//! `missing_keys` reports keys that cannot sign, and `returned_keys` reports retired keys that can sign
//! again. A lane is a key or an account whose locks are spent one after the other; the journal says whether
//! it is free. `identity` binds the journal to one chain: nothing is claimed before that.
//!
//! [`Chains`] owns the pool of each chain and stands below the pipeline; the prover and the lane watch
//! stand above it.

pub(crate) mod carried;
mod carried_out;
pub(crate) mod form;
pub(crate) mod gather;
pub(crate) mod identity;
pub(crate) mod lane_check;
pub(crate) mod lanes;
pub(crate) mod missing_keys;
pub(crate) mod orphans;
pub(crate) mod proof_delay;
pub(crate) mod report;
mod returned_keys;
pub(crate) mod stops;
mod suspects;
#[cfg(test)]
mod swap_tests;
mod trouble;

use crate::chains::carried::CarriedAttempts;
use crate::chains::identity::ChainBinding;
use crate::chains::lane_check::LaneCheck;
use crate::chains::lanes::LaneTable;
use crate::chains::missing_keys::ShownKeys;
use crate::chains::orphans::OrphanPayments;
use crate::chains::proof_delay::ProofDelay;
use crate::chains::stops::StopReasons;
use crate::state::cases::Cases;
use crate::state::in_flight::InFlight;
use crate::state::shared::SharedState;
use kernel::ids::{ChainId, Id};
use kernel::ports::chain::Chain;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// One chain: its port, its lanes as this process knows them, and the attempts that this process carries.
pub(crate) struct ChainPool {
    pub port: Arc<dyn Chain>,
    pub binding: ChainBinding,
    pub carried: CarriedAttempts,
    pub proof_delay: ProofDelay,
    pub lane_check: LaneCheck,
    pub shown_keys: ShownKeys,
    pub stops: StopReasons,
    pub orphans: OrphanPayments,
    lanes: Mutex<LaneTable>,
    /// A lane became free, as far as this process knows.
    freed: Notify,
}

impl ChainPool {
    pub(crate) fn id(&self) -> ChainId {
        self.port.id()
    }

    fn lanes(&self) -> MutexGuard<'_, LaneTable> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Every chain, and what this process knows of transfers on their way through attempts.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Chains {
    pub(crate) shared: Arc<SharedState>,
    pub(crate) cases: Arc<Cases>,
    pub(crate) in_flight: Arc<InFlight>,
    pools: BTreeMap<ChainId, Arc<ChainPool>>,
    /// Transfers that spoiled an attempt: each goes alone the next time.
    isolated: Mutex<BTreeSet<Id>>,
    /// Transfers whose worker died while they waited for an attempt: they are tried once in company.
    suspects: Mutex<BTreeSet<Id>>,
}

impl Chains {
    pub(crate) fn new(
        shared: &Arc<SharedState>,
        cases: &Arc<Cases>,
        in_flight: &Arc<InFlight>,
    ) -> Arc<Self> {
        let pool = |port: &Arc<dyn Chain>| {
            let pool = ChainPool {
                port: port.clone(),
                binding: ChainBinding::default(),
                carried: CarriedAttempts::default(),
                proof_delay: ProofDelay::default(),
                lane_check: LaneCheck::default(),
                shown_keys: ShownKeys::default(),
                stops: StopReasons::default(),
                orphans: OrphanPayments::default(),
                lanes: Mutex::default(),
                freed: Notify::new(),
            };
            (port.id(), Arc::new(pool))
        };
        let pools = shared.parts.chains.iter().map(pool).collect();
        Arc::new(Self {
            shared: shared.clone(),
            cases: cases.clone(),
            in_flight: in_flight.clone(),
            pools,
            isolated: Mutex::default(),
            suspects: Mutex::default(),
        })
    }

    pub(crate) fn pool(&self, chain: ChainId) -> Option<&Arc<ChainPool>> {
        self.pools.get(&chain)
    }

    pub(crate) fn pools(&self) -> impl Iterator<Item = &Arc<ChainPool>> {
        self.pools.values()
    }

    fn isolated(&self) -> MutexGuard<'_, BTreeSet<Id>> {
        self.isolated.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True for a transfer that spoiled an attempt.
    pub(crate) fn is_isolated(&self, id: Id) -> bool {
        self.isolated().contains(&id)
    }

    /// Sets whether a transfer goes alone from now on.
    pub(crate) fn isolate(&self, id: Id, alone: bool) {
        if alone {
            self.isolated().insert(id);
        } else {
            self.isolated().remove(&id);
        }
    }

    pub(crate) fn suspects(&self) -> MutexGuard<'_, BTreeSet<Id>> {
        self.suspects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
