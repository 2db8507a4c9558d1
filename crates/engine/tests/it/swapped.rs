//! Swaps on PostgreSQL with two workers and two simulated chains: each worker has a watcher, one worker is killed
//! with attempts in its hands, and each swap ends once all the same.

use crate::postgres::fixture::{Fixture, quick};
use engine::Engine;
use kernel::ports::journal::Journal;
use sim::chain::{ChainRules, Locking};
use sim::generic::chain::{ChainCase as _, ChainClient, Harm};
use sim::generic::swaps::{SWAP_CASES, SwapCase};
use std::sync::Arc;
use std::time::Duration;
use testkit::ShiftedClock;

/// How long a deposit waits for what does not come, in milliseconds.
const WAIT_MS: u64 = 4_000;
/// Chains whose blocks are quick, and on which nothing goes wrong.
const RULES: ChainRules = ChainRules { block_ms: 20, ..ChainRules::calm(Locking::Reference) };

async fn killed_after(case: &SwapCase, fuse: bool, ms: u64) {
    let line = format!("{}, fuse={fuse}, killed after {ms} ms", case.name);
    let clock = Arc::new(ShiftedClock::new());
    let played = case.over(RULES, clock.clone(), ms);
    let mut fixture = Fixture::open(quick(fuse)).await;
    fixture.chains = std::iter::once(played.chain.clone()).chain(played.others.clone()).collect();
    fixture.journal_facts.insert(played.flow, played.facts.clone());
    fixture.vault = played.vault.clone();
    let (dying, heir) = (fixture.worker().await, fixture.worker().await);
    let at = |engine: &Arc<Engine>, journal: Arc<dyn Journal>| ChainClient {
        engine: engine.clone(),
        journal,
        clock: clock.clone(),
        series: 0,
        deadline: played.chain.final_time() + WAIT_MS,
        vault: played.vault.clone(),
    };
    let watches = case.insists(at(&dying.engine, dying.store.clone()));
    // its watcher dies with it
    drop(tokio::time::timeout(Duration::from_millis(ms), watches).await);
    dying.kill().await;
    let watches = case.insists(at(&heir.engine, heir.store.clone()));
    let ended = watches.await.unwrap_or_else(|why| panic!("{line}: {why}"));
    // what was sent last is in final blocks by then
    tokio::time::sleep(Duration::from_millis(RULES.block_ms * 10)).await;
    // on a slow machine what waits is over before it is paid
    let mut faults = case.faults(&fixture.chains, &ended, Harm::More);
    faults.extend(fixture.chains.iter().flat_map(sim::chain::SimChain::faults));
    assert!(faults.is_empty(), "{line}: {faults:#?}");
    assert_eq!(fixture.cases(), "", "{line}");
    heir.kill().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_worker_s_swaps_end_once_at_another() {
    let named = |name: &str| SWAP_CASES.into_iter().find(|case| case.name == name);
    for (name, fuse, ms) in
        [("both are paid", true, 60), ("one is quarantined", false, 120), ("not taken", true, 250)]
    {
        let case = named(name).expect("the case");
        killed_after(&case, fuse, ms).await;
    }
}
