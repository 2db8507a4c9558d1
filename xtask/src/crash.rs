//! Passing a call on to the process campaign, with the server that it kills.

use std::ffi::OsString;
use std::process::Stdio;

use crate::{Outcome, run, tree};

/// What CI runs after every other test: a few minutes.
const IN_CI: [&str; 7] = ["--kills", "200", "--power", "60", "--faults", "--stride", "13"];

/// Builds the server as a release and runs the campaign on it.
pub(crate) fn run(args: &[String]) -> Outcome {
    tools()?;
    let package = ["--locked", "--package", "server", "--bin", "portage"];
    let mut build = run::cargo(&["build", "--release"]);
    build.args(package);
    run::must(build)?;
    let server = tree::target().join("release/portage");
    let mut cargo = run::cargo(&["run", "--quiet", "--locked", "--package", "crash", "--"]);
    cargo.arg("--server").arg(server).args(["--commit", &commit()?]).args(args);
    run::must(cargo)
}

/// The same after the tests, on the programs that the tests were built with.
pub(crate) fn after_tests() -> Outcome {
    tools()?;
    let built = tree::target().join("debug");
    let mut crash = run::program(built.join("crash"));
    crash.arg("--server").arg(built.join("portage")).args(IN_CI);
    run::must(crash)
}

/// What the figures are of.
fn commit() -> Outcome<String> {
    let mut git = run::program("git");
    git.args(["describe", "--always", "--abbrev=10", "--dirty", "--exclude=*"]);
    Ok(run::output(git)?.trim().to_owned())
}

/// Faults are put into system calls by `strace`. On a bare machine it is installed where we may.
fn tools() -> Outcome {
    if there("strace") {
        return Ok(());
    }
    let apt = |words: &[&str]| {
        let mut apt = run::program("apt-get");
        apt.args(["--yes", "--quiet"]).args(words).env("DEBIAN_FRONTEND", "noninteractive");
        run::must(apt)
    };
    // a bare image has no lists yet
    let install = || apt(&["install", "strace"]);
    let installed = install().or_else(|_| apt(&["update"]).and_then(|()| install()));
    if there("strace") {
        return Ok(());
    }
    let why = installed.err().unwrap_or_default();
    Err(format!(
        "no strace, and it cannot be installed ({why}): the campaign puts faults into system calls \
         with it.\nInstall it (Debian: apt-get install strace)."
    ))
}

/// Whether a program can be started.
fn there(name: impl Into<OsString>) -> bool {
    let mut look = run::program(name);
    look.arg("-V").stdout(Stdio::null()).stderr(Stdio::null());
    run::must(look).is_ok()
}

#[cfg(test)]
mod tests {
    use super::there;

    #[test]
    fn a_missing_program_is_seen() {
        assert!(there("cargo"));
        assert!(!there("no-such-program-here"));
    }
}
