//! Plays a case with two workers over one journal and the same chains: one dies or pauses with attempts in its
//! hands, and the other one continues everything.

use super::waits::CaseWatch;
use super::{CaseEnv, ChainCase, ChainClient, ChainTrial, Harm, Run, ended_and_final};
use crate::chain::{ChainPorts, ChainTrouble, FaultyChain, PlayedChain};
use crate::event_log::LoggedEvent;
use crate::generic::WorkerEnd;
use crate::journal::Place;
use crate::service::{SimProcess, SimService, SimWorker, Wrap, around, simulated};
use crate::world::Sim;
use engine::operators::{Actor, AdminAction};
use kernel::ids::{ChainId, Millis};
use kernel::operators::Scope;
use kernel::ports::chain::Chain;
use kernel::ports::clock::Clock;
use std::ops::Range;
use std::sync::Arc;
use testkit::wrapper::{ChainWrapper, Wrapper};

/// The person who pauses a chain.
const PERSON: &str = "sim|operator";
/// How long that one waits before the next try.
const AGAIN: Millis = 1_000;

/// A worker, in a process of its own.
#[derive(Debug, Clone)]
pub struct ChainWorker {
    /// Its process, which the test kills or pauses.
    pub sim: Sim,
    /// Its engine and its journal.
    pub process: SimProcess,
    /// Its link to each chain.
    pub links: Vec<Arc<FaultyChain>>,
}

/// What happens to two workers.
#[derive(Debug, Clone)]
pub struct ChainWorkers {
    /// What befalls the first one.
    pub end: WorkerEnd,
    /// When that happens, in milliseconds after its clients began.
    pub after: Millis,
    /// What goes wrong with calls of chains, by the number that the call has at its worker: with the same call of
    /// both, at each chain.
    pub troubles: Vec<(u64, ChainTrouble)>,
    /// The first one lacks the last key of the second one, as during a rotation of keys.
    pub apart: bool,
    /// A person pauses the chain at the second one, from the first of these times to the other.
    pub paused: Option<Range<Millis>>,
    /// The journal's standby is away for this time before the first one ends, and takes the primary's place then.
    pub fails_over: Option<Millis>,
}

/// A port of a process that has some of the keys of its chain.
struct SomeLanes {
    inner: Arc<dyn Chain>,
    lanes: Range<usize>,
}

impl ChainWrapper for SomeLanes {
    fn inner(&self) -> &dyn Chain {
        &*self.inner
    }

    fn lanes(&self, act: &str) -> Vec<Arc<str>> {
        let all = self.inner.lanes(act).into_iter();
        all.skip(self.lanes.start).take(self.lanes.len()).collect()
    }
}

/// The wrap of processes that have only these keys of their chains.
pub fn some_lanes(lanes: Range<usize>) -> Wrap<dyn Chain> {
    Arc::new(move |inner| Arc::new(Wrapper(SomeLanes { inner, lanes: lanes.clone() })))
}

/// A worker joins those of a service over the journal of this place.
///
/// # Panics
/// Where it does not start.
pub fn joined<C: PlayedChain>(
    service: &SimService,
    ports: &ChainPorts<C>,
    place: &Place,
    number: u64,
) -> ChainWorker {
    let mut links = Vec::new();
    let joined = service.join(place, number, |base| {
        let own = ports.of_worker(base.sim, &service.flows);
        links.extend(own.linked().into_iter().map(|linked| linked.link));
        own.parts(base)
    });
    let SimWorker { sim, process } = joined.unwrap_or_else(|stop| panic!("{stop:?}"));
    ChainWorker { sim, process, links }
}

/// A person pauses a chain at a worker for that time.
async fn pauses(at: ChainWorker, chain: ChainId, span: Range<Millis>) {
    let (engine, scope) = (at.process.engine.clone(), Scope::Chain(chain));
    let actor = |key: &str| Actor {
        caller: PERSON.into(),
        key: key.into(),
        reason: "a look at the chain".into(),
    };
    at.sim.sleep(span.start).await;
    while engine.operators.execute(actor("pause"), AdminAction::Pause(scope)).await.is_err() {
        at.sim.sleep(AGAIN).await;
    }
    at.sim.sleep(span.end.saturating_sub(span.start)).await;
    loop {
        if let Ok(status) = at.process.opened.journal.service_status().await {
            let own = status.paused.iter().find(|paused| &*paused.caller == PERSON);
            let Some(own) = own else { return };
            let key = format!("lift at {}", at.sim.time());
            drop(engine.operators.execute(actor(&key), AdminAction::Unpause(own.number)).await);
        }
        at.sim.sleep(AGAIN).await;
    }
}

/// Plays a case at the first of two workers, ends that one after a while, and holds what the other one makes of it
/// against the oracles. The writes are given back.
pub(super) fn two_workers<C: ChainCase>(
    trial: &ChainTrial<C>,
    case: &C,
    seed: u64,
    workers: &ChainWorkers,
) -> Vec<LoggedEvent> {
    let (flow, words, locking) = (case.flow(), case.words(), trial.rules.locking);
    let line = format!("{flow}, {words}, {locking:?} seed={seed} {workers:?}");
    let (sim, flows) = (Sim::new(seed), Arc::new(flows::registry()));
    let place = Place::new(flows.clone());
    // never opened: each worker joins
    let site = simulated(&sim, &place);
    let env = CaseEnv { sim, flows, site, seed };
    let (mut service, ports) = case.service(trial.rules, env);
    service.settings.lease_ms = 3_000;
    service.wraps = trial.wraps.clone();
    let (all, lanes) = (service.wraps.clone(), trial.rules.lanes);
    if workers.apart && lanes > 1 {
        service.wraps.chain = around(all.chain.clone(), some_lanes(0..lanes - 1));
    }
    let first = joined(&service, &ports, &place, 1);
    service.wraps = all;
    let second = joined(&service, &ports, &place, 2);
    place.event_log.begin();
    for link in first.links.iter().chain(&second.links) {
        workers.troubles.iter().for_each(|(n, trouble)| link.plan(*n, *trouble));
    }
    let insists = case.insists(ChainClient::at(&service.sim, &first.process, &ports));
    first.sim.start(async move { drop(insists.await) });
    if let Some(paused) = workers.paused.clone() {
        second.sim.start(pauses(second.clone(), ports.chain_id(), paused));
    }
    let away = workers.fails_over.unwrap_or_default();
    service.sim.run_for(workers.after.saturating_sub(away));
    if workers.fails_over.is_some() {
        place.lose_standby();
        service.sim.run_for(away);
    }
    workers.end.befalls(&first.sim);
    if workers.fails_over.is_some() {
        place.fail_over();
    }
    let insists = case.insists(ChainClient::at(&service.sim, &second.process, &ports));
    let journal = second.process.opened.journal.clone();
    let watch = CaseWatch::over(&place, flow);
    let insists = watch.watched(insists, second.sim.clone());
    let ended = second.sim.block_on(ended_and_final(insists, second.sim.clone(), journal));
    let ended = match ended {
        Ok(Ok(ended)) => ended,
        why => panic!("{line}: {why:?}; {:?}; {}", place.cases(), place.stands()),
    };
    let log = place.event_log.clone();
    // what the first one had in its hands waits for its leases
    let run = Run {
        service,
        ports,
        place,
        case,
        line,
        slow: true,
        apart: workers.apart,
        set_back: false,
        deaths: 1,
        watch,
        harm: Harm::More,
    };
    run.judge(&second.process, &ended);
    log.read()
}
