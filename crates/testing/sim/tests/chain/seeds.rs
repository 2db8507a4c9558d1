//! Drawn cases of the flows that send: some that are always the same, and wrong builds that their seeds find.

use sim::generic::chain::ChainRun;
use sim::service::PortWraps;
use sim::wrong;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A seed is the same run only with the same code: after a change of the engine the next ones find what this one did.
const NEXT: u64 = 60;

#[test]
fn some_seeds_find_nothing() {
    for seed in 5_000..5_040 {
        ChainRun::of(seed).play(&PortWraps::default());
    }
}

#[test]
fn a_seed_is_one_run() {
    for seed in 0..6 {
        let play = || ChainRun::of(seed).play(&PortWraps::default());
        let (first, again) = (play(), play());
        assert!(!first.log.is_empty(), "{seed}");
        assert_eq!(first, again, "{seed}");
    }
}

#[test]
fn wrong_builds_are_found_by_their_seeds() {
    let builds = [
        ("cursor-apart", 0, "the vault has"),
        ("quarantine-condemned", 0, "does not end"),
        ("attempt-stays-open", 0, "open: Attempt"),
        ("inventory-not-taken", 0, "books/"),
        ("proofs-wait-for-each-other", 11, "ended late"),
    ];
    for (name, first, oracle) in builds {
        let found = (first..first + NEXT).any(|seed| {
            let Some(wraps) = wrong::chains(name) else { panic!("no wrong build {name}") };
            let played = catch_unwind(AssertUnwindSafe(|| ChainRun::of(seed).play(&wraps)));
            let why = played.err().and_then(|why| why.downcast_ref::<String>().cloned());
            why.is_some_and(|why| why.contains(oracle))
        });
        assert!(found, "no seed from {first} finds {name}: {oracle}");
    }
}
