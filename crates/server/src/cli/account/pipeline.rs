//! `portage account pipeline …`: lists, opens, funds, freezes and closes numbered accounts, for operators.

use crate::auth::Scope;
use crate::cli::exit::Fault;
use crate::cli::external::{booking_note, read_booking};
use crate::cli::ops::{ActionArgs, OpsTarget, fields, post, rows};
use crate::cli::{Global, output, user_number, wait};
use api::admin::numbered_accounts::{OpenNumberedAccount, SetNumberedStatus};
use api::user_id::UserIdText;
use client::Error;
use client::escaped;
use client::types::{BookedNumbered, NumberedMovement};
use serde::Serialize;
use serde_json::Value;

/// Below it every numbered account has its route.
const PATH: &str = "/ops/accounts/pipeline";

/// Accounts with a number: opened, funded, frozen and closed.
#[derive(Debug, clap::Subcommand)]
#[command(
    after_help = "Example:\n  portage account pipeline open ACC-4001-1 --owner 4001 --currency USDT --reason \"contract 12\""
)]
pub(in crate::cli) enum PipelineCommand {
    /// Every account, or one owner's, in the order of their numbers.
    List(ListPipelineArgs),
    /// One account with its owner, currency, balance and status.
    Show(ShowPipelineArgs),
    /// Open an account with a number, an owner and a currency.
    Open(OpenArgs),
    /// Let an account receive, and no longer pay.
    Freeze(StatusArgs),
    /// Let a frozen account pay again.
    Unfreeze(StatusArgs),
    /// Close an empty account for ever.
    Close(StatusArgs),
    /// Book money that came from outside into an account.
    Deposit(MovementArgs),
    /// Book money that goes outside from an account.
    Withdraw(MovementArgs),
}

/// Every account, or one owner's, in the order of their numbers.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage account pipeline list --owner 4001")]
pub(in crate::cli) struct ListPipelineArgs {
    /// Only the accounts of this user.
    #[arg(long, value_parser = user_number)]
    owner: Option<u64>,
    #[command(flatten)]
    target: OpsTarget,
}

/// One account with its owner, currency, balance and status.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage account pipeline show ACC-4001-1")]
pub(in crate::cli) struct ShowPipelineArgs {
    /// The number of the account that is meant.
    number: String,
    #[command(flatten)]
    target: OpsTarget,
}

/// Open an account. Its owner and its currency never change.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage account pipeline open ACC-4001-1 --owner 4001 --currency USDT --reason \"contract 12\""
)]
pub(in crate::cli) struct OpenArgs {
    /// 1 to 34 upper-case letters, digits and dashes; never used before.
    number: String,
    /// The user who may move its money.
    #[arg(long, value_parser = user_number)]
    owner: u64,
    /// The symbol of the one asset that it holds.
    #[arg(long)]
    currency: String,
    #[command(flatten)]
    action: ActionArgs,
}

/// Set the status of a numbered account.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage account pipeline freeze ACC-4001-1 --reason \"court order 12\"\n  portage account pipeline unfreeze ACC-4001-1 --reason \"order ended\"\n  portage account pipeline close ACC-4001-1 --reason \"contract ended\""
)]
pub(in crate::cli) struct StatusArgs {
    /// The number of the account that is meant.
    number: String,
    #[command(flatten)]
    action: ActionArgs,
}

/// Book external money in or out of an account.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage account pipeline deposit ACC-4001-1 --currency USDT --amount 1000 --ref wire-8\n  portage account pipeline withdraw ACC-4001-1 --currency USDT --amount 250 --ref payout-10"
)]
pub(in crate::cli) struct MovementArgs {
    /// The number of the account that is meant.
    number: String,
    /// The symbol of the asset that it holds.
    #[arg(long)]
    currency: String,
    /// A plain decimal in the asset's unit.
    #[arg(long, allow_hyphen_values = true)]
    amount: String,
    /// The outside world's id of it: the key, under which it is booked once. Without it a fresh one is made and
    /// printed, and the same command again books again.
    #[arg(long = "ref", value_name = "ID")]
    reference: Option<String>,
    /// Why it is booked, for the audit.
    #[arg(long, default_value = "booked on the command line")]
    reason: String,
    #[command(flatten)]
    target: OpsTarget,
}

pub(super) fn run(global: &Global, command: &PipelineCommand) -> Result<(), Fault> {
    wait(async {
        match command {
            PipelineCommand::List(args) => list(global, args).await,
            PipelineCommand::Show(args) => show(global, args).await,
            PipelineCommand::Open(args) => open(global, args).await,
            PipelineCommand::Freeze(args) => set_status(global, args, "FROZEN").await,
            PipelineCommand::Unfreeze(args) => set_status(global, args, "ACTIVE").await,
            PipelineCommand::Close(args) => set_status(global, args, "CLOSED").await,
            PipelineCommand::Deposit(args) => deposit(global, args).await,
            PipelineCommand::Withdraw(args) => withdraw(global, args).await,
        }
    })
}

async fn list(global: &Global, args: &ListPipelineArgs) -> Result<(), Fault> {
    let client = args.target.client(global, Scope::OpsRead)?;
    let owner = args.owner.map(|owner| format!("&owner={owner}")).unwrap_or_default();
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("{PATH}?limit=100{owner}{cursor}")).await?;
        all.extend(page.get("accounts").and_then(Value::as_array).cloned().unwrap_or_default());
        match page.get("next").and_then(Value::as_str) {
            Some(next) => cursor = format!("&cursor={}", escaped(next)),
            None => break,
        }
    }
    let all = Value::Array(all);
    if args.target.json {
        return output::print_json(&all);
    }
    output::print(&rows(&all, ["number", ">owner", "currency", ">balance", "status"]))
}

async fn show(global: &Global, args: &ShowPipelineArgs) -> Result<(), Fault> {
    let client = args.target.client(global, Scope::OpsRead)?;
    let found = client.get(&format!("{PATH}/{}", escaped(&args.number))).await?;
    if args.target.json { output::print_json(&found) } else { output::print(&fields(&found)) }
}

async fn open(global: &Global, args: &OpenArgs) -> Result<(), Fault> {
    let account = OpenNumberedAccount {
        number: args.number.clone(),
        owner: UserIdText(args.owner),
        currency: args.currency.clone(),
        reason: args.action.reason().to_owned(),
    };
    post(global, &args.action, PATH, &account).await
}

async fn set_status(global: &Global, args: &StatusArgs, status: &str) -> Result<(), Fault> {
    let path = format!("{PATH}/{}/status", escaped(&args.number));
    let (status, reason) = (status.to_owned(), args.action.reason().to_owned());
    post(global, &args.action, &path, &SetNumberedStatus { status, reason }).await
}

async fn deposit(global: &Global, args: &MovementArgs) -> Result<(), Fault> {
    let client = args.target.client(global, Scope::OpsAct)?;
    let movement = args.movement();
    let booked = client.deposit_numbered(&escaped(&args.number), &movement).await;
    args.print("deposited", &movement, booked)
}

async fn withdraw(global: &Global, args: &MovementArgs) -> Result<(), Fault> {
    let client = args.target.client(global, Scope::OpsAct)?;
    let movement = args.movement();
    let booked = client.withdraw_numbered(&escaped(&args.number), &movement).await;
    args.print("withdrawn", &movement, booked)
}

/// What was booked, with the key that books it but once.
#[derive(Debug, Serialize)]
struct Keyed<'a> {
    #[serde(flatten)]
    booked: &'a BookedNumbered,
    #[serde(rename = "ref")]
    reference: &'a str,
    replayed: bool,
}

impl MovementArgs {
    fn movement(&self) -> NumberedMovement {
        NumberedMovement {
            currency: self.currency.clone(),
            amount: self.amount.clone(),
            reference: self.reference.clone().unwrap_or_else(client::fresh_cid),
            reason: self.reason.clone(),
        }
    }

    fn print(
        &self,
        word: &str,
        movement: &NumberedMovement,
        booked: Result<(BookedNumbered, bool), Error>,
    ) -> Result<(), Fault> {
        let reference = &movement.reference;
        let (booked, fresh) = read_booking(booked, reference, self.reference.is_none())?;
        if self.target.json {
            return output::print_json(&Keyed { booked: &booked, reference, replayed: !fresh });
        }
        let what = format!("{} {}", booked.amount, booked.currency);
        let operation = booked.operation_id.to_string();
        let mut pairs = vec![
            ("account", booked.number.as_str()),
            (word, what.as_str()),
            ("balance", booked.balance.as_str()),
            ("operation", operation.as_str()),
            ("ref", reference.as_str()),
        ];
        pairs.extend(booking_note(fresh, self.reference.is_none()));
        output::print(&output::pairs(&pairs))
    }
}
