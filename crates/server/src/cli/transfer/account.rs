//! `portage transfer account`: moves money between two numbered accounts, and waits for the end.

use super::steps;
use super::until::{FollowArgs, REPLAYED, ended, has_ended, seen, until_ended, until_known};
use crate::auth::Scope;
use crate::cli::exit::Fault;
use crate::cli::remote::Minted;
use crate::cli::{Global, output, user_number};
use client::types::{AccountTransfer, CreateAccountTransfer};
use serde::Serialize;

/// Move money between two numbered accounts.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage transfer account --user 4001 --from DE-4001-USD --to DE-4002-USD --currency USD --amount 5\n\n\
    Ends with 0 when it is COMPLETED, 65 when it FAILED, 75 while it is under way or unknown.")]
pub(in crate::cli) struct AccountTransferArgs {
    /// The owner of the account that pays, where no token is given.
    #[arg(long, value_parser = user_number)]
    user: Option<u64>,
    /// The number of the account that pays.
    #[arg(long)]
    from: String,
    /// The number of the account that receives.
    #[arg(long)]
    to: String,
    /// The symbol of the asset that both accounts hold.
    #[arg(long)]
    currency: String,
    /// A plain decimal in the currency's unit.
    #[arg(long, allow_hyphen_values = true)]
    amount: String,
    /// Your own words, up to 128 characters.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    #[command(flatten)]
    follow: FollowArgs,
}

pub(super) async fn run(global: &Global, args: &AccountTransferArgs) -> Result<(), Fault> {
    let (follow, key) = (&args.follow, args.follow.key());
    let new = CreateAccountTransfer {
        from_account_number: args.from.clone(),
        to_account_number: args.to.clone(),
        amount: args.amount.clone(),
        currency: args.currency.clone(),
        description: args.description.clone(),
    };
    let scopes = [Scope::TransfersCreate, Scope::TransfersRead];
    let [creates, reads] = follow.clients(global, &Minted::User(args.user), scopes)?;
    let send = async || creates.create_account_transfer(&new, &key).await;
    let opened = until_known(send, &format!("--key {key}")).await?;
    let (id, replayed) = (opened.transfer.transfer_id, opened.replayed);
    let look = async || reads.account_transfer(&id).await;
    let looked = until_ended(follow.seconds, look, |seen| has_ended(&seen.status)).await;
    let whose = args.user.map_or_else(String::new, |user| format!(" --user {user}"));
    let get = format!("{id} --flow account{whose}");
    let seen = seen(looked, &key, &get)?;
    print(&seen, &Now { key: Some(&key), replayed }, follow.json)?;
    ended(&seen.status, &seen.message, &get)
}

/// What this command did: the key that it used, and whether that had been used before.
#[derive(Debug, Default, Serialize)]
pub(super) struct Now<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replayed: bool,
}

/// A transfer as JSON, with what was done now.
#[derive(Debug, Serialize)]
struct KeyedAccountTransfer<'a> {
    #[serde(flatten)]
    transfer: &'a AccountTransfer,
    #[serde(flatten)]
    now: &'a Now<'a>,
}

/// Shows a transfer, with what was done now.
pub(super) fn print(transfer: &AccountTransfer, now: &Now<'_>, json: bool) -> Result<(), Fault> {
    if json {
        return output::print_json(&KeyedAccountTransfer { transfer, now });
    }
    let AccountTransfer { from_account_number: from, to_account_number: to, .. } = transfer;
    let what = format!("{} {} from {from} to {to}", transfer.amount, transfer.currency);
    let mut pairs = vec![
        ("transfer", what.as_str()),
        ("status", transfer.status.as_str()),
        ("message", transfer.message.as_str()),
        ("transferId", transfer.transfer_id.as_str()),
    ];
    pairs.extend(now.key.map(|key| ("key", key)));
    pairs.extend(now.replayed.then_some(("replayed", REPLAYED)));
    output::print(&output::pairs(&pairs))?;
    output::print(&steps(&transfer.history))
}
