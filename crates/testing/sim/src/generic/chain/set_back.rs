//! Plays a case over a journal that is set back: what was paid since its backup is on the chain alone. Some of the keys
//! have a row in the backup, one was used first behind it, and one is new.

use super::waits::CaseWatch;
use super::workers::{ChainWorker, joined, some_lanes};
use super::{CaseEnv, ChainCase, ChainClient, ChainTrial, Harm, Run, ended_and_final};
use crate::chain::Moment;
use crate::generic::Played;
use crate::journal::Place;
use crate::service::{around, simulated};
use crate::world::Sim;
use engine::operators::{ActionResult, Actor, AdminAction};
use kernel::ids::Millis;
use kernel::operators::Scope;
use kernel::ports::clock::Clock;
use std::sync::Arc;

/// The number of keys: one of the first process, one of the second, and one that only the last process has beside them.
pub(super) const LANES: usize = 3;
/// What was sent before the restore is in a block after this time, or never will be: persons wait for that.
const LANDED: Millis = 60_000;
/// The interval in which two persons look at what stands.
const LOOK: Millis = 5_000;

/// A journal that is set back.
#[derive(Debug, Clone)]
pub struct ChainSetBack {
    /// When its backup is made, in milliseconds after the clients began.
    pub after: Millis,
    /// What it loses, in milliseconds.
    pub lost: Millis,
    /// The first process dies at the backup: the second one, whose key is used first then, goes on with its transfers.
    pub dies: bool,
}

impl ChainSetBack {
    const ROW: &'static str = "set back: a key with a row was used since";
    const NO_ROW: &'static str = "set back: a key without a row was used since";

    /// Each kind of disturbance that a run of it may have.
    pub(super) fn kinds() -> [String; 2] {
        [Self::ROW, Self::NO_ROW].map(str::to_owned)
    }
}

/// What a worker sent so far.
fn sent(worker: &ChainWorker) -> usize {
    let calls = worker.links.iter().flat_map(|link| link.log());
    calls.filter(|moment| *moment == Moment::Broadcast).count()
}

/// Two persons lift what the engine stops for what it read on the chain.
async fn lifts(at: ChainWorker) {
    let engine = at.process.engine.clone();
    let actor = |caller: &str, key: &str| Actor {
        caller: caller.into(),
        key: key.into(),
        reason: "compared with the chain".into(),
    };
    loop {
        at.sim.sleep(LOOK).await;
        let Ok(status) = at.process.opened.journal.service_status().await else { continue };
        let of_engine = status
            .paused
            .iter()
            .find(|paused| matches!(paused.scope, Scope::Chain(_)) && &*paused.caller == "engine");
        let Some(stop) = of_engine else { continue };
        let key = format!("{} at {}", stop.number, at.sim.time());
        let one =
            engine.operators.execute(actor("sim|one", &key), AdminAction::Unpause(stop.number));
        if let Ok(done) = one.await
            && let ActionResult::Proposed { approval } = done.outcome
        {
            let approve = AdminAction::Approve(approval);
            drop(engine.operators.execute(actor("sim|other", &key), approve).await);
        }
    }
}

/// Plays a case whose journal is set back, and holds its end against the oracles.
pub(super) fn set_back<C: ChainCase>(
    trial: &ChainTrial<C>,
    case: &C,
    seed: u64,
    plan: &ChainSetBack,
) -> Played {
    let (flow, words, locking) = (case.flow(), case.words(), trial.rules.locking);
    let line = format!("{flow}, {words}, {locking:?} seed={seed} {plan:?}");
    let (sim, flows) = (Sim::new(seed), Arc::new(flows::registry()));
    let place = Place::new(flows.clone());
    let site = simulated(&sim, &place);
    let env = CaseEnv { sim, flows, site, seed };
    let (mut service, ports) = case.service(trial.rules, env);
    service.settings.lease_ms = 3_000;
    let all = trial.wraps.clone();
    service.wraps = all.clone();
    service.wraps.chain = around(all.chain.clone(), some_lanes(0..1));
    let first = joined(&service, &ports, &place, 1);
    place.event_log.begin();
    let insists = case.insists(ChainClient::at(&first.sim, &first.process, &ports));
    first.sim.start(async move { drop(insists.await) });
    service.sim.run_for(plan.after);
    let (backup, before) = (place.backup(), sent(&first));
    service.wraps.chain = around(all.chain.clone(), some_lanes(1..2));
    let second = joined(&service, &ports, &place, 2);
    if plan.dies {
        first.sim.kill("killed by the test");
    }
    service.sim.run_for(plan.lost);
    first.sim.kill("killed by the test");
    second.sim.kill("killed by the test");
    let used =
        [(sent(&first) > before, ChainSetBack::ROW), (sent(&second) > 0, ChainSetBack::NO_ROW)];
    // no process is left: time passes by itself
    service.sim.stall(LANDED);
    place.restore(backup);
    service.wraps = all;
    let last = joined(&service, &ports, &place, 3);
    last.sim.start(lifts(last.clone()));
    let insists = case.insists(ChainClient::at(&last.sim, &last.process, &ports));
    let journal = last.process.opened.journal.clone();
    let watch = CaseWatch::over(&place, flow);
    let insists = watch.watched(insists, last.sim.clone());
    let ended = last.sim.block_on(ended_and_final(insists, last.sim.clone(), journal));
    let ended = match ended {
        Ok(Ok(ended)) => ended,
        why => panic!("{line}: {why:?}; {:?}; {}", place.cases(), place.stands()),
    };
    let log = place.event_log.clone();
    let run = Run {
        service,
        ports,
        place,
        case,
        line,
        slow: true,
        apart: true,
        set_back: true,
        deaths: 2,
        watch,
        harm: Harm::More,
    };
    run.judge(&last.process, &ended);
    let kinds = used.into_iter().filter(|(used, _)| *used).map(|(_, kind)| kind.to_owned());
    Played { kinds: kinds.collect(), planned: format!("{plan:?}"), log: log.read() }
}
