//! `portage account …`: shows the accounts of users, and manages the numbered accounts.

mod pipeline;

use self::pipeline::PipelineCommand;
use super::exit::{Exit, Fault};
use super::remote::{Minted, Remote};
use super::{Global, output, user_number, wait};
use crate::auth::Scope;
use client::types::AccountRow;
use std::collections::BTreeSet;

/// Look at accounts, and look after those of the pipeline.
#[derive(Debug, clap::Subcommand)]
#[command(
    after_help = "Examples:\n  portage account list --user 4001\n  portage account pipeline list --owner 4001"
)]
pub(super) enum AccountCommand {
    /// List every account, or one user's; ends with 69 where a ledger does not answer.
    List(ListAccountsArgs),
    /// Accounts with a number: opened, funded, frozen and closed.
    #[command(subcommand)]
    Pipeline(PipelineCommand),
}

/// Every account, or one user's.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage account list --user 4001")]
pub(super) struct ListAccountsArgs {
    /// Only the accounts of this user.
    #[arg(long, value_parser = user_number)]
    user: Option<u64>,
    #[command(flatten)]
    remote: Remote,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

/// Why the accounts of a ledger are missing that has no route to list them.
const NOT_OFFERED: &str = "NOT_OFFERED";

pub(super) fn run(global: &Global, command: &AccountCommand) -> Result<(), Fault> {
    match command {
        AccountCommand::List(args) => list(global, args),
        AccountCommand::Pipeline(command) => pipeline::run(global, command),
    }
}

fn list(global: &Global, args: &ListAccountsArgs) -> Result<(), Fault> {
    wait(async {
        let client = args.remote.client(global, Minted::Operator, Scope::OpsRead)?;
        let (mut rows, mut silent, mut after) = (Vec::new(), BTreeSet::new(), 0);
        let waiting = loop {
            let page = client.accounts(args.user, after).await?;
            rows.extend(page.accounts);
            silent.extend(page.silent);
            match page.next {
                Some(next) => after = next.0,
                None => break page.waiting,
            }
        };
        if args.json { output::print_json(&rows) } else { output::print(&accounts(&rows)) }?;
        if rows.is_empty() && silent.is_empty() {
            let of = args.user.map_or_else(String::new, |user| format!(" of user {user}"));
            output::eprint(&format!(
                "note: there is no account{of}; the numbered ones are listed by `portage account pipeline list`"
            ));
        }
        for one in waiting {
            output::eprint(&format!(
                "note: {} at {} becomes {} ({}, by {}) once its ledger answers",
                one.user_id, one.account, one.status, one.reason, one.by
            ));
        }
        // a ledger that lists no accounts never will: nothing failed
        let (unlisted, failed): (Vec<_>, Vec<_>) =
            silent.iter().partition(|ledger| ledger.why == NOT_OFFERED);
        if !unlisted.is_empty() {
            let names: Vec<_> = unlisted.iter().map(|ledger| ledger.account.as_str()).collect();
            output::eprint(&format!("note: {} does not list its accounts", names.join(", ")));
        }
        if failed.is_empty() {
            return Ok(());
        }
        let named: Vec<_> = failed.iter().map(|s| format!("{} ({})", s.account, s.why)).collect();
        let sentence = format!("no accounts were shown by {}", named.join(", "));
        Err(Fault::new(Exit::Unavailable, sentence))
    })
}

pub(super) fn accounts(rows: &[AccountRow]) -> String {
    let row = |row: &AccountRow| {
        [
            row.user_id.to_string(),
            row.account.clone(),
            row.asset.clone(),
            row.available.clone(),
            row.frozen.clone(),
            row.status.clone(),
        ]
    };
    let titles = [">user", "account", "asset", ">available", ">frozen", "status"];
    output::table(titles, rows.iter().map(row).collect())
}
