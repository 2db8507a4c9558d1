//! What several workers share on one database of the tests' server, and one of their processes: it ends where
//! a wrapper around one of its ports says so.

use super::fixture::{self, LOCK};
use super::locks::Holder;
use engine::{Parts, Settings};
use kernel::flow::table::Flows;
use sim::world::Crash;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::postgres::{self, Postgres};
use testbed::Database;
use testkit::{KillableTasks, OpenedStore, Process, ShiftedClock};
use tokio::sync::Notify;

/// One database, and what its workers are made of.
pub(super) struct SharedDatabase {
    pub(super) database: Database,
    pub(super) flows: Arc<Flows>,
    pub(super) settings: Settings,
    pub(super) clock: ShiftedClock,
    /// The longest that a store waits for a row that another session has locked.
    pub(super) lock: Duration,
    /// Rings when a worker died.
    pub(super) died: Arc<Notify>,
}

/// The process of one worker, from its start to its death.
pub(super) struct WorkerProcess {
    process: Process,
    pub(super) store: Arc<Postgres>,
    pub(super) tasks: Arc<KillableTasks>,
    dead: Arc<AtomicBool>,
    /// Ends its tasks, and rings.
    pub(super) crash: Crash,
}

impl WorkerProcess {
    pub(super) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// Its store by each of its ports.
    pub(super) fn opened(&self) -> OpenedStore {
        fixture::opened(&self.store)
    }
}

impl SharedDatabase {
    pub(super) fn new(database: Database, settings: Settings) -> Self {
        let (flows, clock) = (Arc::new(flows::registry()), ShiftedClock::new());
        Self { database, flows, settings, clock, lock: LOCK, died: Arc::default() }
    }

    /// Every case, for what a test says is wrong.
    pub(super) fn cases(&self) -> Vec<String> {
        let cases = self.rows("SELECT kind, severity, status FROM cases ORDER BY case_id");
        cases.iter().map(|case| format!("a case: {case}")).collect()
    }

    /// What SQL answers, or what is wrong with it.
    pub(super) fn rows(&self, sql: &str) -> Vec<String> {
        let rows = self.database.sql(sql).unwrap_or_else(|why| why);
        rows.lines().map(str::to_owned).collect()
    }

    /// Another session locks rows, until it is ended.
    pub(super) async fn hold(&self, statement: &str) -> Holder {
        Holder::takes(&self.database, statement).await
    }

    /// A process begins, with a store of its own.
    pub(super) async fn start_process(&self) -> WorkerProcess {
        let (tasks, dead): (Arc<KillableTasks>, Arc<AtomicBool>) = Default::default();
        let (dying, now_dead, died) = (tasks.clone(), dead.clone(), self.died.clone());
        let crash: Crash = Arc::new(move |_| {
            dying.end();
            now_dead.store(true, Ordering::SeqCst);
            died.notify_one();
        });
        let process = Process::real(Arc::new(self.clock.clone()), tasks.clone());
        let database = fixture::database(self.database.url().to_owned(), self.lock);
        // many workers share the server
        let database = postgres::Database { readers: 2, ..database };
        let store = fixture::open_store(database, &self.flows, &process).await;
        WorkerProcess { process, store, tasks, dead, crash }
    }

    /// What a process's engine is made of, which offers no flow yet.
    pub(super) fn parts(&self, process: &WorkerProcess) -> Parts {
        process.process.clone().parts(&process.opened(), &self.flows, self.settings.clone())
    }
}
