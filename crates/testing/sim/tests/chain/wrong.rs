//! Each wrong build of what is done on a chain is found by the generic tests: the trial fails with it, and
//! passes without it (`relay.rs`).

use sim::chain::{ChainRules, Locking};
use sim::generic::chain::{crash_after_every_write, undisturbed};
use sim::generic::relay::{CASES, RelayTrial};
use sim::wrong;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// How a trial is played until it fails.
type Play = fn(&RelayTrial);

/// Plays the trial with a wrong build; why it failed.
#[track_caller]
fn fails(name: &str, rules: ChainRules, play: Play) -> String {
    let mut trial = RelayTrial { seeds: 0..10, fuse: vec![true], ..RelayTrial::new(rules) };
    trial.cases.truncate(3);
    match (wrong::chain(name), wrong::chain_journal(name)) {
        (Some(around), _) => trial.around_chain = around,
        (None, Some(around)) => trial.around_journal = around,
        (None, None) => panic!("no wrong build {name}"),
    }
    let played = catch_unwind(AssertUnwindSafe(|| play(&trial)));
    let Err(why) = played else { panic!("{name} was not found") };
    why.downcast_ref::<String>().cloned().unwrap_or_default()
}

const NONCE: ChainRules = ChainRules::calm(Locking::Nonce);

#[test]
fn dead_edge_dropped() {
    let why = fails("dead-edge-dropped", NONCE, undisturbed);
    assert!(why.contains("does not end"), "{why}");
}

#[test]
fn not_found_is_dead() {
    let why = fails("not-found-is-dead", NONCE, undisturbed);
    assert!(why.contains("was paid") || why.contains("is sent"), "{why}");
}

#[test]
fn culprit_condemned() {
    let why = fails("culprit-condemned", NONCE, undisturbed);
    assert!(why.contains("VERDICT_REFUSED"), "{why}");
}

#[test]
fn nonce_of_the_node() {
    let why = fails("nonce-of-the-node", NONCE, undisturbed);
    assert!(why.contains("CHAIN_CONTRADICTION"), "{why}");
}

#[test]
fn sent_before_stored() {
    let why = fails("sent-before-stored", NONCE, crash_after_every_write);
    assert!(why.contains("was paid 2 times") || why.contains("is sent"), "{why}");
}

#[test]
fn sent_by_two_owners() {
    let why = fails("sent-by-two-owners", ChainRules::calm(Locking::Reference), undisturbed);
    assert!(why.contains("was sent"), "{why}");
}

#[test]
fn broadcast_is_done() {
    let why = fails("broadcast-is-done", ChainRules::rough(Locking::Nonce), undisturbed);
    assert!(why.contains("was paid 0 times") || why.contains("is sent"), "{why}");
}

#[test]
fn pays_more() {
    let why = fails("pays-more", NONCE, undisturbed);
    assert!(why.contains("CHAIN_CONTRADICTION"), "{why}");
}

#[test]
fn attempt_stays_open() {
    let why = fails("attempt-stays-open", NONCE, crash_after_every_write);
    assert!(why.contains("open") || why.contains("VERDICT_REFUSED"), "{why}");
}

/// A trial that a wrong build must fail is one that the right build passes.
#[test]
fn the_right_build_passes() {
    let mut trial = RelayTrial { fuse: vec![true], ..RelayTrial::new(NONCE) };
    trial.cases = CASES.into_iter().take(1).collect();
    trial.around_chain = Arc::new(|port| port);
    undisturbed(&trial);
}
