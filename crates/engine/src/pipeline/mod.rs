//! Carries a transfer from its create request to its end: intake, plan, the stations of its states, and the
//! writes.

pub(crate) mod commit;
pub(crate) mod create_checks;
pub(crate) mod create_request;
pub(crate) mod decision;
pub(crate) mod gather;
pub(crate) mod gatherer;
pub(crate) mod in_flight;
pub(crate) mod intake;
pub(crate) mod observed_deposits;
pub(crate) mod parked;
pub(crate) mod plan;
pub(crate) mod plan_events;
#[cfg(test)]
pub(crate) mod plan_tests;
pub(crate) mod plan_waits;
pub(crate) mod queue;
pub(crate) mod reassign;
pub(crate) mod select;
pub(crate) mod station;
pub(crate) mod waiters;

use crate::alerts::cases::Cases;
use crate::attempts::Chains;
use crate::controls::limits::CreateLimits;
use crate::ledgers::earlier_sends::EarlierSendsLog;
use crate::ledgers::identity::Ledgers;
use crate::messaging::Messaging;
use crate::shared::SharedState;
use in_flight::InFlight;
use kernel::ids::Id;
use kernel::record::Record;
use station::{Station, StationKey};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Carries the transfers of this process from station to station: it calls, gathers, writes, and brings
/// each transfer to the station of its new state. A write brings records to stations and a station writes,
/// so these are one component.
pub(crate) struct Pipeline {
    pub(super) shared: Arc<SharedState>,
    pub(super) cases: Arc<Cases>,
    pub(super) in_flight: Arc<InFlight>,
    pub(super) ledgers: Arc<Ledgers>,
    pub(super) sends: Arc<EarlierSendsLog>,
    pub(super) messaging: Arc<Messaging>,
    pub(super) chains: Arc<Chains>,
    pub(super) limits: Arc<CreateLimits>,
    pub(super) stations: Mutex<BTreeMap<StationKey, Arc<Station>>>,
    /// Transfers that a pause stops while others of their station go on.
    pub(super) parked: Mutex<BTreeMap<Id, Record>>,
}
