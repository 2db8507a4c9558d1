//! `portage ops …`: lets operators read the state of the service and act on it.

mod get;
mod run;

use self::get::{
    ActionsArgs, ApprovalsArgs, CasesArgs, FindArgs, HaltsArgs, IdArgs, ListArgs, MovementsArgs,
};
use self::run::ActionCommand;
pub(in crate::cli) use self::run::{
    ActionArgs, delete, lift_pause, patch, pause_scope, post, repeatable,
};
use super::exit::{Exit, Fault};
use super::remote::{Minted, Remote};
use super::{Global, output, wait};
use crate::auth::Scope;
use client::Client;
use serde_json::Value;

/// What every command of an operator takes.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct OpsTarget {
    #[command(flatten)]
    remote: Remote,
    /// Who acts, in a token that is minted with the development key; an approval takes another
    /// person than the one who proposed.
    #[arg(long = "as", default_value = "operator", value_name = "NAME")]
    who: String,
    /// Print the answer as JSON.
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

impl OpsTarget {
    pub(in crate::cli) fn client(&self, global: &Global, scope: Scope) -> Result<Client, Fault> {
        self.remote.client(global, Minted::Named(self.who.clone()), scope)
    }
}

/// Operate the service: cases, transfers, pauses, halts, approvals, assets.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Example:\n  portage ops cases")]
pub(in crate::cli) enum OpsCommand {
    /// List cases, which ask for an operator's decision, newest first.
    Cases(CasesArgs),
    /// Show one case with its notes.
    Case(IdArgs),
    /// Find transfers of every user.
    Find(FindArgs),
    /// Show one transfer with its history, legs and notes.
    Show(IdArgs),
    /// List proposals that wait for another person, and decided ones.
    Approvals(ApprovalsArgs),
    /// List every HALT that was raised, with its number and reason.
    Halts(HaltsArgs),
    /// List deposits and withdrawals: who booked them, and why.
    Movements(MovementsArgs),
    /// List the pauses that are in force, with their numbers.
    Pauses(ListArgs),
    /// List every asset with its limits.
    Assets(ListArgs),
    /// List operators' actions: who, why and when.
    Actions(ActionsArgs),
    /// Count transfers by flow and state, with the age of the oldest.
    Stats(ListArgs),
    #[command(flatten)]
    Run(ActionCommand),
}

pub(super) fn run(global: &Global, command: &OpsCommand) -> Result<(), Fault> {
    wait(async {
        match command {
            OpsCommand::Cases(args) => get::cases(global, args).await,
            OpsCommand::Case(args) => get::one(global, args, "/cases").await,
            OpsCommand::Find(args) => get::find(global, args).await,
            OpsCommand::Show(args) => get::show(global, args).await,
            OpsCommand::Approvals(args) => get::approvals(global, args).await,
            OpsCommand::Halts(args) => get::halts(global, args).await,
            OpsCommand::Movements(args) => get::movements(global, args).await,
            OpsCommand::Pauses(args) => get::pauses(global, args).await,
            OpsCommand::Assets(args) => get::assets(global, args).await,
            OpsCommand::Actions(args) => get::actions(global, args).await,
            OpsCommand::Stats(args) => get::stats(global, args).await,
            OpsCommand::Run(command) => run::run(global, command).await,
        }
    })
}

/// A table of some fields of a list of rows.
pub(in crate::cli) fn rows<const N: usize>(list: &Value, fields: [&str; N]) -> String {
    let cell = |row: &Value, field: &str| {
        let value = row.get(field.trim_start_matches('>')).unwrap_or(&Value::Null);
        if value.is_null() {
            return String::new();
        }
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    };
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    output::list(fields, list.iter().map(|row| fields.map(|field| cell(row, field))).collect())
}

/// A whole answer, field by field.
pub(in crate::cli) fn fields(answer: &Value) -> String {
    let Some(fields) = answer.as_object() else { return answer.to_string() };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let lines: Vec<(&str, String)> = fields
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.as_str(), text(value)))
        .collect();
    let lines: Vec<(&str, &str)> =
        lines.iter().map(|(name, text)| (*name, text.as_str())).collect();
    output::pairs(&lines)
}

fn usage(sentence: impl Into<String>) -> Fault {
    Fault::new(Exit::Usage, sentence.into())
}
