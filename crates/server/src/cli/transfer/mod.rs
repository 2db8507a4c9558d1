//! `portage transfer create|account|relay|get|list|watch|batch`: the commands for transfers of every flow.

mod account;
mod batch;
mod create;
mod list;
mod relay;
mod until;
mod watch;

use super::exit::{Exit, Fault};
use super::remote::{Minted, Remote};
use super::{Global, output, user_number, wait};
use crate::auth::Scope;
use client::Error;
use client::types::{HistoryEntry, Transfer, TransferStory};
use kernel::ids::Id;

/// Make transfers, ask for them, follow them.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Example:\n  \
    portage transfer create --user 4001 --from FUNDING --to SPOT --asset USDT --amount 100")]
pub(super) enum TransferCommand {
    /// Move money between two accounts of one user.
    Create(create::CreateArgs),
    /// Move money between two numbered accounts.
    Account(account::AccountTransferArgs),
    /// Pay an account on NEAR from the relay's own.
    Relay(relay::RelayTransferArgs),
    /// Show a transfer with its history.
    Get(GetArgs),
    /// List your transfers, newest first.
    List(list::ListTransfersArgs),
    /// Follow a transfer to its end.
    Watch(watch::WatchArgs),
    /// Make the transfers of a file.
    Batch(batch::BatchArgs),
}

/// Show a transfer with its history.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage transfer get 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --user 4001\n  \
    portage transfer get payout-7 --flow relay")]
pub(super) struct GetArgs {
    /// The id of the transfer; of the relay's the key.
    #[arg(value_name = "ID")]
    req_id: String,
    /// The flow that carries it.
    #[arg(long, value_enum, default_value_t = FlowName::Internal)]
    flow: FlowName,
    /// Whose transfer it is, where no token is given.
    #[arg(long, value_parser = user_number)]
    user: Option<u64>,
    /// Whose payment of the relay it is, where no token is given.
    #[arg(long = "as", value_name = "NAME", default_value = "operator")]
    caller: String,
    #[command(flatten)]
    remote: Remote,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

/// A flow, as its routes tell it from others.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum FlowName {
    /// Transfers between the account types of one user.
    Internal,
    /// Transfers between numbered accounts.
    Account,
    /// Payments from the relay's account on NEAR.
    Relay,
}

pub(super) fn run(global: &Global, command: &TransferCommand) -> Result<(), Fault> {
    match command {
        TransferCommand::Create(args) => wait(create::run(global, args)),
        TransferCommand::Account(args) => wait(account::run(global, args)),
        TransferCommand::Relay(args) => wait(relay::run(global, args)),
        TransferCommand::Get(args) => wait(get(global, args)),
        TransferCommand::List(args) => wait(list::run(global, args)),
        TransferCommand::Watch(args) => wait(watch::run(global, args)),
        TransferCommand::Batch(args) => wait(batch::run(global, args)),
    }
}

async fn get(global: &Global, args: &GetArgs) -> Result<(), Fault> {
    let user = || args.remote.client(global, Minted::User(args.user), Scope::TransfersRead);
    let id = &args.req_id;
    let story = match args.flow {
        FlowName::Internal => {
            user()?.transfer(id).await.map_err(|error| not_found_here(error, id))?
        }
        FlowName::Account => {
            return account::print(
                &user()?.account_transfer(id).await?,
                &account::Now::default(),
                args.json,
            );
        }
        FlowName::Relay => {
            let minted = Minted::Named(args.caller.clone());
            let client = args.remote.client(global, minted, Scope::RelayRead)?;
            return relay::print(&client.relay_transfer(id).await?, false, args.json);
        }
    };
    if args.json {
        return output::print_json(&story);
    }
    output::print(&told(&story.transfer, None, false))?;
    output::print(&history(&story))
}

/// A refusal, with the option that shows transfers of other flows, and the commands that find one by its key.
fn not_found_here(error: Error, id: &str) -> Fault {
    let mut fault = Fault::from(error);
    if fault.exit == Exit::NoInput {
        fault.sentence.push_str(
            ", for this caller under this id; a transfer of another flow is shown with --flow",
        );
        if id.parse::<Id>().is_err() {
            fault.sentence.push_str(&format!(
                "; by its key it is found with `portage transfer list --cid {id}`, by an operator with `portage ops show {id}`"
            ));
        }
    }
    fault
}

/// A transfer, line by line.
fn told(t: &Transfer, code: Option<&str>, replayed: bool) -> String {
    let what = format!("{} {} from {} to {}", t.amount, t.asset, t.from, t.to);
    let mut pairs = vec![
        ("transfer", what.as_str()),
        ("state", t.state.as_str()),
        ("message", t.message.as_str()),
        ("req_id", t.req_id.as_str()),
        ("cid", t.cid.as_deref().unwrap_or("none")),
    ];
    if let Some(reference) = &t.reference {
        pairs.push(("reference", reference));
    }
    let words: Vec<_> = t.metadata.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.extend(words.iter().map(|word| ("metadata", word.as_str())));
    if let Some(code) = code {
        pairs.push(("code", code));
    }
    if replayed {
        pairs.push(("replayed", until::REPLAYED));
    }
    output::pairs(&pairs)
}

pub(super) fn history(story: &TransferStory) -> String {
    steps(&story.history)
}

/// The steps of a history as a table.
pub(super) fn steps(steps: &[HistoryEntry]) -> String {
    let row = |step: &HistoryEntry| {
        [
            step.seq.to_string(),
            step.at.clone(),
            step.event.clone(),
            step.from.clone().unwrap_or_default(),
            step.to.clone(),
            step.detail.clone().unwrap_or_default(),
        ]
    };
    let rows = steps.iter().map(row).collect();
    output::table([">#", "at", "event", "from", "to", "detail"], rows)
}
