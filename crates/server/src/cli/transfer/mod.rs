//! `portage transfer create|get|list|watch|batch`.

mod batch;
mod create;
mod list;
mod watch;

use super::exit::Fault;
use super::remote::{Minted, Remote};
use super::{Global, show, wait};
use crate::auth::Scope;
use client::types::{Step, Story, Transfer};

/// Make transfers, ask for them, follow them.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Example:\n  \
    portage transfer create --user 4001 --from FUNDING --to SPOT --asset USDT --amount 100")]
pub(super) enum Command {
    /// Move money between two accounts of one user.
    Create(create::Create),
    /// Show a transfer with its history.
    Get(Get),
    /// List your transfers, newest first.
    List(list::List),
    /// Follow a transfer to its end.
    Watch(watch::Watch),
    /// Make the transfers of a file.
    Batch(batch::Batch),
}

/// Show a transfer with its history.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage transfer get 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --user 4001")]
pub(super) struct Get {
    /// The transfer's id.
    req_id: String,
    /// Whose transfer it is, where no token is given.
    #[arg(long)]
    user: Option<u64>,
    #[command(flatten)]
    remote: Remote,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(global: &Global, command: &Command) -> Result<(), Fault> {
    match command {
        Command::Create(args) => wait(create::run(global, args)),
        Command::Get(args) => wait(get(global, args)),
        Command::List(args) => wait(list::run(global, args)),
        Command::Watch(args) => wait(watch::run(global, args)),
        Command::Batch(args) => wait(batch::run(global, args)),
    }
}

async fn get(global: &Global, args: &Get) -> Result<(), Fault> {
    let client = args.remote.client(global, Minted::User(args.user), Scope::TransfersRead)?;
    let story = client.transfer(&args.req_id).await?;
    if args.json {
        return show::json(&story);
    }
    show::say(&told(&story.transfer, false))?;
    show::say(&history(&story))
}

/// A transfer, line by line.
fn told(t: &Transfer, replayed: bool) -> String {
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
    if let Some(code) = &t.code {
        pairs.push(("code", code));
    }
    if replayed {
        pairs.push(("replayed", "this key had been used before; nothing was done now"));
    }
    show::pairs(&pairs)
}

pub(super) fn history(story: &Story) -> String {
    let row = |step: &Step| {
        [
            step.seq.to_string(),
            step.at.clone(),
            step.event.clone(),
            step.from.clone().unwrap_or_default(),
            step.to.clone(),
            step.detail.clone().unwrap_or_default(),
        ]
    };
    let rows = story.history.iter().map(row).collect();
    show::table([">#", "at", "event", "from", "to", "detail"], rows)
}
