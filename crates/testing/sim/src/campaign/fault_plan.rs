//! Plans the faults from outside: the process is killed or paused, the wall clock jumps, a ledger stops answering.

use super::env::Env;
use super::network::NetworkLink;
use super::oracles::Oracles;
use super::{Knob, Options};
use crate::world::{Sim, SplitMix};
use kernel::ids::Millis;
use kernel::ports::clock::Clock;
use std::sync::Arc;

/// How long a process is paused at most.
const PAUSE: Millis = 120_000;
/// How long one does not reach a ledger at most.
pub(super) const SILENT: Millis = 90_000;

/// How long sums are read wrong at most: the check of conservation comes every ten seconds.
pub(super) const MISREAD: Millis = 15_000;

/// How far a clock is wrong after a jump: by no more than the run allows.
pub(super) fn skew(draws: &mut SplitMix, options: &Options) -> i64 {
    let most = options.some(Knob::JumpMost);
    let [jump, most] = [draws.next() % (2 * most), most].map(i64::try_from);
    jump.unwrap_or(0) - most.unwrap_or(0)
}

/// One kind of fault: how often on average, and its own chance.
struct FaultPlan {
    every: Millis,
    draws: SplitMix,
    sim: Sim,
}

impl FaultPlan {
    /// The fault of this knob for one process; none where its rate is 0.
    fn of(env: &Env, knob: Knob, life: u64) -> Option<Self> {
        let every = env.options.get(knob);
        let own = u64::try_from(Knob::ALL.iter().position(|k| *k == knob).unwrap_or(0));
        let draws = SplitMix(env.options.seed ^ (life << 32) ^ (own.unwrap_or(0) << 16));
        (every > 0).then(|| Self { every, draws, sim: env.sim.clone() })
    }

    async fn wait(&mut self) {
        let wait = 1 + self.draws.next() % (2 * self.every);
        self.sim.sleep(wait).await;
    }
}

/// Starts the faults of one process.
pub(super) fn loose(env: &Env, life: u64) {
    if let Some(mut plan) = FaultPlan::of(env, Knob::Kill, life) {
        env.sim.start(async move {
            plan.wait().await;
            plan.sim.kill("crashed: killed");
        });
    }
    if let Some(mut plan) = FaultPlan::of(env, Knob::Pause, life) {
        env.sim.start(async move {
            loop {
                plan.wait().await;
                let pause = plan.draws.next() % PAUSE;
                plan.sim.stall(pause);
            }
        });
    }
    if let Some(mut plan) = FaultPlan::of(env, Knob::Jump, life) {
        let options = env.options.clone();
        env.sim.start(async move {
            loop {
                plan.wait().await;
                let wrong = skew(&mut plan.draws, &options);
                plan.sim.skew(wrong);
            }
        });
    }
    if let Some(plan) = FaultPlan::of(env, Knob::Misread, life) {
        env.sim.start(misread(plan, (env.links.clone(), env.oracles.clone())));
    }
    let links = env.links.clone();
    if let Some(plan) = FaultPlan::of(env, Knob::Silence, life) {
        env.sim.start(silence(plan, links));
    }
}

/// The ledgers' sums are read wrong for a while.
async fn misread(mut plan: FaultPlan, (links, oracles): (Vec<Arc<NetworkLink>>, Oracles)) {
    loop {
        plan.wait().await;
        oracles.misreads();
        links.iter().for_each(|link| link.misread(true));
        let wait = plan.draws.next() % MISREAD;
        plan.sim.sleep(wait).await;
        links.iter().for_each(|link| link.misread(false));
    }
}

/// One ledger or the other says nothing for a while.
async fn silence(mut plan: FaultPlan, links: Vec<Arc<NetworkLink>>) {
    loop {
        plan.wait().await;
        let spare = plan.draws.once_in(1, 2);
        let link = if spare { links.first() } else { links.last() };
        let Some(link) = link else { return };
        link.route.silence(true);
        let wait = plan.draws.next() % SILENT;
        plan.sim.sleep(wait).await;
        link.route.silence(false);
    }
}
