//! `cargo xtask proof acceptance` and `… postgres`: a test that cannot fail proves nothing, so each one is seen to fail.

mod changed;
mod page;
mod plan;
mod program;
mod runner;
mod slice;

use std::collections::BTreeSet;

use crate::{Outcome, run, tree};
pub(crate) use changed::Changed;

/// The page that pairs every acceptance id with the wrong build that turns it red.
const PAGE: &str = "docs/proof/acceptance.md";

/// Runs every row of the page on the real build and on its wrong one.
pub(crate) fn acceptance() -> Outcome {
    prove(rows()?, plan::Runs::All)
}

/// The rows that this commit's hash chooses, on their wrong builds only: the tests themselves have run.
pub(crate) fn acceptance_slice() -> Outcome {
    // a tree without git proves the slice of the empty hash
    let mut git = run::program("git");
    git.args(["rev-parse", "HEAD"]);
    let commit = run::output(git).unwrap_or_default();
    let all = rows()?;
    let many = all.len();
    let rows = slice::of(all, commit.trim());
    let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    println!(
        "acceptance: {} of {many} ids by commit `{}`: {} (all: cargo xtask proof acceptance)",
        ids.len(),
        commit.trim(),
        ids.join(" ")
    );
    prove(rows, plan::Runs::Wrong)
}

fn rows() -> Outcome<Vec<page::Row>> {
    let text = tree::read(&tree::root().join(PAGE))
        .map_err(|why| format!("the page that names the wrong builds is missing: {why}"))?;
    let rows = page::rows(&text)?;
    none(&page::faults(&rows))?;
    Ok(rows)
}

fn prove(rows: Vec<page::Row>, runs: plan::Runs) -> Outcome {
    let program = program::build()?;
    let (jobs, faults) = plan::jobs(&rows, &program.list()?, runs);
    none(&faults)?;
    let faults = runner::run(&jobs, &program);
    none(&faults)?;
    let ids: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    let builds: BTreeSet<&str> = rows.iter().filter_map(|row| row.wrong.as_deref()).collect();
    println!("acceptance: {} ids proven against {} wrong builds", ids.len(), builds.len());
    Ok(())
}

fn none(faults: &[String]) -> Outcome {
    if faults.is_empty() { Ok(()) } else { Err(format!("{PAGE}:\n  {}", faults.join("\n  "))) }
}
