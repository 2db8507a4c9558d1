//! `portage transfer relay`: pays an account on NEAR from the relay's own, and waits for the end.

use super::until::{ended, has_ended, until_ended, until_known};
use crate::auth::Scope;
use crate::cli::exit::Fault;
use crate::cli::remote::{Minted, Remote};
use crate::cli::{Global, output};
use client::types::{CreateRelayTransfer, RelayEvent, RelayTransfer};

/// Pay an account on NEAR from the relay's own.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage transfer relay --to alice.near --amount 1000000 --key payout-7\n\n\
    Ends with 0 when it is COMPLETED, 65 when it FAILED, 75 while it is under way or unknown.")]
pub(in crate::cli) struct RelayTransferArgs {
    /// The account on NEAR that is paid.
    #[arg(long)]
    to: String,
    /// The amount in the token's base units: digits alone.
    #[arg(long, allow_hyphen_values = true)]
    amount: String,
    /// Your own key, the name of the transfer; without it a fresh one is made and printed.
    #[arg(long)]
    key: Option<String>,
    /// Wait for the end for so many seconds.
    #[arg(long = "patience", value_name = "SECONDS", default_value_t = 30)]
    seconds: u64,
    #[command(flatten)]
    remote: Remote,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(global: &Global, args: &RelayTransferArgs) -> Result<(), Fault> {
    let key = args.key.clone().unwrap_or_else(client::fresh_cid);
    let new = CreateRelayTransfer { receiver_id: args.to.clone(), amount: args.amount.clone() };
    let client = |scope| args.remote.client(global, Minted::Operator, scope);
    let creates = client(Scope::RelayCreate)?;
    let send = async || creates.create_relay_transfer(&new, &key).await;
    until_known(send, &format!("--key {key}")).await?;
    let reads = client(Scope::RelayRead)?;
    let look = async || reads.relay_transfer(&key).await;
    let seen = until_ended(args.seconds, look, |seen| has_ended(&seen.opened.status)).await?;
    print(&seen, args.json)?;
    ended(&seen.opened.status, &key, seen.error_message.as_deref().unwrap_or("it FAILED"))
}

pub(super) fn print(transfer: &RelayTransfer, json: bool) -> Result<(), Fault> {
    if json {
        return output::print_json(transfer);
    }
    let opened = &transfer.opened;
    let what = format!("{} base units to {}", opened.amount, opened.receiver_id);
    let mut pairs = vec![
        ("transfer", what.as_str()),
        ("status", opened.status.as_str()),
        ("key", opened.transfer_id.as_str()),
    ];
    pairs.extend(opened.tx_hash.as_deref().map(|hash| ("transaction", hash)));
    pairs.extend(transfer.error_message.as_deref().map(|why| ("error", why)));
    output::print(&output::pairs(&pairs))?;
    let row = |event: &RelayEvent| {
        let detail = event.message.clone().or_else(|| event.tx_hash.clone());
        [event.time.clone(), event.event.clone(), detail.unwrap_or_default()]
    };
    output::print(&output::table(
        ["at", "event", "detail"],
        transfer.events.iter().map(row).collect(),
    ))
}
