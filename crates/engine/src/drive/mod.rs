//! Drives transfers from state to state: the stations of their states, the gatherers and provers of attempts, the
//! watch over the keys of chains, and the writes.

pub(crate) mod foreign;
pub(crate) mod foreign_payments;
pub(crate) mod gather;
pub(crate) mod gatherer;
pub(crate) mod jobs;
pub(crate) mod lane_watch;
pub(crate) mod parked;
pub(crate) mod prove;
pub(crate) mod reassign;
pub(crate) mod recover;
pub(crate) mod start;
pub(crate) mod station;
pub(crate) mod status_sync;

use crate::chains::Chains;
use crate::messaging::Messaging;
use crate::state::cases::Cases;
use crate::state::in_flight::InFlight;
use crate::state::ledgers::earlier_sends::EarlierSendsLog;
use crate::state::ledgers::identity::Ledgers;
use crate::state::limits::CreateLimits;
use crate::state::shared::SharedState;
use kernel::ids::Id;
use kernel::record::Record;
use station::{Station, StationKey};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Carries the transfers of this process from station to station: it calls, gathers, writes, and brings
/// each transfer to the station of its new state. A write brings records to stations and a station writes,
/// so these are one component.
pub(crate) struct Pipeline {
    pub(crate) shared: Arc<SharedState>,
    pub(crate) cases: Arc<Cases>,
    pub(crate) in_flight: Arc<InFlight>,
    pub(crate) ledgers: Arc<Ledgers>,
    pub(crate) sends: Arc<EarlierSendsLog>,
    pub(crate) messaging: Arc<Messaging>,
    pub(crate) chains: Arc<Chains>,
    pub(crate) limits: Arc<CreateLimits>,
    pub(crate) stations: Mutex<BTreeMap<StationKey, Arc<Station>>>,
    /// Transfers that a pause stops while others of their station go on.
    pub(crate) parked: Mutex<BTreeMap<Id, Record>>,
}
