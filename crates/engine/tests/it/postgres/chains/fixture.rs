//! Two workers of a flow that sends, on one database and over its simulated chains, one of which dies.

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
use sim::generic::chain::{
    ChainCase, ChainClient, ChainDeathPoint, ChainDeaths, Harm, NextChainDeath, chain_faults,
};
use sim::wrapper::Wrapper;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use testbed::Database;

/// What stands around the ports of each worker: a wrong build, or nothing.
#[derive(Clone)]
pub(super) struct ChainWraps {
    pub(super) chain: ChainWrap,
    pub(super) journal: JournalWrap,
}

impl Default for ChainWraps {
    fn default() -> Self {
        Self { chain: Arc::new(|port| port), journal: Arc::new(|journal| journal) }
    }
}

/// One case, from what its clients ask for to its ends.
pub(super) struct ChainPlay<C> {
    site: SharedSite,
    case: C,
    rules: ChainRules,
    played: ChainFlow,
    learned: FactLog,
    wraps: ChainWraps,
    next: NextChainDeath,
    /// How long its transfers may take.
    timeout: Duration,
    series: usize,
}

/// A database on which so many cases were played, each to its end.
pub(super) struct UsedDatabase {
    pub(super) database: Database,
    pub(super) series: usize,
}

impl UsedDatabase {
    pub(super) fn fresh() -> Self {
        Self { database: Database::given().expect("a database"), series: 0 }
    }
}

/// What came of a play.
pub(super) struct ChainPlayed {
    /// A worker came to the point, and died there.
    pub(super) reached: bool,
    /// Everything that is wrong.
    pub(super) faults: Vec<String>,
}

struct Worker {
    engine: Arc<Engine>,
    life: Life,
}

impl<C: ChainCase> ChainPlay<C> {
    pub(super) fn new(used: UsedDatabase, settings: Settings, case: &C, rules: ChainRules) -> Self {
        let UsedDatabase { database, series } = used;
        let site = SharedSite::new(database, settings);
        let played =
            case.over(rules, Arc::new(site.clock.clone()), u64::try_from(series).unwrap_or(0));
        Self {
            site,
            case: *case,
            rules,
            played,
            learned: FactLog::default(),
            wraps: ChainWraps::default(),
            next: NextChainDeath::default(),
            timeout: Duration::from_secs(60),
            series,
        }
    }

    /// The same with a wrong build, which may keep its transfers from their end.
    pub(super) fn wrong(self, wraps: ChainWraps, timeout: Duration) -> Self {
        Self { wraps, timeout, ..self }
    }

    /// The database, for the next case.
    pub(super) fn over(self) -> UsedDatabase {
        UsedDatabase { database: self.site.database, series: self.series + 1 }
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

    /// What the clients at a worker see, until every transfer ended.
    async fn insists(&self, worker: &Worker) -> Result<Vec<Record>, String> {
        let clock = Arc::new(self.site.clock.clone());
        let (engine, journal) = (worker.engine.clone(), worker.life.store.clone());
        let insists =
            self.case.insists(ChainClient { engine, journal, clock, series: self.series });
        let late = |_| Err("it takes too long".to_owned());
        tokio::time::timeout(self.timeout, insists).await.unwrap_or_else(late)
    }

    /// Plays the case with two workers. The first worker to reach the point dies.
    pub(super) async fn dies_at(&self, point: &ChainDeathPoint) -> ChainPlayed {
        let workers = [self.worker().await, self.worker().await];
        let [one, other] = &workers;
        self.next.set(point.clone());
        let (fell, next) = (&self.site.fell, &self.next);
        // clients race for what they open; those of a worker that dies may wait for ever
        let reached = tokio::select! {
            () = fell.notified() => true,
            _ = self.insists(one) => false,
            _ = self.insists(other) => false,
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
        let faults = match self.insists(heir).await {
            Ok(ended) => self.faults(heir, &ended).await,
            // a wrong build's transfer may never end, and a case says why
            Err(why) => std::iter::once(why).chain(self.cases()).collect(),
        };
        for worker in &alive {
            worker.life.tasks.kill().await;
        }
        ChainPlayed { reached, faults }
    }

    /// Everything that is wrong with how the transfers ended, and with what the database has of others.
    async fn faults(&self, heir: &Worker, ended: &[Record]) -> Vec<String> {
        // what was sent last is in final blocks by then
        tokio::time::sleep(Duration::from_millis(self.rules.block_ms * 10)).await;
        let chains = self.chains();
        // on a slow machine attempts are lost to their time as well, and after three the money goes the next way
        let mut faults = self.case.faults(&chains, ended, Harm::More);
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
