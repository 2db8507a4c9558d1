//! Two workers over one journal and the same chains: one dies or stands still with attempts in its hands, and the
//! other one goes on with everything.

use super::{CaseEnv, ChainCase, ChainClient, ChainTrial, Harm, Run, ended_and_final};
use crate::chain::{
    ChainProcess, ChainService, ChainTrouble, FaultyChain, LinkedChain, PlayedChain,
};
use crate::event_log::LoggedEvent;
use crate::generic::WorkerEnd;
use crate::journal::Place;
use crate::service::simulated;
use crate::world::Sim;
use engine::Engine;
use kernel::ids::{Millis, WorkerId};
use kernel::ports::chain::Chain;
use std::sync::Arc;

/// A worker, in a process of its own.
#[derive(Debug)]
pub struct ChainWorker {
    /// Its process, which the test kills or pauses.
    pub sim: Sim,
    /// Its engine and its journal.
    pub process: ChainProcess,
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
}

/// A worker joins those of a service over the journal of this place.
///
/// # Panics
/// Where it does not start.
pub fn joined<C: PlayedChain>(
    service: &ChainService<C>,
    place: &Place,
    number: u64,
) -> ChainWorker {
    let sim = service.sim.process(number);
    let journal = place.join(Arc::new(sim.clone()), sim.crash(), WorkerId(number));
    let opened = journal.opened();
    let link = |linked: LinkedChain<C>| {
        Arc::new(FaultyChain::new(linked.chain.adapter(&service.flows), sim.crash()))
    };
    let links: Vec<Arc<FaultyChain>> = service.linked().into_iter().map(link).collect();
    let port = |link: &Arc<FaultyChain>| -> Arc<dyn Chain> { link.clone() };
    let parts = service.parts(&sim, &opened, links.iter().map(port).collect(), number);
    let started = sim.block_on(Engine::start(parts));
    let Ok(Ok(engine)) = started else { panic!("{:?}", started.map(|s| s.map(|_| ()))) };
    ChainWorker { sim, process: ChainProcess { engine, opened }, links }
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
    let mut service = case.service(trial.rules, CaseEnv { sim, flows, site, seed });
    service.settings.lease_ms = 3_000;
    service.around_chain = trial.around_chain.clone();
    service.around_journal = trial.around_journal.clone();
    let (first, second) = (joined(&service, &place, 1), joined(&service, &place, 2));
    place.event_log.begin();
    for link in first.links.iter().chain(&second.links) {
        workers.troubles.iter().for_each(|(n, trouble)| link.plan(*n, *trouble));
    }
    let insists = case.insists(ChainClient::at(&service, &first.process));
    first.sim.start(async move { drop(insists.await) });
    service.sim.run_for(workers.after);
    workers.end.befalls(&first.sim);
    let insists = case.insists(ChainClient::at(&service, &second.process));
    let ended = second.sim.block_on(ended_and_final(insists, second.sim.clone()));
    let ended = match ended {
        Ok(Ok(ended)) => ended,
        why => panic!("{line}: {why:?}; {:?}", place.cases()),
    };
    let log = place.event_log.clone();
    // what the first one had in its hands waits for its leases
    let run = Run { service, place, case, line, slow: true, harm: Harm::More };
    run.judge(&second.process, &ended);
    log.read()
}
