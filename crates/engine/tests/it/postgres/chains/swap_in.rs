//! `swap_in` on PostgreSQL, from the deposit on Solana to the debit on Nexus, the refund or the quarantine.
//!
//! Wrong build that turns it red, in a test here: a debit that is sent as soon as it is signed, and not yet stored.

use super::matrix::{ChainCrashes, Wrong};
use sim::chain::{ChainRules, Locking};
use sim::generic::swaps::SwapCase;
use std::time::Duration;

const CRASHES: ChainCrashes<SwapCase> = ChainCrashes::new(
    "swap_in",
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

/// The other worker signs again under another reference: the receiver is paid twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_debit_that_is_sent_before_it_is_stored_is_found() {
    let wrong = Wrong {
        build: "sent-before-stored",
        case: "both are paid",
        row: "| accepted | claim → debiting | signed, not stored",
        within: Duration::from_secs(20),
    };
    let faults = CRASHES.found(&wrong).await;
    assert!(faults.contains("times, and voided 0"), "{faults}");
}
