//! `cargo xtask lint`: every check that needs no test to run. All stages run, so one go shows every fault.

use std::path::{Path, PathBuf};

use crate::separate::{BANK, GAS};
use crate::{Outcome, kafka, run, stages::Stages, tidy, tree};

/// Pinned, so that a new release of the tool cannot turn an unchanged tree red.
const DENY: &str = "0.20.2";

/// Runs all stages and fails if one did.
pub(crate) fn run() -> Outcome {
    let mut stages = Stages::of("lint");
    stages.stage("fmt", formatted);
    stages.stage("librdkafka", kafka::buildable);
    stages.stage("clippy", clippy);
    stages.stage("without kafka", default_build);
    stages.stage("tidy", tidy::run);
    stages.stage("deny", || dependencies(&[]));
    stages.stage("doc", doc);
    stages.end()
}

fn formatted() -> Outcome {
    run::must(run::cargo(&["fmt", "--all", "--check"]))?;
    GAS.is_formatted()?;
    BANK.is_formatted()
}

fn clippy() -> Outcome {
    let mut cargo = run::cargo(&["clippy", "--workspace", "--all-targets", "--locked"]);
    cargo.args(kafka::FEATURES).args(["--", "-D", "warnings"]);
    run::must(cargo)
}

/// What `cargo run` builds.
fn default_build() -> Outcome {
    let default = ["clippy", "--package", "server", "--all-targets", "--locked"];
    let mut cargo = run::cargo(&default);
    cargo.args(["--", "-D", "warnings"]);
    run::must(cargo)
}

fn doc() -> Outcome {
    let private = ["doc", "--workspace", "--no-deps", "--document-private-items", "--locked"];
    let mut cargo = run::cargo(&private);
    cargo.args(kafka::FEATURES);
    cargo.env("RUSTDOCFLAGS", "-D warnings");
    run::must(cargo)
}

/// Licences, bans and sources, as `deny.toml` lists them; `of` names another workspace and its list.
pub(crate) fn dependencies(of: &[&str]) -> Outcome {
    let tool = installed(&tree::target().join("tools").join(format!("cargo-deny-{DENY}")))?;
    println!(
        "checked: licences, bans, sources; NOT checked: advisories, since their database has to be \
         fetched from the network at each run"
    );
    let mut deny = run::program(tool);
    deny.arg("--locked").args(of).args(["check", "licenses", "bans", "sources"]);
    run::must(deny)
}

/// The tool, built first if it is not there: without optimisation, since its check takes seconds
/// either way and the build takes half the time.
fn installed(folder: &Path) -> Outcome<PathBuf> {
    let tool = folder.join("bin/cargo-deny");
    if !tool.is_file() {
        println!("building cargo-deny {DENY}, which takes about a minute");
        let mut cargo = run::cargo(&["install", "--debug", "--locked", "--no-track", "--quiet"]);
        cargo.args(["cargo-deny", "--version", DENY, "--root"]).arg(folder);
        run::must(cargo)?;
    }
    Ok(tool)
}
