//! `portage deposit` and `portage withdraw`: external money in and out of Funding.

use super::exit::Fault;
use super::remote::{Minted, Remote};
use super::{Global, show, wait};
use crate::auth::Scope;
use client::types::{Booked, Movement};

/// What both take.
#[derive(Debug, clap::Args)]
struct What {
    /// Whose account.
    #[arg(long)]
    user: u64,
    /// The asset's symbol.
    #[arg(long)]
    asset: String,
    /// A plain decimal in the asset's unit.
    #[arg(long)]
    amount: String,
    /// The outside world's id of it: the key. A fresh one is made where none is given.
    #[arg(long = "ref", value_name = "ID")]
    reference: Option<String>,
    /// Why, for the audit.
    #[arg(long, default_value = "booked on the command line")]
    reason: String,
    #[command(flatten)]
    remote: Remote,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Book money that came from outside into a Funding account.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage deposit --user 4001 --asset USDT --amount 1000 --ref wire-7")]
pub(super) struct DepositArgs {
    #[command(flatten)]
    what: What,
}

/// Book money that goes outside from a Funding account.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage withdraw --user 4001 --asset USDT --amount 250 --ref payout-9")]
pub(super) struct WithdrawArgs {
    #[command(flatten)]
    what: What,
}

pub(super) fn deposit(global: &Global, args: &DepositArgs) -> Result<(), Fault> {
    let what = &args.what;
    wait(async {
        let client = what.remote.client(global, Minted::Operator, Scope::OpsAct)?;
        let (booked, fresh) = client.deposit(&what.movement()).await?;
        what.told("deposited", &booked, fresh)
    })
}

pub(super) fn withdraw(global: &Global, args: &WithdrawArgs) -> Result<(), Fault> {
    let what = &args.what;
    wait(async {
        let client = what.remote.client(global, Minted::Operator, Scope::OpsAct)?;
        let (booked, fresh) = client.withdraw(&what.movement()).await?;
        what.told("withdrawn", &booked, fresh)
    })
}

impl What {
    fn movement(&self) -> Movement {
        Movement {
            user_id: self.user,
            asset: self.asset.clone(),
            amount: self.amount.clone(),
            reference: self.reference.clone().unwrap_or_else(client::fresh_cid),
            reason: self.reason.clone(),
        }
    }

    fn told(&self, word: &str, booked: &Booked, fresh: bool) -> Result<(), Fault> {
        if self.json {
            return show::json(booked);
        }
        let what = format!("{} {}", booked.amount, booked.asset);
        let operation = booked.operation_id.to_string();
        let mut pairs = vec![
            (word, what.as_str()),
            ("available", booked.available.as_str()),
            ("operation", operation.as_str()),
        ];
        if !fresh {
            pairs.push(("replayed", "this reference had been booked before; nothing was done now"));
        }
        show::say(&show::pairs(&pairs))
    }
}
