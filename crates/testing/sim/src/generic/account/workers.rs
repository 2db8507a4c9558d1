//! Plays an account case with two workers over one journal and one broker: one dies or pauses with messages in its
//! hands, and the other one continues everything.

use super::cases::AccountCase;
use super::client::{AccountClient, Tries, prepare, terms};
use super::oracle::AccountTruth;
use super::ports::{AccountPorts, settings};
use crate::bus::{BusTrouble, FaultyBus};
use crate::event_log::LoggedEvent;
use crate::generic::WorkerEnd;
use crate::generic::chain::join;
use crate::journal::Place;
use crate::service::{PortWraps, SimService, SimWorker, simulated};
use crate::world::Sim;
use engine::Settings;
use kernel::ids::Millis;
use kernel::record::{Record, Terms};
use std::sync::Arc;

/// What happens to two workers.
#[derive(Debug, Clone)]
pub struct WorkerRun {
    /// What becomes of the first one.
    pub end: WorkerEnd,
    /// When that happens, in milliseconds after its client began.
    pub after: Millis,
    /// The schedule of all tasks.
    pub seed: u64,
    /// What goes wrong with calls of the bus, by the number that the call has at its worker: with the same
    /// call of both.
    pub troubles: Vec<(u64, BusTrouble)>,
    /// Around the ports of both: where a wrong build stands.
    pub wraps: PortWraps,
}

impl WorkerRun {
    /// Nothing goes wrong beside the end of the first one.
    pub fn of(end: WorkerEnd, after: Millis, seed: u64) -> Self {
        Self { end, after, seed, troubles: Vec::new(), wraps: PortWraps::default() }
    }
}

/// A worker, in a process of its own.
struct Worker {
    sim: Sim,
    link: FaultyBus,
    client: AccountClient,
}

/// Opens the transfers of a case at the first of two workers, ends that one after a while, and holds what the
/// other makes of them against the oracles. What happened is given back.
///
/// # Panics
/// Where something is wrong, with the line that repeats it.
pub fn two_workers(case: &AccountCase, run: &WorkerRun) -> Vec<LoggedEvent> {
    let WorkerRun { end, after, seed, troubles, .. } = run;
    let line = format!("account, {}, {end:?} after={after} seed={seed} {troubles:?}", case.name);
    let (sim, flows) = (Sim::new(*seed), Arc::new(flows::registry()));
    let Some(flow) = flows.named("account") else { panic!("{line}: no such flow") };
    let place = Place::new(flows.clone());
    // never opened: each worker joins
    let site = simulated(&sim, &place);
    let log = place.event_log.clone();
    let ports = AccountPorts::new(&sim, case, log.clone());
    let mut service = SimService::new(sim, flows, site, "account");
    service.wraps = run.wraps.clone();
    service.settings = Settings { lease_ms: 3_000, ..settings(true) };
    let joined = |number| joined(&service, &ports, &place, number);
    let (first, second) = (joined(1), joined(2));
    let prepared = first.sim.block_on(prepare(first.client.process.clone(), case.clone()));
    assert_eq!(prepared, Ok(Ok(())), "{line}");
    log.begin();
    for (n, trouble) in troubles {
        for worker in [&first, &second] {
            worker.link.plan(*n, *trouble);
        }
    }
    let all: Vec<Terms> = (0..)
        .zip(&*case.transfers)
        .map(|(n, transfer)| terms(transfer, format!("case-{n}")))
        .collect();
    let (client, wanted) = (first.client.clone(), all.clone());
    first.sim.start(async move {
        for terms in wanted {
            drop(client.opens(&terms).await);
        }
    });
    service.sim.run_for(*after);
    end.befalls(&first.sim);
    let (client, bus) = (second.client.clone(), ports.bus.clone());
    let ended = second.sim.block_on(async move {
        let asks = all.into_iter().map(|terms| Box::pin(client.clone().insists(terms)));
        let ended: Vec<Result<Record, String>> = join(asks.collect()).await;
        let ended = ended.into_iter().collect::<Result<Vec<Record>, String>>()?;
        client.rests(&bus).await?;
        Ok::<_, String>(ended)
    });
    let Ok(Ok(ended)) = ended else { panic!("{line}: {ended:?}") };
    let about = (service.flows.table(flow).clone(), ended);
    let reads = AccountTruth::read(second.client.process.clone(), ports.bus.clone(), about);
    let truth = second.sim.block_on(reads);
    let Ok(Ok(truth)) = truth else { panic!("{line}: {truth:?}") };
    let faults = truth.faults(case, true);
    assert!(faults.is_empty(), "{line}: {faults:#?}");
    log.read()
}

fn joined(service: &SimService, ports: &AccountPorts, place: &Place, number: u64) -> Worker {
    let Some(flow) = service.flows.named(service.flow) else { panic!("no {}", service.flow) };
    let own = ports.of_worker(&service.sim.process(number), place.event_log.clone());
    let joined = service.join(place, number, |base| own.parts(base));
    let SimWorker { sim, process } = joined.unwrap_or_else(|stop| panic!("{stop:?}"));
    let (clock, tries) = (Arc::new(sim.clone()), Tries::default());
    Worker { client: AccountClient { process, clock, flow, tries }, link: own.link, sim }
}
