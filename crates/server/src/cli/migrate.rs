//! `portage migrate`: makes the tables in PostgreSQL what this release needs.

use super::exit::{Exit, Fault};
use super::{Global, output, wait};
use crate::open_store;
use store::postgres::{State, check, migrate, state};

/// Make the tables in PostgreSQL what this release needs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  portage migrate --check\n  portage migrate\n\n\
    Works on database.url (or DATABASE_URL). Each step is one transaction, and a step that fails leaves\n\
    nothing behind. --check changes nothing, and ends with 65 if there is something to do.")]
pub(super) struct MigrateArgs {
    /// Only say what there is to do.
    #[arg(long)]
    check: bool,
}

pub(super) fn run(global: &Global, args: &MigrateArgs) -> Result<(), Fault> {
    let config = global.settings()?;
    if !config.database.is_set() {
        let what = "database.url is not set: what is kept in data.dir needs no migration";
        return Err(Fault::new(Exit::Config, what));
    }
    let database = open_store::database(&config)?;
    wait(async {
        let fault = |error| open_store::fault(&error);
        check(&database).await.map_err(fault)?;
        if args.check {
            let (sentence, good) = match state(&database).await.map_err(fault)? {
                State::Current => ("nothing to do".to_owned(), true),
                State::Empty => ("no tables yet: `portage migrate` makes them".to_owned(), false),
                State::Behind(missing) => {
                    let steps: Vec<_> =
                        missing.iter().map(|s| format!("{} {}", s.number, s.name)).collect();
                    (format!("to be run: {}", steps.join(", ")), false)
                }
                State::Foreign(what) => (what, false),
            };
            output::print(&sentence)?;
            let undone = || Fault::new(Exit::Data, "the tables are not what this release needs");
            return good.then_some(()).ok_or_else(undone);
        }
        let ran = migrate(&database).await.map_err(fault)?;
        for step in &ran {
            output::print(&format!("ran {} {}", step.number, step.name))?;
        }
        if ran.is_empty() {
            output::print("nothing to do")?;
        }
        Ok(())
    })
}
