//! The relay on PostgreSQL, from its request to the payment, the registration that one needs first among it.
//!
//! Wrong build that turns it red, in a test here: what is not found is taken for dead. What is sent before it is stored
//! is none here: the next worker finds what was paid with its key, and stores it as an attempt.

use super::matrix::{ChainPage, Wrong};
use sim::chain::{ChainRules, Locking};
use sim::generic::relay::RelayCase;
use std::time::Duration;

const PAGE: ChainPage<RelayCase> = ChainPage::new(
    "relay",
    include_str!("../../../../../../docs/proof/relay.md"),
    ChainRules { block_ms: 20, ..ChainRules::calm(Locking::Nonce) },
);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_dies_at_every_row_fused() {
    PAGE.dies_at_every_row(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_dies_at_every_row_plain() {
    PAGE.dies_at_every_row(false).await;
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
    let faults = PAGE.found(&wrong).await;
    assert!(faults.contains("times") || faults.contains("is sent for"), "{faults}");
}
