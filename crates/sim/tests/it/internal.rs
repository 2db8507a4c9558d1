//! The internal flow under the three generic tests.

use kernel::ids::LedgerId;
use kernel::ports::Fut;
use kernel::ports::ledger::AccountStatus::{Disabled, Frozen};
use kernel::ports::ledger::Ledger;
use sim::generic::{
    Outside, Scene, Trial, crash_after_every_write, every_step_failed, every_step_twice,
};
use sim::house::Restart;
use sim::ledger::Plain;
use sim::suite::ledger::Profile;
use std::sync::{Arc, Mutex, PoisonError};

const FUNDING: LedgerId = LedgerId::FUNDING;
const SPOT: LedgerId = LedgerId::SPOT;

/// Every way through the table, in both directions.
fn scenes() -> Vec<Scene> {
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

/// An outside ledger in memory, restarted with each process.
fn in_memory() -> Outside {
    Arc::new(|_| {
        let last = Mutex::new(None::<Plain>);
        let restart: Restart = Arc::new(move |_| -> Fut<'static, Arc<dyn Ledger>> {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            let next = match &*last {
                Some(plain) => plain.restart(),
                None => Plain::new(SPOT, Profile::SPOT, 7),
            };
            let ledger: Arc<dyn Ledger> = Arc::new(next.clone());
            *last = Some(next);
            Box::pin(std::future::ready(ledger))
        });
        restart
    })
}

fn trial(outside: Outside) -> Trial {
    Trial { flow: "internal", scenes: scenes(), outside, seeds: 0..3 }
}

#[test]
fn internal_every_step_twice() {
    every_step_twice(&trial(in_memory()));
}

#[test]
fn internal_every_step_failed() {
    every_step_failed(&trial(in_memory()));
}

#[test]
fn internal_crash_after_every_write() {
    crash_after_every_write(&trial(in_memory()));
}
