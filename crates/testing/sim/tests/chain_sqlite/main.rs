//! Flows that send over the simulated chain, on the embedded store: apart from the other tests on it, so that
//! it is quick to build.

#[path = "../it/real_stores.rs"]
mod real_stores;

use real_stores::embedded;
use sim::chain::{ChainRules, Locking};
use sim::generic::FreshSite;
use sim::generic::chain::{
    ChainCase, ChainTrial, crash_at_every_row, every_step_failed, undisturbed, unplayed_rows,
};
use sim::generic::relay::{CASES, RelayCase, RelayTrial};
use sim::generic::swaps::SwapCase;
use sim::journal::FaultyWrites;
use std::sync::{Arc, Mutex, PoisonError};
use tempfile::TempDir;
use testkit::OpenedStore;
use testkit::wrapper::Wrapper;

/// Each run has a folder of its own, which the next one may drop; what it writes goes wrong by the plan.
fn folders(flow: &'static str) -> FreshSite {
    let last: Mutex<Option<TempDir>> = Mutex::new(None);
    Arc::new(move |sim, place| {
        let Ok(folder) = tempfile::tempdir() else { panic!("no folder") };
        let mut site = embedded(sim, folder.path().to_owned());
        *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
        let flows = flows::registry();
        let Some(id) = flows.named(flow) else { panic!("no {flow}") };
        let (sim, place, table) = (sim.clone(), place.clone(), flows.table(id).clone());
        Box::new(move || {
            let (opening, place, crash) = (site(), place.clone(), sim.crash());
            let table = table.clone();
            Box::pin(async move {
                let opened = opening.await;
                let journal = FaultyWrites::new(opened.journal, &place, table, crash);
                OpenedStore { journal: Arc::new(Wrapper(journal)), ..opened }
            })
        })
    })
}

/// All cases of one flow.
fn on_sqlite<C: ChainCase>(rules: ChainRules, flow: &'static str) -> ChainTrial<C> {
    let mut trial = ChainTrial { site: folders(flow), ..ChainTrial::new(rules) };
    trial.cases.retain(|case: &C| case.flow() == flow);
    trial
}

fn trial(rules: ChainRules, cases: usize) -> RelayTrial {
    let cases = CASES.into_iter().skip(1).take(cases).collect();
    RelayTrial { cases, ..on_sqlite(rules, "relay") }
}

#[test]
fn relay_on_sqlite() {
    for locking in [Locking::Nonce, Locking::Marker, Locking::Reference] {
        undisturbed(&trial(ChainRules::calm(locking), 3));
        undisturbed(&trial(ChainRules::rough(locking), 2));
    }
}

#[test]
fn relay_on_sqlite_fails_at_every_step() {
    let one_case = trial(ChainRules::calm(Locking::Nonce), 1);
    every_step_failed(&RelayTrial { fuse: vec![true], ..one_case });
}

/// The process dies once at each crash point of a flow.
#[track_caller]
fn dies_at_every_row<C: ChainCase>(locking: Locking, flow: &'static str, fuse: bool) {
    let all = ChainTrial::<C> { fuse: vec![fuse], ..on_sqlite(ChainRules::calm(locking), flow) };
    let played = crash_at_every_row(&all, flow).reached();
    let faults = unplayed_rows(flow, played.iter().map(String::as_str));
    assert_eq!(faults, [""; 0]);
}

#[test]
fn relay_on_sqlite_dies_at_every_row_fused() {
    dies_at_every_row::<RelayCase>(Locking::Nonce, "relay", true);
}

#[test]
fn relay_on_sqlite_dies_at_every_row_plain() {
    dies_at_every_row::<RelayCase>(Locking::Nonce, "relay", false);
}

#[test]
fn swap_in_on_sqlite_dies_at_every_row_fused() {
    dies_at_every_row::<SwapCase>(Locking::Reference, "swap_in", true);
}

#[test]
fn swap_in_on_sqlite_dies_at_every_row_plain() {
    dies_at_every_row::<SwapCase>(Locking::Reference, "swap_in", false);
}

#[test]
fn swap_out_on_sqlite_dies_at_every_row_fused() {
    dies_at_every_row::<SwapCase>(Locking::Reference, "swap_out", true);
}

#[test]
fn swap_out_on_sqlite_dies_at_every_row_plain() {
    dies_at_every_row::<SwapCase>(Locking::Reference, "swap_out", false);
}
