//! The generic tests of flows that send. Tests that run for each change play one case, fused, on one schedule; the
//! campaign plays all of them.

use super::case::{NearCase, NearTrial};
use super::local_chain::{RULES, Setup};
use super::whole_set;
use devnet::near::Execution;
use sim::chain::{ChainRules, Locking};
use sim::generic::chain::{
    crash_after_every_write, every_step_failed, every_step_twice, undisturbed,
};
use sim::generic::relay::RelayCase;

/// In the campaign all cases, fused and plain; else these receivers, fused.
fn trial(receivers: &'static [&'static str]) -> NearTrial {
    let all = NearTrial::new(RULES);
    if whole_set().is_some() {
        return NearTrial { seeds: 0..2, ..all };
    }
    let relay = RelayCase { name: "each change", receivers: receivers.into() };
    NearTrial { cases: vec![NearCase::of(relay)], fuse: vec![true], ..all }
}

/// It comes to most states: it is registered, then paid.
const ONE: &[&str] = &["new-1"];

#[test]
fn relay_calm() {
    undisturbed(&NearTrial::new(RULES));
}

/// The token's own wasm, in place of the same contract in Rust.
#[test]
fn relay_calm_with_the_contract_in_wasm() {
    let mut trial = NearTrial { fuse: vec![true], ..NearTrial::new(RULES) };
    for case in &mut trial.cases {
        case.setup = Setup { execution: Execution::Wasm, ..case.setup.clone() };
    }
    undisturbed(&trial);
}

/// Providers of which one lags, lies or is silent; transactions that come late or never.
#[test]
fn relay_rough() {
    let rough = ChainRules { reorganises: 0, ..ChainRules::rough(Locking::Nonce) };
    let rules = ChainRules { loses: rough.loses, misleads: rough.misleads, ..RULES };
    let seeds = if whole_set().is_some() { 0..40 } else { 0..3 };
    undisturbed(&NearTrial { seeds, fuse: vec![true], ..NearTrial::new(rules) });
}

#[test]
fn relay_every_step_twice() {
    every_step_twice(&trial(&["new-1", "alice"]));
}

#[test]
fn relay_every_step_failed() {
    every_step_failed(&trial(ONE));
}

#[test]
fn relay_crash_after_every_write() {
    crash_after_every_write(&trial(ONE));
}
