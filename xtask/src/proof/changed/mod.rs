//! `cargo xtask proof postgres`: wrong builds that no wrapper around a part can be, since they lie in the
//! store's SQL, in its sessions, or in what is between two processes. Each is a text of the product and
//! what stands there instead; it is changed in a copy of the tree, which is built and tested.

mod copy;
mod table;

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use clap::Args;

use super::{
    program::{Ended, ran},
    runner::red,
};
use crate::{Outcome, postgres, stages::timed, tree};
use copy::Copied;
use table::{Build, Finder};

/// A wrong build may wait for what never comes. No test should take a third of this.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// Which wrong builds are made.
#[derive(Debug, Args)]
pub(crate) struct Changed {
    /// This one alone, or these.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Only show the table.
    #[arg(long)]
    list: bool,
}

impl Changed {
    /// Sees every test pass as the tree is, and fail on its wrong build.
    pub(crate) fn run(&self) -> Outcome {
        let builds = table::builds()?;
        if self.list {
            print!("{}", table::shown(&builds));
            return Ok(());
        }
        let faults = table::faults(&builds);
        if !faults.is_empty() {
            return Err(format!("{}:\n  {}", table::TABLE, faults.join("\n  ")));
        }
        let chosen = chosen(&builds, &self.only)?;
        // it lives until all were seen
        let server = postgres::start()?;
        let seen = played(&chosen);
        drop(server);
        seen
    }
}

/// All, or those of these names.
fn chosen<'b>(builds: &'b [Build], only: &[String]) -> Outcome<Vec<&'b Build>> {
    if let Some(other) = only.iter().find(|name| builds.iter().all(|b| b.name != **name)) {
        return Err(format!("no wrong build `{other}`; `--list` shows them"));
    }
    let wanted = |build: &&Build| only.is_empty() || only.contains(&build.name);
    Ok(builds.iter().filter(wanted).collect())
}

fn played(builds: &[&Build]) -> Outcome {
    let copied = Copied::make()?;
    let logs = tree::target().join("proof");
    fs::create_dir_all(&logs).map_err(|error| format!("{}: {error}", logs.display()))?;
    right(&copied, builds, &logs)?;
    let mut faults = Vec::new();
    for build in builds {
        let seen = copied.changed(build, || Ok(wrong(&copied, build, &logs)))?;
        for fault in seen.into_iter().filter_map(Result::err) {
            println!("FAULT   {fault}");
            faults.push(fault);
        }
    }
    if faults.is_empty() {
        println!("postgres: {} wrong builds, each found", builds.len());
        Ok(())
    } else {
        Err(faults.join("\n"))
    }
}

/// Every test passes as the tree is.
fn right(copied: &Copied, builds: &[&Build], logs: &Path) -> Outcome {
    let tests: BTreeMap<_, _> = builds
        .iter()
        .flat_map(|build| &build.found)
        .map(|finder| ((&finder.package, &finder.test), finder))
        .collect();
    for finder in tests.into_values() {
        let Finder { package, test, .. } = finder;
        let program = copied.program(package)?;
        let log = logs.join(format!("{}.right.log", test.replace("::", "-")));
        let ended = ran(copied.command(&program, finder), log, TIME_LIMIT)?;
        if !ended.passed {
            return Err(format!("{test} must pass as the tree is: see {}", ended.log.display()));
        }
        println!("green   {package} {test}");
    }
    Ok(())
}

/// Each of its tests fails on the wrong build.
fn wrong(copied: &Copied, build: &Build, logs: &Path) -> Vec<Outcome> {
    let each = build.found.iter().enumerate().map(|(n, finder)| {
        let log = logs.join(format!("{}.{n}.log", build.name));
        let (took, seen) = timed(|| {
            let program = copied.program(&finder.package);
            let program = program.map_err(|why| format!("{} does not build: {why}", build.name))?;
            ran(copied.command(&program, finder), log, TIME_LIMIT)
        });
        println!("{}, in {} s", judged(build, finder, &seen?)?, took.as_secs());
        Ok(())
    });
    each.collect()
}

/// Red, and with the words that were expected.
fn judged(build: &Build, finder: &Finder, ended: &Ended) -> Outcome<String> {
    let (name, Finder { test, says, .. }) = (&build.name, finder);
    if red(ended, says) {
        return Ok(format!("red     {name}: {test}"));
    }
    let how = if ended.passed { "passed" } else { "failed elsewhere" };
    Err(format!("{name}: {test} must fail with `{says}`, but {how}: see {}", ended.log.display()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn those_of_a_name_are_chosen_and_no_others() {
        let builds = table::builds().unwrap();
        assert_eq!(chosen(&builds, &[]).unwrap().len(), builds.len());
        let first = builds[0].name.clone();
        assert_eq!(chosen(&builds, &[first]).unwrap(), [&builds[0]]);
        assert!(chosen(&builds, &["x".to_owned()]).unwrap_err().contains("`x`"));
    }

    #[test]
    fn green_and_red_for_another_reason_are_faults() {
        let build = table::builds().unwrap().swap_remove(0);
        let finder = Finder { says: "money".to_owned(), ..build.found[0].clone() };
        let ended = |passed, printed: &str| {
            judged(
                &build,
                &finder,
                &Ended { passed, printed: printed.to_owned(), log: PathBuf::from("a.log") },
            )
        };
        assert!(ended(false, "panicked at x.rs:1:\nmoney is lost").is_ok());
        assert!(ended(false, "panicked at x.rs:1:\nno server").unwrap_err().contains("elsewhere"));
        assert!(ended(true, "").unwrap_err().contains("passed: see a.log"));
    }
}
