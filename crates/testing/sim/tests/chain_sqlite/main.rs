//! The relay flow over the simulated chain, on the embedded store: apart from the other tests on it, so that
//! it is quick to build.

#[path = "../it/real_stores.rs"]
mod real_stores;

use real_stores::embedded;
use sim::chain::{ChainRules, Locking};
use sim::generic::FreshSite;
use sim::generic::chain::{crash_after_every_write, every_step_failed, undisturbed};
use sim::generic::relay::{CASES, RelayTrial};
use std::sync::{Arc, Mutex, PoisonError};
use tempfile::TempDir;

/// Each run has a folder of its own, which the next one may drop.
fn folders() -> FreshSite {
    let last: Mutex<Option<TempDir>> = Mutex::new(None);
    Arc::new(move |sim, _| {
        let Ok(folder) = tempfile::tempdir() else { panic!("no folder") };
        let site = embedded(sim, folder.path().to_owned());
        *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
        site
    })
}

fn trial(rules: ChainRules, cases: usize) -> RelayTrial {
    let cases = CASES.into_iter().skip(1).take(cases).collect();
    RelayTrial { site: folders(), cases, ..RelayTrial::new(rules) }
}

#[test]
fn relay_on_sqlite() {
    for locking in [Locking::Nonce, Locking::Marker, Locking::Reference] {
        undisturbed(&trial(ChainRules::calm(locking), 3));
        undisturbed(&trial(ChainRules::rough(locking), 2));
    }
}

/// The plan of the simulated journal's faults does not reach the store: calls of the chain are disturbed.
#[test]
fn relay_on_sqlite_is_disturbed_at_every_call() {
    let rules = ChainRules::calm(Locking::Nonce);
    let few = RelayTrial { fuse: vec![true], ..trial(rules, 1) };
    every_step_failed(&few);
    crash_after_every_write(&RelayTrial { fuse: vec![false], ..few });
}
