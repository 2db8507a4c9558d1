//! Builds the components of the engine, the lower ones first: each gets those below it that it calls.

use crate::Engine;
use crate::chains::Chains;
use crate::drive::Pipeline;
use crate::drive::foreign_payments::ForeignPayments;
use crate::drive::lane_watch::LaneWatch;
use crate::drive::prove::Prover;
use crate::drive::status_sync::StatusSync;
use crate::enter::create_checks::CreateChecks;
use crate::enter::intake::Intake;
use crate::enter::observed_deposits::ObservedDeposits;
use crate::enter::vault_watch::VaultWatch;
use crate::messaging::Messaging;
use crate::operators::{Operators, Turns};
use crate::reconciliation::{Proven, Reconciler};
use crate::state::cases::Cases;
use crate::state::create_request::CreateRequest;
use crate::state::halt::KillSwitch;
use crate::state::in_flight::InFlight;
use crate::state::ledgers::earlier_sends::EarlierSendsLog;
use crate::state::ledgers::halt_notice::HaltNotices;
use crate::state::ledgers::health_probe::HealthProbes;
use crate::state::ledgers::identity::Ledgers;
use crate::state::limits::CreateLimits;
use crate::state::shared::SharedState;
use crate::watch::Recovery;
use crate::watch::closed_cases::ClosedCases;
use crate::watch::lease::LeaseKeeper;
use crate::watch::monitor::Monitor;
use kernel::operators::OpenCase;
use kernel::record::Record;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc::Sender;

/// The components below the pipeline: none of them carries transfers.
pub(crate) struct Lower {
    cases: Arc<Cases>,
    in_flight: Arc<InFlight>,
    notices: Arc<HaltNotices>,
    probes: Arc<HealthProbes>,
    ledgers: Arc<Ledgers>,
    sends: Arc<EarlierSendsLog>,
    messaging: Arc<Messaging>,
    chains: Arc<Chains>,
    limits: Arc<CreateLimits>,
    checks: Arc<CreateChecks>,
    reconciler: Arc<Reconciler>,
}

impl Lower {
    /// Builds them from the journal at start: the open cases, how many transfers are open, and how far the
    /// proof has come.
    pub(crate) fn new(
        shared: &Arc<SharedState>,
        open_cases: &[OpenCase],
        open: u64,
        proven: Proven,
    ) -> Self {
        let cases = Cases::new(shared, open_cases);
        let in_flight = InFlight::new(shared, open);
        let kill_switch = KillSwitch::new(shared, &cases);
        let ledgers = Ledgers::new(shared, &kill_switch);
        let notices = HaltNotices::new(shared, &kill_switch);
        let chains = Chains::new(shared, &cases, &in_flight);
        let limits = CreateLimits::new(shared);
        Self {
            probes: HealthProbes::new(shared, &notices),
            notices,
            sends: EarlierSendsLog::new(shared),
            messaging: Messaging::new(shared, &cases, &ledgers, &in_flight),
            checks: CreateChecks::new(shared, &in_flight, &chains, &limits),
            reconciler: Reconciler::new(shared, &cases, &kill_switch, &ledgers, proven),
            cases,
            in_flight,
            ledgers,
            chains,
            limits,
        }
    }

    fn pipeline(&self, shared: &Arc<SharedState>) -> Arc<Pipeline> {
        Arc::new(Pipeline {
            shared: shared.clone(),
            cases: self.cases.clone(),
            in_flight: self.in_flight.clone(),
            ledgers: self.ledgers.clone(),
            sends: self.sends.clone(),
            messaging: self.messaging.clone(),
            chains: self.chains.clone(),
            limits: self.limits.clone(),
            stations: Mutex::default(),
            parked: Mutex::default(),
        })
    }

    fn prover(&self, shared: &Arc<SharedState>, pipeline: &Arc<Pipeline>) -> Arc<Prover> {
        Arc::new(Prover {
            shared: shared.clone(),
            sends: self.sends.clone(),
            chains: self.chains.clone(),
            pipeline: pipeline.clone(),
        })
    }

    fn monitor(&self, shared: &Arc<SharedState>, vault_watch: &Arc<VaultWatch>) -> Arc<Monitor> {
        Arc::new(Monitor {
            shared: shared.clone(),
            cases: self.cases.clone(),
            probes: self.probes.clone(),
            messaging: self.messaging.clone(),
            chains: self.chains.clone(),
            limits: self.limits.clone(),
            reconciler: self.reconciler.clone(),
            vault_watch: vault_watch.clone(),
            closed_cases: ClosedCases::new(shared),
            key_set: Mutex::default(),
        })
    }

    fn recovery(
        &self,
        shared: &Arc<SharedState>,
        pipeline: &Arc<Pipeline>,
        status: &Arc<StatusSync>,
    ) -> Arc<Recovery> {
        Arc::new(Recovery {
            shared: shared.clone(),
            cases: self.cases.clone(),
            in_flight: self.in_flight.clone(),
            ledgers: self.ledgers.clone(),
            probes: self.probes.clone(),
            messaging: self.messaging.clone(),
            chains: self.chains.clone(),
            pipeline: pipeline.clone(),
            status: status.clone(),
        })
    }

    fn operators(
        &self,
        shared: &Arc<SharedState>,
        pipeline: &Arc<Pipeline>,
        status: &Arc<StatusSync>,
        lease_keeper: &Arc<LeaseKeeper>,
    ) -> Arc<Operators> {
        Arc::new(Operators {
            shared: shared.clone(),
            cases: self.cases.clone(),
            ledgers: self.ledgers.clone(),
            sends: self.sends.clone(),
            messaging: self.messaging.clone(),
            chains: self.chains.clone(),
            pipeline: pipeline.clone(),
            status: status.clone(),
            reconciler: self.reconciler.clone(),
            lease_keeper: lease_keeper.clone(),
            notices: self.notices.clone(),
            turns: Turns::default(),
        })
    }
}

/// Builds the pipeline and the components above it. `requests` brings create requests to the intake's task.
pub(crate) fn compose(
    shared: Arc<SharedState>,
    lower: Lower,
    requests: Sender<(Record, CreateRequest)>,
) -> Arc<Engine> {
    let pipeline = lower.pipeline(&shared);
    let status =
        StatusSync::new(&shared, &lower.ledgers, &lower.chains, &lower.reconciler, &pipeline);
    let lease_keeper = LeaseKeeper::new(&shared, &lower.chains, &status);
    let prover = lower.prover(&shared, &pipeline);
    let payments = ForeignPayments::new(&shared, &lower.cases, &status);
    let observed_deposits =
        ObservedDeposits::new(&shared, &lower.cases, &lower.in_flight, &pipeline);
    let vault_watch = VaultWatch::new(&shared, &observed_deposits, &payments);
    let monitor = lower.monitor(&shared, &vault_watch);
    let recovery = lower.recovery(&shared, &pipeline, &status);
    let operators = lower.operators(&shared, &pipeline, &status, &lease_keeper);
    let Lower {
        cases,
        in_flight,
        probes,
        ledgers,
        messaging,
        chains,
        limits,
        checks,
        reconciler,
        ..
    } = lower;
    Arc::new(Engine {
        lane_watch: LaneWatch::new(&shared, &cases, &chains, &status, &payments),
        intake: Intake::new(&shared, &limits, &checks, &pipeline, requests),
        observed_deposits,
        vault_watch,
        shared,
        cases,
        in_flight,
        probes,
        ledgers,
        messaging,
        chains,
        checks,
        reconciler,
        status,
        prover,
        lease_keeper,
        recovery,
        monitor,
        operators,
    })
}
