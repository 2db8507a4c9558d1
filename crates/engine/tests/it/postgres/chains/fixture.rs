//! Two workers of a flow that sends, on one database and over its simulated chains, one of which dies.

use crate::postgres::shared::{SharedDatabase, WorkerProcess};
use engine::{Engine, Parts, Settings};
use futures_util::FutureExt as _;
use kernel::answer::{Answer, Cause};
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, ChainId, FlowId, Millis};
use kernel::ports::Fut;
use kernel::ports::chain::Chain;
use kernel::ports::deposits::{DepositSource, VaultPage};
use kernel::ports::facts::{FactSource, Gathered};
use kernel::ports::journal::Journal;
use kernel::record::Record;
use sim::chain::{
    ChainFlow, ChainRules, FactLog, FaultyChain, LinkedFacts, SimChain, SimPort, SimVault,
};
use sim::generic::chain::{
    ChainCase, ChainClient, ChainDeathPoint, ChainDeaths, Harm, NextChainDeath, chain_faults,
};
use sim::service::Wrap;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use testbed::Database;
use testkit::wrapper::Wrapper;

/// What stands around the ports of each worker: a wrong build, or nothing.
#[derive(Clone)]
pub(super) struct ChainWraps {
    pub(super) chain: Wrap<dyn Chain>,
    pub(super) journal: Wrap<dyn Journal>,
}

impl Default for ChainWraps {
    fn default() -> Self {
        Self { chain: Arc::new(|port| port), journal: Arc::new(|journal| journal) }
    }
}

/// What a flow learns of the case that is played: each case has a script of its own.
struct CaseFacts(Mutex<Arc<dyn FactSource>>);

impl CaseFacts {
    fn now(&self) -> MutexGuard<'_, Arc<dyn FactSource>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The vault of the case that is played.
struct CaseVault(Mutex<SimVault>);

impl CaseVault {
    fn now(&self) -> MutexGuard<'_, SimVault> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DepositSource for CaseVault {
    fn chain(&self) -> ChainId {
        self.now().chain()
    }

    fn flow(&self) -> FlowId {
        self.now().flow()
    }

    fn asset(&self) -> AssetId {
        self.now().asset()
    }

    fn vault(&self) -> Arc<str> {
        self.now().vault()
    }

    fn interval(&self) -> Millis {
        self.now().interval()
    }

    fn normal_lag(&self) -> Millis {
        self.now().normal_lag()
    }

    fn movements<'a>(
        &'a self,
        behind: Option<&'a str>,
        limit: usize,
    ) -> Fut<'a, Result<VaultPage, Cause>> {
        let now = self.now().clone();
        Box::pin(async move { now.movements(behind, limit).await })
    }
}

impl FactSource for CaseFacts {
    fn facts<'a>(&'a self, rule: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Gathered>> {
        let now = self.now().clone();
        Box::pin(async move { now.facts(rule, records).await })
    }

    fn ask<'a>(&'a self, act: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Answer>> {
        let now = self.now().clone();
        Box::pin(async move { now.ask(act, records).await })
    }
}

/// One worker, from its start to its death.
struct Worker {
    engine: Arc<Engine>,
    process: WorkerProcess,
    journal: Arc<dyn Journal>,
    /// Its links to the chains of the case that is played.
    links: Vec<Arc<FaultyChain>>,
    facts: Arc<CaseFacts>,
    vault: Option<Arc<CaseVault>>,
}

impl Worker {
    /// From now on it is about these chains.
    fn play_over(&self, played: &ChainFlow, flows: &Arc<Flows>) {
        *self.facts.now() = (played.facts)(self.journal.clone());
        if let (Some(vault), Some(next)) = (&self.vault, &played.vault) {
            *vault.now() = next.clone();
        }
        for (link, chain) in self.links.iter().zip(chains(played)) {
            // its engine was told once, when it began
            link.swap(Arc::new(SimPort::new(chain, flows.clone()).already_bound()));
        }
    }
}

/// Every chain of a flow, the source's first.
fn chains(played: &ChainFlow) -> Vec<SimChain> {
    std::iter::once(&played.chain).chain(&played.others).cloned().collect()
}

/// How long a deposit waits for what does not come, in milliseconds.
const WAIT_MS: Millis = 4_000;

/// Two workers on one database, on which one case is played after the other, each over chains of its own. A worker
/// that died is replaced before the next case.
pub(super) struct ChainWorkers {
    database: SharedDatabase,
    rules: ChainRules,
    learned: FactLog,
    wraps: ChainWraps,
    next: NextChainDeath,
    /// How long the transfers of a case may take.
    timeout: Duration,
    workers: Vec<Worker>,
    /// The number of cases that were played.
    series: usize,
    /// Until when a deposit of the present case waits for what does not come, by its chain's time.
    deadline: Millis,
}

/// What came of a case.
pub(super) struct ChainPlayed {
    /// A worker came to the point, and died there.
    pub(super) reached: bool,
    /// Everything that is wrong.
    pub(super) faults: Vec<String>,
}

impl ChainWorkers {
    pub(super) fn new(settings: Settings, rules: ChainRules) -> Self {
        let database = Database::given().expect("a database");
        Self {
            database: SharedDatabase::new(database, settings),
            rules,
            learned: FactLog::default(),
            wraps: ChainWraps::default(),
            next: NextChainDeath::default(),
            timeout: Duration::from_secs(180),
            workers: Vec::new(),
            series: 0,
            deadline: 0,
        }
    }

    /// The same with a wrong build, which may keep its transfers from their end.
    pub(super) fn wrong(self, wraps: ChainWraps, timeout: Duration) -> Self {
        Self { wraps, timeout, ..self }
    }

    async fn start_worker(&self, played: &ChainFlow) -> Worker {
        let process = self.database.start_process().await;
        let flows = &self.database.flows;
        let table = flows.table(flows.named(played.flow).expect("the flow")).clone();
        let deaths = ChainDeaths { next: self.next.clone(), crash: process.crash.clone(), table };
        let dies = deaths.at_journal(process.store.clone());
        let journal: Arc<dyn Journal> = (self.wraps.journal)(Arc::new(Wrapper(dies)));
        let facts = Arc::new(CaseFacts(Mutex::new((played.facts)(journal.clone()))));
        let learns = LinkedFacts::new(facts.clone(), self.learned.clone(), process.crash.clone());
        let link = |chain: SimChain| {
            let port = Arc::new(SimPort::new(chain, flows.clone()));
            Arc::new(deaths.at_chain(FaultyChain::new(port, process.crash.clone())))
        };
        let links: Vec<Arc<FaultyChain>> = chains(played).into_iter().map(link).collect();
        let port = |link: &Arc<FaultyChain>| (self.wraps.chain)(link.clone());
        let learns: Arc<dyn FactSource> = Arc::new(deaths.at_facts(learns));
        let vault = played.vault.clone().map(|vault| Arc::new(CaseVault(Mutex::new(vault))));
        let source = |vault: &Arc<CaseVault>| -> Arc<dyn DepositSource> { vault.clone() };
        let parts = Parts {
            offered: flows.ids(&[played.flow]),
            facts: BTreeMap::from([(played.flow, learns)]),
            chains: links.iter().map(port).collect(),
            deposits: vault.iter().map(source).collect(),
            journal: journal.clone(),
            ..self.database.parts(&process)
        };
        let engine = Engine::start(parts).await.expect("the engine starts");
        Worker { engine, process, journal, links, facts, vault }
    }

    /// What the clients at a worker see, until every transfer of the case ended.
    async fn insist<C: ChainCase<Chain = SimChain>>(
        &self,
        case: &C,
        worker: &Worker,
    ) -> Result<Vec<Record>, String> {
        let (engine, journal) = (worker.engine.clone(), worker.process.store.clone());
        let (clock, series) = (Arc::new(self.database.clock.clone()), self.series);
        let (deadline, vault) =
            (self.deadline, worker.vault.as_ref().map(|vault| vault.now().clone()));
        let client = ChainClient { engine, journal, clock, series, deadline, vault };
        let insist = case.insists(client);
        let late = |_| Err("it takes too long".to_owned());
        tokio::time::timeout(self.timeout, insist).await.unwrap_or_else(late)
    }

    /// Plays a case with two workers. The first worker to reach the point dies.
    pub(super) async fn play<C: ChainCase<Chain = SimChain>>(
        &mut self,
        case: &C,
        point: &ChainDeathPoint,
    ) -> ChainPlayed {
        let seed = u64::try_from(self.series).unwrap_or_default();
        let played = case.over(self.rules, Arc::new(self.database.clock.clone()), seed);
        self.deadline = played.chain.final_time().saturating_add(WAIT_MS);
        self.workers.iter().for_each(|worker| worker.play_over(&played, &self.database.flows));
        while self.workers.len() < 2 {
            let worker = self.start_worker(&played).await;
            self.workers.push(worker);
        }
        let reached = self.insist_until_death(case, point).await;
        for worker in self.workers.extract_if(.., |worker| worker.process.is_dead()) {
            worker.process.tasks.kill().await;
        }
        let heir = self.workers.first().expect("a worker is left");
        let faults = match self.insist(case, heir).await {
            Ok(ended) => self.faults(case, &chains(&played), heir, &ended).await,
            // a wrong build's transfer may never end, and a case says why
            Err(why) => [vec![why], self.database.cases(), self.unfinished_rows()].concat(),
        };
        self.series += 1;
        ChainPlayed { reached, faults }
    }

    /// Clients insist at both workers until one of these dies or every transfer ended. True where one died.
    async fn insist_until_death<C: ChainCase<Chain = SimChain>>(
        &self,
        case: &C,
        point: &ChainDeathPoint,
    ) -> bool {
        let (died, next) = (&self.database.died, &self.next);
        let [one, other] = self.workers.as_slice() else { panic!("two workers") };
        // the death of the case before may have been seen without its ring
        let _rang = died.notified().now_or_never();
        next.set(point.clone());
        // clients race for what they open; those of a worker that dies may wait for ever
        let reached = tokio::select! {
            () = died.notified() => true,
            _ = self.insist(case, one) => false,
            _ = self.insist(case, other) => false,
        };
        let reached = reached || !next.take_back();
        if reached && !one.process.is_dead() && !other.process.is_dead() {
            died.notified().await;
        }
        reached
    }

    /// Everything that is wrong with how the transfers ended, and with what the database has of all cases.
    async fn faults<C: ChainCase<Chain = SimChain>>(
        &self,
        case: &C,
        chains: &[SimChain],
        heir: &Worker,
        ended: &[Record],
    ) -> Vec<String> {
        // what was sent last is in final blocks by then
        tokio::time::sleep(Duration::from_millis(self.rules.block_ms * 10)).await;
        // on a slow machine attempts are lost to their time as well, and after three the money goes the next way
        let mut faults = case.faults(chains, ended, Harm::More);
        let (journal, flows) = (&*heir.process.store, &self.database.flows);
        faults.extend(chain_faults(journal, flows, chains, &self.learned, ended).await);
        faults.extend(self.database.cases());
        faults
    }

    /// What the database has of what did not end, for the reader of a failed test.
    fn unfinished_rows(&self) -> Vec<String> {
        let tables = "SELECT 'transfer', t.transfer_id, t.target_account, t.state, t.version, t.retry_count, t.alone, \
             t.error_class, d.due_at - portage_now() FROM transfers t JOIN due d USING (transfer_id); \
             SELECT 'attempt', a.serial, a.state, a.lane, a.lock, a.sent, a.due_at - portage_now(), a.leased_by \
             FROM attempts a WHERE closed_at IS NULL; \
             SELECT 'lane', name, value FROM service_state WHERE name LIKE 'lane%'; \
             SELECT 'worker', w.*, portage_now() FROM workers w";
        self.database.rows(tables)
    }

    /// Ends the workers that are left.
    pub(super) async fn end(self) {
        for worker in self.workers {
            worker.process.tasks.kill().await;
        }
    }
}
