//! Simulated runs: `crates/sim/examples/sim.rs`, which is built and called here.

use crate::{Outcome, run, tree};

/// Seeds that found something once, each with a word why.
const KEPT: &str = "crates/sim/seeds.txt";
/// How long the tests play, in seconds, slow runs and all.
const SECONDS: &str = "60";

/// The first of the others. Always the same ones, so that a change is not held up by a finding about
/// something else.
const FIXED: u64 = 5_000;
/// With this variable set, seeds that are new with each commit.
const NEW: &str = "SIM_NEW_SEEDS";

/// Passes a call on to the campaign, built as a release.
pub(crate) fn run(args: &[String]) -> Outcome {
    let mut cargo = run::cargo(&["run", "--release", "--locked", "--package", "sim"]);
    cargo.args(["--example", "sim", "--"]).args(args);
    run::must(cargo)
}

/// The kept seeds, then others, with the program that was built with the tests.
pub(crate) fn after_tests() -> Outcome {
    let new = std::env::var_os(NEW).is_some();
    let first = if new { from(&run::output(head())?)? } else { FIXED };
    let from = first.to_string();
    println!("the kept seeds, then those from {from} on");
    let mut sim = run::program(tree::target().join("debug/examples/sim"));
    sim.args(["--kept", KEPT, "--seconds", SECONDS, "--from", &from]);
    run::must(sim)
}

fn head() -> std::process::Command {
    let mut git = run::program("git");
    git.args(["rev-parse", "HEAD"]);
    git
}

/// Each commit has seeds of its own, a million apart, and the same ones wherever it is built.
fn from(commit: &str) -> Outcome<u64> {
    let begin = commit.trim().get(..8).and_then(|hex| u64::from_str_radix(hex, 16).ok());
    begin.map(|n| n * 1_000_000).ok_or_else(|| format!("no commit: {commit}"))
}

#[cfg(test)]
mod tests {
    use super::from;

    #[test]
    fn a_commit_has_seeds_of_its_own() {
        assert_eq!(from("00000001aa\n"), Ok(1_000_000));
        assert_eq!(from("ffffffff00"), Ok(0xffff_ffff * 1_000_000));
        assert!(from("HEAD is nothing").is_err() && from("").is_err());
    }
}
