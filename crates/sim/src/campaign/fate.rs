//! What comes from outside: the process is killed or paused, the wall clock jumps, a ledger falls
//! silent.

use super::Knob;
use super::stage::Stage;
use super::way::Way;
use super::witness::Witness;
use crate::world::{Sim, SplitMix};
use kernel::ids::Millis;
use kernel::ports::clock::Clock;
use std::sync::Arc;

/// How far a clock jumps, in milliseconds.
const HOUR: u64 = 3_600_000;
/// How long a process is paused at most.
const PAUSE: Millis = 120_000;
/// How long one does not reach a ledger at most.
pub(super) const SILENT: Millis = 90_000;

/// How long sums are read wrong at most: the check of conservation comes every ten seconds.
pub(super) const MISREAD: Millis = 15_000;

/// How far a clock is wrong after a jump.
pub(super) fn skew(draws: &mut SplitMix) -> i64 {
    let [jump, hour] = [draws.next() % (2 * HOUR), HOUR].map(i64::try_from);
    jump.unwrap_or(0) - hour.unwrap_or(0)
}

/// One kind of fate: how often on average, and its own chance.
struct Fate {
    every: Millis,
    draws: SplitMix,
    sim: Sim,
}

impl Fate {
    /// The fate of this knob in a process's time; none where it never strikes.
    fn of(stage: &Stage, knob: Knob, life: u64) -> Option<Self> {
        let every = stage.options.get(knob);
        let own = u64::try_from(Knob::ALL.iter().position(|k| *k == knob).unwrap_or(0));
        let draws = SplitMix(stage.options.seed ^ (life << 32) ^ (own.unwrap_or(0) << 16));
        (every > 0).then(|| Self { every, draws, sim: stage.sim.clone() })
    }

    async fn wait(&mut self) {
        let wait = 1 + self.draws.next() % (2 * self.every);
        self.sim.sleep(wait).await;
    }
}

/// Lets fate loose on a process.
pub(super) fn loose(stage: &Stage, life: u64) {
    if let Some(mut fate) = Fate::of(stage, Knob::Kill, life) {
        stage.sim.start(async move {
            fate.wait().await;
            fate.sim.kill("crashed: killed");
        });
    }
    if let Some(mut fate) = Fate::of(stage, Knob::Pause, life) {
        stage.sim.start(async move {
            loop {
                fate.wait().await;
                let pause = fate.draws.next() % PAUSE;
                fate.sim.stall(pause);
            }
        });
    }
    if let Some(mut fate) = Fate::of(stage, Knob::Jump, life) {
        stage.sim.start(async move {
            loop {
                fate.wait().await;
                let wrong = skew(&mut fate.draws);
                fate.sim.skew(wrong);
            }
        });
    }
    if let Some(fate) = Fate::of(stage, Knob::Misread, life) {
        stage.sim.start(misread(fate, (stage.ways.clone(), stage.witness.clone())));
    }
    let ways = stage.ways.clone();
    if let Some(fate) = Fate::of(stage, Knob::Silence, life) {
        stage.sim.start(silence(fate, ways));
    }
}

/// The ledgers' sums are read wrong for a while.
async fn misread(mut fate: Fate, (ways, witness): (Vec<Arc<Way>>, Witness)) {
    loop {
        fate.wait().await;
        witness.misreads();
        ways.iter().for_each(|way| way.misread(true));
        let wait = fate.draws.next() % MISREAD;
        fate.sim.sleep(wait).await;
        ways.iter().for_each(|way| way.misread(false));
    }
}

/// One ledger or the other says nothing for a while.
async fn silence(mut fate: Fate, ways: Vec<Arc<Way>>) {
    loop {
        fate.wait().await;
        let spare = fate.draws.once_in(1, 2);
        let way = if spare { ways.first() } else { ways.last() };
        let Some(way) = way else { return };
        way.silence(true);
        let wait = fate.draws.next() % SILENT;
        fate.sim.sleep(wait).await;
        way.silence(false);
    }
}
