//! Simulated runs: `crates/sim/examples/sim.rs`, which is built and called here.

use crate::{Outcome, run, tree};

/// Seeds that found something once, each with a word why.
const KEPT: &str = "crates/sim/seeds.txt";
/// How long the tests play, in seconds.
const SECONDS: &str = "60";
/// The first of the others. Always the same ones: a new seed that finds something takes minutes to
/// shrink, which is a campaign's work and not that of every change.
const FROM: &str = "5000";

/// Passes a call on to the campaign, built as a release.
pub(crate) fn run(args: &[String]) -> Outcome {
    let mut cargo = run::cargo(&["run", "--release", "--locked", "--package", "sim"]);
    cargo.args(["--example", "sim", "--"]).args(args);
    run::must(cargo)
}

/// The kept seeds, then others, with the program that was built with the tests.
pub(crate) fn after_tests() -> Outcome {
    let mut sim = run::program(tree::target().join("debug/examples/sim"));
    sim.args(["--kept", KEPT, "--seconds", SECONDS, "--from", FROM]);
    run::must(sim)
}
