//! The rules that both directions of a swap share: worth its fee, in time, tried again, given back,
//! moved out. Pure over the record and the facts that they name.

use crate::facts::{flag, number, yes_no};
use kernel::agreed::Agreed;
use kernel::flow::life::{Ruling, Share};
use kernel::money::Amount;
use kernel::record::{Account, Facts, Party, Record};

/// Number: the time of the source chain's newest final block, in milliseconds since 1970.
pub const CHAIN_TIME: &str = "chain_time";
/// Flag: the target chain shows, in a final block, an account that can receive the payout.
pub const DESTINATION_VALID: &str = "destination_valid";
/// Number: what the payout account holds and nothing has reserved, in base units of the target's asset.
pub const INVENTORY: &str = "inventory";
/// Number: how many attempts of the payout were made for this transfer; the journal counts them.
pub const PAYOUT_ATTEMPTS: &str = "payout_attempts";
/// Number: how many attempts of the refund were made for this transfer; the journal counts them.
pub const REFUND_ATTEMPTS: &str = "refund_attempts";
/// Flag: the source chain shows, in a final block, that the account which paid can receive a refund.
pub const SENDER_VALID: &str = "sender_valid";
/// Flag: a quarantine account is configured and the source chain shows it.
pub const QUARANTINE_ACCOUNT: &str = "quarantine_account";
/// Number: how many attempts of the refund had been made when a person allowed one more.
pub const REFUND_RELEASED: &str = "refund_released";

/// The version of the service's terms for swaps: the fee, the deadline, who is paid.
const TERMS_VERSION: u32 = 1;

/// The most attempts of one act (`MAX_ACTION_ATTEMPTS` of the source).
pub(crate) const MOST_ATTEMPTS: u128 = 3;

/// The target gets something after the fee.
pub(crate) fn worth_it(record: &Record) -> bool {
    net(record).is_some_and(|net| net > Amount::ZERO)
}

fn net(record: &Record) -> Option<Amount> {
    record.share(Share::Net).map(|(_, amount)| amount)
}

/// Whether the deadline has passed by the source chain's time. `None`: there is a deadline, and the time
/// is not known.
pub(crate) fn late(record: &Record, facts: &Facts) -> Option<bool> {
    match record.deadline() {
        None => Some(false),
        Some(deadline) => number(facts, CHAIN_TIME).map(|now| now > u128::from(deadline)),
    }
}

/// Whether what is free pays the transfer; `None`: not known, or not enough yet.
pub(crate) fn covered(record: &Record, facts: &Facts) -> Option<()> {
    let (net, free) = (net(record)?, number(facts, INVENTORY)?);
    (free >= net.0).then_some(())
}

/// What is agreed when a swap is accepted: the net amount to the account of its terms, or to the one that
/// was named since. `None`: no account is named.
pub(crate) fn agreed(record: &Record, named: Option<&str>) -> Option<Agreed> {
    let target = &record.terms.target;
    let account = match (&target.account, named) {
        (Account::Unnamed, Some(name)) => Account::Named(name.into()),
        (Account::Unnamed, None) => return None,
        (account @ (Account::User(_) | Account::Named(_)), _) => account.clone(),
    };
    let (fee, deadline, reference) = (record.terms.fee, record.terms.deadline, None);
    let target = Party { account, ..target.clone() };
    Some(Agreed { target, fee, reference, terms_version: TERMS_VERSION, deadline })
}

/// Whether a payout that is proven dead is made again.
pub(crate) fn try_again(facts: &Facts) -> Option<bool> {
    number(facts, PAYOUT_ATTEMPTS).map(|made| made < MOST_ATTEMPTS)
}

/// Whether the money can be given back: to an account that takes it, an amount above zero, in an attempt
/// that is left or that a person allowed.
pub(crate) fn refund_possible(record: &Record, facts: &Facts) -> Ruling {
    let something = record.share(Share::LessFee).is_some_and(|(_, share)| share > Amount::ZERO);
    if !something {
        return Ruling::No;
    }
    let Some(made) = number(facts, REFUND_ATTEMPTS) else { return Ruling::NotYet };
    if made >= MOST_ATTEMPTS && !released(facts, made) {
        return Ruling::No;
    }
    flag(facts, SENDER_VALID).map_or(Ruling::NotYet, yes_no)
}

/// A person allowed the next attempt, and it was not made yet.
fn released(facts: &Facts, made: u128) -> bool {
    number(facts, REFUND_RELEASED) == Some(made)
}

/// Whether held money is moved to the quarantine account (yes), or given back after all because a person
/// said so and it is possible (no).
pub(crate) fn move_out(record: &Record, facts: &Facts) -> Ruling {
    let allowed = number(facts, REFUND_ATTEMPTS).is_some_and(|made| released(facts, made));
    if allowed && refund_possible(record, facts) == Ruling::Yes {
        return Ruling::No;
    }
    match flag(facts, QUARANTINE_ACCOUNT) {
        Some(true) => Ruling::Yes,
        Some(false) | None => Ruling::NotYet,
    }
}
