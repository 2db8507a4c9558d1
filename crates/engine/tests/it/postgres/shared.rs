//! What several workers share on one database of the tests' server, and the life of one of them: it ends where
//! a wrapper around one of its ports says so.

use super::fixture::{self, LOCK};
use crate::fixture::gauges::Gauges;
use engine::{Parts, Settings};
use kernel::flow::table::Flows;
use kernel::ids::WorkerId;
use kernel::ports::clock::Rng as _;
use kernel::ports::meter::NoMeter;
use sim::world::Crash;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::postgres::{self, Options, Postgres, Time};
use testbed::Database;
use testkit::{KillableTasks, ShiftedClock, UniqueRng, seal_key};
use tokio::sync::Notify;

/// One database, and what its workers are made of.
pub(super) struct SharedSite {
    pub(super) database: Database,
    pub(super) flows: Arc<Flows>,
    pub(super) settings: Settings,
    pub(super) clock: ShiftedClock,
    /// Rings when a worker died.
    pub(super) fell: Arc<Notify>,
}

/// One worker, from its start to its death.
pub(super) struct Life {
    pub(super) worker: WorkerId,
    pub(super) store: Arc<Postgres>,
    pub(super) tasks: Arc<KillableTasks>,
    dead: Arc<AtomicBool>,
    /// Ends its tasks, and rings.
    pub(super) crash: Crash,
}

impl Life {
    pub(super) fn is_over(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }
}

impl SharedSite {
    pub(super) fn new(database: Database, settings: Settings) -> Self {
        let (flows, clock) = (Arc::new(flows::registry()), ShiftedClock::new());
        Self { database, flows, settings, clock, fell: Arc::default() }
    }

    /// A worker begins, with a store of its own.
    pub(super) async fn begins(&self) -> Life {
        let (tasks, dead): (Arc<KillableTasks>, Arc<AtomicBool>) = Default::default();
        let (dying, died, fell) = (tasks.clone(), dead.clone(), self.fell.clone());
        let crash: Crash = Arc::new(move |_| {
            dying.end();
            died.store(true, Ordering::SeqCst);
            fell.notify_one();
        });
        let worker = WorkerId(UniqueRng.next());
        let database = fixture::database(self.database.url().to_owned(), LOCK);
        let options = Options {
            // many workers share the server
            database: postgres::Database { readers: 2, ..database },
            flows: self.flows.clone(),
            worker,
            time: Time::Database,
            clock: Arc::new(self.clock.clone()),
            meter: Arc::new(NoMeter),
            fatal: Arc::new(|what| panic!("it gave up: {what}")),
        };
        let store = Postgres::open(options).await.expect("the store opens");
        Life { worker, store, tasks, dead, crash }
    }

    /// What its engine is made of, which offers no flow yet.
    pub(super) fn parts(&self, life: &Life) -> Parts {
        Parts {
            flows: self.flows.clone(),
            offered: self.flows.ids(&[]),
            facts: BTreeMap::new(),
            bus: None,
            journal: life.store.clone(),
            ledgers: vec![life.store.funding(), life.store.accounts()],
            chains: Vec::new(),
            world: life.store.funding(),
            clock: Arc::new(self.clock.clone()),
            rng: Arc::new(UniqueRng),
            spawn: life.tasks.clone(),
            meter: Arc::new(Gauges::default()),
            settings: self.settings.clone(),
            worker: life.worker,
            cores: Vec::new(),
            seal_key: seal_key(),
            retire: Arc::new(|what| panic!("it gave up: {what}")),
        }
    }
}
