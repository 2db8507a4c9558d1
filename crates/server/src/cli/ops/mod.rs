//! `portage ops …`: what an operator looks up and does, from the command line.

mod get;
mod run;

use self::get::{ActionsArgs, ApprovalsArgs, CasesArgs, FindArgs, HaltsArgs, IdArgs, ListArgs};
use self::run::{
    AccountStatusArgs, AddAssetArgs, AssignArgs, CommentArgs, DecideArgs, HaltArgs, PauseArgs,
    ResolveArgs, ResumeArgs, SetAssetArgs, TransferActionArgs, UnpauseArgs,
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
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl OpsTarget {
    fn client(&self, global: &Global, scope: Scope) -> Result<Client, Fault> {
        self.remote.client(global, Minted::Named(self.who.clone()), scope)
    }
}

/// Look after the service: cases, transfers, pauses, halts, approvals, assets.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Example:\n  portage ops cases")]
pub(in crate::cli) enum OpsCommand {
    /// Questions for a person, newest first.
    Cases(CasesArgs),
    /// One case with its notes.
    Case(IdArgs),
    /// Say who looks after a case.
    Assign(AssignArgs),
    /// Add words to a case.
    Comment(CommentArgs),
    /// Find transfers of every user.
    Find(FindArgs),
    /// One transfer with everything that is known of it.
    Show(IdArgs),
    /// Make a transfer's next attempt due now.
    Retry(TransferActionArgs),
    /// Ask the ledger what it stored for a transfer's open call.
    Ask(TransferActionArgs),
    /// Hold a transfer where it stands.
    Hold(TransferActionArgs),
    /// Let a held transfer go on.
    Release(TransferActionArgs),
    /// Propose an answer to a transfer's open call.
    Resolve(ResolveArgs),
    /// What waits for another person, and what was decided.
    Approvals(ApprovalsArgs),
    /// Approve what another person proposed.
    Approve(DecideArgs),
    /// Reject what a person proposed.
    Reject(DecideArgs),
    /// Stop all money.
    Halt(HaltArgs),
    /// Every HALT that was raised, with its number and reason.
    Halts(HaltsArgs),
    /// Propose that money moves again.
    Resume(ResumeArgs),
    /// What stands until a person lifts it.
    Pauses(ListArgs),
    /// Hold a flow, a ledger, an asset or an account where it stands.
    Pause(PauseArgs),
    /// Lift a pause.
    Unpause(UnpauseArgs),
    /// Freeze, disable or free an account.
    Account(AccountStatusArgs),
    /// Every asset.
    Assets(ListArgs),
    /// Add an asset.
    AddAsset(AddAssetArgs),
    /// Suspend, delist or limit an asset.
    SetAsset(SetAssetArgs),
    /// What people did: who, why and when.
    Actions(ActionsArgs),
    /// How many transfers stand where, and for how long.
    Stats(ListArgs),
}

pub(super) fn run(global: &Global, command: &OpsCommand) -> Result<(), Fault> {
    wait(async {
        match command {
            OpsCommand::Cases(args) => get::cases(global, args).await,
            OpsCommand::Case(args) => get::one(global, args, "/cases").await,
            OpsCommand::Assign(args) => run::assign(global, args).await,
            OpsCommand::Comment(args) => run::comment(global, args).await,
            OpsCommand::Find(args) => get::find(global, args).await,
            OpsCommand::Show(args) => get::one(global, args, "/transfers").await,
            OpsCommand::Retry(args) => run::transfer_action(global, args, "retry").await,
            OpsCommand::Ask(args) => run::transfer_action(global, args, "ask").await,
            OpsCommand::Hold(args) => run::transfer_action(global, args, "pause").await,
            OpsCommand::Release(args) => run::transfer_action(global, args, "resume").await,
            OpsCommand::Resolve(args) => run::resolve(global, args).await,
            OpsCommand::Approvals(args) => get::approvals(global, args).await,
            OpsCommand::Approve(args) => run::decide(global, args, "approve").await,
            OpsCommand::Reject(args) => run::decide(global, args, "reject").await,
            OpsCommand::Halt(args) => run::halt(global, args).await,
            OpsCommand::Halts(args) => get::halts(global, args).await,
            OpsCommand::Resume(args) => run::resume(global, args).await,
            OpsCommand::Pauses(args) => get::pauses(global, args).await,
            OpsCommand::Pause(args) => run::pause(global, args).await,
            OpsCommand::Unpause(args) => run::unpause(global, args).await,
            OpsCommand::Account(args) => run::account(global, args).await,
            OpsCommand::Assets(args) => get::assets(global, args).await,
            OpsCommand::AddAsset(args) => run::add_asset(global, args).await,
            OpsCommand::SetAsset(args) => run::set_asset(global, args).await,
            OpsCommand::Actions(args) => get::actions(global, args).await,
            OpsCommand::Stats(args) => get::stats(global, args).await,
        }
    })
}

/// Part of a path or of a query.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

/// A table of some fields of a list of rows.
fn rows<const N: usize>(list: &Value, fields: [&str; N]) -> String {
    let cell = |row: &Value, field: &str| {
        let value = row.get(field.trim_start_matches('>')).unwrap_or(&Value::Null);
        if value.is_null() {
            return String::new();
        }
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    };
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    output::table(fields, list.iter().map(|row| fields.map(|field| cell(row, field))).collect())
}

/// A whole answer, field by field.
fn fields(answer: &Value) -> String {
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
