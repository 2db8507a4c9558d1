//! The engine: carries transfers from their opening to their end, whatever happens on the way.
//!
//! It is pure plans (`pipeline::plan`) driven by a few background tasks ([`tasks`]); the world is reached
//! through the kernel's ports alone, so that the simulation runs this very code.

mod alerts;
mod assets;
mod attempts;
pub mod audit;
mod controls;
mod ledgers;
pub mod messaging;
pub mod operators;
mod pipeline;
pub mod reconciliation;
mod recovery;
mod settings;
pub mod tasks;

pub use crate::attempts::lanes::LaneRetirement;
pub use crate::attempts::report::{ChainReport, LaneReport, OpenAttempt, ProviderCounts};
pub use crate::pipeline::observed_deposits::{Cursor, Observation, ObservationResult};
pub use crate::settings::{Alerts, Limits, OwnerLimits, Settings};

use crate::alerts::cases::Episodes;
use crate::alerts::monitor::KeySet;
use crate::attempts::Attempts;
use crate::controls::admission::Controls;
use crate::controls::limits::CreateRates;
use crate::ledgers::earlier_sends::EarlierSendsLog;
use crate::ledgers::health_probe::HealthProbes;
use crate::ledgers::outstanding_calls::OutstandingCalls;
use crate::pipeline::create_request::CreateRequest;
use crate::pipeline::gather::NotYet;
use crate::pipeline::in_flight::InFlight;
use crate::pipeline::plan::{FuseMode, LedgerCapabilities, Plan};
use crate::pipeline::station::{Station, StationKey};
use crate::pipeline::waiters::{Waiter, Waiters};
use crate::recovery::lease::Lease;
use crate::recovery::superseded::SupersededTransfers;
use assets::Assets;
use kernel::answer::Cause;
use kernel::audit::seal::SealKey;
use kernel::flow::table::Flows;
use kernel::ids::{FlowId, Id, LedgerId, Millis, WorkerId};
use kernel::money::Asset;
use kernel::operation::Known;
use kernel::ports::chain::Chain;
use kernel::ports::clock::{Clock, Rng};
use kernel::ports::facts::FactSource;
use kernel::ports::journal::{Journal, Linked, ServiceStatus};
use kernel::ports::ledger::{Form, Ledger, StatusChange, World};
use kernel::ports::meter::Meter;
use kernel::ports::spawn::Spawn;
use kernel::record::Record;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tasks::Background;
use tokio::sync::mpsc;

/// What the engine is made of. The server gives the real ones, the simulation its own.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Parts {
    pub flows: Arc<Flows>,
    /// The flows that are taken in and carried here: there is an adapter for their systems.
    pub offered: Vec<FlowId>,
    /// What each flow learns from outside, by the flow's name. A flow that neither gathers facts nor
    /// asks questions needs none.
    pub facts: BTreeMap<&'static str, Arc<dyn FactSource>>,
    /// The bus and the outbox, where a flow that events drive is offered.
    pub bus: Option<messaging::BusParts>,
    /// The store of transfers.
    pub journal: Arc<dyn Journal>,
    /// Every ledger that may be an end of a transfer.
    pub ledgers: Vec<Arc<dyn Ledger>>,
    /// Every chain on which attempts are made.
    pub chains: Vec<Arc<dyn Chain>>,
    /// Where external money is booked.
    pub world: Arc<dyn World>,
    pub clock: Arc<dyn Clock>,
    pub rng: Arc<dyn Rng>,
    pub spawn: Arc<dyn Spawn>,
    pub meter: Arc<dyn Meter>,
    pub settings: Settings,
    /// This run of this process, drawn at its start and never again. A store that is shared was
    /// opened with the same one.
    pub worker: WorkerId,
    /// The ledgers whose cores run inside this process, where others could open theirs over the same
    /// journal: it takes them over at its start, or refuses to.
    pub cores: Vec<LedgerId>,
    /// The key of the audit's seals: what is stored of the proof of conservation is believed by it.
    pub seal_key: SealKey,
    /// Ends the process: another one took over a core that runs in it.
    pub retire: Arc<dyn Fn(String) + Send + Sync>,
}

/// A transfer that was opened, now or before.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// As it stands; the state says whether it ended.
    pub record: Record,
    /// The key was bound before this request.
    pub replayed: bool,
}

/// Why nothing can be said of a new transfer.
#[derive(Debug, Clone)]
pub enum Refused {
    Code(kernel::code::Code),
    /// The key is bound to this transfer, which another body asked for.
    Mismatch(Box<Record>),
    /// The outcome is not known; repeat with the same key.
    Unknown(Cause),
}

/// The engine. Cheap to share; its tasks hold it too.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Engine {
    parts: Parts,
    plan: Plan,
    controls: Controls,
    intake: mpsc::Sender<(Record, CreateRequest)>,
    stations: Mutex<BTreeMap<StationKey, Arc<Station>>>,
    waiters: Waiters,
    /// The transfers in this process's workers.
    in_flight: InFlight,
    /// Those of them that a rule holds back.
    not_yet: NotYet,
    /// Those of them that stand while others of their station go on.
    parked: Mutex<BTreeMap<Id, Record>>,
    calls: Arc<OutstandingCalls>,
    attempts: Attempts,
    lease: Lease,
    superseded: SupersededTransfers,
    sends: EarlierSendsLog,
    /// The last id that was minted.
    last: Mutex<Id>,
    /// So many transfers are open, as far as this process saw.
    open: AtomicU64,
    /// The last write found no room.
    full: AtomicBool,
    cases: Mutex<Episodes>,
    /// Breaks of conservation that were accepted.
    accepted: Mutex<Vec<kernel::operators::Accepted>>,
    /// Breaks, by key and amount, for which this process raised the HALT that stands.
    halted_for: Mutex<BTreeSet<(String, i128)>>,
    rates: CreateRates,
    /// How old the keys are that check tokens in this process.
    key_set: Mutex<KeySet>,
    probes: HealthProbes,
    /// Ledgers whose identity a task is finding out.
    finding: Mutex<BTreeSet<LedgerId>>,
    /// Keys of operators whose actions are under way.
    turns: operators::Turns,
    assets: Assets,
    report: Mutex<Option<Arc<reconciliation::Report>>>,
    checker: tokio::sync::Mutex<reconciliation::Checker>,
    /// All rows are being counted in the background.
    counting: AtomicBool,
    proving: controls::halt::ProofUnderWay,
    messaging: Option<messaging::Messaging>,
}

impl Engine {
    /// Starts: reads the flags, finds out who each ledger is, sets the tasks to work. Under HALT it
    /// starts too: reads and proofs go on.
    ///
    /// # Errors
    /// The cause for which the journal does not answer; `BAD_LIMIT` where a daily amount is none of
    /// its asset; `NO_FACT_SOURCE` where a flow is offered that learns from outside, without its port;
    /// `NO_CHAIN` where one is offered that sends, without any chain;
    /// `NO_BUS` where one is offered that events drive, without a bus;
    /// `OWNED` where another core than ours is at work, and nothing was touched.
    pub async fn start(parts: Parts) -> Result<Arc<Self>, Cause> {
        messaging::fits(&parts)?;
        attempts::fits(&parts)?;
        ledgers::core_owner::fits(&parts, &parts.journal.service_status().await?).await?;
        let begun = parts.clock.ticks();
        let length = parts.settings.lease_ms;
        let leased = parts.journal.renew_lease(parts.worker, length, None).await?;
        let lease = Lease::new(leased.ends);
        let status = parts.journal.service_status().await?;
        let epochs = ledgers::core_owner::taken_over(&parts, &status).await?;
        controls::limits::sound(&parts.settings, &status.assets)?;
        let counts = parts.journal.counts().await?;
        let cases = parts.journal.open_cases().await?;
        let capabilities_of = |ledger: &Arc<dyn Ledger>| {
            let enlist = ledger.enlist();
            let capabilities = LedgerCapabilities {
                enlisted: enlist.is_some(),
                holds: enlist.is_some_and(kernel::ports::ledger::Enlist::holds),
                reversible: !parts.settings.irreversible.contains(&ledger.id()),
                epoch: epochs.get(&ledger.id()).copied(),
                // where no other worker shares the journal none can adopt another one
                named: leased.ends && enlist.is_none() && ledger.form() == Form::Full,
                simple: ledger.form() == Form::Simple,
            };
            (ledger.id(), capabilities)
        };
        let capabilities = parts.ledgers.iter().map(capabilities_of).collect();
        let plan = Plan { flows: parts.flows.clone(), capabilities };
        let (intake, orders) = mpsc::channel(parts.settings.ring);
        let proven = reconciliation::Proven::read(status.proven.as_deref(), &parts.seal_key);
        let engine = Arc::new(Self {
            plan,
            controls: Controls::new(parts.clock.clone()),
            intake,
            stations: Mutex::default(),
            waiters: Waiters::default(),
            in_flight: InFlight::default(),
            not_yet: NotYet::default(),
            parked: Mutex::default(),
            calls: Arc::default(),
            attempts: Attempts::over(&parts.chains),
            lease,
            superseded: SupersededTransfers::default(),
            sends: EarlierSendsLog::default(),
            last: Mutex::default(),
            open: AtomicU64::new(counts.iter().map(|count| count.transfers).sum()),
            full: AtomicBool::new(false),
            cases: Mutex::new(Episodes::of(&cases)),
            accepted: Mutex::default(),
            halted_for: Mutex::default(),
            rates: CreateRates::default(),
            key_set: Mutex::default(),
            probes: HealthProbes::default(),
            finding: Mutex::default(),
            turns: operators::Turns::default(),
            assets: Assets::default(),
            report: Mutex::default(),
            checker: tokio::sync::Mutex::new(reconciliation::Checker::behind(proven)),
            counting: AtomicBool::new(false),
            proving: controls::halt::ProofUnderWay::default(),
            messaging: messaging::Messaging::of(&parts),
            parts,
        });
        if leased.ends {
            engine.leased(begun);
        }
        engine.first_status(&status);
        engine.begin(orders).await;
        Ok(engine)
    }

    /// Takes over at start what the journal says of flags and assets.
    fn first_status(&self, status: &ServiceStatus) {
        self.controls.follow(self.controls.epoch(), status);
        self.lease.hear(status);
        self.know(status);
        log_stops(status);
    }

    /// Says at start which flows this process carries: it is given no work of others.
    fn log_flows(&self) {
        let names: Vec<&str> =
            self.parts.offered.iter().map(|flow| self.plan.table(*flow).flow).collect();
        let workers = self.parts.settings.workers;
        tracing::info!(flows = names.join(", "), workers, "the flows that are carried here");
    }

    async fn begin(self: &Arc<Self>, orders: mpsc::Receiver<(Record, CreateRequest)>) {
        self.log_flows();
        let ledgers: Vec<_> = self.parts.ledgers.iter().map(|ledger| ledger.id()).collect();
        for ledger in ledgers {
            if !self.settle_identity(ledger).await {
                self.find_out(ledger);
            }
        }
        self.warn_of_simple_ledgers();
        let spawn = &self.parts.spawn;
        for ledger in self.outside() {
            spawn.spawn(
                Background::HealthProbe.task(),
                Box::pin(self.clone().run_health_probe(ledger)),
            );
        }
        if self.lease.ends() {
            spawn.spawn(Background::Lease.task(), Box::pin(self.clone().run_lease()));
        }
        spawn.spawn(Background::Monitor.task(), Box::pin(self.clone().run_watch()));
        spawn.spawn(Background::Waker.task(), Box::pin(self.clone().run_waker()));
        let orders = Arc::new(tokio::sync::Mutex::new(orders));
        for _ in 0..pipeline::intake::WORKERS {
            let hand = self.clone().run_intake(orders.clone());
            spawn.spawn(Background::Intake.task(), Box::pin(hand));
        }
        spawn.spawn(Background::Scanner.task(), Box::pin(self.clone().run_scanner()));
        self.begin_messaging();
        self.begin_identities();
        self.begin_provers();
        spawn.spawn(Background::Checker.task(), Box::pin(self.clone().run_checker()));
        if self.parts.settings.workers {
            spawn.spawn(Background::Horizon.task(), Box::pin(self.clone().run_horizon()));
        }
    }

    /// A transfer with its history.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub async fn transfer(&self, id: Id) -> Result<Option<(Record, Vec<Linked>)>, Cause> {
        let Some(record) = self.parts.journal.get(vec![id]).await?.pop() else { return Ok(None) };
        Ok(Some((record, self.parts.journal.history(id).await?)))
    }

    pub fn assets(&self) -> Arc<[Asset]> {
        self.assets.all()
    }

    /// The asset of that symbol.
    pub fn asset(&self, symbol: &str) -> Option<Asset> {
        self.assets().iter().find(|asset| asset.symbol == symbol).cloned()
    }

    /// A configured ledger: a supported account type.
    pub fn ledger(&self, id: LedgerId) -> Option<Arc<dyn Ledger>> {
        self.parts.ledgers.iter().find(|ledger| ledger.id() == id).cloned()
    }

    /// Sets an account's status at its ledger. False: there is no such account.
    ///
    /// # Errors
    /// The cause for which the outcome is not known; repeat it with the same key.
    pub async fn set_status(
        self: &Arc<Self>,
        ledger: LedgerId,
        change: StatusChange,
    ) -> Result<bool, Cause> {
        let port = self.ledger(ledger).ok_or(Cause::of("NO_LEDGER"))?;
        let known = self.controls.known(ledger).ok_or(Cause::of("NOT_ADOPTED"))?;
        let reply = port.status(known, change).await;
        self.said(ledger, known, reply)
    }

    /// Why no money moves, where it does not.
    pub fn halted(&self) -> Option<Arc<str>> {
        self.controls.halted()
    }

    /// Whether this process can move money, as far as it knows without asking: the journal answers its
    /// writes, and its lease has not run out.
    ///
    /// # Errors
    /// The cause for which it cannot.
    pub fn writes(&self) -> Result<(), Cause> {
        self.parts.journal.writes()?;
        if self.controls.stale() {
            return Err(Cause::because("LEASE_OVER", "the lease of this worker has run out"));
        }
        Ok(())
    }

    /// True while the store has no room: nothing is taken in.
    pub fn full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Notes whether the last write found room.
    fn room(&self, found: bool) {
        if self.full.swap(!found, Ordering::Relaxed) == found {
            if found {
                tracing::info!("the store has room again");
            } else {
                tracing::error!("the disk is full: nothing is taken in until there is room");
            }
        }
    }

    /// What is known of a ledger.
    pub fn known(&self, ledger: LedgerId) -> Option<Known> {
        self.controls.known(ledger)
    }

    pub fn flows(&self) -> &Flows {
        &self.plan.flows
    }

    /// The store of transfers.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.parts.journal
    }

    /// How many transfers are open, as far as this process saw.
    pub fn open_transfers(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Takes nothing new in, and returns when what is in this process's workers has ended, or stands
    /// still, or after `most` milliseconds. Whatever is left goes on at the next start, or at another
    /// worker at once.
    pub async fn drain(&self, most: Millis) {
        self.controls.drain();
        let (mut left, step) = (most, 20);
        while self.carried() > 0 && left > 0 {
            self.parts.clock.sleep(step).await;
            left = left.saturating_sub(step);
        }
        self.stop_publishing().await;
        self.leave().await;
    }

    /// How far a unit of this record may go in one write.
    fn fuse_mode(&self, record: &Record) -> FuseMode {
        match self.controls.fuse_mode(record) {
            Some(fuse_mode) => fuse_mode,
            None => self.parts.settings.fuse_mode(),
        }
    }

    /// One more waits for the end of a transfer.
    fn wait_for(&self, id: Id, waiter: Waiter) {
        self.waiters.add(id, waiter, self.parts.clock.ticks());
    }

    /// When to try again after so many unknown answers.
    fn due(&self, retries: u32) -> Millis {
        let wait = self.parts.settings.backoff.wait(retries, self.parts.rng.next());
        self.parts.journal.now().saturating_add(wait)
    }

    fn crowded(&self) -> bool {
        self.open_transfers() >= self.parts.settings.max_open
    }

    /// One more transfer is open.
    fn counted(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// One fewer, and it is out of our workers.
    fn closed(&self, id: Id) {
        // where another copy of it ended before, it was counted then
        if self.release(id) {
            self.one_fewer();
        }
    }

    fn one_fewer(&self) {
        let fewer = |open: u64| Some(open.saturating_sub(1));
        let _before = self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
    }
}

/// Says at start what keeps money from moving, until persons resume it.
fn log_stops(status: &ServiceStatus) {
    if let Some(reason) = &status.halted {
        tracing::error!(%reason, "HALT stands until persons resume");
    }
    for paused in &status.paused {
        tracing::error!(scope = ?paused.scope, reason = %paused.reason, "paused");
    }
}
