//! The rules that both directions of a swap share: worth its fee, in time, tried again, given back,
//! moved out. Pure over the record and the facts that they name.

use crate::facts::{flag, number};
use kernel::agreed::Agreed;
use kernel::flow::life::{Ruling, Share};
use kernel::ids::Millis;
use kernel::money::Amount;
use kernel::record::{Account, Facts, Party, Record};

/// Number: the time of the source chain's newest final block, in milliseconds since 1970.
pub const CHAIN_TIME: &str = "chain_time";
/// Flag: the target chain shows, in a final block, an account that can receive the payout.
pub const DESTINATION_VALID: &str = "destination_valid";
/// Flag: the settings let swaps be accepted (`swap.accept`); where they do not, deposits are only given back.
pub const ACCEPTING: &str = "accepting";
/// Flag: the payout is within the caps of the settings (`swap.max_amount`). Above them a swap waits.
pub const WITHIN_CAPS: &str = "within_caps";
/// Flag: the cooldown since the last attempt of the payout was closed is over (`ACTION_RETRY_COOLDOWN_SEC` of the source).
pub const PAYOUT_RESTED: &str = "payout_rested";
/// Flag: the same of the refund; true where none was made.
pub const REFUND_RESTED: &str = "refund_rested";
/// Number: how often the source chain refused the refund, or its receiver let it expire; the journal counts them. What is
/// proven dead was refused by no one.
pub const REFUND_REJECTIONS: &str = "refund_rejections";
/// Number: the most refusals of a refund before a person decides (`MAX_ACTION_ATTEMPTS` of the source, which counts what
/// was lost too).
pub const MOST_REFUND_REJECTIONS: &str = "most_refund_rejections";
/// Flag: the source chain shows, in a final block, that the account which paid can receive a refund.
pub const SENDER_VALID: &str = "sender_valid";
/// Flag: a quarantine account is configured and the source chain shows it.
pub const QUARANTINE_ACCOUNT: &str = "quarantine_account";
/// Number: how often the refund had been refused when a person allowed one more.
pub const REFUND_RELEASED: &str = "refund_released";

/// The version of the service's terms for swaps: the fee, the deadline, who is paid.
const TERMS_VERSION: u32 = 1;

/// The target gets something after the fee.
pub(crate) fn worth_it(record: &Record) -> bool {
    net(record).is_some_and(|net| net > Amount::ZERO)
}

fn net(record: &Record) -> Option<Amount> {
    record.share(Share::Net).map(|(_, amount)| amount)
}

/// Whether a deadline has passed by the source chain's time. `None`: there is a deadline, and the time
/// is not known.
pub(crate) fn late(deadline: Option<Millis>, facts: &Facts) -> Option<bool> {
    match deadline {
        None => Some(false),
        Some(deadline) => number(facts, CHAIN_TIME).map(|now| now > u128::from(deadline)),
    }
}

/// Whether a payout is promised: swaps are accepted, its receiver can be paid, and it is in time. Above a cap it waits.
pub(crate) fn promise(facts: &Facts, late: Option<bool>) -> Ruling {
    let [accepting, valid, capped] =
        [ACCEPTING, DESTINATION_VALID, WITHIN_CAPS].map(|name| flag(facts, name));
    if accepting == Some(false) || valid == Some(false) || late == Some(true) {
        return Ruling::No;
    }
    let promised = [accepting, valid, capped] == [Some(true); 3] && late == Some(false);
    if promised { Ruling::Yes } else { Ruling::NotYet }
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

/// Whether a payout that is proven dead is made again: after its cooldown, until the deadline.
pub(crate) fn try_again(record: &Record, facts: &Facts) -> Ruling {
    match (late(record.deadline(), facts), flag(facts, PAYOUT_RESTED)) {
        (Some(true), _) => Ruling::No,
        (Some(false), Some(true)) => Ruling::Yes,
        (Some(false), Some(false) | None) | (None, _) => Ruling::NotYet,
    }
}

/// Whether the money can be given back: to an account that takes it, an amount above zero, refused less often than is
/// allowed or once more by a person. What was lost is given back again after a cooldown, for ever.
pub(crate) fn refund_possible(record: &Record, facts: &Facts) -> Ruling {
    let something =
        record.share(Share::LessRefundFee).is_some_and(|(_, share)| share > Amount::ZERO);
    if !something {
        return Ruling::No;
    }
    let counts = number(facts, REFUND_REJECTIONS).zip(number(facts, MOST_REFUND_REJECTIONS));
    let Some((rejections, most)) = counts else { return Ruling::NotYet };
    if rejections >= most && !released(facts, rejections) {
        return Ruling::No;
    }
    match (flag(facts, SENDER_VALID), flag(facts, REFUND_RESTED)) {
        (Some(false), _) => Ruling::No,
        (Some(true), Some(true)) => Ruling::Yes,
        (Some(true), Some(false) | None) | (None, _) => Ruling::NotYet,
    }
}

/// A person allowed one more, and it was not refused yet.
fn released(facts: &Facts, rejections: u128) -> bool {
    number(facts, REFUND_RELEASED) == Some(rejections)
}

/// Whether held money is moved to the quarantine account (yes), or given back after all because a person
/// said so and it is possible (no).
pub(crate) fn move_out(record: &Record, facts: &Facts) -> Ruling {
    let rejections = number(facts, REFUND_REJECTIONS);
    if rejections.is_some_and(|rejections| released(facts, rejections)) {
        match refund_possible(record, facts) {
            Ruling::Yes => return Ruling::No,
            // what a person allowed is not moved out while it may still be possible
            Ruling::NotYet => return Ruling::NotYet,
            Ruling::No => {}
        }
    }
    match flag(facts, QUARANTINE_ACCOUNT) {
        Some(true) => Ruling::Yes,
        Some(false) | None => Ruling::NotYet,
    }
}
