//! Passing a call on to the process campaign, with the server that it kills.

use std::process::Stdio;

use crate::{Outcome, kafka, run, tools, tree};

/// What CI runs after every other test, a few minutes, in two processes at once: the parts wait for disks and starts,
/// and one after another they leave more than half of two cores idle.
const IN_CI: [&str; 2] = [
    "--kills 200 --postgres 50",
    "--power 60 --faults --stride=13 --gateway 15 --wire 2 --pair 1 --relay 8 --swap 4",
];

/// The part that runs on Apache Kafka, for which the server is built with its feature.
const OVER_KAFKA: &str = "--account";

/// The parts before a local chain, which is built for them.
const BEFORE_A_CHAIN: [&str; 2] = ["--relay", "--swap"];

/// Builds the server as a release and runs the campaign on it.
pub(crate) fn run(args: &[String]) -> Outcome {
    tools()?;
    let package = ["--locked", "--package", "server", "--bin", "portage"];
    let mut build = run::cargo(&["build", "--release"]);
    build.args(package);
    if args.iter().any(|arg| arg.starts_with(OVER_KAFKA)) {
        kafka::needed()?;
        build.args(kafka::FEATURES);
    }
    run::must(build)?;
    let built = tree::target().join("release");
    let mut cargo = run::cargo(&["run", "--quiet", "--locked", "--package", "crash", "--"]);
    cargo.arg("--server").arg(built.join("portage"));
    if args.iter().any(|arg| BEFORE_A_CHAIN.iter().any(|part| arg.starts_with(part))) {
        let package = ["--locked", "--package", "devnet", "--bin", "devnet"];
        let mut build = run::cargo(&["build", "--release"]);
        build.args(package);
        run::must(build)?;
        cargo.arg("--devnet").arg(built.join("devnet"));
    }
    cargo.args(["--commit", &commit()?]).args(args);
    run::must(cargo)
}

/// The same after the tests, on the programs that the tests were built with. Both processes run to their ends, so
/// that one run shows the faults of each.
pub(crate) fn after_tests() -> Outcome {
    tools()?;
    let built = tree::target().join("debug");
    let process = |parts: &&str| {
        let mut crash = run::program(built.join("crash"));
        crash.arg("--server").arg(built.join("portage"));
        crash.arg("--devnet").arg(built.join("devnet")).args(parts.split(' '));
        run::must(crash)
    };
    let ended = run::at_once(&IN_CI, process).into_iter();
    run::no_faults(&ended.filter_map(Outcome::err).collect::<Vec<_>>())
}

/// What the figures are of.
fn commit() -> Outcome<String> {
    let mut git = run::program("git");
    git.args(["describe", "--always", "--abbrev=10", "--dirty", "--exclude=*"]);
    Ok(run::output(git)?.trim().to_owned())
}

/// Faults are put into system calls by `strace`.
fn tools() -> Outcome {
    let why = "the campaign puts faults into system calls with it";
    tools::need(|| there("strace"), "strace", why)
}

/// Whether a program can be started.
fn there(name: &str) -> Outcome {
    let mut look = run::program(name);
    look.arg("-V").stdout(Stdio::null()).stderr(Stdio::null());
    run::must(look).map_err(|fault| format!("no {name} ({fault})"))
}

#[cfg(test)]
mod tests {
    use super::there;

    #[test]
    fn a_missing_program_is_seen() {
        assert!(there("cargo").is_ok());
        assert!(
            there("no-such-program-here").unwrap_err().starts_with("no no-such-program-here (")
        );
    }
}
