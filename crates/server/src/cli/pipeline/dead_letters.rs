//! `portage dlt …`: lists, shows and redrives dead letters, the messages that no consumer can take.

use super::tried;
use crate::auth::Scope;
use crate::cli::exit::{Exit, Fault};
use crate::cli::ops::{ActionArgs, OpsTarget, fields, post, rows};
use crate::cli::whole_number;
use crate::cli::{Global, output, wait};
use api::admin::pipeline::RedriveDeadLetters;
use client::escaped;
use serde_json::Value;

/// Messages that no consumer can take: listed, shown, and sent back to their topic.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Example:\n  portage dlt list")]
pub(in crate::cli) enum DeadLetterCommand {
    /// How many wait on each topic, or what waits on one.
    List(ListDeadLettersArgs),
    /// One of them with its headers and payload.
    Show(ShowDeadLetterArgs),
    /// Send them back to the topic that they came from.
    Redrive(RedriveArgs),
}

/// How many wait on each topic, or what waits on one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage dlt list transfer-execution-dlt")]
pub(in crate::cli) struct ListDeadLettersArgs {
    /// The topic of dead letters.
    topic: Option<String>,
    #[command(flatten)]
    target: OpsTarget,
}

/// One dead letter, by its place.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage dlt show transfer-execution-dlt 3 0")]
pub(in crate::cli) struct ShowDeadLetterArgs {
    /// The topic of dead letters.
    topic: String,
    /// The partition in which it lies.
    #[arg(value_parser = whole_number)]
    partition: u64,
    /// Its offset in that partition.
    #[arg(value_parser = whole_number)]
    offset: u64,
    #[command(flatten)]
    target: OpsTarget,
}

/// Send dead letters back to the topic that they came from, under the ids that they have.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage dlt redrive transfer-execution-dlt --dry-run --reason \"the journal was restored\"\n  portage dlt redrive transfer-execution-dlt --most 10 --per-second 1 --reason \"the journal was restored\""
)]
pub(in crate::cli) struct RedriveArgs {
    /// The topic of dead letters.
    topic: String,
    /// Say which would go back, and send none.
    #[arg(long)]
    dry_run: bool,
    /// Maximum number of messages, the oldest of each partition first.
    #[arg(long, default_value_t = 100, value_parser = whole_number)]
    most: u64,
    /// Maximum number of messages in a second.
    #[arg(long, default_value_t = 50)]
    per_second: u32,
    /// A message that went back this number of times is passed over.
    #[arg(long, default_value_t = 3)]
    max_replays: u32,
    #[command(flatten)]
    action: ActionArgs,
}

pub(in crate::cli) fn run(global: &Global, command: &DeadLetterCommand) -> Result<(), Fault> {
    wait(async {
        match command {
            DeadLetterCommand::List(args) => list(global, args).await,
            DeadLetterCommand::Show(args) => show(global, args).await,
            DeadLetterCommand::Redrive(args) => {
                let path = format!("/ops/dlt/{}/redrive", escaped(&args.topic));
                let redrive = RedriveDeadLetters {
                    most: Some(args.most),
                    per_second: Some(args.per_second),
                    max_replays: Some(args.max_replays),
                    reason: args.action.reason().to_owned(),
                };
                post(global, &args.action, &tried(&path, args.dry_run), &redrive).await
            }
        }
    })
}

async fn found(global: &Global, target: &OpsTarget, topic: &str) -> Result<Value, Fault> {
    let client = target.client(global, Scope::OpsRead)?;
    Ok(client.get(&format!("/ops/dlt/{}?limit=100", escaped(topic))).await?)
}

async fn list(global: &Global, args: &ListDeadLettersArgs) -> Result<(), Fault> {
    let Some(topic) = &args.topic else {
        let client = args.target.client(global, Scope::OpsRead)?;
        let status = client.get("/ops/pipeline").await?;
        let topics = status.get("dead_letters").cloned().unwrap_or_default();
        if args.target.json {
            return output::print_json(&topics);
        }
        return output::print(&rows(
            &topics,
            ["topic", ">messages", ">in_journal", ">oldest_age_seconds"],
        ));
    };
    let found = found(global, &args.target, topic).await?;
    if args.target.json {
        return output::print_json(&found);
    }
    let messages = found.get("messages").cloned().unwrap_or_default();
    let columns = [">partition", ">offset", "id", "key", "reason", "group", ">replays"];
    output::print(&rows(&messages, columns))
}

async fn show(global: &Global, args: &ShowDeadLetterArgs) -> Result<(), Fault> {
    let found = found(global, &args.target, &args.topic).await?;
    let messages = found.get("messages").and_then(Value::as_array);
    let is = |message: &&Value| {
        let of = |name: &str| message.get(name).and_then(Value::as_u64);
        (of("partition"), of("offset")) == (Some(args.partition), Some(args.offset))
    };
    let Some(message) = messages.into_iter().flatten().find(is) else {
        let sentence = "it is not among the first hundred that wait";
        return Err(Fault::new(Exit::Unavailable, sentence.to_owned()));
    };
    if args.target.json { output::print_json(message) } else { output::print(&fields(message)) }
}
