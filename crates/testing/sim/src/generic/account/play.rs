//! One case, from an empty service to the oracles.

use super::cases::AccountCase;
use super::client::{AccountClient, Tries, prepare, terms};
use super::oracle::AccountTruth;
use super::service::{AccountProcess, AccountService};
use super::{AccountTrial, Spot};
use crate::event_log::{EventLog, LoggedEvent};
use crate::generic::chain::join;
use crate::journal::Place;
use crate::world::{Sim, Stop};
use kernel::ids::FlowId;
use kernel::record::{Record, Terms};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// More processes than any disturbance needs.
const LIVES: usize = 30;
/// A run that takes more steps than this is called endless.
const STEPS: u64 = 1_000_000;

/// A case being played; its words begin every complaint, and repeat the run.
struct Run<'a> {
    service: AccountService,
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
    let mut service = AccountService::new(sim, flows, site, case, log.clone());
    service.fuse(fuse);
    service.wraps = trial.wraps.clone();
    let mut run = Run { service, case, flow, line, log: log.clone(), repeated: Arc::default() };
    let process = run.start();
    let prepared = run.service.sim.block_on(prepare(process.clone(), case.clone()));
    run.well("the accounts", prepared.map_err(|stop| format!("{stop:?}")).flatten());
    run.service.sim.bound(run.service.sim.steps() + STEPS);
    log.begin();
    for spot in spots {
        match *spot {
            Spot::Write(n, fault) => place.faults.plan(n, fault),
            Spot::Bus(n, trouble) => run.service.link.plan(n, trouble),
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

    fn start(&mut self) -> AccountProcess {
        for _ in 0..LIVES {
            match self.service.start() {
                Ok(process) => return process,
                Err(Stop::Dead(why)) if why.starts_with("crashed") => {}
                Err(stop) => panic!("{}: a start: {stop:?}", self.line),
            }
        }
        panic!("{}: it dies at every start", self.line)
    }

    fn terms(&self) -> Vec<Terms> {
        let numbered = (0..).zip(&*self.case.transfers);
        numbered.map(|(n, transfer)| terms(transfer, format!("case-{n}"))).collect()
    }

    /// Clients insist until every transfer ended and everything rests, over as many processes as it takes.
    fn perform(&mut self, mut process: AccountProcess) -> (AccountProcess, Vec<Record>) {
        for _ in 0..LIVES {
            let clock = Arc::new(self.service.sim.clone());
            let (flow, tries) = (self.flow, Tries::default());
            let client = AccountClient { process: process.clone(), clock, flow, tries };
            let all = self.insist(client);
            match self.service.sim.block_on(all) {
                Ok(ended) => return (process, self.well("the clients", ended)),
                Err(Stop::Dead(why)) if why.starts_with("crashed") => {}
                Err(stop) => {
                    let log = self.log.read();
                    let tail: Vec<_> = log.iter().rev().take(6).collect();
                    let time = self.service.sim.time();
                    panic!(
                        "{}: {stop:?} at {time}; {} events, the last: {tail:?}",
                        self.line,
                        log.len()
                    )
                }
            }
            drop(process);
            process = self.start();
        }
        panic!("{}: it dies for ever", self.line)
    }

    fn insist(
        &self,
        client: AccountClient,
    ) -> impl Future<Output = Result<Vec<Record>, String>> + Send + use<> {
        let (terms, case, bus) = (self.terms(), self.case.clone(), self.service.bus.clone());
        let (silent, repeated) = (self.service.silent.clone(), self.repeated.clone());
        async move {
            if case.parks && silent.load(Ordering::SeqCst) {
                client.clone().parks(terms.clone(), silent).await?;
            }
            let asks = terms.into_iter().map(|terms| Box::pin(client.clone().insists(terms)));
            let ended: Result<Vec<Record>, String> =
                join(asks.collect()).await.into_iter().collect();
            let ended = ended?;
            client.rests(&bus).await?;
            if case.repeats && !repeated.load(Ordering::SeqCst) {
                client.repeats().await?;
                repeated.store(true, Ordering::SeqCst);
                client.rests(&bus).await?;
            }
            Ok(ended)
        }
    }

    fn judge(&self, process: AccountProcess, ended: Vec<Record>, fuse: bool) {
        let about = (self.service.flows.table(self.flow).clone(), ended);
        let reads = AccountTruth::read(process, self.service.bus.clone(), about);
        let truth = self.service.sim.block_on(reads);
        let truth = self.well("what is true", truth.map_err(|stop| format!("{stop:?}")));
        let faults = self.well("what is true", truth).faults(self.case, fuse);
        assert!(faults.is_empty(), "{}: {faults:#?}", self.line);
    }
}
