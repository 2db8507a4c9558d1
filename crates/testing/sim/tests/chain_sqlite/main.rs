//! Flows that send over the simulated chain, on the embedded store: apart from the other tests on it, so that
//! it is quick to build.

#[path = "../it/real_stores.rs"]
mod real_stores;

use real_stores::embedded;
use sim::chain::{ChainRules, Locking};
use sim::generic::FreshSite;
use sim::generic::chain::{
    ChainCase, ChainTrial, crash_at_distinct_steps, crash_matrix, every_step_failed, undisturbed,
};
use sim::generic::relay::{CASES, RelayTrial};
use sim::generic::swaps::{SWAP_CASES, SwapTrial};
use sim::journal::FaultyWrites;
use sim::suite::journal::Opened;
use sim::wrapper::Wrapper;
use std::sync::{Arc, Mutex, PoisonError};
use tempfile::TempDir;

/// Each run has a folder of its own, which the next one may drop; what it writes goes wrong by the plan.
fn folders() -> FreshSite {
    let last: Mutex<Option<TempDir>> = Mutex::new(None);
    Arc::new(move |sim, place| {
        let Ok(folder) = tempfile::tempdir() else { panic!("no folder") };
        let mut site = embedded(sim, folder.path().to_owned());
        *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
        let (sim, place) = (sim.clone(), place.clone());
        Box::new(move || {
            let (opening, place, crash) = (site(), place.clone(), sim.crash());
            Box::pin(async move {
                let opened = opening.await;
                let journal = FaultyWrites::new(opened.journal, &place, crash);
                Opened { journal: Arc::new(Wrapper(journal)), ..opened }
            })
        })
    })
}

fn on_sqlite<C: ChainCase>(rules: ChainRules, cases: &[C]) -> ChainTrial<C> {
    ChainTrial { site: folders(), cases: cases.to_vec(), ..ChainTrial::new(rules) }
}

fn trial(rules: ChainRules, cases: usize) -> RelayTrial {
    let cases: Vec<_> = CASES.into_iter().skip(1).take(cases).collect();
    on_sqlite(rules, &cases)
}

#[test]
fn relay_on_sqlite() {
    for locking in [Locking::Nonce, Locking::Marker, Locking::Reference] {
        undisturbed(&trial(ChainRules::calm(locking), 3));
        undisturbed(&trial(ChainRules::rough(locking), 2));
    }
}

/// One case: apart from deaths, so that both are played at once.
fn one_case(fuse: bool) -> RelayTrial {
    RelayTrial { fuse: vec![fuse], ..trial(ChainRules::calm(Locking::Nonce), 1) }
}

#[test]
fn relay_on_sqlite_fails_at_every_step() {
    every_step_failed(&one_case(true));
}

#[test]
fn relay_on_sqlite_dies_at_every_step() {
    let deaths = crash_matrix(&one_case(false), "relay").deaths();
    assert!(deaths > 30, "{deaths} deaths");
}

#[test]
fn swaps_on_sqlite() {
    let rules = ChainRules::calm(Locking::Reference);
    undisturbed(&on_sqlite(rules, &SWAP_CASES));
}

/// The process dies at every write and call of the case in which two swaps are paid.
#[test]
fn swaps_on_sqlite_die_at_every_step() {
    let paid: Vec<_> = SWAP_CASES.into_iter().take(1).collect();
    let all: SwapTrial = on_sqlite(ChainRules::calm(Locking::Reference), &paid);
    let deaths = crash_matrix(&all, "swap_in").deaths();
    assert!(deaths > 100, "{deaths} deaths");
}

/// The payouts of `swap_out` in this case: the process dies after every write of them, and after each sort of call
/// and question.
fn payouts_die(name: &str, fuse: bool) {
    let rules = ChainRules::calm(Locking::Reference);
    let all: Vec<_> = SWAP_CASES.into_iter().filter(|case| case.name == name).collect();
    let all = SwapTrial { fuse: vec![fuse], ..on_sqlite(rules, &all) };
    let deaths = crash_at_distinct_steps(&all);
    assert!(deaths > 30, "{deaths} deaths");
}

#[test]
fn a_payout_on_sqlite_that_spoils_another_dies_at_every_step() {
    payouts_die("one spoils its payout", true);
}

#[test]
fn a_payout_on_sqlite_that_never_arrives_dies_at_every_step() {
    payouts_die("no payout arrives", false);
}
