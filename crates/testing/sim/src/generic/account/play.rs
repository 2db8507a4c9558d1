//! Plays one account case, from an empty service to the oracles.

use super::cases::AccountCase;
use super::client::{AccountClient, Tries, prepare, terms};
use super::oracle::AccountTruth;
use super::ports::{AccountPorts, settings};
use super::{AccountTrial, Spot};
use crate::event_log::{EventLog, LoggedEvent};
use crate::generic::chain::join;
use crate::journal::Place;
use crate::service::{SimProcess, SimService};
use crate::world::Sim;
use kernel::ids::FlowId;
use kernel::record::{Record, Terms};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A run that takes more steps than this is called endless.
const STEPS: u64 = 1_000_000;

/// A case being played; its words begin every complaint, and repeat the run.
struct Run<'a> {
    service: SimService,
    ports: AccountPorts,
    case: &'a AccountCase,
    flow: FlowId,
    line: String,
    log: EventLog,
    /// Everything was published again.
    repeated: Arc<AtomicBool>,
}

/// Plays a case with these disturbances, and holds its end against the oracles. What happened is given back.
pub(super) fn play(
    trial: &AccountTrial,
    case: &AccountCase,
    (fuse, seed): (bool, u64),
    spots: &[Spot],
) -> Vec<LoggedEvent> {
    let line = format!("account, {}, fuse={fuse} seed={seed} {spots:?}", case.name);
    let (sim, flows) = (Sim::new(seed), Arc::new(flows::registry()));
    let Some(flow) = flows.named("account") else { panic!("{line}: no such flow") };
    let place = Place::new(flows.clone());
    let site = (trial.site)(&sim, &place);
    let log = place.event_log.clone();
    let ports = AccountPorts::new(&sim, case, log.clone());
    let mut service = SimService::new(sim, flows, site, "account");
    service.settings = settings(fuse);
    service.wraps = trial.wraps.clone();
    let repeated = Arc::default();
    let mut run = Run { service, ports, case, flow, line, log: log.clone(), repeated };
    let process = run.service.start_alive(&run.line, |base| run.ports.parts(base));
    let prepared = run.service.sim.block_on(prepare(process.clone(), case.clone()));
    run.well("the accounts", prepared.map_err(|stop| format!("{stop:?}")).flatten());
    run.service.sim.bound(run.service.sim.steps() + STEPS);
    log.begin();
    for spot in spots {
        match *spot {
            Spot::Write(n, fault) => place.faults.plan(n, fault),
            Spot::Bus(n, trouble) => run.ports.link.plan(n, trouble),
        }
    }
    let (process, ended) = run.perform(process);
    let happened = log.read();
    run.judge(process, ended, fuse);
    happened
}

impl Run<'_> {
    #[track_caller]
    fn well<T>(&self, what: &str, result: Result<T, impl Debug>) -> T {
        result.unwrap_or_else(|error| panic!("{}: {what}: {error:?}", self.line))
    }

    fn terms(&self) -> Vec<Terms> {
        let numbered = (0..).zip(&*self.case.transfers);
        numbered.map(|(n, transfer)| terms(transfer, format!("case-{n}"))).collect()
    }

    /// Clients insist until every transfer ended and everything rests, over as many processes as it takes.
    fn perform(&mut self, process: SimProcess) -> (SimProcess, Vec<Record>) {
        let (terms, sim, flow) = (self.terms(), self.service.sim.clone(), self.flow);
        let Self { service, ports, case, line, repeated, .. } = self;
        let insist = |process: &SimProcess| {
            let (process, clock) = (process.clone(), Arc::new(sim.clone()));
            let client = AccountClient { process, clock, flow, tries: Tries::default() };
            insist(client, terms.clone(), (*case).clone(), ports.clone(), repeated.clone())
        };
        match service.outlive(line, process, |base| ports.parts(base), insist) {
            Ok((process, ended)) => (process, self.well("the clients", ended)),
            Err(stop) => {
                let log = self.log.read();
                let tail: Vec<_> = log.iter().rev().take(6).collect();
                let (time, events) = (self.service.sim.time(), log.len());
                panic!("{}: {stop:?} at {time}; {events} events, the last: {tail:?}", self.line)
            }
        }
    }

    fn judge(&self, process: SimProcess, ended: Vec<Record>, fuse: bool) {
        let about = (self.service.flows.table(self.flow).clone(), ended);
        let reads = AccountTruth::read(process, self.ports.bus.clone(), about);
        let truth = self.service.sim.block_on(reads);
        let truth = self.well("what is true", truth.map_err(|stop| format!("{stop:?}")));
        let faults = self.well("what is true", truth).faults(self.case, fuse);
        assert!(faults.is_empty(), "{}: {faults:#?}", self.line);
    }
}

/// What clients do at one process, until every transfer ended and everything rests.
async fn insist(
    client: AccountClient,
    terms: Vec<Terms>,
    case: AccountCase,
    ports: AccountPorts,
    repeated: Arc<AtomicBool>,
) -> Result<Vec<Record>, String> {
    if case.parks && ports.silent.load(Ordering::SeqCst) {
        client.clone().parks(terms.clone(), ports.silent).await?;
    }
    let asks = terms.into_iter().map(|terms| Box::pin(client.clone().insists(terms)));
    let ended: Result<Vec<Record>, String> = join(asks.collect()).await.into_iter().collect();
    let ended = ended?;
    client.rests(&ports.bus).await?;
    if case.repeats && !repeated.load(Ordering::SeqCst) {
        client.repeats().await?;
        repeated.store(true, Ordering::SeqCst);
        client.rests(&ports.bus).await?;
    }
    Ok(ended)
}
