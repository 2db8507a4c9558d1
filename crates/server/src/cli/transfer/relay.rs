//! `portage transfer relay`: pays an account on NEAR from the relay's own, and waits for the end.

use super::until::{FollowArgs, REPLAYED, ended, has_ended, seen, until_ended, until_known};
use crate::auth::Scope;
use crate::cli::exit::Fault;
use crate::cli::remote::Minted;
use crate::cli::{Global, output};
use client::types::{CreateRelayTransfer, RelayEvent, RelayTransfer};
use serde::Serialize;

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
    /// Who asks, in a token that is minted with the development key: a key of another caller is another payment.
    #[arg(long = "as", value_name = "NAME", default_value = "operator")]
    caller: String,
    #[command(flatten)]
    follow: FollowArgs,
}

pub(super) async fn run(global: &Global, args: &RelayTransferArgs) -> Result<(), Fault> {
    let (follow, key) = (&args.follow, args.follow.key());
    let new = CreateRelayTransfer { receiver_id: args.to.clone(), amount: args.amount.clone() };
    let scopes = [Scope::RelayCreate, Scope::RelayRead];
    let [creates, reads] = follow.clients(global, &Minted::Named(args.caller.clone()), scopes)?;
    let send = async || creates.create_relay_transfer(&new, &key).await;
    let replayed = until_known(send, &format!("--key {key}")).await?.replayed;
    let look = async || reads.relay_transfer(&key).await;
    let looked = until_ended(follow.seconds, look, |seen| has_ended(&seen.opened.status)).await;
    // a proxy before the server may read the key otherwise
    let looked = looked.map(|seen| seen.filter(|seen| seen.opened.transfer_id == key));
    let has_token = follow.remote.has_token();
    let whose = if has_token { String::new() } else { format!(" --as {}", args.caller) };
    let get = format!("{key} --flow relay{whose}");
    let seen = seen(looked, &key, &get)?;
    print(&seen, replayed, follow.json)?;
    let why = seen.error_message.as_deref().unwrap_or("no error");
    ended(&seen.opened.status, why, &get)
}

/// A payment as JSON, with whether its key had been used before.
#[derive(Debug, Serialize)]
struct ShownRelayTransfer<'a> {
    #[serde(flatten)]
    transfer: &'a RelayTransfer,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replayed: bool,
}

/// Shows a payment, and whether this command used a key that had been used before.
pub(super) fn print(transfer: &RelayTransfer, replayed: bool, json: bool) -> Result<(), Fault> {
    if json {
        return output::print_json(&ShownRelayTransfer { transfer, replayed });
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
    pairs.extend(replayed.then_some(("replayed", REPLAYED)));
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
