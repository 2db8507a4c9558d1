//! The relay on PostgreSQL, from its request to the payment, the registration that one needs first among it.
//!
//! Wrong build that turns it red, in a test here: what is not found is taken for dead. What is sent before it is stored
//! is none here: the next worker finds what was paid with its key, and stores it as an attempt.

use super::matrix::{ChainCrashes, Wrong};
use sim::chain::{ChainRules, Locking};
use sim::generic::relay::RelayCase;
use std::time::Duration;

const CRASHES: ChainCrashes<RelayCase> =
    ChainCrashes::new("relay", ChainRules { block_ms: 20, ..ChainRules::calm(Locking::Nonce) });

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_dies_at_every_row_fused() {
    CRASHES.dies_at_every_row(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_dies_at_every_row_plain() {
    CRASHES.dies_at_every_row(false).await;
}

/// The other worker does not find what the dead one sent, and pays again under another nonce.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_is_not_found_and_taken_for_dead_is_found() {
    let wrong = Wrong {
        build: "not-found-is-dead",
        case: "all hold the token",
        row: "| SUBMITTED |  | done, its reply lost",
        within: Duration::from_secs(20),
    };
    let faults = CRASHES.found(&wrong).await;
    assert!(faults.contains("times") || faults.contains("is sent for"), "{faults}");
}
