//! `portage swap release`: proposes one more refund of a swap whose money is held.

use crate::cli::Global;
use crate::cli::exit::Fault;
use crate::cli::ops::{ActionArgs, post};
use client::escaped;

/// The refund is made once another person approves, where the account that paid takes it. It was refused three times, or
/// could not be made, before the money was held.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage swap release 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --reason \"the account is open again, ticket 4711\""
)]
pub(in crate::cli) struct ReleaseArgs {
    /// The id of the swap.
    id: String,
    #[command(flatten)]
    action: ActionArgs,
}

pub(super) async fn run(global: &Global, args: &ReleaseArgs) -> Result<(), Fault> {
    let path = format!("/ops/transfers/{}/release", escaped(&args.id));
    post(global, &args.action, &path, &args.action.why()).await
}
