//! The flow `account` over the simulated bus, on the embedded store: apart from the other tests on it, so that
//! it is quick to build.

#[path = "../it/real_stores.rs"]
mod real_stores;

use real_stores::embedded;
use sim::generic::FreshSite;
use sim::generic::account::{
    ACCOUNT_CASES, AccountTrial, crash_at_every_event, every_step_failed, undisturbed,
};
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

fn trial(cases: usize, fuse: Vec<bool>) -> AccountTrial {
    let cases = ACCOUNT_CASES.into_iter().take(cases).collect();
    AccountTrial { site: folders(), cases, fuse, ..AccountTrial::default() }
}

#[test]
fn account_on_sqlite() {
    undisturbed(&trial(4, vec![true, false]));
}

/// The plan of the simulated journal's faults does not reach the store: calls of the bus are disturbed.
#[test]
fn account_on_sqlite_is_disturbed_at_every_call() {
    every_step_failed(&trial(1, vec![true]));
    assert!(crash_at_every_event(&trial(1, vec![true, false])).deaths() > 20);
}
