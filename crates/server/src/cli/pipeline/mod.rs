//! `portage pipeline …`: shows the status of the message pipeline, and lets operators act on parked keys and groups
//! of consumers.

mod dead_letters;
mod outbox;

pub(super) use self::dead_letters::{DeadLetterCommand, run as run_dead_letters};
pub(super) use self::outbox::{OutboxCommand, run as run_outbox};

use super::exit::Fault;
use super::ops::{ActionArgs, OpsTarget, lift_pause, pause_scope, post, rows};
use super::{Global, output, wait};
use crate::auth::Scope;
use api::admin::pipeline::{SeekGroup, Unpark};
use client::escaped;
use serde_json::Value;
use std::io::Write;

/// Show and repair message processing: lag, the outbox, parked keys, consumer groups.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Example:\n  portage pipeline status")]
pub(super) enum PipelineCommand {
    /// Lag by group and partition, the outbox, parked keys, dead letters, paused groups.
    Status(StatusArgs),
    /// Keys whose messages failed too often, and wait.
    Parked(ParkedArgs),
    /// Have a parked key tried again now.
    Unpark(UnparkArgs),
    /// Pause a group of consumers: it takes no message until it is resumed.
    Pause(GroupArgs),
    /// Resume a group of consumers that an operator paused.
    Resume(GroupArgs),
    /// Take a paused group back or forward to a time.
    Seek(SeekArgs),
    /// Every event of account transfers, for compliance.
    Export(ExportArgs),
}

/// How the pipeline does now.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage pipeline status")]
pub(super) struct StatusArgs {
    /// Show each partition of each group too.
    #[arg(long)]
    partitions: bool,
    #[command(flatten)]
    target: OpsTarget,
}

/// Keys that are parked.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage pipeline parked --group execution-group")]
pub(super) struct ParkedArgs {
    /// Only the keys of this group.
    #[arg(long)]
    group: Option<String>,
    #[command(flatten)]
    target: OpsTarget,
}

/// A parked key, by group and topic.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage pipeline unpark execution-group transfer-execution ACC-4001-1 --reason \"the ledger is back\""
)]
pub(super) struct UnparkArgs {
    /// The group for which it waits.
    group: String,
    /// The topic of its messages.
    topic: String,
    /// The key: the number of the account that pays.
    account: String,
    #[command(flatten)]
    action: ActionArgs,
}

/// A group of consumers.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage pipeline pause audit-group --reason \"ticket 4711\"\n  portage pipeline resume audit-group --reason \"ticket 4711\""
)]
pub(super) struct GroupArgs {
    /// The name of the group of consumers.
    group: String,
    #[command(flatten)]
    action: ActionArgs,
}

/// Take a paused group back or forward to a time. What it meets again has no second effect.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage pipeline seek audit-group --to 2026-11-21T09:00:00Z --dry-run --reason \"audit the last hour again\""
)]
pub(super) struct SeekArgs {
    /// The name of the group.
    group: String,
    /// It goes on at the first message that was published then or later, RFC 3339.
    #[arg(long)]
    to: String,
    /// Say where it would go on, and leave it where it is.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    action: ActionArgs,
}

/// Every event of account transfers, with hashes and whether the audit had its message.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage pipeline export --from 2026-11-01T00:00:00Z --to 2026-12-01T00:00:00Z --format csv"
)]
pub(super) struct ExportArgs {
    /// Transfers that were opened at or after this time, RFC 3339.
    #[arg(long)]
    from: String,
    /// Transfers that were opened before this time, RFC 3339.
    #[arg(long)]
    to: String,
    /// The form of the export: `jsonl` or `csv`.
    #[arg(long, default_value = "jsonl")]
    format: String,
    #[command(flatten)]
    target: OpsTarget,
}

pub(super) fn run(global: &Global, command: &PipelineCommand) -> Result<(), Fault> {
    wait(async {
        match command {
            PipelineCommand::Status(args) => status(global, args).await,
            PipelineCommand::Parked(args) => parked(global, args).await,
            PipelineCommand::Unpark(args) => {
                let unpark = Unpark {
                    group: args.group.clone(),
                    topic: args.topic.clone(),
                    key: args.account.clone(),
                    reason: args.action.reason().to_owned(),
                };
                post(global, &args.action, "/ops/pipeline/parked/unpark", &unpark).await
            }
            PipelineCommand::Pause(args) => {
                pause_scope(global, &args.action, "group", &args.group).await
            }
            PipelineCommand::Resume(args) => {
                lift_pause(global, &args.action, "group", &args.group).await
            }
            PipelineCommand::Seek(args) => {
                let seek = SeekGroup {
                    group: args.group.clone(),
                    to: args.to.clone(),
                    reason: args.action.reason().to_owned(),
                };
                post(global, &args.action, &tried("/ops/pipeline/seek", args.dry_run), &seek).await
            }
            PipelineCommand::Export(args) => export(global, args).await,
        }
    })
}

/// A path of an action, as it is done or only tried out.
fn tried(path: &str, dry_run: bool) -> String {
    if dry_run { format!("{path}?dry_run=true") } else { path.to_owned() }
}

async fn status(global: &Global, args: &StatusArgs) -> Result<(), Fault> {
    let client = args.target.client(global, Scope::OpsRead)?;
    let found = client.get("/ops/pipeline").await?;
    if args.target.json {
        return output::print_json(&found);
    }
    let of = |name: &str| found.get(name).cloned().unwrap_or_default();
    let outbox = of("outbox");
    let number = |name: &str| outbox.get(name).and_then(Value::as_u64).unwrap_or(0).to_string();
    let bus = of("bus");
    let pairs = [
        ("bus", bus.as_str().unwrap_or_default().to_owned()),
        ("outbox pending", number("pending")),
        ("oldest, seconds", number("oldest_age_seconds")),
    ];
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, text)| (*name, &**text)).collect();
    output::print(&output::pairs(&pairs))?;
    let groups = of("groups");
    output::print(&rows(
        &groups,
        ["group", "status", ">lag", ">lag_seconds", ">parked_keys", ">parked_messages"],
    ))?;
    if args.partitions {
        let partitions = |group: &Value| group.get("partitions").cloned().unwrap_or_default();
        for group in groups.as_array().into_iter().flatten() {
            let name = group.get("group").and_then(Value::as_str).unwrap_or_default();
            let columns = ["topic", ">partition", ">next", ">end", ">lag", ">lag_seconds"];
            output::print(&format!("{name}\n{}", rows(&partitions(group), columns)))?;
        }
    }
    output::print(&rows(
        &of("dead_letters"),
        ["topic", ">messages", ">in_journal", ">oldest_age_seconds"],
    ))
}

async fn parked(global: &Global, args: &ParkedArgs) -> Result<(), Fault> {
    let client = args.target.client(global, Scope::OpsRead)?;
    let group = args.group.as_ref().map(|group| format!("&group={}", escaped(group)));
    let path = format!("/ops/pipeline/parked?limit=100{}", group.unwrap_or_default());
    let found = client.get(&path).await?;
    if args.target.json {
        return output::print_json(&found);
    }
    let keys = found.get("keys").cloned().unwrap_or_default();
    let columns = ["group", "topic", "key", ">messages", "cause", ">failures", "next_try_at"];
    output::print(&rows(&keys, columns))
}

async fn export(global: &Global, args: &ExportArgs) -> Result<(), Fault> {
    let client = args.target.client(global, Scope::OpsRead)?;
    let (from, to, format) = (escaped(&args.from), escaped(&args.to), escaped(&args.format));
    let path = format!("/ops/pipeline/export?from={from}&to={to}&format={format}");
    let mut cursor: Option<String> = None;
    loop {
        let after = cursor.as_ref().map(|cursor| format!("&cursor={}", escaped(cursor)));
        let page = client.page(&format!("{path}{}", after.unwrap_or_default())).await?;
        let mut out = std::io::stdout().lock();
        out.write_all(page.text.as_bytes())?;
        out.flush()?;
        cursor = page.next;
        if cursor.is_none() {
            return Ok(());
        }
    }
}
