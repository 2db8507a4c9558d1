//! `portage deposit` and `portage withdraw`: book external money into and out of Funding accounts.

use super::exit::{Exit, Fault};
use super::ops::OpsTarget;
use super::{Global, output, user_number, wait};
use crate::auth::Scope;
use api::user_id::UserIdText;
use client::types::{Booked, Movement};
use client::{Client, Error};
use serde::Serialize;

/// What deposits and withdrawals both take.
#[derive(Debug, clap::Args)]
struct What {
    /// The user whose account it is.
    #[arg(long, value_parser = user_number)]
    user: u64,
    /// The symbol of the asset that moves.
    #[arg(long)]
    asset: String,
    /// A plain decimal in the asset's unit.
    #[arg(long, allow_hyphen_values = true)]
    amount: String,
    /// The outside world's id of it: the key, under which it is booked once. Without it a fresh one is made and
    /// printed, and the same command again books again.
    #[arg(long = "ref", value_name = "ID")]
    reference: Option<String>,
    /// Why, for the audit.
    #[arg(long, default_value = "booked on the command line")]
    reason: String,
    #[command(flatten)]
    target: OpsTarget,
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
    wait(async {
        let (client, movement) = args.what.begin(global)?;
        let booked = client.deposit(&movement).await;
        args.what.told("deposited", &movement, booked)
    })
}

pub(super) fn withdraw(global: &Global, args: &WithdrawArgs) -> Result<(), Fault> {
    wait(async {
        let (client, movement) = args.what.begin(global)?;
        let booked = client.withdraw(&movement).await;
        args.what.told("withdrawn", &movement, booked)
    })
}

/// What was booked, with the key that books it but once.
#[derive(Debug, Serialize)]
struct Keyed<'a> {
    #[serde(flatten)]
    booked: &'a Booked,
    #[serde(rename = "ref")]
    reference: &'a str,
    replayed: bool,
}

/// What was booked, and whether it was booked now. An unknown outcome and a proposal name the `ref` under which the same
/// command can be given again.
pub(super) fn read_booking<B>(
    booked: Result<(B, bool), Error>,
    reference: &str,
    made_here: bool,
) -> Result<(B, bool), Fault> {
    match booked {
        Err(Error::Unknown(why)) => {
            let sentence =
                format!("{why}; repeat it with --ref {reference}: it is never booked twice");
            Err(Fault { unknown: true, ..Fault::new(Exit::TempFail, sentence) })
        }
        other => other.map_err(|error| {
            let fault = Fault::from(error);
            if !fault.proposed || !made_here {
                return fault;
            }
            let sentence = format!(
                "{}. The ref is {reference}: repeat it with --ref {reference}, since the same command \
                 without it proposes one more",
                fault.sentence
            );
            Fault { sentence, ..fault }
        }),
    }
}

/// What a repeat of the command does, or this one was.
pub(super) fn booking_note(fresh: bool, made_here: bool) -> Option<(&'static str, &'static str)> {
    if !fresh {
        Some(("replayed", "this reference had been booked before; nothing was done now"))
    } else if made_here {
        Some(("note", "the same command again books again; with --ref and this ref it does not"))
    } else {
        None
    }
}

impl What {
    fn begin(&self, global: &Global) -> Result<(Client, Movement), Fault> {
        let client = self.target.client(global, Scope::OpsAct)?;
        let movement = Movement {
            user_id: UserIdText(self.user),
            asset: self.asset.clone(),
            amount: self.amount.clone(),
            reference: self.reference.clone().unwrap_or_else(client::fresh_cid),
            reason: self.reason.clone(),
        };
        Ok((client, movement))
    }

    fn told(
        &self,
        word: &str,
        movement: &Movement,
        booked: Result<(Booked, bool), Error>,
    ) -> Result<(), Fault> {
        let reference = &movement.reference;
        let (booked, fresh) = read_booking(booked, reference, self.reference.is_none())?;
        if self.target.json {
            return output::print_json(&Keyed { booked: &booked, reference, replayed: !fresh });
        }
        let what = format!("{} {}", booked.amount, booked.asset);
        let operation = booked.operation_id.to_string();
        let mut pairs = vec![
            (word, what.as_str()),
            ("available", booked.available.as_str()),
            ("operation", operation.as_str()),
            ("ref", reference.as_str()),
        ];
        pairs.extend(booking_note(fresh, self.reference.is_none()));
        output::print(&output::pairs(&pairs))
    }
}
