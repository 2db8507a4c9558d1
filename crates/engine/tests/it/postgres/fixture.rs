//! A PostgreSQL of its own, a Spot core in a folder, and as many workers on them as a test wants.

use crate::fixture::faulty_ledger::{FaultyLedger, Mood};
use crate::fixture::gauges::Gauges;
use crate::fixture::test_service::{COIN, FUNDING, GIVEN, SPOT, spot_at, terms};
use engine::{Accepted, Alerts, Engine, Limits, Parts, Refused, Settings};
use kernel::flow::table::Flows;
use kernel::ids::{Id, LedgerId, Millis, UserId, WorkerId};
use kernel::money::Amount;
use kernel::ports::chain::Chain;
use kernel::ports::clock::Rng as _;
use kernel::ports::facts::FactSource;
use kernel::ports::journal::TransferQueries as _;
use kernel::ports::ledger::{AccountStatus, Direction, External, Moved, StatusChange, World as _};
use kernel::ports::meter::NoMeter;
use kernel::record::Binding;
use kernel::retry::Backoff;
use sim::chain::{FactsOf, SimChain, SimPort};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::postgres::{self, Options, Postgres, Time};
use tempfile::TempDir;
use testbed::{Database, Proxy, Server};
use testkit::{KillableTasks, ShiftedClock, UniqueRng, seal_key};
use tokio::sync::Semaphore;

/// Whether `cargo xtask campaign faults` asks for the long timeouts.
pub(crate) fn full() -> bool {
    std::env::var_os("FULL_LENGTHS").is_some()
}

pub(crate) struct Worker {
    pub(crate) engine: Arc<Engine>,
    pub(crate) store: Arc<Postgres>,
    tasks: Arc<KillableTasks>,
    ending: Ending,
    url: String,
}

/// Why a process ended itself, once it did.
pub(crate) type Ending = Arc<OnceLock<String>>;

impl Worker {
    /// Ends where it stands, without a word to anybody.
    pub(crate) async fn kill(self) {
        self.tasks.kill().await;
    }
}

/// What ends a process.
type Fatal = Arc<dyn Fn(String) + Send + Sync>;

pub(crate) struct Fixture {
    pub(crate) server: Server,
    pub(crate) database: Database,
    pub(crate) proxy: Proxy,
    pub(crate) way: Arc<FaultyLedger>,
    pub(crate) settings: Settings,
    /// Whether each worker owns the core, which then runs in its process.
    pub(crate) owned: bool,
    /// How long a transaction waits for a row that another one holds.
    pub(crate) lock: Duration,
    pub(crate) flows: Flows,
    /// The flows that are offered beside `internal`, with what they learn from.
    pub(crate) facts: BTreeMap<&'static str, Arc<dyn FactSource>>,
    /// What flows learn of which the journal counts something.
    pub(crate) learns: BTreeMap<&'static str, FactsOf>,
    /// The chains that each worker has an adapter of its own to.
    pub(crate) chains: Vec<SimChain>,
    dir: TempDir,
}

/// Quick, and a person is asked soon.
pub(crate) fn quick(fuse: bool) -> Settings {
    Settings {
        sync_timeout_ms: 50,
        open_timeout_ms: 500,
        lease_ms: 1_000,
        scan_interval_ms: 50,
        backoff: Backoff { base: 10, cap: 100 },
        fuse,
        conservation_interval_ms: crate::fixture::test_service::NEVER,
        alerts: Alerts { after_retries: u32::MAX, ..Alerts::default() },
        limits: Limits { warn_per_minute: 0, ..Limits::default() },
        ..Settings::default()
    }
}

/// How long a transaction waits for a row that another one holds, as a test can bear it.
pub(crate) const LOCK: Duration = Duration::from_millis(500);
/// The longest that a statement takes.
const STATEMENT: Duration = Duration::from_secs(5);

/// What a store is opened with: through this address.
pub(crate) fn database(url: String, lock: Duration) -> postgres::Database {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("TLS")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    postgres::Database {
        url,
        password: None,
        tls,
        readers: 4,
        writers: 2,
        // a server that many tests share may be slow to answer
        connect: Duration::from_secs(20),
        lock,
        statement: if lock < STATEMENT { STATEMENT } else { lock + STATEMENT },
        answer: lock + STATEMENT + STATEMENT,
        lease: Duration::from_secs(2),
    }
}

impl Fixture {
    /// A site with users 1 to 9, who each have [`GIVEN`] at Funding.
    pub(crate) async fn open(settings: Settings) -> Self {
        Self::on(&testbed::Options::default(), settings).await
    }

    /// The same on a PostgreSQL with wishes.
    pub(crate) async fn on(options: &testbed::Options, settings: Settings) -> Self {
        let server = Server::with(options).expect("a PostgreSQL");
        let base = server.database().expect("a database");
        let proxy = Proxy::start(&server.address().expect("an address")).expect("a proxy");
        let dir = tempfile::tempdir().expect("a folder");
        let way = FaultyLedger::to(spot_at(&dir.path().join("spot")).await);
        // as a test can bear it, or as it is by default
        let lock = if full() { Duration::from_secs(3) } else { LOCK };
        let (flows, facts) = (flows::registry(), BTreeMap::new());
        let fixture = Self {
            server,
            database: base,
            proxy,
            way,
            settings,
            owned: false,
            lock,
            flows,
            facts,
            learns: BTreeMap::new(),
            chains: Vec::new(),
            dir,
        };
        let store = fixture
            .store(WorkerId(1), ShiftedClock::new(), Arc::new(|what| panic!("it gave up: {what}")))
            .await;
        for user in 1..10 {
            let movement = External {
                direction: Direction::In,
                reference: format!("fund-{user}").into(),
                user: UserId(user),
                number: None,
                asset: COIN,
                amount: Amount(GIVEN),
                reason: "a test".into(),
                caller: "a test".into(),
            };
            let moved = store.funding().external(movement).await;
            assert!(matches!(moved, Ok(Moved::Done { .. })), "{moved:?}");
        }
        fixture
    }

    /// A store of its own on the database, through the proxy.
    async fn store(&self, worker: WorkerId, clock: ShiftedClock, fatal: Fatal) -> Arc<Postgres> {
        let url = self.database.through(&self.proxy).expect("an address");
        let options = Options {
            database: database(url, self.lock),
            flows: Arc::new(self.flows.clone()),
            worker,
            time: Time::Database,
            clock: Arc::new(clock),
            meter: Arc::new(NoMeter),
            fatal,
        };
        Postgres::open(options).await.expect("the store opens")
    }

    pub(crate) async fn worker(&self) -> Worker {
        self.tuned(self.settings.clone()).await
    }

    /// Begins a worker with other settings.
    pub(crate) async fn tuned(&self, settings: Settings) -> Worker {
        self.by(self.way.clone(), settings).await
    }

    /// Begins a worker that reaches Spot on a way of its own.
    pub(crate) async fn by(&self, way: Arc<FaultyLedger>, settings: Settings) -> Worker {
        self.begun(settings, ShiftedClock::new(), way).await
    }

    /// Where its Spot core lives.
    pub(crate) fn spot_folder(&self) -> PathBuf {
        self.dir.path().join("spot")
    }

    /// Begins a worker whose machine's clock is so much ahead.
    pub(crate) async fn apart(&self, ahead: Millis) -> Worker {
        let clock = ShiftedClock::new();
        clock.forward(ahead);
        self.begun(self.settings.clone(), clock, self.way.clone()).await
    }

    async fn begun(
        &self,
        settings: Settings,
        clock: ShiftedClock,
        way: Arc<FaultyLedger>,
    ) -> Worker {
        let worker = WorkerId(UniqueRng.next());
        let (tasks, ending): (Arc<KillableTasks>, Ending) = Default::default();
        let (told, dying) = (ending.clone(), tasks.clone());
        let fatal: Fatal = Arc::new(move |what| {
            // the first reason counts
            let _told = told.set(what);
            dying.end();
        });
        let store = self.store(worker, clock.clone(), fatal.clone()).await;
        let mut facts = self.facts.clone();
        facts.extend(self.learns.iter().map(|(flow, of)| (*flow, of(store.clone()))));
        let offered: Vec<&str> = std::iter::once("internal").chain(facts.keys().copied()).collect();
        let flows = Arc::new(self.flows.clone());
        let port = |chain: &SimChain| -> Arc<dyn Chain> {
            Arc::new(SimPort::new(chain.clone(), flows.clone()))
        };
        let chains = self.chains.iter().map(port).collect();
        let cores = if self.owned { vec![SPOT] } else { Vec::new() };
        let engine = Engine::start(Parts {
            flows: flows.clone(),
            offered: self.flows.ids(&offered),
            facts,
            bus: None,
            journal: store.clone(),
            ledgers: vec![store.funding(), store.accounts(), way],
            chains,
            world: store.funding(),
            clock: Arc::new(clock),
            rng: Arc::new(UniqueRng),
            spawn: tasks.clone(),
            meter: Arc::new(Gauges::default()),
            settings,
            worker,
            cores,
            seal_key: seal_key(),
            retire: fatal,
        });
        let url = self.database.url().to_owned();
        let engine = engine.await.expect("the engine starts");
        Worker { engine, store, tasks, ending, url }
    }

    /// Closes the Spot core and opens its folder again: what a new process does.
    pub(crate) async fn reopen_spot(&self) {
        self.way.lead(None);
        self.way.lead(Some(spot_at(&self.spot_folder()).await));
    }

    /// Spot refuses what comes to a user from now on.
    pub(crate) async fn disable_spot(&self, worker: &Worker, user: u64) {
        let change = StatusChange {
            user: UserId(user),
            status: AccountStatus::Disabled,
            reason: "a test".into(),
            caller: "a test".into(),
            key: "disable".into(),
        };
        assert_eq!(worker.engine.ledgers.set_status(SPOT, change).await, Ok(true));
    }

    /// Transfers of user 1, so many each way: Spot executes, and its replies come when the test lets them.
    pub(crate) async fn held(&self, worker: &Worker, many: u64) -> (Arc<Semaphore>, Vec<Id>) {
        let late = Arc::new(Semaphore::new(0));
        self.way.mood(Mood::Late(late.clone()));
        let mut ids = Vec::new();
        for n in 0..many {
            for from in WAYS {
                let id = worker.create(from, 1, &format!("held-{n}-{}", from.name()), 5).await;
                ids.push(id.expect("it is opened").record.id);
            }
        }
        (late, ids)
    }

    /// SQL as an operator runs it, past the proxy.
    pub(crate) fn sql(&self, text: &str) -> String {
        self.database.sql(text).expect("SQL").trim().to_owned()
    }

    /// Whatever changes user 1's balance like this raises this error from now on.
    pub(crate) fn trigger(&self, when: &str, code: &str) {
        self.sql(&format!(
            "CREATE OR REPLACE FUNCTION hinder() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
               IF NEW.user_id = 1 AND {when} THEN
                 RAISE EXCEPTION 'not for 1' USING ERRCODE = '{code}'; END IF;
               RETURN NEW; END $$;
             CREATE TRIGGER hinder BEFORE UPDATE ON balances_tb FOR EACH ROW EXECUTE FUNCTION hinder()"
        ));
    }

    /// Nothing is raised any more.
    pub(crate) fn drop_trigger(&self) {
        self.sql("DROP TRIGGER hinder ON balances_tb");
    }

    /// Kind, severity and openness of every case.
    pub(crate) fn cases(&self) -> String {
        self.sql("SELECT kind, severity, status FROM cases ORDER BY case_id")
    }

    /// Waits until SQL answers this.
    pub(crate) async fn until(&self, sql: &str, wanted: &str) {
        let mut seen = String::new();
        // each question is a process of its own
        let pause = Duration::from_millis(50);
        for _ in 0..1_200 {
            seen = self.sql(sql);
            if seen == wanted {
                return;
            }
            tokio::time::sleep(pause).await;
        }
        panic!("{sql}: {seen} instead of {wanted}; cases: {}", self.cases());
    }

    /// Every transfer has ended, the money adds up by a proof from the beginning, and no process halted.
    pub(crate) async fn adds_up(&self, worker: &Worker) {
        let open = "SELECT count(*) FROM transfers WHERE state NOT IN (40, -10, -30)";
        self.until(open, "0").await;
        let report = worker.engine.reconciler.check_now().await.expect("a proof");
        assert!(report.ok, "{:?}", report.breaks);
        assert_eq!(worker.engine.halted(), None);
        let users = self.sql("SELECT sum(available), sum(frozen) FROM balances_tb");
        assert!(users.ends_with("|0"), "nothing stays frozen: {users}");
    }
}

impl Worker {
    /// Asks for a transfer under a client's key, again until there is an answer.
    pub(crate) async fn keyed(&self, from: LedgerId, user: u64, key: &str, amount: u128) -> Id {
        let mut last = None;
        for _ in 0..1_200 {
            match self.create(from, user, key, amount).await {
                Ok(accepted) => return accepted.record.id,
                Err(refused) => last = Some(format!("{refused:?}")),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("no answer: {last:?}")
    }

    /// The same, to the end: its money has arrived.
    pub(crate) async fn moves(&self, from: LedgerId, user: u64, key: &str, amount: u128) -> Id {
        let id = self.keyed(from, user, key, amount).await;
        self.reaches(id, "COMMITTED").await;
        id
    }

    /// Why it ended itself, where it did.
    pub(crate) fn gave_up(&self) -> Option<&str> {
        self.ending.get().map(String::as_str)
    }

    /// Waits until it ended itself; why.
    pub(crate) async fn ended(&self) -> String {
        for _ in 0..6_000 {
            if let Some(why) = self.ending.get() {
                return why.clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it goes on")
    }

    /// Waits until all money is halted; why.
    pub(crate) async fn halted(&self) -> Arc<str> {
        for _ in 0..6_000 {
            if let Some(reason) = self.engine.halted() {
                return reason;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("no HALT\n{}", self.facts())
    }

    pub(crate) async fn create(
        &self,
        from: LedgerId,
        user: u64,
        key: &str,
        amount: u128,
    ) -> Result<Accepted, Refused> {
        let mut terms = terms(from, user, amount, COIN);
        terms.binding = Some(Binding {
            scope: terms.principal.clone(),
            key: key.into(),
            fingerprint: terms.fingerprint(),
        });
        let internal = self.engine.flows().named("internal").expect("the flow");
        self.engine.intake.create(internal, terms).await
    }

    /// The names of the states of transfers.
    pub(crate) async fn states(&self, ids: &[Id]) -> BTreeMap<Id, &'static str> {
        let flows = self.engine.flows();
        let records = self.store.get(ids.to_vec()).await.expect("the journal answers");
        let name = |table: kernel::ids::FlowId, state| flows.table(table).state(state).name;
        records.into_iter().map(|r| (r.id, name(r.flow, r.head.state))).collect()
    }

    /// Waits until a transfer stands there.
    pub(crate) async fn reaches(&self, id: Id, state: &str) {
        let mut seen = BTreeMap::new();
        for _ in 0..6_000 {
            seen = self.states(&[id]).await;
            if seen.get(&id) == Some(&state) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("not {state}: {seen:?}\n{}", self.facts());
    }

    /// Who holds what, for the reader of a failed test.
    fn facts(&self) -> String {
        let ask = "SELECT 'open', transfer_id, state, version, retry_count, error_class, due_at, updated_at \
             FROM transfers WHERE state NOT IN (40, -10, -30); \
             SELECT 'due', d.* FROM due d; SELECT 'batch', b.* FROM open_batches b; \
             SELECT 'worker', w.*, portage_now() FROM workers w; \
             SELECT 'case', kind, severity, status, facts FROM cases";
        let mut psql = std::process::Command::new("psql");
        let said = psql.args(["-X", "-q", "-A", "-t", "-d", &self.url, "-c", ask]).output();
        said.map_or_else(
            |fault| fault.to_string(),
            |said| String::from_utf8_lossy(&said.stdout).into_owned(),
        )
    }
}

pub(crate) const WAYS: [LedgerId; 2] = [FUNDING, SPOT];
