//! The generic tests of flows that send. Tests that run for each change play one deposit of each direction, fused, on one
//! schedule, and of the deaths those of `swap_in`; the campaign plays all cases.

use super::case::{SolanaCase, SolanaTrial};
use super::solana::RULES;
use super::whole_set;
use sim::chain::{ChainRules, Locking};
use sim::generic::chain::{
    ChainCase as _, crash_after_every_write, every_step_failed, every_step_twice, undisturbed,
};

/// In the campaign all cases of its flow, fused and plain; else that one, fused.
fn trial(case: SolanaCase) -> SolanaTrial {
    let mut all = SolanaTrial::new(RULES);
    all.cases.retain(|one| one.flow() == case.flow());
    if whole_set().is_some() {
        return all;
    }
    SolanaTrial { cases: vec![case], fuse: vec![true], ..all }
}

#[test]
fn swaps_calm() {
    let fuse = if whole_set().is_some() { vec![true, false] } else { vec![true] };
    let trial = SolanaTrial { fuse, ..SolanaTrial::new(RULES) };
    assert_eq!(trial.cases.len(), 20, "all but the one that the product does not offer");
    undisturbed(&trial);
}

/// Providers of which one lags, lies or is silent; transactions that come late.
#[test]
fn swaps_rough() {
    let rough = ChainRules::rough(Locking::Marker);
    let rules = ChainRules { loses: rough.loses, misleads: rough.misleads, ..RULES };
    let seeds = 0..whole_set().unwrap_or(1);
    undisturbed(&SolanaTrial { seeds, fuse: vec![true], ..SolanaTrial::new(rules) });
}

#[test]
fn swap_in_every_step_twice() {
    every_step_twice(&trial(SolanaCase::given_back()));
}

#[test]
fn swap_in_every_step_failed() {
    every_step_failed(&trial(SolanaCase::given_back()));
}

#[test]
fn swap_in_crash_after_every_write() {
    crash_after_every_write(&trial(SolanaCase::given_back()));
}

#[test]
fn swap_out_every_step_twice() {
    every_step_twice(&trial(SolanaCase::paid_out()));
}

#[test]
fn swap_out_every_step_failed() {
    every_step_failed(&trial(SolanaCase::paid_out()));
}

/// For each change a death at each row of its table is enough.
#[test]
fn swap_out_crash_after_every_write() {
    if whole_set().is_some() {
        crash_after_every_write(&trial(SolanaCase::paid_out()));
    }
}
