//! What another worker, a crash or a lost answer left open, and how this worker takes it up or lets it go.

pub(crate) mod handback;
pub(crate) mod lease;
pub(crate) mod scan;
pub(crate) mod superseded;

use crate::alerts::cases::Cases;
use crate::attempts::Chains;
use crate::controls::status_sync::StatusSync;
use crate::ledgers::health_probe::HealthProbes;
use crate::messaging::Messaging;
use crate::pipeline::Pipeline;
use crate::pipeline::in_flight::InFlight;
use crate::shared::SharedState;
use std::sync::Arc;

/// Takes up what no worker carries: it renews the lease, scans the journal and gives back what it cannot do.
pub(crate) struct Recovery {
    pub(super) shared: Arc<SharedState>,
    pub(super) cases: Arc<Cases>,
    pub(super) in_flight: Arc<InFlight>,
    pub(super) probes: Arc<HealthProbes>,
    pub(super) messaging: Arc<Messaging>,
    pub(super) chains: Arc<Chains>,
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) status: Arc<StatusSync>,
}
