//! `swap_out` on PostgreSQL, from the deposit on Nexus to the payout on Solana, the refund or the quarantine.
//!
//! Wrong builds that turn it red, each in a test here: the edge of a dead payout dropped, an attempt that is proven
//! again after its close, and a decision that keeps nothing of what it was made from.

use super::matrix::{ChainCrashes, Wrong};
use sim::chain::{ChainRules, Locking};
use sim::generic::swaps::SwapCase;
use std::time::Duration;

const CRASHES: ChainCrashes<SwapCase> = ChainCrashes::new(
    "swap_out",
    ChainRules { block_ms: 20, ..ChainRules::calm(Locking::Reference) },
);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_dies_at_every_row_fused() {
    CRASHES.dies_at_every_row(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_dies_at_every_row_plain() {
    CRASHES.dies_at_every_row(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_whose_dead_edge_is_dropped_is_found() {
    let wrong = Wrong {
        build: "dead-edge-dropped",
        case: "no payout arrives",
        row: "| sending |  | proven, not stored",
        within: Duration::from_secs(5),
    };
    let faults = CRASHES.found(&wrong).await;
    assert!(faults.contains("takes too long"), "{faults}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_that_is_proven_after_its_close_is_found() {
    // where the proof is refused its chain stops, and the swaps do not end
    let wrong = Wrong {
        build: "attempt-stays-open",
        case: "one spoils its payout",
        row: "| sending | done → processed | after the write",
        within: Duration::from_secs(20),
    };
    let faults = CRASHES.found(&wrong).await;
    assert!(faults.contains("open: ") || faults.contains("VERDICT_REFUSED"), "{faults}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mapping_that_is_not_kept_is_found() {
    let wrong = Wrong {
        build: "facts-not-stored",
        case: "mapped receivers are paid",
        row: "| pending_receival | yes → ready for processing | after the write",
        within: Duration::from_secs(20),
    };
    let faults = CRASHES.found(&wrong).await;
    assert!(faults.contains("keeps no facts for it"), "{faults}");
}
