//! Cases drawn from a seed over the local chain, with what goes wrong in them: writes and calls that fail, come twice or
//! kill the process, a second worker, providers that mislead, transactions that come late or never, a contract that
//! refuses whatever comes for some blocks, wallets that sign with the relay's keys.

use super::case::{NearCase, NearTrial};
use super::local_chain::RULES;
use super::{given, whole_set};
use sim::chain::ChainRules;
use sim::generic::Played;
use sim::generic::chain::ChainPlay;
use sim::generic::relay::RelayCase;
use sim::world::SplitMix;

/// Number of seeds that are played in each run of the tests.
const SEEDS: u64 = 16;

/// A contract that refuses whatever comes begins with it within this number of blocks.
const REFUSES_BY: u64 = 20;
/// A wallet signs with one of the relay's keys in one block of three to about this number.
const STRANGERS: u64 = 20;

/// Seeds that found something once. 31: a worker that stood still past its lease looked for ever at an attempt that
/// another one had ended. 221: a transfer for which no key could be had was counted as one that killed its worker.
const KEPT: [u64; 2] = [31, 221];

/// Plays the run that a seed stands for: the same one with the same code.
fn played(seed: u64) -> Played {
    drawn(seed, true)
}

/// Plays the run of a seed. `chain`: with what may go wrong on the chain itself, which is drawn last, so that all else of
/// a seed is the same without it.
fn drawn(seed: u64, chain: bool) -> Played {
    let mut draws = SplitMix(seed ^ 0x10CA_15EE_D000_0001);
    let case = NearCase::of(RelayCase::drawn(&mut draws));
    let lanes = if draws.once_in(1, 2) { 2 } else { 1 };
    let mut or_none = |rate| if draws.once_in(1, 3) { rate } else { 0 };
    let rules = ChainRules { lanes, loses: or_none(3), misleads: or_none(4), ..RULES };
    let play = ChainPlay::drawn(&mut draws);
    let refuses = chain && draws.once_in(1, 3);
    let refuses_from = if refuses { 1 + draws.next() % REFUSES_BY } else { 0 };
    let strangers = if chain && draws.once_in(1, 3) { 3 + draws.next() % STRANGERS } else { 0 };
    let rules = ChainRules { refuses_from, strangers, ..rules };
    let receivers = case.relay.receivers.join(" ");
    println!("cargo xtask campaign near --seed {seed}: {receivers}; {rules:?}, {play:?}");
    play.of_case(&NearTrial::new(rules), &case, seed)
}

#[test]
fn some_seeds_find_nothing() {
    (0..whole_set().unwrap_or(SEEDS)).for_each(|seed| drop(played(seed)));
}

#[test]
fn what_was_found_once_stays_mended() {
    KEPT.into_iter().for_each(|seed| drop(drawn(seed, false)));
}

/// The seed that a campaign names, where it names one.
#[test]
fn a_seed_that_is_named_finds_nothing() {
    given("NEAR_SEED").into_iter().for_each(|seed| println!("{}", played(seed).planned));
}

#[test]
fn a_seed_is_one_run() {
    for seed in 100..104 {
        let (first, again) = (played(seed), played(seed));
        assert!(!first.log.is_empty(), "{seed}");
        assert_eq!(first, again, "{seed}");
    }
}
