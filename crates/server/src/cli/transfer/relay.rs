//! `portage transfer relay`: pays an account on NEAR from the relay's own, and waits for the end.

use super::until::{MOST, ended, has_ended, unseen, until_ended, until_known};
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
    /// Who asks, in a token that is minted with the development key: a key of another caller is another payment.
    #[arg(long = "as", value_name = "NAME", default_value = "operator")]
    caller: String,
    /// Wait for the end for so many seconds.
    #[arg(long = "patience", value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(..=MOST))]
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
    // both before anything is sent: what fails behind it would sound as if nothing was done
    let remote = args.remote.with_token_read()?;
    let client =
        |scope| remote.client_for(global, Minted::Named(args.caller.clone()), scope, args.seconds);
    let (creates, reads) = (client(Scope::RelayCreate)?, client(Scope::RelayRead)?);
    let send = async || creates.create_relay_transfer(&new, &key).await;
    until_known(send, &format!("--key {key}")).await?;
    let look = async || reads.relay_transfer(&key).await;
    let looked = until_ended(args.seconds, look, |seen| has_ended(&seen.opened.status)).await;
    let whose = if remote.has_token() { String::new() } else { format!(" --as {}", args.caller) };
    let get = || format!("{key} --flow relay{whose}");
    let seen = looked.map_err(|error| unseen(Some(error), &key, &get()))?;
    // a proxy before the server may read the key otherwise
    let seen = seen.filter(|seen| seen.opened.transfer_id == key);
    let seen = seen.ok_or_else(|| unseen(None, &key, &get()))?;
    print(&seen, args.json)?;
    let why = seen.error_message.as_deref().unwrap_or("no error");
    ended(&seen.opened.status, why, &get())
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
