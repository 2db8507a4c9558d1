//! The engine: carries transfers from their opening to their end, whatever happens on the way.
//!
//! It is pure plans (`plan`) driven by a few background tasks ([`tasks`]); the world is reached
//! through the kernel's ports alone, so that the simulation runs this very code. [`Engine`] is composed of
//! components that own their state (`docs/decisions/0065`).

pub mod audit;
mod chains;
mod commit;
mod compose;
mod controls;
mod drive;
mod enter;
pub mod messaging;
pub mod operators;
mod plan;
pub mod reconciliation;
mod state;
mod watch;

pub use crate::chains::identity::bound_chain;
pub use crate::chains::report::{ChainReport, LaneReport, OpenAttempt, ProviderCounts};
pub use crate::enter::observed_deposits::{Cursor, Observation, ObservationResult};
pub use crate::enter::{Accepted, Refused};
pub use crate::plan::lane_state::LaneRetirement;
pub use crate::state::parts::{BusParts, Parts};
pub use crate::state::settings::{Alerts, Limits, OwnerLimits, Settings};
pub use crate::state::tasks;

use crate::chains::Chains;
use crate::compose::{Lower, compose};
use crate::controls::lease::Lease;
use crate::drive::lane_watch::LaneWatch;
use crate::drive::prove::Prover;
use crate::drive::start::begin_provers;
use crate::drive::status_sync::StatusSync;
use crate::enter::create_checks::CreateChecks;
use crate::enter::intake;
use crate::enter::intake::Intake;
use crate::enter::observed_deposits::ObservedDeposits;
use crate::enter::vault_watch::{self, VaultWatch};
use crate::messaging::Messaging;
use crate::operators::Operators;
use crate::plan::planner::{LedgerCapabilities, Plan};
use crate::reconciliation::Reconciler;
use crate::state::cases::Cases;
use crate::state::create_request::CreateRequest;
use crate::state::in_flight::InFlight;
use crate::state::ledgers::core_owner;
use crate::state::ledgers::health_probe::HealthProbes;
use crate::state::ledgers::identity::Ledgers;
use crate::state::limits;
use crate::state::shared::SharedState;
use crate::state::transfer_ids::TransferIds;
use crate::watch::Recovery;
use crate::watch::lease::LeaseKeeper;
use crate::watch::monitor::Monitor;
use kernel::answer::Cause;
use kernel::flow::table::Flows;
use kernel::ids::{FlowId, Id, LedgerId, Millis};
use kernel::money::Asset;
use kernel::operation::Known;
use kernel::ports::journal::{Journal, Linked, ServiceStatus};
use kernel::ports::ledger::{Ledger, LedgerForm};
use kernel::record::Record;
use std::sync::Arc;
use tasks::Background;
use tokio::sync::mpsc;

/// The engine: its components, built by `compose`. Cheap to share; its tasks hold the components too.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Engine {
    shared: Arc<SharedState>,
    cases: Arc<Cases>,
    in_flight: Arc<InFlight>,
    probes: Arc<HealthProbes>,
    pub ledgers: Arc<Ledgers>,
    pub messaging: Arc<Messaging>,
    pub chains: Arc<Chains>,
    pub checks: Arc<CreateChecks>,
    pub reconciler: Arc<Reconciler>,
    status: Arc<StatusSync>,
    lane_watch: Arc<LaneWatch>,
    vault_watch: Arc<VaultWatch>,
    prover: Arc<Prover>,
    pub intake: Arc<Intake>,
    pub observed_deposits: Arc<ObservedDeposits>,
    lease_keeper: Arc<LeaseKeeper>,
    recovery: Arc<Recovery>,
    pub monitor: Arc<Monitor>,
    pub operators: Arc<Operators>,
}

impl Engine {
    /// Starts the engine: it reads the flags, finds out the identity of each ledger, and starts the tasks.
    /// It starts under HALT too: reads and proofs go on.
    ///
    /// # Errors
    /// The cause for which the journal does not answer; `BAD_LIMIT` where a daily amount is none of
    /// its asset; `BAD_TABLE` where the table of a flow that is offered does not hold;
    /// `NO_FACT_SOURCE` where a flow is offered that learns from outside, without its port;
    /// `NO_CHAIN` where one is offered that sends, without any chain;
    /// `NO_BUS` where one is offered that events drive, without a bus;
    /// `OTHER_VAULT` where the store watched another vault of a chain, and `NO_FLOW` where a vault's flow is not
    /// offered;
    /// `OWNED` where another core than ours is at work, and nothing was touched;
    /// `FOREIGN_TOPICS` where the topics of the bus are another journal's.
    pub async fn start(parts: Parts) -> Result<Arc<Self>, Cause> {
        parts.check_flows()?;
        let before = parts.journal.service_status().await?;
        core_owner::fits(&parts, &before).await?;
        vault_watch::fits(&parts).await?;
        messaging::source::fits(&parts, before.identity).await?;
        let begun = parts.clock.ticks();
        let length = parts.settings.lease_ms;
        let leased = parts.journal.renew_lease(parts.worker, length, None).await?;
        let status = parts.journal.service_status().await?;
        let epochs = core_owner::taken_over(&parts, &status).await?;
        limits::check_named_assets(&parts.settings, &status.assets)?;
        let counts = parts.journal.counts().await?;
        let open_cases = parts.journal.open_cases().await?;
        let capabilities_of = |ledger: &Arc<dyn Ledger>| {
            let enlist = ledger.enlist();
            let capabilities = LedgerCapabilities {
                enlisted: enlist.is_some(),
                holds: enlist.is_some_and(kernel::ports::ledger::Enlist::holds),
                reversible: !parts.settings.irreversible.contains(&ledger.id()),
                epoch: epochs.get(&ledger.id()).copied(),
                // where no other worker shares the journal none can adopt another one
                named: leased.ends && enlist.is_none() && ledger.form() == LedgerForm::Full,
                simple: ledger.form() == LedgerForm::Simple,
            };
            (ledger.id(), capabilities)
        };
        let capabilities = parts.ledgers.iter().map(capabilities_of).collect();
        let plan = Plan { flows: parts.flows.clone(), capabilities };
        let (sender, requests) = mpsc::channel(parts.settings.ring);
        let proven = reconciliation::Proven::read(status.proven.as_deref(), &parts.seal_key);
        let ids = match parts.sends() {
            true => Some(TransferIds::read(&parts).await?),
            false => None,
        };
        let lease = Lease::new(leased.ends);
        let shared = Arc::new(SharedState::new(parts, status.identity, plan, lease, ids));
        shared.is_asked_before_sending();
        let open = counts.iter().map(|count| count.transfers).sum();
        let lower = Lower::new(&shared, &open_cases, open, proven);
        let engine = compose(shared, lower, sender);
        if leased.ends {
            engine.lease_keeper.leased(begun);
        }
        engine.first_status(&status);
        engine.begin(requests).await;
        Ok(engine)
    }

    /// Follows the journal's flags and assets at start.
    fn first_status(&self, status: &ServiceStatus) {
        self.shared.controls.follow(self.shared.controls.epoch(), status);
        self.shared.lease.hear(status);
        self.status.know(status);
        log_stops(status);
    }

    /// Tells the journal at start which flows this process carries: it gets no work of others.
    fn log_flows(&self) {
        let names: Vec<&str> = self
            .shared
            .parts
            .offered
            .iter()
            .map(|flow| self.shared.plan.table(*flow).flow)
            .collect();
        let workers = self.shared.parts.settings.workers;
        tracing::info!(flows = names.join(", "), workers, "the flows that are carried here");
    }

    async fn begin(&self, requests: mpsc::Receiver<(Record, CreateRequest)>) {
        self.log_flows();
        let ledgers: Vec<_> = self.shared.parts.ledgers.iter().map(|ledger| ledger.id()).collect();
        for ledger in ledgers {
            if !self.ledgers.settle_identity(ledger).await {
                self.ledgers.find_out(ledger);
            }
        }
        self.cases.warn_of_simple_ledgers();
        let spawn = &self.shared.parts.spawn;
        for ledger in self.shared.outside() {
            spawn.spawn(
                Background::HealthProbe.task(),
                Box::pin(self.probes.clone().run_health_probe(ledger)),
            );
        }
        if self.shared.lease.ends() {
            spawn.spawn(Background::Lease.task(), Box::pin(self.lease_keeper.clone().run_lease()));
        }
        spawn.spawn(Background::Monitor.task(), Box::pin(self.monitor.clone().run_watch()));
        spawn.spawn(Background::Waker.task(), Box::pin(self.in_flight.clone().run_waker()));
        let requests = Arc::new(tokio::sync::Mutex::new(requests));
        for _ in 0..intake::WORKERS {
            let worker = self.intake.clone().run_intake(requests.clone());
            spawn.spawn(Background::Intake.task(), Box::pin(worker));
        }
        spawn.spawn(Background::Scanner.task(), Box::pin(self.recovery.clone().run_scanner()));
        spawn.spawn(
            Background::Consequences.task(),
            Box::pin(self.recovery.clone().run_consequences()),
        );
        self.messaging.begin_messaging();
        self.chains.begin_identities();
        begin_provers(&self.chains, &self.prover, &self.lane_watch);
        for vault in &self.vault_watch.vaults {
            let watch = self.vault_watch.clone().run_vault_watch(vault.clone());
            spawn.spawn(Background::VaultWatch.task(), Box::pin(watch));
        }
        spawn.spawn(Background::Checker.task(), Box::pin(self.reconciler.clone().run_checker()));
        let left_over = self.operators.clone().run_left_over();
        spawn.spawn(Background::LeftOver.task(), Box::pin(left_over));
        if self.shared.parts.settings.workers {
            spawn
                .spawn(Background::Horizon.task(), Box::pin(self.reconciler.clone().run_horizon()));
        }
    }

    /// A transfer with its history.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub async fn transfer(&self, id: Id) -> Result<Option<(Record, Vec<Linked>)>, Cause> {
        let Some(record) = self.shared.parts.journal.get(vec![id]).await?.pop() else {
            return Ok(None);
        };
        Ok(Some((record, self.shared.parts.journal.history(id).await?)))
    }

    /// The assets, as this process read them last.
    pub fn assets(&self) -> Arc<[Asset]> {
        self.shared.assets()
    }

    /// The asset of that symbol.
    pub fn asset(&self, symbol: &str) -> Option<Asset> {
        self.shared.asset(symbol)
    }

    /// The configured ledger of that account type.
    pub fn ledger(&self, id: LedgerId) -> Option<Arc<dyn Ledger>> {
        self.shared.ledger(id)
    }

    /// True for a flow that this process takes in and carries.
    pub fn offers(&self, flow: FlowId) -> bool {
        self.shared.offers(flow)
    }

    /// Why no money moves; `None` where it moves.
    pub fn halted(&self) -> Option<Arc<str>> {
        self.shared.halted()
    }

    /// True while the store takes no writes: the intake refuses everything.
    pub fn full(&self) -> bool {
        self.shared.writer.room.full()
    }

    /// Whether this process can move money, as far as it knows without asking: the journal answers its
    /// writes, and its lease has not run out.
    ///
    /// # Errors
    /// The cause for which it cannot.
    pub fn writes(&self) -> Result<(), Cause> {
        self.shared.parts.journal.writes()?;
        if self.shared.controls.stale() {
            return Err(Cause::because("LEASE_OVER", "the lease of this worker has run out"));
        }
        Ok(())
    }

    /// The incarnation that this process knows of a ledger.
    pub fn known(&self, ledger: LedgerId) -> Option<Known> {
        self.shared.controls.known(ledger)
    }

    pub fn flows(&self) -> &Flows {
        &self.shared.plan.flows
    }

    /// The store of transfers.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.shared.parts.journal
    }

    /// How many transfers are open, as far as this process saw.
    pub fn open_transfers(&self) -> u64 {
        self.in_flight.open_transfers()
    }

    /// Stops the intake, and returns when everything in this process's workers has ended or waits, or after
    /// `most` milliseconds. The rest goes on at the next start, or at another worker at once.
    pub async fn drain(&self, most: Millis) {
        self.shared.controls.drain();
        let (mut left, step) = (most, 20);
        while self.in_flight.carried() > 0 && left > 0 {
            self.shared.parts.clock.sleep(step).await;
            left = left.saturating_sub(step);
        }
        self.messaging.stop_publishing().await;
        self.vault_watch.leave().await;
        self.lease_keeper.leave().await;
    }
}

/// Logs at start why no money moves until persons resume.
fn log_stops(status: &ServiceStatus) {
    if let Some(reason) = &status.halted {
        tracing::error!(%reason, "HALT stands until persons resume");
    }
    for paused in &status.paused {
        tracing::error!(scope = ?paused.scope, reason = %paused.reason, "paused");
    }
}
