//! A PostgreSQL of its own, a Spot core in a folder, and as many workers on them as a test wants.

use crate::fixture::defaults::{self, SOURCES, SPOT};
use crate::fixture::faulty_ledger::{CallFault, FaultyLedger};
use crate::fixture::folders::spot_at;
use crate::fixture::running::{RunningService, fund_users};
use engine::{Alerts, Parts, Settings};
use kernel::flow::table::Flows;
use kernel::ids::{Id, Millis};
use kernel::ports::chain::Chain;
use kernel::ports::deposits::DepositSource;
use kernel::ports::facts::FactSource;
use kernel::ports::meter::NoMeter;
use kernel::retry::Backoff;
use sim::chain::{FactsOf, SimChain, SimPort, SimVault};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::postgres::{self, Options, Postgres, Time};
use tempfile::TempDir;
use testbed::{Database, Proxy, Server};
use testkit::{KillableTasks, MINUTE, OpenedStore, Process, ShiftedClock, wait_for, wait_until};
use tokio::sync::Semaphore;

/// Whether `cargo xtask campaign faults` asks for the long timeouts.
pub(crate) fn full() -> bool {
    std::env::var_os("FULL_LENGTHS").is_some()
}

/// One process with its own store, over what all of them share.
pub(crate) struct Worker {
    running: RunningService,
    pub(crate) store: Arc<Postgres>,
    /// Why it ended itself, once it did.
    exit: Arc<OnceLock<String>>,
}

impl Deref for Worker {
    type Target = RunningService;

    fn deref(&self) -> &RunningService {
        &self.running
    }
}

impl Worker {
    /// Ends where it stands, without a word to anybody.
    pub(crate) async fn kill(self) {
        self.tasks.kill().await;
    }

    /// Why it ended itself, where it did.
    pub(crate) fn exit_reason(&self) -> Option<&str> {
        self.exit.get().map(String::as_str)
    }

    /// Waits until it ended itself; why.
    pub(crate) async fn wait_for_exit(&self) -> String {
        wait_for(MINUTE, async || self.exit.get().cloned()).await.expect("it goes on")
    }
}

pub(crate) struct Fixture {
    pub(crate) server: Server,
    pub(crate) database: Database,
    pub(crate) proxy: Proxy,
    pub(crate) faulty_spot: Arc<FaultyLedger>,
    pub(crate) settings: Settings,
    /// Whether each worker owns the core, which then runs in its process.
    pub(crate) owned: bool,
    /// How long a transaction waits for a row that another one holds.
    pub(crate) lock: Duration,
    pub(crate) flows: Flows,
    /// The flows that are offered beside `internal`, with what they learn from.
    pub(crate) facts: BTreeMap<&'static str, Arc<dyn FactSource>>,
    /// What flows learn of which the journal counts something.
    pub(crate) journal_facts: BTreeMap<&'static str, FactsOf>,
    /// The chains that each worker has an adapter of its own to.
    pub(crate) chains: Vec<SimChain>,
    /// Where deposits are paid in.
    pub(crate) vault: Option<SimVault>,
    dir: TempDir,
}

/// Less quick, as several processes are on a server, and a case is opened where money does not come back.
pub(crate) fn quick(fuse: bool) -> Settings {
    Settings {
        sync_timeout_ms: 50,
        open_timeout_ms: 500,
        lease_ms: 1_000,
        scan_interval_ms: 50,
        backoff: Backoff { base: 10, cap: 100 },
        alerts: Alerts { after_retries: u32::MAX, ..Alerts::default() },
        ..defaults::quick(fuse)
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

/// Opens the store of a process.
pub(super) async fn open_store(
    database: postgres::Database,
    flows: &Arc<Flows>,
    process: &Process,
) -> Arc<Postgres> {
    let Process { worker, clock, retire, .. } = process.clone();
    let options = Options {
        database,
        flows: flows.clone(),
        worker,
        time: Time::Database,
        clock,
        meter: Arc::new(NoMeter),
        fatal: retire,
    };
    Postgres::open(options).await.expect("the store opens")
}

/// A store by each of its ports.
pub(super) fn opened(store: &Arc<Postgres>) -> OpenedStore {
    OpenedStore::of(store.clone(), store.funding(), store.accounts())
}

impl Fixture {
    /// A database with users 1 to 9, who each have [`GIVEN`](defaults::GIVEN) at Funding.
    pub(crate) async fn open(settings: Settings) -> Self {
        Self::open_on(&testbed::Options::default(), settings).await
    }

    /// The same on a PostgreSQL with these options.
    pub(crate) async fn open_on(options: &testbed::Options, settings: Settings) -> Self {
        let server = Server::with(options).expect("a PostgreSQL");
        let database = server.database().expect("a database");
        let proxy = Proxy::start(&server.address().expect("an address")).expect("a proxy");
        let dir = tempfile::tempdir().expect("a folder");
        let faulty_spot = FaultyLedger::over(spot_at(&dir.path().join("spot")).await);
        let fixture = Self {
            server,
            database,
            proxy,
            faulty_spot,
            settings,
            owned: false,
            // as a test can bear it, or as it is by default
            lock: if full() { Duration::from_secs(3) } else { LOCK },
            flows: flows::registry(),
            facts: BTreeMap::new(),
            journal_facts: BTreeMap::new(),
            chains: Vec::new(),
            vault: None,
            dir,
        };
        let process = Process::real(Arc::new(ShiftedClock::new()), Arc::default());
        fund_users(&*fixture.store(&process).await.funding()).await;
        fixture
    }

    /// A process's own store on the database, through the proxy.
    async fn store(&self, process: &Process) -> Arc<Postgres> {
        let url = self.database.through(&self.proxy).expect("an address");
        open_store(database(url, self.lock), &Arc::new(self.flows.clone()), process).await
    }

    pub(crate) async fn worker(&self) -> Worker {
        self.worker_with(self.settings.clone()).await
    }

    /// Begins a worker with other settings.
    pub(crate) async fn worker_with(&self, settings: Settings) -> Worker {
        self.worker_over(self.faulty_spot.clone(), settings).await
    }

    /// Begins a worker that reaches Spot through this.
    pub(crate) async fn worker_over(
        &self,
        faulty_spot: Arc<FaultyLedger>,
        settings: Settings,
    ) -> Worker {
        self.start_worker(settings, ShiftedClock::new(), faulty_spot).await
    }

    /// Where its Spot core lives.
    pub(crate) fn spot_folder(&self) -> PathBuf {
        self.dir.path().join("spot")
    }

    /// Begins a worker whose machine's clock is ahead by this time.
    pub(crate) async fn worker_ahead(&self, ahead: Millis) -> Worker {
        let clock = ShiftedClock::new();
        clock.forward(ahead);
        self.start_worker(self.settings.clone(), clock, self.faulty_spot.clone()).await
    }

    async fn start_worker(
        &self,
        settings: Settings,
        clock: ShiftedClock,
        faulty_spot: Arc<FaultyLedger>,
    ) -> Worker {
        let (tasks, exit): (Arc<KillableTasks>, Arc<OnceLock<String>>) = Default::default();
        let (exits, dying) = (exit.clone(), tasks.clone());
        let retire = Arc::new(move |why| {
            // the first reason counts
            let _another = exits.set(why);
            dying.end();
        });
        let process = Process { retire, ..Process::real(Arc::new(clock), tasks.clone()) };
        let store = self.store(&process).await;
        let mut facts = self.facts.clone();
        facts.extend(self.journal_facts.iter().map(|(flow, of)| (*flow, of(store.clone()))));
        let offered: Vec<&str> = std::iter::once("internal").chain(facts.keys().copied()).collect();
        let flows = Arc::new(self.flows.clone());
        let port = |chain: &SimChain| -> Arc<dyn Chain> {
            Arc::new(SimPort::new(chain.clone(), flows.clone()))
        };
        let source = |vault: &SimVault| -> Arc<dyn DepositSource> { Arc::new(vault.clone()) };
        let parts = Parts {
            offered: self.flows.ids(&offered),
            facts,
            ledgers: vec![store.funding(), store.accounts(), faulty_spot],
            chains: self.chains.iter().map(port).collect(),
            deposits: self.vault.iter().map(source).collect(),
            cores: if self.owned { vec![SPOT] } else { Vec::new() },
            ..process.parts(&opened(&store), &flows, settings)
        };
        let url = self.database.url().to_owned();
        let rows = move || unfinished_rows(&url);
        let running = RunningService::start(parts, opened(&store), tasks, rows).await;
        Worker { running, store, exit }
    }

    /// Closes the Spot core and opens its folder again: what a new process does.
    pub(crate) async fn reopen_spot(&self) {
        self.faulty_spot.route_to(None);
        self.faulty_spot.route_to(Some(spot_at(&self.spot_folder()).await));
    }

    /// Opens `many` transfers of user 1 each way: Spot executes, and its replies come when the test lets them.
    pub(crate) async fn open_with_late_replies(
        &self,
        worker: &Worker,
        many: u64,
    ) -> (Arc<Semaphore>, Vec<Id>) {
        let replies = Arc::new(Semaphore::new(0));
        self.faulty_spot.set_fault(CallFault::DelayReplies(replies.clone()));
        let mut ids = Vec::new();
        for n in 0..many {
            for from in SOURCES {
                let key = format!("late-{n}-{}", from.name());
                let created = worker.create_with_key(from, 1, &key, 5).await;
                ids.push(created.expect("it is opened").record.id);
            }
        }
        (replies, ids)
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
    pub(crate) async fn wait_for_sql(&self, sql: &str, wanted: &str) {
        let mut seen = String::new();
        let answered = wait_until(MINUTE, async || {
            seen = self.sql(sql);
            seen == wanted
        });
        let answered = answered.await;
        assert!(answered, "{sql}: {seen} instead of {wanted}; cases: {}", self.cases());
    }

    /// Every transfer has ended, the money adds up by a proof from the beginning, and no process halted.
    pub(crate) async fn assert_in_order(&self, worker: &Worker) {
        let open = "SELECT count(*) FROM transfers WHERE state NOT IN (40, -10, -30)";
        self.wait_for_sql(open, "0").await;
        worker.assert_conserved().await;
        let users = self.sql("SELECT sum(available), sum(frozen) FROM balances_tb");
        assert!(users.ends_with("|0"), "nothing stays frozen: {users}");
    }
}

/// What the database has of what did not end, for the reader of a failed test.
fn unfinished_rows(url: &str) -> String {
    let ask = "SELECT 'open', transfer_id, state, version, retry_count, error_class, due_at, updated_at \
         FROM transfers WHERE state NOT IN (40, -10, -30); \
         SELECT 'due', d.* FROM due d; SELECT 'batch', b.* FROM open_batches b; \
         SELECT 'worker', w.*, portage_now() FROM workers w; \
         SELECT 'case', kind, severity, status, facts FROM cases";
    let mut psql = std::process::Command::new("psql");
    let said = psql.args(["-X", "-q", "-A", "-t", "-d", url, "-c", ask]).output();
    said.map_or_else(
        |fault| fault.to_string(),
        |said| String::from_utf8_lossy(&said.stdout).into_owned(),
    )
}
