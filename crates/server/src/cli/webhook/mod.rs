//! `portage webhook …`: manages the endpoints that receive events, and shows the deliveries to them.

mod args;

use self::args::{AddArgs, ChangeArgs, LogArgs, OneArgs, ReplayArgs, ResendArgs, RotateArgs};
use super::exit::Fault;
use super::ops::{self, ActionArgs, OpsTarget, fields, rows};
use super::{Global, output, wait};
use crate::auth::Scope;
use api::admin::webhooks::{ChangeWebhook, ReplayWebhook, RotateWebhook};
use client::escaped;
use serde_json::Value;

/// Below it every endpoint has its route.
const PATH: &str = "/webhooks";

/// Endpoints that are told of what happens to transfers and cases.
#[derive(Debug, clap::Subcommand)]
#[command(
    after_help = "Example:\n  portage webhook add https://hooks.example.com/portage --event \"transfer.*\" --reason \"ticket 4711\""
)]
pub(super) enum WebhookCommand {
    /// Every endpoint, in the order of adding.
    List(ListWebhooksArgs),
    /// One endpoint, as it is now.
    Show(ShowWebhookArgs),
    /// Add an endpoint; its secret is shown this once.
    Add(AddArgs),
    /// Change what an endpoint is told of, or where it is.
    Change(ChangeArgs),
    /// Tell a disabled endpoint again.
    Enable(OneArgs),
    /// Tell an endpoint of nothing.
    Disable(OneArgs),
    /// Delete an endpoint and what waits for it.
    Delete(OneArgs),
    /// Draw a new secret, which is shown this once.
    Rotate(RotateArgs),
    /// Send a test event.
    Test(OneArgs),
    /// What was sent to an endpoint and what came of it, newest first.
    Deliveries(LogArgs),
    /// Send one message of the log again.
    Resend(ResendArgs),
    /// Send everything again that happened since a time.
    Replay(ReplayArgs),
}

/// Every endpoint, in the order of adding.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage webhook list")]
pub(super) struct ListWebhooksArgs {
    #[command(flatten)]
    target: OpsTarget,
}

/// One endpoint, as it is now.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage webhook show 01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
pub(super) struct ShowWebhookArgs {
    /// The id of the endpoint that is meant.
    id: String,
    #[command(flatten)]
    target: OpsTarget,
}

pub(super) fn run(global: &Global, command: &WebhookCommand) -> Result<(), Fault> {
    wait(async {
        match command {
            WebhookCommand::List(args) => list(global, args).await,
            WebhookCommand::Show(args) => show(global, args).await,
            WebhookCommand::Add(args) => ops::post(global, &args.action, PATH, &args.body()).await,
            WebhookCommand::Change(args) => {
                ops::patch(global, &args.action, &path(&args.id, ""), &args.body()).await
            }
            WebhookCommand::Enable(args) => set_status(global, args, "ACTIVE").await,
            WebhookCommand::Disable(args) => set_status(global, args, "DISABLED").await,
            WebhookCommand::Delete(args) => {
                ops::delete(global, &args.action, &path(&args.id, "")).await
            }
            WebhookCommand::Rotate(args) => {
                let rotate = RotateWebhook {
                    overlap_seconds: Some(args.overlap_seconds),
                    reason: args.action.reason().to_owned(),
                };
                ops::post(global, &args.action, &path(&args.id, "/rotate"), &rotate).await
            }
            WebhookCommand::Test(args) => {
                ops::post(global, &args.action, &path(&args.id, "/test"), &args.action.why()).await
            }
            WebhookCommand::Deliveries(args) => deliveries(global, args).await,
            WebhookCommand::Resend(args) => {
                let path = path(&args.id, &format!("/deliveries/{}/resend", args.number));
                ops::post(global, &args.action, &path, &args.action.why()).await
            }
            WebhookCommand::Replay(args) => {
                let replay = ReplayWebhook {
                    since: args.since.clone(),
                    dry_run: args.dry_run,
                    reason: args.action.reason().to_owned(),
                };
                ops::post(global, &args.action, &path(&args.id, "/replay"), &replay).await
            }
        }
    })
}

fn path(id: &str, below: &str) -> String {
    format!("{PATH}/{}{below}", escaped(id))
}

async fn list(global: &Global, args: &ListWebhooksArgs) -> Result<(), Fault> {
    let client = args.target.client(global, Scope::OpsRead)?;
    let found = client.get(PATH).await?;
    let all = found.get("webhooks").cloned().unwrap_or_default();
    if args.target.json {
        return output::print_json(&all);
    }
    output::print(&rows(&all, ["id", "status", "channel", "target", "events", "description"]))
}

async fn show(global: &Global, args: &ShowWebhookArgs) -> Result<(), Fault> {
    let client = args.target.client(global, Scope::OpsRead)?;
    let found = client.get(&path(&args.id, "")).await?;
    if args.target.json { output::print_json(&found) } else { output::print(&fields(&found)) }
}

async fn set_status(global: &Global, args: &OneArgs, status: &str) -> Result<(), Fault> {
    let change = ChangeWebhook {
        target: None,
        description: None,
        events: None,
        flows: None,
        owner: None,
        status: Some(status.to_owned()),
        reason: args.action.reason().to_owned(),
    };
    ops::patch(global, &args.action, &path(&args.id, ""), &change).await
}

async fn deliveries(global: &Global, args: &LogArgs) -> Result<(), Fault> {
    let client = args.target.client(global, Scope::OpsRead)?;
    let (mut all, mut cursor) = (Vec::new(), String::new());
    while all.len() < args.limit {
        let below = format!("/deliveries?limit=100{cursor}");
        let page = client.get(&path(&args.id, &below)).await?;
        all.extend(page.get("deliveries").and_then(Value::as_array).cloned().unwrap_or_default());
        match page.get("next").and_then(Value::as_str) {
            Some(next) => cursor = format!("&cursor={}", escaped(next)),
            None => break,
        }
    }
    all.truncate(args.limit);
    let all = Value::Array(all);
    if args.target.json {
        return output::print_json(&all);
    }
    let columns = [
        ">number",
        "type",
        "subject",
        "status",
        ">attempts",
        "response_status",
        "tried_at",
        "error",
    ];
    output::print(&rows(&all, columns))
}
