//! Passing a call on to the attacks, with the server that they start where none is named.

use crate::{Outcome, run, tree};

/// Builds the server and attacks one of its own, or the one that is named.
pub(crate) fn run(args: &[String]) -> Outcome {
    let build = run::cargo(&["build", "--locked", "--package", "server", "--bin", "portage"]);
    run::must(build)?;
    attack(args)
}

/// After the tests, on the program that the tests were built with.
pub(crate) fn after_tests() -> Outcome {
    attack(&[])
}

fn attack(args: &[String]) -> Outcome {
    let mut cargo = run::cargo(&["run", "--quiet", "--locked", "--package", "attack", "--"]);
    let target = tree::target();
    cargo.arg("--server").arg(target.join("debug/portage")).arg("--below").arg(target).args(args);
    run::must(cargo)
}
