//! The proof is proven: the campaign finds each wrong build, and nothing where there is none.

use crate::campaign::Real;
use sim::campaign::{MutatedBuild, Options, run};
use sim::wrong::builds::{Found, Lie, all};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The page that tells of them.
const PAGE: &str = include_str!("../../../../../docs/proof/wrong-builds.md");

/// A seed is the same run only with the same code: after a change of the engine the next ones find
/// what this one did.
const NEXT: u64 = 30;

#[test]
fn each_wrong_build_is_found_by_the_oracle_that_is_meant() {
    for Found { name, seed, oracle, .. } in all() {
        let said = |seed| {
            let mutated = MutatedBuild::new(Arc::new(Real), name);
            run(&Options::drawn(seed), Arc::new(mutated), None).broken
        };
        let red = (*seed..seed + NEXT).filter_map(said).find(|broken| broken.contains(oracle));
        assert!(red.is_some(), "no seed from {seed} makes the oracle say of {name}: {oracle}");
    }
}

#[test]
fn the_same_seeds_find_nothing_without_the_lie() {
    let mut seen = BTreeSet::new();
    for Found { seed, .. } in all() {
        if seen.insert(*seed) {
            let options = Options::drawn(*seed);
            let broken = run(&options, Arc::new(Real), None).broken;
            assert_eq!(broken, None, "{}", options.replay());
        }
    }
}

#[test]
fn the_page_says_what_is_found() {
    for Found { name, lie, seed, oracle } in all() {
        let row = format!("| `{name}` | {lie} | {seed} | {oracle} |");
        assert!(PAGE.lines().any(|line| line == row), "{row}");
        assert!(*seed < 1_000, "{name}");
    }
    let rows = PAGE.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, all().count());
}

#[test]
fn a_wrong_build_has_one_name() {
    let names: BTreeSet<&str> = all().map(|found| found.name).collect();
    assert_eq!(names.len(), all().count());
    let known = |name: &&str| Lie::named(name).is_some() || *name == "timeout-is-refusal";
    assert!(names.iter().all(known));
    assert!(Lie::named("no-such-lie").is_none());
}
