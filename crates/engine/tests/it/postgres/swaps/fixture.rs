//! Two workers of a swap on one database and two simulated chains, one of which dies.

use crate::postgres::shared::{Life, SharedSite};
use engine::{Engine, Parts, Settings};
use kernel::ports::chain::Chain;
use kernel::ports::facts::FactSource;
use kernel::ports::journal::Journal;
use kernel::record::Record;
use sim::chain::{
    ChainFlow, ChainRules, ChainWrap, FactLog, FaultyChain, JournalWrap, LinkedFacts, SimChain,
    SimPort,
};
use sim::generic::chain::{ChainDeathPoint, ChainDeaths, Harm, NextChainDeath, chain_faults};
use sim::generic::swaps::SwapCase;
use sim::wrapper::Wrapper;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use testbed::Database;

/// What stands around the ports of each worker: a wrong build, or nothing.
#[derive(Clone)]
pub(super) struct SwapWraps {
    pub(super) chain: ChainWrap,
    pub(super) journal: JournalWrap,
}

impl Default for SwapWraps {
    fn default() -> Self {
        Self { chain: Arc::new(|port| port), journal: Arc::new(|journal| journal) }
    }
}

/// One case, from its deposits to its ends.
pub(super) struct SwapPlay {
    site: SharedSite,
    case: SwapCase,
    rules: ChainRules,
    played: ChainFlow,
    learned: FactLog,
    wraps: SwapWraps,
    next: NextChainDeath,
    /// How long its swaps may take.
    timeout: Duration,
}

/// What came of a play.
pub(super) struct SwapPlayed {
    /// A worker came to the point, and died there.
    pub(super) reached: bool,
    /// Everything that is wrong.
    pub(super) faults: Vec<String>,
}

struct Worker {
    engine: Arc<Engine>,
    life: Life,
}

impl SwapPlay {
    pub(super) fn new(
        database: Database,
        settings: Settings,
        case: &SwapCase,
        rules: ChainRules,
    ) -> Self {
        let site = SharedSite::new(database, settings);
        let played = case.over(rules, Arc::new(site.clock.clone()), 0);
        Self {
            site,
            case: *case,
            rules,
            played,
            learned: FactLog::default(),
            wraps: SwapWraps::default(),
            next: NextChainDeath::default(),
            timeout: Duration::from_secs(60),
        }
    }

    /// The same with a wrong build, which may keep its swaps from their end.
    pub(super) fn wrong(self, wraps: SwapWraps, timeout: Duration) -> Self {
        Self { wraps, timeout, ..self }
    }

    fn chains(&self) -> Vec<SimChain> {
        let others = self.played.others.iter().cloned();
        std::iter::once(self.played.chain.clone()).chain(others).collect()
    }

    async fn worker(&self) -> Worker {
        let life = self.site.begins().await;
        let engine = Engine::start(self.parts(&life)).await.expect("the engine starts");
        Worker { engine, life }
    }

    fn parts(&self, life: &Life) -> Parts {
        let flows = &self.site.flows;
        let table = flows.table(flows.named(self.played.flow).expect("the flow")).clone();
        let deaths = ChainDeaths { next: self.next.clone(), crash: life.crash.clone(), table };
        let dies = deaths.at_journal(life.store.clone());
        let journal: Arc<dyn Journal> = (self.wraps.journal)(Arc::new(Wrapper(dies)));
        let learns = (self.played.facts)(journal.clone());
        let link = LinkedFacts::new(learns, self.learned.clone(), life.crash.clone());
        let facts: Arc<dyn FactSource> = Arc::new(deaths.at_facts(link));
        let port = |chain: SimChain| -> Arc<dyn Chain> {
            let port = Arc::new(SimPort::new(chain, flows.clone()));
            let link = deaths.at_chain(FaultyChain::new(port, life.crash.clone()));
            (self.wraps.chain)(Arc::new(link))
        };
        Parts {
            offered: flows.ids(&[self.played.flow]),
            facts: BTreeMap::from([(self.played.flow, facts)]),
            chains: self.chains().into_iter().map(port).collect(),
            journal,
            ..self.site.parts(life)
        }
    }

    /// What the watcher at a worker sees, until every swap ended.
    async fn watches(&self, worker: &Worker) -> Result<Vec<Record>, String> {
        let clock = Arc::new(self.site.clock.clone());
        let (engine, journal) = (worker.engine.clone(), worker.life.store.clone());
        let watches = self.case.watched(engine, journal, clock);
        let late = |_| Err("it takes too long".to_owned());
        tokio::time::timeout(self.timeout, watches).await.unwrap_or_else(late)
    }

    /// Plays the case with two workers. The first worker to reach the point dies.
    pub(super) async fn dies_at(self, point: &ChainDeathPoint) -> SwapPlayed {
        let workers = [self.worker().await, self.worker().await];
        let [one, other] = &workers;
        self.next.set(point.clone());
        let (fell, next) = (&self.site.fell, &self.next);
        // watchers race for their cursor; that of a worker that dies may wait for ever
        let reached = tokio::select! {
            () = fell.notified() => true,
            _ = self.watches(one) => false,
            _ = self.watches(other) => false,
        };
        let reached = reached || !next.take_back();
        if reached && workers.iter().all(|worker| !worker.life.is_over()) {
            fell.notified().await;
        }
        let (dead, alive): (Vec<Worker>, Vec<Worker>) =
            workers.into_iter().partition(|worker| worker.life.is_over());
        for worker in dead {
            worker.life.tasks.kill().await;
        }
        let heir = alive.first().expect("a worker is left");
        let faults = match self.watches(heir).await {
            Ok(ended) => self.faults(heir, &ended).await,
            // a wrong build's swap may never end, and a case says why
            Err(why) => std::iter::once(why).chain(self.cases()).collect(),
        };
        for worker in &alive {
            worker.life.tasks.kill().await;
        }
        SwapPlayed { reached, faults }
    }

    /// Everything that is wrong with how the swaps ended.
    async fn faults(&self, heir: &Worker, ended: &[Record]) -> Vec<String> {
        // what was sent last is in final blocks by then
        tokio::time::sleep(Duration::from_millis(self.rules.block_ms * 10)).await;
        let chains = self.chains();
        // on a slow machine attempts are lost to their time as well, and after three the money goes the next way
        let mut faults = self.case.wrong_ends(&chains, ended, Harm::More);
        let (journal, flows) = (&*heir.life.store, &self.site.flows);
        faults.extend(chain_faults(journal, flows, &chains, &self.learned, ended).await);
        faults.extend(self.cases());
        faults
    }

    fn cases(&self) -> Vec<String> {
        let cases = "SELECT kind, severity, status FROM cases ORDER BY case_id";
        let cases = self.site.database.sql(cases).expect("SQL");
        cases.lines().map(|case| format!("a case: {case}")).collect()
    }
}
