//! Opens the parts of the service by its settings: the journal with its Funding and accounts ledgers, the
//! Spot core beside it, and the remote ledgers. The commands `serve`, `work`, `check` and `backup` begin here.

mod app;
mod data_folder;
mod former_worker;
mod remote_ledgers;
mod start_fault;

pub use self::app::AppContext;
use self::data_folder::spot_fault;
pub(crate) use self::data_folder::{OWNER, create_folder, journal_fault};
pub use self::data_folder::{Owner, journal, owner};
use crate::auth::key;
use crate::backup::{BackupService, JournalStore, MANIFEST, Source, halt_over_lost_units};
use crate::bootstrap::start_fault::start_fault;
use crate::bus;
use crate::cli::exit::{self, Exit, Fault};
use crate::config::{Config, Ledgers};
use crate::file_modes;
use crate::http::admin::webhooks::WebhookAdmin;
use crate::link_context::LinkContext;
use crate::metrics::Metrics;
use crate::open_store::{self, Store, StoreContext};
use crate::relay;
use crate::runtime::{Fatal, SystemClock, SystemRng, Tasks};
use crate::swap;
use crate::swap::assets::SwapAssets;
use crate::webhooks::dispatch::{Dispatch, DispatchContext};
use crate::webhooks::fan_out::FanOutContext;
use crate::webhooks::target::TargetRules;
use crate::webhooks::{self, Mailer, Webhooks};
use engine::BusParts;
use engine::audit::Sealer;
use engine::{Engine, Parts};
use flows::account::AccountChecks;
use flows::relay::State as RelayState;
use flows::swap_in::State as SwapInState;
use flows::{account, internal};
use kernel::answer::Cause;
use kernel::audit::seal::SealKey;
use kernel::flow::life::Life as _;
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, LedgerId, Millis, WorkerId};
use kernel::money::Asset;
use kernel::operators::{Case, Severity, Subject};
use kernel::ports::bus::Bus;
use kernel::ports::clock::{Clock, Rng};
use kernel::ports::facts::FactSource;
use kernel::ports::ledger::Ledger;
use kernel::ports::meter::Meter;
use kernel::ports::spawn::{OnEnd, Spawn as _, Task};
use kernel::unit::{Put, Unit};
use ledgers::disk::Folder;
use ledgers::remote::AssetCodes;
use ledgers::spot::{Spot, TornTail};
use links::in_process::InProcess;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::sqlite::{Embedded, Options};

/// The Spot core's folder inside the data folder.
pub(crate) const SPOT: &str = "spot";

/// The parts of the service, opened and not yet started.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Service {
    /// The journal, with everything else that its store keeps.
    pub store: Arc<dyn Store>,
    /// The trading accounts, where they are in this process.
    pub spot: Option<Arc<Spot>>,
    pub ledgers: Vec<Arc<dyn Ledger>>,
    /// The names of the assets at remote ledgers.
    pub symbols: AssetCodes,
    pub flows: Arc<Flows>,
    pub clock: Arc<dyn Clock>,
    pub rng: Arc<dyn Rng>,
    /// The bus of this process, where no brokers are named.
    pub bus: InProcess,
    /// The brokers, where the settings name any.
    pub kafka: Option<Arc<dyn Bus>>,
    worker: WorkerId,
    journal: JournalStore,
    dir: PathBuf,
}

/// The store of the service: as the port, and as what a backup copies.
struct OpenStore {
    store: Arc<dyn Store>,
    journal: JournalStore,
}

/// The flows that are always offered; the relay is beside them where its settings name an account.
pub const OFFERED: &[&str] = &[internal::State::FLOW, account::State::FLOW];
/// The file of the bus in the data folder: messages on their way between the parts of this process. It can
/// be lost: what it had is sent again.
pub(crate) const BUS: &str = "bus.db";
/// The age at which a published message is deleted from the bus.
const BUS_KEEPS: Millis = 2 * 86_400_000;
/// The interval at which old messages are deleted from the bus.
const BUS_FORGETS: Millis = 3_600_000;
const RETENTION: Task = Task { name: "bus_retention", on_end: OnEnd::EndsProcess };
const TOKEN_CHECK: Task = Task { name: "relay_token_check", on_end: OnEnd::EndsWhenDone };

/// The parts that exist before any store is open: flows, clock, random numbers, and the name of this worker.
struct ProcessContext {
    flows: Arc<Flows>,
    clock: Arc<dyn Clock>,
    rng: Arc<dyn Rng>,
    worker: WorkerId,
}

impl ProcessContext {
    fn new() -> Self {
        let rng: Arc<dyn Rng> = Arc::new(SystemRng::default());
        let worker = WorkerId(rng.next());
        let clock = Arc::new(SystemClock::default());
        Self { flows: Arc::new(flows::registry()), clock, rng, worker }
    }
}

impl Service {
    /// Opens what the settings name: the folder, or PostgreSQL with the folder beside it; and the brokers
    /// where any are named, which need not answer.
    ///
    /// # Errors
    /// As [`Self::open`]; 69: PostgreSQL does not answer; 78: it keeps no promise of ours, or the settings of the
    /// brokers cannot be used; 65: its tables are not this release's.
    pub async fn of(config: &Config, meter: Arc<dyn Meter>, fatal: Fatal) -> Result<Self, Fault> {
        let kafka = bus::open(&config.kafka)?;
        let opened = Self::open_stores(config, meter, fatal).await?;
        Ok(Self { kafka, ..opened })
    }

    /// Opens the folder, or PostgreSQL with the folder beside it.
    ///
    /// # Errors
    /// As [`Self::open`]; 69: PostgreSQL does not answer; 78: it keeps no promise of ours; 65: its
    /// tables are not this release's.
    async fn open_stores(
        config: &Config,
        meter: Arc<dyn Meter>,
        fatal: Fatal,
    ) -> Result<Self, Fault> {
        let dir = &config.data.dir;
        if !config.database.is_set() {
            return Self::open(dir, &config.ledgers, meter, fatal).await;
        }
        if dir.join(store::sqlite::FILE).is_file() {
            let what = format!(
                "{}: there is a store in this folder, and database.url names another: money would \
                 seem to be gone. Unset database.url, or name another data.dir",
                dir.display()
            );
            return Err(Fault::new(Exit::Config, what));
        }
        if dir.join(MANIFEST).is_file() {
            // the database beside it would not be halted
            let what = format!(
                "{}: this is a backup: `portage restore` makes a data folder of it",
                dir.display()
            );
            return Err(Fault::new(Exit::Config, what));
        }
        create_folder(dir)?;
        let context = ProcessContext::new();
        let store_context = StoreContext {
            flows: Arc::clone(&context.flows),
            clock: Arc::clone(&context.clock),
            meter,
            worker: context.worker,
            fatal: exit::elsewhere(),
        };
        let store = open_store::postgres(config, store_context).await?;
        former_worker::give_back(&*store, dir, context.worker).await;
        let journal = JournalStore::Database(Arc::clone(&store));
        let opened = OpenStore { store, journal };
        Self::open_ledgers(context, opened, dir, &config.ledgers, fatal).await
    }

    /// Opens the folder, or makes a new one. It is locked until the process ends.
    ///
    /// # Errors
    /// 73: it cannot be made; 74: the disk fails; 75: another process holds it; 65: what is in it
    /// cannot be trusted, or is newer than this program; 78: a remote ledger cannot be reached by
    /// its settings.
    pub async fn open(
        dir: &Path,
        settings: &Ledgers,
        meter: Arc<dyn Meter>,
        fatal: Fatal,
    ) -> Result<Self, Fault> {
        create_folder(dir)?;
        let context = ProcessContext::new();
        let options = Options {
            dir: dir.to_owned(),
            flows: Arc::clone(&context.flows),
            clock: Arc::clone(&context.clock),
            meter,
            fatal: Arc::clone(&fatal),
            max_bytes: None,
        };
        let store = Embedded::open(options).map_err(|fault| journal_fault(dir, &fault))?;
        halt_over_lost_units(&store, context.clock.now()).await.map_err(|cause| {
            Fault::new(
                Exit::Io,
                format!("{}: the journal lost units, and takes no HALT: {cause}", dir.display()),
            )
        })?;
        let journal = JournalStore::Folder(Arc::clone(&store));
        let opened = OpenStore { store, journal };
        Self::open_ledgers(context, opened, dir, settings, fatal).await
    }

    /// The ledgers beside an open store.
    async fn open_ledgers(
        context: ProcessContext,
        OpenStore { store, journal }: OpenStore,
        dir: &Path,
        settings: &Ledgers,
        fatal: Fatal,
    ) -> Result<Self, Fault> {
        let ProcessContext { flows, clock, rng, worker } = context;
        let status = store.service_status().await.map_err(|cause| {
            Fault::new(Exit::Io, format!("{}: the journal does not answer: {cause}", dir.display()))
        })?;
        let mut ledgers: Vec<Arc<dyn Ledger>> = vec![store.funding(), store.accounts()];
        let mut own = None;
        if settings.has_own_spot() {
            let acknowledged = status.ledger(LedgerId::SPOT).map_or(0, |known| known.highest);
            let assets = status.assets.iter().map(|asset| asset.id).collect();
            let (spot, torn) = spot(dir, assets, acknowledged, &*rng, fatal).await?;
            if let Some(torn) = torn {
                report(&*store, &torn).await;
            }
            ledgers.push(spot.clone());
            own = Some(spot);
        }
        let assets = status.assets.iter().map(|asset| (asset.id, asset.symbol.clone()));
        let symbols = AssetCodes::of(assets);
        ledgers.extend(remote_ledgers::open(settings, &symbols)?);
        let file = dir.join(BUS);
        let bus = InProcess::open(&file, Arc::clone(&clock))
            .map_err(|cause| Fault::new(Exit::Io, format!("{}: {cause}", file.display())))?;
        let dir = dir.to_owned();
        let (spot, kafka) = (own, None);
        Ok(Self {
            store,
            spot,
            ledgers,
            symbols,
            flows,
            clock,
            rng,
            bus,
            kafka,
            worker,
            journal,
            dir,
        })
    }

    /// The parts from which the engine is built.
    ///
    /// # Errors
    /// 74: the journal does not answer; the key of the seals cannot be used; 78: other processes bind clients' keys of
    /// the relay in another scope.
    pub async fn parts(
        &self,
        config: &Config,
        meter: Arc<dyn Meter>,
        tasks: &Tasks,
    ) -> Result<Parts, Fault> {
        let (mut offered, mut facts, mut chains) = (OFFERED.to_vec(), self.facts(), Vec::new());
        let mut settings = config.engine_settings();
        if config.relay.is_set() {
            let guard = relay::opening_guard(&config.relay, &*self.store, self.worker).await?;
            settings.opening_guards.insert(RelayState::FLOW, guard);
            let assets = self.assets().await?;
            let link = relay::open(&config.relay, &self.link_context(&meter, &assets))?;
            if let Some(asks) = link.asks_for_token(Arc::clone(&self.clock)) {
                tasks.spawn(TOKEN_CHECK, asks);
            }
            offered.push(RelayState::FLOW);
            facts.insert(RelayState::FLOW, link.facts);
            chains.push(link.chain);
        }
        let mut deposits = Vec::new();
        if config.swap.is_set() {
            let assets = SwapAssets::of(&*self.store).await?;
            let link = swap::open(&config.swap, assets, &self.link_context(&meter, &[]))?;
            offered.push(SwapInState::FLOW);
            facts.insert(SwapInState::FLOW, link.facts);
            chains.push(link.chain);
            deposits.push(link.deposits);
        }
        Ok(Parts {
            flows: Arc::new(flows::registry_by(&config.swap.times())),
            offered: self.flows.ids(&offered),
            facts,
            bus: Some(self.bus_parts()),
            journal: self.store.clone(),
            ledgers: self.ledgers.clone(),
            chains,
            deposits,
            world: self.store.funding(),
            clock: Arc::clone(&self.clock),
            rng: Arc::clone(&self.rng),
            spawn: Arc::new(tasks.clone()),
            meter,
            settings,
            worker: self.worker,
            cores: self.cores(),
            seal_key: self.seal_key(config).await?,
            retire: exit::fatal(Exit::TempFail),
        })
    }

    /// The settings with the asset of the relay's token: where they name none, the one that its contract shows.
    ///
    /// # Errors
    /// 78: the contract shows none that can be used; 69: the providers do not answer alike; 74: the journal does not answer.
    pub async fn with_token_asset(
        &self,
        config: &Config,
        meter: &Arc<dyn Meter>,
    ) -> Result<Config, Fault> {
        let mut config = config.clone();
        if config.relay.is_set() {
            let assets = self.assets().await?;
            let context = self.link_context(meter, &assets);
            config.relay.asset = relay::chosen_asset(&config.relay, &context).await?;
        }
        Ok(config)
    }

    async fn assets(&self) -> Result<Vec<Asset>, Fault> {
        let failed = |cause| Fault::new(Exit::Io, format!("the journal does not answer: {cause}"));
        Ok(self.store.service_status().await.map_err(failed)?.assets)
    }

    fn link_context<'a>(
        &'a self,
        meter: &'a Arc<dyn Meter>,
        assets: &'a [Asset],
    ) -> LinkContext<'a> {
        let Self { store, flows, clock, .. } = self;
        LinkContext { store, flows, clock, meter, assets }
    }

    /// What each flow learns from outside the journal's rows of a transfer, by the flow's name.
    pub fn facts(&self) -> BTreeMap<&'static str, Arc<dyn FactSource>> {
        let checks: Arc<dyn FactSource> = Arc::new(AccountChecks::new(self.store.clone()));
        BTreeMap::from([(account::State::FLOW, checks)])
    }

    /// What the engine publishes from and to.
    pub fn bus_parts(&self) -> BusParts {
        let own = || -> Arc<dyn Bus> { Arc::new(self.bus.clone()) };
        BusParts {
            bus: self.kafka.clone().unwrap_or_else(own),
            outbox: self.store.clone(),
            inbox: self.store.clone(),
        }
    }

    /// Forgets messages of the bus that are too old for any consumer.
    async fn forget_messages(bus: InProcess, clock: Arc<dyn Clock>) {
        loop {
            if let Err(cause) = bus.forget(clock.now().saturating_sub(BUS_KEEPS)) {
                tracing::warn!(%cause, "old messages are not forgotten yet");
            }
            clock.sleep(BUS_FORGETS).await;
        }
    }

    /// Starts the engine in it.
    ///
    /// # Errors
    /// 74: the journal does not answer; 78: a daily amount is none of its asset, or the relay cannot be
    /// opened by its settings.
    pub async fn start(
        &self,
        config: &Config,
        meter: Arc<dyn Meter>,
        tasks: &Tasks,
    ) -> Result<Arc<Engine>, Fault> {
        let parts = self.parts(config, meter, tasks).await?;
        let forgets = Self::forget_messages(self.bus.clone(), Arc::clone(&self.clock));
        tasks.spawn(RETENTION, Box::pin(forgets));
        let topics = || bus::other_topics(self.kafka.is_some(), &config.kafka.prefix, &self.dir);
        Engine::start(parts).await.map_err(|cause| start_fault(&cause, topics))
    }

    /// The name under which this process leases transfers.
    pub const fn worker(&self) -> WorkerId {
        self.worker
    }

    /// The cores in this process that another one could open over the same journal. In a folder its
    /// lock says whose they are.
    fn cores(&self) -> Vec<LedgerId> {
        let shared = matches!(self.journal, JournalStore::Database(_)) && self.spot.is_some();
        shared.then_some(LedgerId::SPOT).into_iter().collect()
    }

    /// Leaves the store as one file, where it is in the folder.
    ///
    /// # Errors
    /// The disk's; the next start does it then.
    pub async fn rest(&self) -> io::Result<()> {
        match &self.journal {
            JournalStore::Folder(store) => store.rest().await,
            JournalStore::Database(_) => Ok(()),
        }
    }

    /// The key of the audit's seals: the configured one, or the one in the folder.
    async fn seal_key(&self, config: &Config) -> Result<SealKey, Fault> {
        let key = key::sealing(&config.audit, || Ok(key::read_or_make(&self.dir, key::AUDIT)?.0))?;
        if !config.audit.accept_unknown_seals {
            self.know_newest_seal(&key).await?;
        }
        Ok(key)
    }

    /// The task that seals the audit in the journal.
    ///
    /// # Errors
    /// The key cannot be used; 74: the journal does not answer.
    pub async fn sealer(&self, config: &Config) -> Result<Arc<Sealer>, Fault> {
        let key = self.seal_key(config).await?;
        let (audit, journal) = (self.store.clone(), self.store.clone());
        let clock = Arc::clone(&self.clock);
        Ok(Arc::new(Sealer::new(audit, journal, clock, key, config.audit.seal_interval_ms)))
    }

    /// What posts webhooks; none where no address is set. Opened before the engine can open a case.
    ///
    /// # Errors
    /// 78: the machine's roots of trust cannot be read; 74: the journal does not answer.
    pub async fn webhooks(
        &self,
        config: &Config,
        metrics: &Arc<Metrics>,
    ) -> Result<Option<Arc<Webhooks>>, Fault> {
        if config.alerts.webhook_url.is_empty() {
            return Ok(None);
        }
        let context = webhooks::WebhookContext {
            outbox: self.store.clone(),
            journal: self.store.clone(),
            clock: Arc::clone(&self.clock),
            rng: Arc::clone(&self.rng),
            metrics: Arc::clone(metrics),
        };
        let failed = |cause: Cause| {
            let exit = if cause.class == "UNFIT" { Exit::Config } else { Exit::Io };
            Fault::new(exit, format!("alerts.webhook_url: {cause}"))
        };
        Ok(Some(Arc::new(Webhooks::open(&config.alerts, context).await.map_err(failed)?)))
    }

    /// The context of the task that finds events for the endpoints.
    pub fn fan_out(&self, config: &Config) -> FanOutContext {
        FanOutContext {
            outbox: self.store.clone(),
            journal: self.store.clone(),
            clock: Arc::clone(&self.clock),
            flows: Arc::clone(&self.flows),
            keep: config.webhooks.keep_days.saturating_mul(86_400_000),
            replay_room: config.webhooks.max_waiting / 4,
        }
    }

    /// The context of the routes of endpoints.
    pub fn webhook_admin(&self, config: &Config) -> WebhookAdmin {
        let (webhooks, mails) = (&config.webhooks, config.mail.is_set());
        let (allow_private, allow_private_http) =
            (webhooks.allow_private, webhooks.allow_private_http);
        let rules = TargetRules { allow_private, allow_private_http, mails };
        WebhookAdmin { context: self.fan_out(config), rules }
    }

    /// The context of the task that posts messages to the endpoints.
    ///
    /// # Errors
    /// 78: the machine's roots of trust cannot be read, or the settings of e-mail are unfit.
    pub fn dispatch(&self, config: &Config, metrics: &Arc<Metrics>) -> Result<Dispatch, Fault> {
        let unfit = |what: String| Fault::new(Exit::Config, what);
        let mailer = config.mail.is_set().then(|| Mailer::new(&config.mail)).transpose();
        let context = DispatchContext {
            outbox: self.store.clone(),
            journal: self.store.clone(),
            clock: Arc::clone(&self.clock),
            rng: Arc::clone(&self.rng),
            metrics: Arc::clone(metrics),
            mailer: mailer.map_err(|why| unfit(format!("mail: {why}")))?,
        };
        let failed = |why: String| unfit(format!("webhooks: {why}"));
        Dispatch::new(&config.webhooks, context).map_err(failed)
    }

    /// The source of a backup.
    pub fn source(&self) -> Source {
        let (journal, spot) = (self.journal.clone(), self.spot.clone());
        Source { journal, spot, dir: self.dir.clone(), clock: Arc::clone(&self.clock) }
    }

    /// Where the server's backups go.
    pub fn backups(&self, config: &Config) -> Arc<BackupService> {
        let into = config.backup.dir.clone().unwrap_or_else(|| self.dir.join("backups"));
        // a client that reads the path has another working directory
        let into = std::path::absolute(&into).unwrap_or(into);
        Arc::new(BackupService::new(self.source(), into))
    }

    /// Refuses a key that could not verify the newest seal: what it sealed would be forged for ever.
    async fn know_newest_seal(&self, key: &SealKey) -> Result<(), Fault> {
        let failed = |cause| Fault::new(Exit::Io, format!("the journal does not answer: {cause}"));
        let mut trail = self.store.trail().await.map_err(failed)?;
        let newest = trail.newest(None, 1).await.map_err(failed)?.pop();
        if newest.is_some_and(|seal| !seal.is_of(key)) {
            let sentence = "the newest seal of the audit is of a key that this process does not know: what it seals \
                            would be called forged. Give every process of the journal one key \
                            (audit.mac_secret_file), with the keys before it in audit.former_mac_secret_files. Where \
                            that key is lost: audit.accept_unknown_seals";
            return Err(Fault::new(Exit::Config, sentence));
        }
        Ok(())
    }

    /// Leaves a note for operators and for `portage check`: which process holds the folder.
    pub fn write_owner_note(&self, url: &str) {
        let note = format!("{} {url}\n", std::process::id());
        if let Err(fault) = file_modes::write(&self.dir.join(OWNER), &note) {
            tracing::warn!(%fault, "the owner's note cannot be written");
        }
    }
}

/// Opens the Spot core of a data folder. `acknowledged`: the highest operation that the journal knows.
pub(crate) async fn spot(
    dir: &Path,
    assets: Vec<AssetId>,
    acknowledged: u64,
    rng: &dyn Rng,
    fatal: Fatal,
) -> Result<(Arc<Spot>, Option<TornTail>), Fault> {
    let folder = dir.join(SPOT);
    let failed = |fault| spot_fault(&folder, &fault);
    let disk = Folder::open(&folder).map_err(failed)?;
    Spot::open(Arc::new(disk), rng, assets, acknowledged, fatal).await.map_err(failed)
}

/// Reports a batch that was cut off in the middle: it was never acknowledged, and is dropped.
async fn report(store: &dyn Store, torn: &TornTail) {
    let facts = format!("the Spot log ended in the middle of a batch, which was dropped: {torn:?}");
    tracing::warn!("{facts}");
    let case = Case {
        kind: "TORN_TAIL",
        severity: Severity::Warning,
        subject: Subject::Service,
        facts: facts.into(),
    };
    let wrote = store.write(vec![Unit::puts(vec![Put::Case(case)])]).await;
    tracing::debug!(?wrote, "the torn tail's case");
}
