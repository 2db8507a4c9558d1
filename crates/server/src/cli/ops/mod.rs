//! `portage ops …`: what an operator looks up and does, from the command line.

mod act;
mod look;

use super::exit::{Exit, Fault};
use super::remote::{Minted, Remote};
use super::{Global, show, wait};
use crate::auth::Scope;
use act::{Decide, Halt, NewAsset, NewPause, Resolve, SetAsset, Steer, Unpause};
use client::Client;
use look::{Actions, Approvals, Cases, Find, One};
use serde_json::Value;

/// What every command of an operator takes.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Desk {
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

impl Desk {
    fn client(&self, global: &Global, scope: Scope) -> Result<Client, Fault> {
        self.remote.client(global, Minted::Named(self.who.clone()), scope)
    }
}

/// Look after the service: cases, transfers, pauses, halts, approvals, assets.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Example:\n  portage ops cases")]
pub(in crate::cli) enum Command {
    /// Questions for a person, newest first.
    Cases(Cases),
    /// One case with its notes.
    Case(One),
    /// Say who looks after a case.
    Assign(act::Assign),
    /// Add words to a case.
    Comment(act::Comment),
    /// Find transfers of every user.
    Find(Find),
    /// One transfer with everything that is known of it.
    Show(One),
    /// Make a transfer's next attempt due now.
    Retry(Steer),
    /// Ask the ledger what it stored for a transfer's open call.
    Ask(Steer),
    /// Hold a transfer where it stands.
    Hold(Steer),
    /// Let a held transfer go on.
    Release(Steer),
    /// Propose an answer to a transfer's open call.
    Resolve(Resolve),
    /// What waits for another person, and what was decided.
    Approvals(Approvals),
    /// Approve what another person proposed.
    Approve(Decide),
    /// Reject what somebody proposed.
    Reject(Decide),
    /// Stop all money.
    Halt(Halt),
    /// Every HALT that was raised, with its number and reason.
    Halts(look::Halts),
    /// Propose that money moves again.
    Resume(act::Resume),
    /// What stands until a person lifts it.
    Pauses(look::All),
    /// Hold a flow, a ledger, an asset or an account where it stands.
    Pause(NewPause),
    /// Lift a pause.
    Unpause(Unpause),
    /// Freeze, disable or free an account.
    Account(act::Account),
    /// Every asset.
    Assets(look::All),
    /// Add an asset.
    AddAsset(NewAsset),
    /// Suspend, delist or limit an asset.
    SetAsset(SetAsset),
    /// What people did: who, why and when.
    Actions(Actions),
    /// How many transfers stand where, and for how long.
    Stats(look::All),
}

pub(super) fn run(global: &Global, command: &Command) -> Result<(), Fault> {
    wait(async {
        match command {
            Command::Cases(args) => look::cases(global, args).await,
            Command::Case(args) => look::one(global, args, "/cases").await,
            Command::Assign(args) => act::assign(global, args).await,
            Command::Comment(args) => act::comment(global, args).await,
            Command::Find(args) => look::find(global, args).await,
            Command::Show(args) => look::one(global, args, "/transfers").await,
            Command::Retry(args) => act::steer(global, args, "retry").await,
            Command::Ask(args) => act::steer(global, args, "ask").await,
            Command::Hold(args) => act::steer(global, args, "pause").await,
            Command::Release(args) => act::steer(global, args, "resume").await,
            Command::Resolve(args) => act::resolve(global, args).await,
            Command::Approvals(args) => look::approvals(global, args).await,
            Command::Approve(args) => act::decide(global, args, "approve").await,
            Command::Reject(args) => act::decide(global, args, "reject").await,
            Command::Halt(args) => act::halt(global, args).await,
            Command::Halts(args) => look::halts(global, args).await,
            Command::Resume(args) => act::resume(global, args).await,
            Command::Pauses(args) => look::pauses(global, args).await,
            Command::Pause(args) => act::pause(global, args).await,
            Command::Unpause(args) => act::unpause(global, args).await,
            Command::Account(args) => act::account(global, args).await,
            Command::Assets(args) => look::assets(global, args).await,
            Command::AddAsset(args) => act::add_asset(global, args).await,
            Command::SetAsset(args) => act::set_asset(global, args).await,
            Command::Actions(args) => look::actions(global, args).await,
            Command::Stats(args) => look::stats(global, args).await,
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
    show::table(fields, list.iter().map(|row| fields.map(|field| cell(row, field))).collect())
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
    show::pairs(&lines)
}

fn usage(sentence: impl Into<String>) -> Fault {
    Fault::new(Exit::Usage, sentence.into())
}
