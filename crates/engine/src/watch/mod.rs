//! Takes up the work that another worker, a crash or a lost answer left open, and releases what this worker
//! cannot do.

pub(crate) mod attempts;
pub(crate) mod closed_cases;
pub(crate) mod consequences;
pub(crate) mod handback;
pub(crate) mod lease;
pub(crate) mod monitor;
pub(crate) mod register;
pub(crate) mod scan;
pub(crate) mod transfers;
mod vault_books;

use crate::chains::Chains;
use crate::drive::Pipeline;
use crate::drive::status_sync::StatusSync;
use crate::messaging::Messaging;
use crate::state::cases::Cases;
use crate::state::in_flight::InFlight;
use crate::state::ledgers::health_probe::HealthProbes;
use crate::state::ledgers::identity::Ledgers;
use crate::state::shared::SharedState;
use std::sync::Arc;

/// Takes up what no worker carries: it scans the journal and gives back what it cannot do.
pub(crate) struct Recovery {
    pub(crate) shared: Arc<SharedState>,
    pub(crate) cases: Arc<Cases>,
    pub(crate) in_flight: Arc<InFlight>,
    pub(crate) ledgers: Arc<Ledgers>,
    pub(crate) probes: Arc<HealthProbes>,
    pub(crate) messaging: Arc<Messaging>,
    pub(crate) chains: Arc<Chains>,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) status: Arc<StatusSync>,
}
