//! `portage swap accept`: proposes that a payment from the vault which no attempt made was the operators' own.

use crate::cli::Global;
use crate::cli::exit::Fault;
use crate::cli::ops::{ActionArgs, post};
use client::escaped;

/// What left the vault is taken from the inventory once another person approves, so that the books say again what the
/// vault has. The chain's stop is lifted for itself: `portage ops unpause`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage swap accept 5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW --reason \"moved to the cold wallet, ticket 4711\""
)]
pub(in crate::cli) struct AcceptArgs {
    /// The signature of the transaction, in base58.
    signature: String,
    /// The chain of the vault.
    #[arg(long, default_value = "SOLANA")]
    chain: String,
    #[command(flatten)]
    action: ActionArgs,
}

pub(super) async fn run(global: &Global, args: &AcceptArgs) -> Result<(), Fault> {
    let (chain, signature) = (escaped(&args.chain), escaped(&args.signature));
    let path = format!("/ops/vaults/{chain}/withdrawals/{signature}/accept");
    post(global, &args.action, &path, &args.action.why()).await
}
