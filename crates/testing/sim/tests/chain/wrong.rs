//! Each wrong build of what is done on a chain is found by the generic tests: the trial fails with it, and
//! passes without it (`relay.rs`).

use sim::chain::{ChainRules, Locking};
use sim::generic::chain::{ChainCase, ChainTrial, crash_after_every_write, undisturbed};
use sim::generic::relay::{CASES, RelayTrial};
use sim::generic::swaps::SwapTrial;
use sim::wrong;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Plays the trial with a wrong build; why it failed.
#[track_caller]
fn fails<C: ChainCase>(name: &str, trial: ChainTrial<C>, play: fn(&ChainTrial<C>)) -> String {
    let Some(wraps) = wrong::chains(name) else { panic!("no wrong build {name}") };
    let trial = ChainTrial { fuse: vec![true], wraps, ..trial };
    let played = catch_unwind(AssertUnwindSafe(|| play(&trial)));
    let Err(why) = played else { panic!("{name} was not found") };
    why.downcast_ref::<String>().cloned().unwrap_or_default()
}

/// The first cases of the relay, on many schedules.
fn relay(rules: ChainRules) -> RelayTrial {
    let mut trial = RelayTrial { seeds: 0..10, ..RelayTrial::new(rules) };
    trial.cases.truncate(3);
    trial
}

/// The swaps of this name.
fn swap(name: &str) -> SwapTrial {
    let mut trial = SwapTrial::new(ChainRules::calm(Locking::Reference));
    trial.cases.retain(|case| case.name == name);
    trial
}

const NONCE: ChainRules = ChainRules::calm(Locking::Nonce);

#[test]
fn dead_edge_dropped() {
    let why = fails("dead-edge-dropped", relay(NONCE), undisturbed);
    assert!(why.contains("does not end"), "{why}");
}

#[test]
fn not_found_is_dead() {
    let why = fails("not-found-is-dead", relay(NONCE), undisturbed);
    assert!(why.contains("was paid") || why.contains("is sent"), "{why}");
}

#[test]
fn culprit_condemned() {
    let why = fails("culprit-condemned", relay(NONCE), undisturbed);
    assert!(why.contains("VERDICT_REFUSED"), "{why}");
}

/// A contract that refuses whatever comes for some blocks condemns no receiver.
#[test]
fn refused_alone_condemned() {
    let rules = ChainRules { refuses_from: 2, ..NONCE };
    let why = fails("refused-alone-condemned", relay(rules), undisturbed);
    assert!(why.contains("is FAILED and was paid 0 times"), "{why}");
    undisturbed(&relay(rules));
}

#[test]
fn nonce_of_the_node() {
    let why = fails("nonce-of-the-node", relay(NONCE), undisturbed);
    assert!(why.contains("CHAIN_CONTRADICTION"), "{why}");
}

#[test]
fn sent_before_stored() {
    let why = fails("sent-before-stored", relay(NONCE), crash_after_every_write);
    // what was sent before it was stored is found as another program's
    assert!(why.contains("is sent") || why.contains("LANE_AHEAD"), "{why}");
}

#[test]
fn sent_by_two_owners() {
    let why = fails("sent-by-two-owners", relay(ChainRules::calm(Locking::Reference)), undisturbed);
    assert!(why.contains("was sent"), "{why}");
}

#[test]
fn broadcast_is_done() {
    let why = fails("broadcast-is-done", relay(ChainRules::rough(Locking::Nonce)), undisturbed);
    assert!(why.contains("was paid 0 times") || why.contains("is sent"), "{why}");
}

#[test]
fn pays_more() {
    let why = fails("pays-more", relay(NONCE), undisturbed);
    assert!(why.contains("CHAIN_CONTRADICTION"), "{why}");
}

#[test]
fn attempt_stays_open() {
    let why = fails("attempt-stays-open", relay(NONCE), crash_after_every_write);
    assert!(why.contains("open") || why.contains("VERDICT_REFUSED"), "{why}");
}

/// A trial that a wrong build must fail is one that the right build passes.
#[test]
fn the_right_build_passes() {
    let mut trial = RelayTrial { fuse: vec![true], ..RelayTrial::new(NONCE) };
    trial.cases = CASES.into_iter().take(1).collect();
    undisturbed(&trial);
}

#[test]
fn dead_edge_of_a_swap_dropped() {
    let why = fails("dead-edge-dropped", swap("no debit arrives"), undisturbed);
    assert!(why.contains("does not end"), "{why}");
}

#[test]
fn dead_edge_of_a_payout_dropped() {
    let why = fails("dead-edge-dropped", swap("no payout arrives"), undisturbed);
    assert!(why.contains("does not end"), "{why}");
}

#[test]
fn payout_proven_after_its_close() {
    let why = fails("attempt-stays-open", swap("one spoils its payout"), undisturbed);
    assert!(why.contains("open") || why.contains("VERDICT_REFUSED"), "{why}");
}

#[test]
fn facts_not_stored() {
    let why = fails("facts-not-stored", swap("both are paid"), undisturbed);
    assert!(why.contains("keeps no facts for it"), "{why}");
}

#[test]
fn cursor_apart_from_its_openings() {
    let why = fails("cursor-apart", swap("both are paid"), crash_after_every_write);
    assert!(why.contains("the vault has"), "{why}");
}

#[test]
fn payment_not_booked() {
    let why = fails("paid-out-not-booked", swap("one is quarantined"), undisturbed);
    assert!(why.contains("beyond its books"), "{why}");
}

#[test]
fn inventory_not_taken() {
    let why = fails("inventory-not-taken", swap("both are paid"), undisturbed);
    assert!(why.contains("books/NEXUS/5/inventory is"), "{why}");
    let why = fails("inventory-not-taken", swap("no inventory in time"), undisturbed);
    assert!(why.contains("poor1") || why.contains("books/"), "{why}");
}

#[test]
fn quarantine_condemned() {
    let why = fails("quarantine-condemned", swap("one is quarantined"), undisturbed);
    assert!(why.contains("CHAIN_CONTRADICTION"), "{why}");
}
