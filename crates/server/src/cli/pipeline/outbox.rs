//! `portage outbox …`: publishes the messages of a time range again.

use super::tried;
use crate::cli::exit::Fault;
use crate::cli::ops::{ActionArgs, post};
use crate::cli::{Global, wait};
use api::admin::pipeline::Reemit;

/// Publish the messages of a period again.
#[derive(Debug, clap::Subcommand)]
#[command(
    after_help = "Example:\n  portage outbox reemit --from 2026-11-21T09:00:00Z --to 2026-11-21T10:00:00Z --dry-run --reason \"the broker lost its disk\""
)]
pub(in crate::cli) enum OutboxCommand {
    /// Send again what was published in a range of time, under the ids that it has.
    Reemit(ReemitArgs),
}

/// Send again what was published in a range of time. Published messages are kept for seven days.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage outbox reemit --from 2026-11-21T09:00:00Z --to 2026-11-21T10:00:00Z --dry-run --reason \"the broker lost its disk\""
)]
pub(in crate::cli) struct ReemitArgs {
    /// Published at or after this time, RFC 3339.
    #[arg(long)]
    from: String,
    /// Published before this time, which is not in the future, RFC 3339.
    #[arg(long)]
    to: String,
    /// Say how many would be sent, and send none.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    action: ActionArgs,
}

pub(in crate::cli) fn run(global: &Global, command: &OutboxCommand) -> Result<(), Fault> {
    let OutboxCommand::Reemit(args) = command;
    let reemit = Reemit {
        from: args.from.clone(),
        to: args.to.clone(),
        reason: args.action.reason().to_owned(),
    };
    let path = tried("/ops/outbox/reemit", args.dry_run);
    wait(post(global, &args.action, &path, &reemit))
}
