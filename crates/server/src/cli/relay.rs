//! `portage relay …`: how the relay's keys stand.

use super::exit::Fault;
use super::ops::{OpsTarget, rows};
use super::{Global, output, wait};
use crate::auth::Scope;
use serde_json::{Value, json};

/// The relay: its keys, and the attempts that they have.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Example:\n  portage relay status")]
pub(super) enum RelayCommand {
    /// Each key with its last nonce and its open attempt, and what keeps the chain from being sent to.
    Status(StatusArgs),
}

/// How the relay's keys stand in the journal.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage relay status")]
pub(super) struct StatusArgs {
    #[command(flatten)]
    target: OpsTarget,
}

pub(super) fn run(global: &Global, command: &RelayCommand) -> Result<(), Fault> {
    let RelayCommand::Status(args) = command;
    wait(status(global, args))
}

async fn status(global: &Global, args: &StatusArgs) -> Result<(), Fault> {
    let client = args.target.client(global, Scope::OpsRead)?;
    let found = client.get("/ops/relay/keys").await?;
    if args.target.json {
        return output::print_json(&found);
    }
    let text = |name: &str| found.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (chain, account) = (text("chain"), text("account_id"));
    output::print(&output::pairs(&[("chain", &chain), ("account", &account)]))?;
    let paused = found.get("paused").and_then(Value::as_array).into_iter().flatten();
    for reason in paused.filter_map(Value::as_str) {
        output::print(&format!("nothing is claimed or sent: {reason}"))?;
    }
    let keys = found.get("keys").and_then(Value::as_array).into_iter().flatten().map(flat);
    let columns =
        ["key", "status", "here", ">last_nonce", ">transfers", ">forms", "sent", ">age_seconds"];
    output::print(&rows(&keys.collect(), columns))
}

/// A key with the fields of its attempt beside its own.
fn flat(key: &Value) -> Value {
    let mut row = key.clone();
    let attempt = key.get("attempt").and_then(Value::as_object).cloned().unwrap_or_default();
    for name in ["transfers", "forms", "sent", "age_seconds"] {
        row[name] = attempt.get(name).cloned().unwrap_or(json!(null));
    }
    row
}
