//! Two workers of `account` on one database and one broker, and what is done to them.

use crate::postgres::shared::{SharedDatabase, WorkerProcess};
use engine::BusParts;
use engine::{Engine, Parts};
use flows::account::AccountChecks;
use kernel::accounts::NumberedStatus;
use kernel::ids::Millis;
use kernel::ports::facts::FactSource;
use kernel::ports::journal::Journal;
use kernel::record::Record;
use sim::bus::{FaultyBus, SimBus};
use sim::event_log::EventLog;
use sim::generic::account::{
    AccountCase, AccountDoor, CaseAccount, CaseTransfer, DeathPoint, DyingWrites, NextAccountDeath,
    TransferEnd,
};
use sim::service::{PortWraps, SimProcess};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::wrapper::Wrapper;
use testkit::{MINUTE, wait_until};

/// One worker, from its start to its death.
struct Worker {
    door: AccountDoor,
    process: WorkerProcess,
}

/// Two workers, one of which dies in each play.
pub(super) struct Pipeline {
    database: SharedDatabase,
    wraps: PortWraps,
    timeout: Millis,
    bus: SimBus,
    next: NextAccountDeath,
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
    pub(super) async fn open(database: SharedDatabase, wraps: PortWraps, timeout: Millis) -> Self {
        let mut pipeline = Self {
            wraps,
            timeout,
            bus: SimBus::new(Arc::new(database.clock.clone())),
            database,
            next: NextAccountDeath::default(),
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
        pipeline.start_missing().await;
        pipeline
    }

    /// Where a worker is missing one begins.
    async fn start_missing(&mut self) {
        while let Some(n) = self.workers.iter().position(Option::is_none) {
            let worker = self.start_worker().await;
            self.workers.get_mut(n).expect("a place").replace(worker);
        }
    }

    async fn start_worker(&self) -> Worker {
        let process = self.database.start_process().await;
        let engine = Engine::start(self.parts(&process)).await.expect("the engine starts");
        let door = AccountDoor {
            process: SimProcess { engine, opened: process.opened() },
            clock: Arc::new(self.database.clock.clone()),
            bus: self.bus.clone(),
            timeout: self.timeout,
        };
        Worker { door, process }
    }

    fn parts(&self, process: &WorkerProcess) -> Parts {
        let flows = &self.database.flows;
        let table = flows.table(flows.named("account").expect("the flow")).clone();
        let (store, crash) = (&process.store, process.crash.clone());
        let next = self.next.clone();
        let link = FaultyBus::new(self.bus.clone(), crash.clone(), EventLog::default())
            .choosing(move |call| next.of_call(call));
        let dies = DyingWrites::new(store.clone(), self.next.clone(), crash, table);
        let journal: Arc<dyn Journal> = (self.wraps.journal)(Arc::new(Wrapper(dies)));
        let facts: Arc<dyn FactSource> = Arc::new(AccountChecks::new(journal.clone()));
        Parts {
            offered: flows.ids(&["account"]),
            facts: BTreeMap::from([("account", facts)]),
            bus: Some(BusParts {
                bus: (self.wraps.bus)(Arc::new(link)),
                outbox: (self.wraps.outbox)(store.clone()),
                inbox: (self.wraps.inbox)(store.clone()),
            }),
            journal,
            ledgers: vec![store.funding(), (self.wraps.accounts)(store.accounts())],
            ..self.database.parts(process)
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
            () = self.database.died.notified() => None,
            ended = door.insist(&case, &keys) => Some(ended),
        };
        let reached = match ended {
            None => true,
            Some(_) if self.next.struck() => {
                self.database.died.notified().await;
                true
            }
            Some(_) => !self.next.take_back(),
        };
        self.end_dead().await;
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
        self.start_missing().await;
        reached
    }

    /// Transfers of accounts whose rows another session has locked do not end, all others do. When it lets go,
    /// every transfer ends.
    pub(super) async fn play_locked(&mut self) {
        let has = |number| CaseAccount { number, has: 100, status: NumberedStatus::Active };
        let pays = |from, to| CaseTransfer { from, to, amount: 5, end: TransferEnd::Completed };
        let locked = AccountCase {
            accounts: vec![has("L-1"), has("L-2"), has("L-3"), has("L-4"), has("P-1")].into(),
            transfers: vec![
                pays("L-1", "P-1"),
                pays("L-2", "P-1"),
                pays("P-1", "L-3"),
                pays("L-4", "L-1"),
            ]
            .into(),
            completed: Some(4),
            ..case(0)
        };
        // in every partition
        let payers = ["F-1", "F-2", "F-3", "F-4", "F-5", "F-6", "F-7", "F-8"];
        let free = AccountCase {
            accounts: payers.iter().copied().chain(["F-0"]).map(has).collect(),
            transfers: payers.iter().map(|from| pays(from, "F-0")).collect(),
            completed: Some(8),
            ..case(0)
        };
        let doors = self.doors();
        let [door, other, ..] = doors.as_slice() else { panic!("two workers") };
        for case in [&locked, &free] {
            door.prepare(case).await.expect("the accounts");
        }
        let statement = "SELECT 1 FROM accounts_tb WHERE account_number LIKE 'L-%' FOR UPDATE";
        let holder = self.database.hold(statement).await;
        let ended = AtomicBool::new(false);
        let waits = async {
            door.insist(&locked, "locked").await.expect("they end");
            ended.store(true, Ordering::SeqCst);
        };
        let others = async {
            let waiting = "SELECT count(*) > 0 FROM pg_stat_activity \
                WHERE wait_event_type = 'Lock' AND datname = current_database()";
            let waited = wait_until(MINUTE, async || self.database.rows(waiting) == ["t"]);
            assert!(waited.await, "no write waits");
            // one round may still be written together with what waits
            for round in ["free-1", "free-2", "free-3"] {
                other.end(&free, round).await.expect("the others go on");
            }
            assert!(!ended.load(Ordering::SeqCst), "their rows are held");
            holder.ends(&self.database.database);
        };
        tokio::join!(waits, others);
        let sql = "SELECT string_agg(balance::text, ' ' ORDER BY account_number) FROM accounts_tb";
        let balances = "220 85 85 85 85 85 85 85 85 100 95 105 95 105";
        assert_eq!(self.database.rows(sql), [balances], "{:?}", self.database.cases());
    }

    fn doors(&self) -> Vec<AccountDoor> {
        self.workers.iter().flatten().map(|worker| worker.door.clone()).collect()
    }

    /// Ends what is left of a worker that died.
    async fn end_dead(&mut self) {
        for place in &mut self.workers {
            if let Some(worker) = place.take_if(|worker| worker.process.is_dead()) {
                worker.process.tasks.kill().await;
            }
        }
    }

    /// Everything that is wrong, over all plays.
    pub(super) async fn faults(&self) -> Vec<String> {
        let doors = self.doors();
        let [door, ..] = doors.as_slice() else { panic!("no worker") };
        let found = door.faults(&self.case, self.ended.clone(), self.database.settings.fuse).await;
        let found = found.unwrap_or_else(|why| vec![why]);
        self.stopped.iter().cloned().chain(found).collect()
    }

    pub(super) async fn end(self) {
        for worker in self.workers.into_iter().flatten() {
            worker.process.tasks.kill().await;
        }
    }
}
