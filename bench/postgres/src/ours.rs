//! Portage as the benchmark runs it: the engine over the store on PostgreSQL, with the Spot core in a
//! folder, in this process, and its checker at work.

use crate::Outcome;
use crate::load::{AMOUNT, FUNDED};
use engine::{Engine, Parts, Settings};
use kernel::ids::{AssetId, FlowId, LedgerId, UserId, WorkerId};
use kernel::money::{Amount, Asset};
use kernel::ports::clock::{Clock, Rng};
use kernel::ports::ledger::Ledger;
use kernel::ports::meter::{Meter, Seen};
use kernel::record::{Binding, Terms};
use ledgers::disk::Folder;
use ledgers::{remote, spot};
use rustls::{ClientConfig, RootCertStore};
use server::runtime::{Fatal, SystemClock, SystemRng, Tasks};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::postgres::{Database, Options, Postgres, Time};

/// How many connections write at once.
const WRITERS: usize = 2;

/// What callers of a Spot that is served by itself show.
pub(crate) const TOKEN: &str = "the benchmark's";

/// Where the Spot core is.
#[derive(Debug)]
pub(crate) enum Spot {
    /// In this process, with its log in this folder.
    Inside(PathBuf),
    /// Served by another process at this address.
    Served(SocketAddr),
}

/// What the store's writers did.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    groups: AtomicU64,
    units: AtomicU64,
    nanos: AtomicU64,
}

impl Meter for Commits {
    fn see(&self, seen: Seen<'_>) {
        if let Seen::Commit { nanos, units } = seen {
            self.groups.fetch_add(1, Ordering::Relaxed);
            self.units.fetch_add(u64::try_from(units).unwrap_or(0), Ordering::Relaxed);
            self.nanos.fetch_add(nanos, Ordering::Relaxed);
        }
    }
}

impl Commits {
    /// What was counted since it was asked last.
    pub(crate) fn says(&self) -> String {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        let (groups, units, nanos) = (take(&self.groups), take(&self.units), take(&self.nanos));
        let each = |of: u64| of.checked_div(groups).unwrap_or(0);
        format!("{groups} groups, of {} units and {} µs each", each(units), each(nanos / 1_000))
    }
}

#[derive(Clone)]
pub(crate) struct Ours {
    pub(crate) engine: Arc<Engine>,
    pub(crate) flow: FlowId,
    pub(crate) commits: Arc<Commits>,
    pub(crate) store: Arc<Postgres>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: Arc<dyn Rng>,
    pub(crate) tasks: Tasks,
}

/// Makes the store's tables in a database, and gives users money.
pub(crate) async fn prepare(site: &testbed::Database, users: u64) -> Outcome {
    let database = database(site.url())?;
    store::postgres::migrate(&database).await.map_err(|why| why.to_string())?;
    site.sql(&funded(users)).map(drop)
}

impl Ours {
    /// Opens a database that was prepared, and an empty Spot.
    pub(crate) async fn open(url: &str, spot: Spot) -> Outcome<Self> {
        let database = database(url)?;
        let fatal: Fatal = Arc::new(|what| panic!("{what}"));
        let commits = Arc::new(Commits::default());
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let rng: Arc<dyn Rng> = Arc::new(SystemRng::default());
        let flows = Arc::new(flows::registry());
        let worker = WorkerId(rng.next());
        let meter: Arc<dyn Meter> = commits.clone();
        let options = Options {
            database,
            flows: flows.clone(),
            worker,
            time: Time::Database,
            clock: clock.clone(),
            meter: meter.clone(),
            fatal: fatal.clone(),
        };
        let store = Postgres::open(options).await.map_err(|why| why.to_string())?;
        let (spot, cores) = match &spot {
            Spot::Inside(folder) => {
                let core: Arc<dyn Ledger> = core(folder, fatal.clone()).await?;
                (core, vec![LedgerId::SPOT])
            }
            Spot::Served(address) => (served(*address)?, Vec::new()),
        };
        let ledgers: Vec<Arc<dyn Ledger>> = vec![store.funding(), spot];
        let settings =
            Settings { sync_timeout_ms: 60_000, open_timeout_ms: 60_000, ..Settings::default() };
        let tasks = Tasks::new(fatal.clone());
        let parts = Parts {
            cores,
            seal_key: kernel::audit::seal::SealKey::new(b"bench"),
            retire: fatal,
            offered: flows.ids(&["internal"]),
            facts: BTreeMap::new(),
            bus: None,
            flows,
            journal: store.clone(),
            ledgers,
            chains: Vec::new(),
            deposits: Vec::new(),
            world: store.funding(),
            clock: clock.clone(),
            rng: rng.clone(),
            spawn: Arc::new(tasks.clone()),
            meter,
            settings,
            worker,
        };
        let engine = Engine::start(parts).await.map_err(|why| why.to_string())?;
        let flow = engine.flows().named("internal").ok_or("no internal flow")?;
        Ok(Self { engine, flow, commits, store, clock, rng, tasks })
    }

    /// One transfer from Funding to Spot, to its end.
    pub(crate) async fn transfer(&self, n: u64, user: i64) -> Outcome {
        let user = UserId(user.unsigned_abs());
        let accepted = self.engine.intake.create(self.flow, terms(n, user)).await;
        let accepted = accepted.map_err(|why| format!("{why:?}"))?;
        let state = accepted.record.head.state;
        let state = self.engine.flows().table(self.flow).state(state).name;
        match state {
            "COMMITTED" => Ok(()),
            other => Err(format!("a transfer ended {other}: {:?}", accepted.record.error)),
        }
    }

    /// Whether the checker has halted it.
    pub(crate) fn halted(&self) -> Option<Arc<str>> {
        self.engine.halted()
    }
}

/// The Spot core of a folder.
pub(crate) async fn core(folder: &Path, fatal: Fatal) -> Outcome<Arc<spot::Spot>> {
    let disk = Folder::open(folder.to_owned()).map_err(|why| why.to_string())?;
    let rng = SystemRng::default();
    let core = spot::Spot::open(Arc::new(disk), &rng, symbols().assets(), 0, fatal).await;
    Ok(core.map_err(|why| why.to_string())?.0)
}

/// As the settings have it by default.
fn served(address: SocketAddr) -> Outcome<Arc<dyn Ledger>> {
    let settings = remote::Settings {
        url: format!("http://{address}"),
        token: remote::Token(TOKEN.to_owned()),
        timeout_ms: 2_000,
        connect_timeout_ms: 1_000,
        max_in_flight: 32,
        batch: 1_000,
    };
    let remote = remote::Remote::new(LedgerId::SPOT, &settings, symbols());
    Ok(Arc::new(remote.map_err(|why| why.to_string())?))
}

/// The codes of the assets that a fresh store has.
pub(crate) fn symbols() -> remote::AssetCodes {
    remote::AssetCodes::of(Asset::fresh().into_iter().map(|asset| (asset.id, asset.symbol)))
}

/// What as many deposits from outside leave behind, in three statements.
fn funded(users: u64) -> String {
    format!(
        "INSERT INTO balances_tb (user_id, account_type, asset_id, available, frozen, status, version)
           SELECT n, 'FUNDING', 3, {FUNDED}, 0, 'ACTIVE', 1 FROM generate_series(1, {users}) n;
         INSERT INTO externals (operation_id, direction, reference, user_id, asset_id, amount, available,
             reason, caller, at)
           SELECT n, 'IN', 'bench-' || n, n, 3, {FUNDED}, {FUNDED}, 'benchmark', 'benchmark', 0
           FROM generate_series(1, {users}) n;
         INSERT INTO books (account_type, book, lane, asset_id, amount)
           VALUES ('FUNDING', 'WORLD', 0, 3, -{FUNDED}::numeric * {users});
         SELECT setval('operation_blocks', {users} + 4096, false)"
    )
}

fn terms(n: u64, user: UserId) -> Terms {
    let principal: Arc<str> = format!("portage|{user}").into();
    Terms {
        binding: Some(Binding {
            scope: principal.clone(),
            key: format!("c{n}").into(),
            fingerprint: [7; 32],
        }),
        ..Terms::between_ledgers(
            principal,
            user,
            [LedgerId::FUNDING, LedgerId::SPOT],
            AssetId(3),
            Amount(u128::from(AMOUNT.unsigned_abs())),
        )
    }
}

fn database(url: &str) -> Outcome<Database> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|why| why.to_string())?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Ok(Database {
        url: url.to_owned(),
        password: None,
        tls,
        readers: 4,
        writers: WRITERS,
        connect: Duration::from_secs(10),
        lock: Duration::from_secs(3),
        statement: Duration::from_secs(30),
        answer: Duration::from_secs(35),
        lease: Duration::from_secs(60),
    })
}
