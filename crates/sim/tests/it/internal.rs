//! The internal flow under the three generic tests, with the Spot core and with a ledger in memory.

use crate::outside::{in_memory, on_disk};
use kernel::ids::LedgerId;
use kernel::ports::ledger::AccountStatus::{Disabled, Frozen};
use sim::generic::{
    Outside, Scene, Trial, crash_after_every_write, every_step_failed, every_step_twice,
};
use sim::world::Sim;
use std::sync::Arc;

const FUNDING: LedgerId = LedgerId::FUNDING;
const SPOT: LedgerId = LedgerId::SPOT;

/// Every way through the table, in both directions.
pub(crate) fn scenes() -> Vec<Scene> {
    let mut scenes = Vec::new();
    for (from, to) in [(FUNDING, SPOT), (SPOT, FUNDING)] {
        let scene = |name, amount, barred, ends| Scene { name, from, to, amount, barred, ends };
        scenes.extend([
            scene("commits", 100, None, "COMMITTED"),
            scene("takes all", Scene::HAS, None, "COMMITTED"),
            scene("has too little", Scene::HAS + 1, None, "FAILED"),
            scene("is frozen", 100, Some((from, Frozen)), "FAILED"),
            scene("has a frozen target", 100, Some((to, Frozen)), "COMMITTED"),
            scene("has a disabled target", 100, Some((to, Disabled)), "ROLLED_BACK"),
        ]);
    }
    scenes
}

pub(crate) fn trial(outside: fn(&Sim) -> Outside) -> Trial {
    let (scenes, outside) = (scenes(), Arc::new(outside));
    Trial { flow: "internal", scenes, outside, seeds: 0..2, wrong: None }
}

#[test]
fn internal_every_step_twice() {
    every_step_twice(&trial(in_memory));
    every_step_twice(&trial(on_disk));
}

#[test]
fn internal_every_step_failed() {
    every_step_failed(&trial(in_memory));
    every_step_failed(&trial(on_disk));
}

#[test]
fn internal_crash_after_every_write() {
    crash_after_every_write(&trial(in_memory));
    crash_after_every_write(&trial(on_disk));
}
