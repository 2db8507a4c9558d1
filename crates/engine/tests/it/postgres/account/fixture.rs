//! Two workers of `account` on one database and one broker, and what is done to them.

use crate::fixture::gauges::Gauges;
use crate::fixture::runtime::{ManualClock, Tasks, TestRng};
use crate::fixture::test_service::seal_key;
use crate::postgres::fixture::{self, LOCK};
use engine::messaging::BusParts;
use engine::{Engine, Parts, Settings};
use flows::account::AccountChecks;
use kernel::accounts::NumberedStatus;
use kernel::flow::table::Flows;
use kernel::ids::{Millis, WorkerId};
use kernel::ports::clock::Rng as _;
use kernel::ports::facts::FactSource;
use kernel::ports::journal::Journal;
use kernel::ports::meter::NoMeter;
use kernel::record::Record;
use sim::bus::{FaultyBus, SimBus};
use sim::event_log::EventLog;
use sim::generic::account::{
    AccountCase, AccountDoor, AccountProcess, AccountWraps, CaseAccount, CaseTransfer, DeathPoint,
    DyingWrites, NextDeath, TransferEnd,
};
use sim::suite::journal::Opened;
use sim::world::Crash;
use sim::wrapper::Wrapper;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::postgres::{Options, Postgres, Time};
use testbed::Database;
use tokio::sync::Notify;

/// One worker, from its start to its death.
struct Worker {
    door: AccountDoor,
    tasks: Arc<Tasks>,
    dead: Arc<AtomicBool>,
}

/// Two workers, one of which dies in each play.
pub(super) struct Pipeline {
    database: Database,
    flows: Arc<Flows>,
    settings: Settings,
    wraps: AccountWraps,
    timeout: Millis,
    clock: ManualClock,
    bus: SimBus,
    next: NextDeath,
    /// Rings when a worker died.
    fell: Arc<Notify>,
    workers: [Option<Worker>; 2],
    /// All plays, as one case.
    case: AccountCase,
    ended: Vec<Record>,
    /// What kept a play from its end.
    stopped: Vec<String>,
}

/// Accounts have names of their own in each play.
fn named(name: &str, play: usize) -> &'static str {
    String::leak(format!("{name}-{play}"))
}

/// Transfers both ways, one that is refused when it is checked, and a race for money in which one is refused
/// when it is executed.
fn case(play: usize) -> AccountCase {
    let (a, b) = (named("A", play), named("B", play));
    let has = |number| CaseAccount { number, has: 100, status: NumberedStatus::Active };
    let pays = |from, to, amount, end| CaseTransfer { from, to, amount, end };
    AccountCase {
        name: "both ways, a refusal and a race",
        accounts: vec![has(a), has(b)].into(),
        transfers: vec![
            pays(a, b, 60, TransferEnd::Either),
            pays(a, b, 70, TransferEnd::Either),
            pays(a, b, 301, TransferEnd::Failed),
            pays(b, a, 20, TransferEnd::Completed),
        ]
        .into(),
        completed: Some(2),
        parks: false,
        repeats: false,
    }
}

impl Pipeline {
    pub(super) async fn open(
        database: Database,
        settings: Settings,
        wraps: AccountWraps,
        timeout: Millis,
    ) -> Self {
        let clock = ManualClock::new();
        let mut pipeline = Self {
            database,
            flows: Arc::new(flows::registry()),
            settings,
            wraps,
            timeout,
            bus: SimBus::new(Arc::new(clock.clone())),
            clock,
            next: NextDeath::default(),
            fell: Arc::default(),
            workers: [None, None],
            case: AccountCase {
                accounts: Vec::new().into(),
                transfers: Vec::new().into(),
                completed: Some(0),
                ..case(0)
            },
            ended: Vec::new(),
            stopped: Vec::new(),
        };
        pipeline.replace().await;
        pipeline
    }

    /// Where a worker is missing one begins.
    async fn replace(&mut self) {
        while let Some(n) = self.workers.iter().position(Option::is_none) {
            let worker = self.worker().await;
            self.workers.get_mut(n).expect("a place").replace(worker);
        }
    }

    async fn worker(&self) -> Worker {
        let (tasks, dead): (Arc<Tasks>, Arc<AtomicBool>) = Default::default();
        let (dying, died, fell) = (tasks.clone(), dead.clone(), self.fell.clone());
        let crash: Crash = Arc::new(move |_| {
            dying.end();
            died.store(true, Ordering::SeqCst);
            fell.notify_one();
        });
        let worker = WorkerId(TestRng.next());
        let options = Options {
            database: fixture::database(self.database.url().to_owned(), LOCK),
            flows: self.flows.clone(),
            worker,
            time: Time::Database,
            clock: Arc::new(self.clock.clone()),
            meter: Arc::new(NoMeter),
            fatal: Arc::new(|what| panic!("it gave up: {what}")),
        };
        let store = Postgres::open(options).await.expect("the store opens");
        let parts = self.parts((worker, &store), tasks.clone(), crash);
        let engine = Engine::start(parts).await.expect("the engine starts");
        let opened = Opened {
            journal: store.clone(),
            outbox: store.clone(),
            inbox: store.clone(),
            funding: store.funding(),
            accounts: store.accounts(),
            world: store.funding(),
        };
        let door = AccountDoor {
            process: AccountProcess { engine, opened },
            clock: Arc::new(self.clock.clone()),
            bus: self.bus.clone(),
            timeout: self.timeout,
        };
        Worker { door, tasks, dead }
    }

    fn parts(
        &self,
        (worker, store): (WorkerId, &Arc<Postgres>),
        tasks: Arc<Tasks>,
        crash: Crash,
    ) -> Parts {
        let table = self.flows.table(self.flows.named("account").expect("the flow")).clone();
        let next = self.next.clone();
        let link = FaultyBus::new(self.bus.clone(), crash.clone(), EventLog::default())
            .choosing(move |call| next.of_call(call));
        let dies = DyingWrites::new(store.clone(), self.next.clone(), crash, table);
        let journal: Arc<dyn Journal> = (self.wraps.journal)(Arc::new(Wrapper(dies)));
        let facts: Arc<dyn FactSource> = Arc::new(AccountChecks::new(journal.clone()));
        Parts {
            flows: self.flows.clone(),
            offered: self.flows.ids(&["account"]),
            facts: BTreeMap::from([("account", facts)]),
            bus: Some(BusParts {
                bus: (self.wraps.bus)(Arc::new(link)),
                outbox: (self.wraps.outbox)(store.clone()),
                inbox: (self.wraps.inbox)(store.clone()),
            }),
            journal,
            ledgers: vec![store.funding(), (self.wraps.accounts)(store.accounts())],
            chains: Vec::new(),
            world: store.funding(),
            clock: Arc::new(self.clock.clone()),
            rng: Arc::new(TestRng),
            spawn: tasks,
            meter: Arc::new(Gauges::default()),
            settings: self.settings.clone(),
            worker,
            cores: Vec::new(),
            seal_key: seal_key(),
            retire: Arc::new(|what| panic!("it gave up: {what}")),
        }
    }

    /// Plays one case, in which the worker that comes to the point first dies. True where one came.
    pub(super) async fn play(&mut self, point: &DeathPoint) -> bool {
        let play = self.case.accounts.len();
        let (case, keys) = (case(play), format!("play-{play}"));
        let doors = self.doors();
        let [door, ..] = doors.as_slice() else { panic!("no worker") };
        door.prepare(&case).await.expect("the accounts");
        self.next.set(point.clone());
        let ended = tokio::select! {
            () = self.fell.notified() => None,
            ended = door.insist(&case, &keys) => Some(ended),
        };
        let reached = match ended {
            None => true,
            Some(_) if self.next.struck() => {
                self.fell.notified().await;
                true
            }
            Some(_) => !self.next.take_back(),
        };
        self.bury().await;
        let doors = self.doors();
        let [door, ..] = doors.as_slice() else { panic!("no worker is left") };
        match door.insist(&case, &keys).await {
            Ok(ended) => {
                self.case.accounts.to_mut().extend_from_slice(&case.accounts);
                self.case.transfers.to_mut().extend_from_slice(&case.transfers);
                self.case.completed = self.case.completed.zip(case.completed).map(|(a, b)| a + b);
                self.ended.extend(ended);
            }
            Err(why) => self.stopped.push(format!("{point:?}: {why}")),
        }
        self.replace().await;
        reached
    }

    fn doors(&self) -> Vec<AccountDoor> {
        self.workers.iter().flatten().map(|worker| worker.door.clone()).collect()
    }

    /// Ends what is left of a worker that died.
    async fn bury(&mut self) {
        for place in &mut self.workers {
            if let Some(worker) = place.take_if(|worker| worker.dead.load(Ordering::SeqCst)) {
                worker.tasks.kill().await;
            }
        }
    }

    /// Everything that is wrong, over all plays.
    pub(super) async fn faults(&self) -> Vec<String> {
        let doors = self.doors();
        let [door, ..] = doors.as_slice() else { panic!("no worker") };
        let found = door.faults(&self.case, self.ended.clone(), self.settings.fuse).await;
        let found = found.unwrap_or_else(|why| vec![why]);
        self.stopped.iter().cloned().chain(found).collect()
    }

    pub(super) async fn end(self) {
        for worker in self.workers.into_iter().flatten() {
            worker.tasks.kill().await;
        }
    }
}
