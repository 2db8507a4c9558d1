//! `portage migrate`: upgrades the tables of the store to this release.

use super::exit::{Exit, Fault};
use super::{Global, output, wait};
use crate::config::Config;
use crate::{bootstrap, open_store};
use std::path::Path;
use store::postgres::{SchemaState, check, migrate, state};
use store::sqlite;

/// Upgrade the store, in PostgreSQL or in a folder, to this release.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  portage migrate --check\n  portage migrate\n\n\
    Works on database.url (or DATABASE_URL); without one, on the folder data.dir, which a start upgrades\n\
    as well. A step that fails leaves nothing behind: in PostgreSQL each step is one transaction, in a\n\
    folder all of them are. --check changes nothing, and ends with 65 if there is something to do.")]
pub(super) struct MigrateArgs {
    /// Only say what there is to do.
    #[arg(long)]
    check: bool,
}

pub(super) fn run(global: &Global, args: &MigrateArgs) -> Result<(), Fault> {
    let config = global.settings()?;
    if config.database.is_set() {
        return database(&config, args.check);
    }
    let dir = &config.data.dir;
    let fault = |error| folder_fault(dir, &error);
    if args.check {
        let missing = match sqlite::state(dir).map_err(fault)? {
            sqlite::ShapeState::Current => &[],
            sqlite::ShapeState::Behind(missing) => missing,
            sqlite::ShapeState::Empty => {
                return checked("no tables yet: a start makes them", false);
            }
        };
        return to_be_run(missing.iter().map(|step| (step.shape, step.name)).collect());
    }
    let ran = sqlite::migrate(dir).map_err(fault)?;
    report(ran.iter().map(|step| (step.shape, step.name)).collect())
}

/// The error of a folder's store that was not upgraded.
fn folder_fault(dir: &Path, error: &sqlite::OpenError) -> Fault {
    if let sqlite::OpenError::Io(why) = error
        && why.kind() == std::io::ErrorKind::NotFound
    {
        let what = format!("{}: no store in it, and database.url is not set", dir.display());
        return Fault::new(Exit::NoInput, what);
    }
    bootstrap::journal_fault(dir, error)
}

fn database(config: &Config, only_check: bool) -> Result<(), Fault> {
    let database = open_store::database(config)?;
    wait(async {
        let fault = |error| open_store::fault(&error);
        check(&database).await.map_err(fault)?;
        if only_check {
            return match state(&database).await.map_err(fault)? {
                SchemaState::Current => to_be_run(Vec::new()),
                SchemaState::Empty => checked("no tables yet: `portage migrate` makes them", false),
                SchemaState::Behind(missing) => {
                    to_be_run(missing.iter().map(|s| (s.number.into(), s.name)).collect())
                }
                SchemaState::Foreign(what) => checked(&what, false),
            };
        }
        let ran = migrate(&database).await.map_err(fault)?;
        report(ran.iter().map(|step| (step.number.into(), step.name)).collect())
    })
}

/// Prints the finding of a check, and returns its exit.
fn checked(sentence: &str, good: bool) -> Result<(), Fault> {
    output::print(sentence)?;
    let undone = || {
        Fault::new(
            Exit::Data,
            "the store is not of this release: upgrade it with `portage migrate`",
        )
    };
    good.then_some(()).ok_or_else(undone)
}

fn to_be_run(steps: Vec<(i64, &str)>) -> Result<(), Fault> {
    if steps.is_empty() {
        return checked("nothing to do", true);
    }
    let steps: Vec<_> = steps.iter().map(|(number, name)| format!("{number} {name}")).collect();
    checked(&format!("to be run: {}", steps.join(", ")), false)
}

fn report(steps: Vec<(i64, &str)>) -> Result<(), Fault> {
    for (number, name) in &steps {
        output::print(&format!("ran {number} {name}"))?;
    }
    if steps.is_empty() { output::print("nothing to do") } else { Ok(()) }
}
