//! Two workers over one journal and one chain: one dies or stands still with attempts in its hands.

use engine::operators::{ActionResult, Actor, AdminAction, Objection};
use kernel::answer::Cause;
use kernel::attempt::Attempt;
use kernel::ids::Id;
use kernel::ports::Fut;
use kernel::ports::chain::{Chain, ChainIdentity, LaneMark, LaneSpent};
use kernel::ports::clock::Clock;
use sim::chain::{
    ChainCall, ChainFlow, ChainPorts, ChainRules, ChainTrouble, Locking, Moment, SimChain,
    relay_terms,
};
use sim::generic::chain::{CaseEnv, ChainCase, ChainClient, ChainWorker, Harm, joined};
use sim::generic::swaps::{SWAP_CASES, SwapCase};
use sim::journal::Place;
use sim::service::{PortWraps, SimService, simulated};
use sim::world::Sim;
use std::sync::Arc;
use testkit::wrapper::{ChainWrapper, Wrapper};

pub(super) const LOCKINGS: [Locking; 3] = [Locking::Nonce, Locking::Marker, Locking::Reference];
const RECEIVERS: [&str; 7] = ["alice", "bob", "new-1", "carol", "bad-1", "dave", "new-2"];

pub(super) struct Cluster {
    pub(super) service: SimService,
    pub(super) ports: ChainPorts,
    pub(super) place: Place,
    /// What stands around the ports of every worker: a wrong build.
    pub(super) wraps: PortWraps,
}

impl Cluster {
    /// Swaps in the place of the relay.
    fn of_swaps(case: &SwapCase, rules: ChainRules, seed: u64) -> Self {
        let (sim, flows) = (Sim::new(seed), Arc::new(flows::registry()));
        let place = Place::new(flows.clone());
        let site = simulated(&sim, &place);
        let (mut service, ports) = case.service(rules, CaseEnv { sim, flows, site, seed });
        service.settings.lease_ms = 3_000;
        Self { service, ports, place, wraps: PortWraps::default() }
    }

    pub(super) fn new(rules: ChainRules, seed: u64) -> Self {
        Self::with(rules, seed, &PortWraps::default())
    }

    pub(super) fn with(rules: ChainRules, seed: u64, wraps: &PortWraps) -> Self {
        let (sim, flows) = (Sim::new(seed), Arc::new(flows::registry()));
        let place = Place::new(flows.clone());
        let chain = SimChain::new(rules, Arc::new(sim.clone()), seed);
        for receiver in RECEIVERS.iter().filter(|receiver| !receiver.starts_with("new")) {
            chain.register(receiver);
        }
        chain.spoil("bad-1");
        // never opened: each worker joins
        let site = simulated(&sim, &place);
        let ports = ChainPorts::new(&sim, &flows, ChainFlow::relay(chain));
        let mut service = ports.service(sim, flows, site);
        service.settings.lease_ms = 3_000;
        service.wraps = wraps.clone();
        Self { service, ports, place, wraps: wraps.clone() }
    }

    pub(super) fn join(&self, number: u64) -> ChainWorker {
        joined(&self.service, &self.ports, &self.place, number)
    }

    /// Opens a transfer to each receiver at this worker.
    pub(super) fn pays(&self, worker: &ChainWorker, receivers: &'static [&'static str]) -> Vec<Id> {
        self.pays_for(worker, "to", receivers)
    }

    pub(super) fn pays_for(
        &self,
        worker: &ChainWorker,
        key: &str,
        receivers: &'static [&'static str],
    ) -> Vec<Id> {
        let engine = worker.process.engine.clone();
        let Some(flow) = engine.flows().named("relay") else { panic!("no relay") };
        let chain = self.ports.chain_id();
        let key = key.to_owned();
        let opened = worker.sim.block_on(async move {
            let mut ids = Vec::new();
            for (n, to) in (0_u128..).zip(receivers) {
                let terms = relay_terms(chain, to, 100 + n, &format!("{key} {to}-{n}"));
                let created = engine.intake.create(flow, terms).await;
                ids.push(created.map(|accepted| accepted.record.id));
            }
            ids
        });
        let opened = opened.unwrap_or_else(|stop| panic!("{stop:?}"));
        opened.into_iter().map(|id| id.unwrap_or_else(|why| panic!("{why:?}"))).collect()
    }

    /// What an operator's action at a worker comes to.
    #[expect(clippy::panic_in_result_fn, reason = "the answer is the result; a stop is a fault")]
    pub(super) fn acts(
        &self,
        worker: &ChainWorker,
        caller: &str,
        action: AdminAction,
    ) -> Result<ActionResult, Objection> {
        let engine = worker.process.engine.clone();
        let key = format!("{action:?}").into();
        let actor = Actor { caller: caller.into(), key, reason: "a test".into() };
        let done =
            worker.sim.block_on(async move { engine.operators.execute(actor, action).await });
        done.unwrap_or_else(|stop| panic!("{stop:?}")).map(|done| done.outcome)
    }

    /// The kinds of the open cases.
    pub(super) fn cases(&self, worker: &ChainWorker) -> Vec<String> {
        let journal = worker.process.opened.journal.clone();
        let read = worker.sim.block_on(async move { journal.open_cases().await });
        let Ok(Ok(cases)) = read else { panic!("{read:?}") };
        cases.into_iter().map(|case| case.kind.to_string()).collect()
    }

    /// The names of the states of these.
    pub(super) fn states(&self, worker: &ChainWorker, ids: &[Id]) -> Vec<&'static str> {
        let (journal, asked) = (worker.process.opened.journal.clone(), ids.to_vec());
        let read = worker.sim.block_on(async move { journal.get(asked).await });
        let Ok(Ok(records)) = read else { panic!("{read:?}") };
        let name =
            |r: &kernel::record::Record| self.service.flows.table(r.flow).state(r.head.state).name;
        records.iter().map(name).collect()
    }

    /// The chain that the journal is bound to, as a worker shows it.
    pub(super) fn bound(&self, worker: &ChainWorker) -> Option<ChainIdentity> {
        let (engine, chain) = (worker.process.engine.clone(), self.ports.chain_id());
        let report = worker.sim.block_on(async move { engine.chains.chain_report(chain).await });
        let Ok(Ok(report)) = report else { panic!("{report:?}") };
        report.identity
    }

    #[track_caller]
    pub(super) fn ends(&self, line: &str, worker: &ChainWorker, ids: &[Id], receivers: &[&str]) {
        self.ports.chain.calm();
        self.service.sim.run_for(900_000);
        let (journal, asked) = (worker.process.opened.journal.clone(), ids.to_vec());
        let read = worker.sim.block_on(async move { journal.get(asked).await });
        let Ok(Ok(records)) = read else { panic!("{line}: {read:?}") };
        let paid = self.ports.chain.paid();
        let mut faults = self.ports.chain.faults();
        for (id, receiver) in ids.iter().zip(receivers) {
            let record = records.iter().find(|record| record.id == *id);
            let table = record.map(|r| self.service.flows.table(r.flow).state(r.head.state).name);
            let times = paid.get(id).map_or(0, Vec::len);
            let wanted = if *receiver == "bad-1" { ("FAILED", 0) } else { ("COMPLETED", 1) };
            if (table.unwrap_or(""), times) != wanted {
                faults.push(format!("{receiver} is {table:?} and was paid {times} times"));
            }
        }
        let cases = self.place.cases().into_iter().filter(|kind| *kind != "ATTEMPT_SLOW");
        faults.extend(cases.map(|case| format!("a case: {case}")));
        assert!(faults.is_empty(), "{line}: {faults:#?}");
    }
}

/// Turns red where members of a dead worker's attempt are signed for again under another lock.
#[test]
fn an_attempt_of_a_killed_worker_is_taken_up_as_an_attempt() {
    for locking in LOCKINGS {
        for seed in 0..12 {
            let cluster = Cluster::new(ChainRules::calm(locking), seed);
            let (first, second) = (cluster.join(1), cluster.join(2));
            let ids = cluster.pays(&first, &RECEIVERS);
            cluster.service.sim.run_for(seed * 331);
            first.sim.kill("killed by the test");
            drop(first);
            cluster.ends(&format!("{locking:?} seed={seed}"), &second, &ids, &RECEIVERS);
        }
    }
}

/// Turns red where what a dead worker had in its rings goes in attempts of one: each takes a lane for seconds.
#[test]
fn what_waited_for_an_attempt_goes_on_in_company() {
    const MANY: [&str; 60] = ["alice"; 60];
    for locking in LOCKINGS {
        let cluster = Cluster::new(ChainRules::calm(locking), 7);
        let (first, second) = (cluster.join(1), cluster.join(2));
        // the first attempts take every lane, and stay open
        cluster.ports.chain.swallow(true);
        let ids = cluster.pays(&first, &MANY);
        cluster.service.sim.run_for(5_000);
        first.sim.kill("killed by the test");
        drop(first);
        cluster.ports.chain.swallow(false);
        cluster.ends(&format!("{locking:?}"), &second, &ids, &MANY);
        let attempts = attempts(&second, &ids);
        assert!(attempts.len() < MANY.len() / 2, "{locking:?}: {} attempts", attempts.len());
    }
}

/// Turns red where an owner may die of a batch again and again: what it tried is not known to the next one.
#[test]
fn one_that_was_tried_by_a_dead_worker_goes_alone() {
    const MANY: [&str; 30] = ["alice"; 30];
    let play = |dies: Option<u64>| {
        let cluster = Cluster::new(ChainRules::calm(Locking::Nonce), 7);
        let (first, second) = (cluster.join(1), cluster.join(2));
        for (link, n) in second.links.iter().zip(dies) {
            link.plan(n, ChainTrouble::CrashBefore);
        }
        cluster.ports.chain.swallow(true);
        let ids = cluster.pays(&first, &MANY);
        cluster.service.sim.run_for(5_000);
        first.sim.kill("killed by the test");
        cluster.ports.chain.swallow(false);
        cluster.service.sim.run_for(20_000);
        (cluster, second, ids)
    };
    let (_, second, _) = play(None);
    let calls: Vec<_> = second.links.iter().flat_map(|link| link.log_of_calls()).collect();
    let signs = |call: &ChainCall| call.moment == Moment::Sign && call.states.len() > 1;
    let Some(n) = calls.iter().position(signs) else { panic!("none goes in company") };

    let (cluster, _second, ids) = play(u64::try_from(n).ok());
    let third = cluster.join(3);
    let records = third.sim.block_on({
        let (journal, ids) = (third.process.opened.journal.clone(), ids.clone());
        async move { journal.get(ids).await }
    });
    let Ok(Ok(records)) = records else { panic!("{records:?}") };
    let tried = records.iter().filter(|record| record.head.deaths > 0);
    let tried: Vec<Id> = tried.map(|record| record.id).collect();
    assert!(!tried.is_empty(), "the journal does not know what was tried");
    cluster.ends("a third worker", &third, &ids, &MANY);
    for id in tried {
        let sizes = attempts(&third, &[id]).into_iter().map(|attempt| attempt.members.len());
        assert_eq!(sizes.last(), Some(1), "{id}");
    }
}

/// The attempts in which these transfers were, oldest first.
fn attempts(worker: &ChainWorker, ids: &[Id]) -> Vec<Attempt> {
    let (journal, ids) = (worker.process.opened.journal.clone(), ids.to_vec());
    match worker.sim.block_on(async move { journal.attempts_of(ids).await }) {
        Ok(Ok(attempts)) => attempts,
        other => panic!("{other:?}"),
    }
}

/// A worker that stands still for longer than its lease, and goes on as if nothing had been.
#[test]
fn a_worker_that_stood_still_pays_no_member_twice() {
    for locking in LOCKINGS {
        for seed in 0..12 {
            let cluster = Cluster::new(ChainRules::calm(locking), 100 + seed);
            let (first, second) = (cluster.join(1), cluster.join(2));
            let ids = cluster.pays(&first, &RECEIVERS);
            cluster.service.sim.run_for(seed * 257);
            first.sim.pause();
            cluster.service.sim.run_for(20_000);
            first.sim.resume();
            cluster.ends(&format!("{locking:?} seed={seed}"), &second, &ids, &RECEIVERS);
        }
    }
}

/// The same on a chain that reorganises, loses and misleads.
#[test]
fn two_workers_on_a_rough_chain() {
    for locking in LOCKINGS {
        for seed in 0..12 {
            let cluster = Cluster::new(ChainRules::rough(locking), 200 + seed);
            let (first, second) = (cluster.join(1), cluster.join(2));
            let ids = cluster.pays(&first, &RECEIVERS);
            cluster.service.sim.run_for(seed * 911);
            if seed % 2 == 0 {
                first.sim.kill("killed by the test");
            } else {
                first.sim.pause();
                cluster.service.sim.run_for(20_000);
                first.sim.resume();
            }
            cluster.ends(&format!("{locking:?} seed={seed}"), &second, &ids, &RECEIVERS);
        }
    }
}

/// Each of two workers has a watcher, and one of them dies or stands still. Turns red where both watchers open
/// a deposit, or an attempt on either chain is made again by the worker that lives.
#[test]
fn two_workers_end_each_swap_once() {
    for case in SWAP_CASES {
        for seed in 0..3 {
            let cluster = Cluster::of_swaps(&case, ChainRules::calm(Locking::Reference), seed);
            let (first, second) = (cluster.join(1), cluster.join(2));
            let watches =
                case.insists(ChainClient::at(&cluster.service.sim, &first.process, &cluster.ports));
            first.sim.start(async move { drop(watches.await) });
            cluster.service.sim.run_for(200 + seed * 2_617);
            if seed == 1 {
                first.sim.pause();
            } else {
                first.sim.kill("killed by the test");
            }
            let line = format!("{}, {}, seed={seed}", case.flow, case.name);
            let at = ChainClient::at(&cluster.service.sim, &second.process, &cluster.ports);
            let (watches, clock) = (case.insists(at), second.sim.clone());
            let ended = second.sim.block_on(async move {
                let ended = watches.await;
                clock.sleep(60_000).await;
                ended
            });
            let Ok(Ok(ended)) = ended else { panic!("{line}: {ended:?}") };
            if seed == 1 {
                first.sim.resume();
                cluster.service.sim.run_for(60_000);
            }
            let linked = cluster.ports.linked().into_iter();
            let chains: Vec<SimChain> = linked.map(|linked| linked.chain).collect();
            let mut faults = case.faults(&chains, &ended, Harm::Death);
            faults.extend(chains.iter().flat_map(SimChain::faults));
            let cases = cluster.place.cases().into_iter().filter(|kind| *kind != "ATTEMPT_SLOW");
            faults.extend(cases.map(|kind| format!("a case: {kind}")));
            assert!(faults.is_empty(), "{line}: {faults:#?}");
        }
    }
}

/// A port whose looks at all lanes take eight seconds before they are made.
struct SlowLook {
    inner: Arc<dyn Chain>,
    clock: Sim,
}

impl ChainWrapper for SlowLook {
    fn inner(&self) -> &dyn Chain {
        &*self.inner
    }

    fn ahead<'a>(&'a self, marks: &'a [LaneMark]) -> Fut<'a, Result<Vec<LaneSpent>, Cause>> {
        Box::pin(async move {
            self.clock.sleep(8_000).await;
            self.inner.ahead(marks).await
        })
    }
}

/// Turns red where a lane that another worker used since its row was read here is taken for one that is used
/// elsewhere (run: without the second reading of the row).
#[test]
fn another_worker_is_no_foreigner() {
    let mut cluster = Cluster::new(ChainRules::calm(Locking::Nonce), 5);
    let clock = cluster.service.sim.clone();
    cluster.service.wraps.chain =
        Arc::new(move |inner| Arc::new(Wrapper(SlowLook { inner, clock: clock.clone() })));
    let (one, other) = (cluster.join(1), cluster.join(2));
    let mut ids = Vec::new();
    for n in 0..40 {
        let worker = if n % 4 < 2 { &one } else { &other };
        ids.push((worker, cluster.pays_for(worker, &format!("{n}"), &RECEIVERS)));
        for _ in 0..4 {
            cluster.service.sim.run_for(1_000);
            assert_eq!(cluster.place.cases(), [""; 0], "after {n}");
        }
    }
    for (worker, ids) in ids {
        cluster.ends("at last", worker, &ids, &RECEIVERS);
    }
}
