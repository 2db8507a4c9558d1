//! What is decided about a receiver before it is paid. Pure over the facts that are named here; a fact
//! that is missing is *not yet*.

use crate::facts::{flag, number, yes_no};
use kernel::flow::life::Ruling;
use kernel::record::Facts;

/// Flag: the token's contract has a storage balance for the receiver, in a final block; yes is
/// remembered, since a balance is not taken away by others.
pub const REGISTERED: &str = "receiver_registered";
/// Flag: the chain has an account of that name, in a final block, or the token's contract knows it without one. Who is
/// neither is not registered.
pub const RECEIVER_EXISTS: &str = "receiver_exists";
/// Number: how many registrations were tried for this transfer; the journal counts them.
pub const ATTEMPTS: &str = "registration_attempts";
/// Flag: the receiver was registered at our cost within the last 30 days, and is not registered any more:
/// it took the deposit.
pub const LATELY: &str = "registered_lately";
/// Flag: a registration of this receiver is within what registrations may cost today. Missing while that of
/// another transfer to the same receiver is under way, and while this one waits for another day's budget.
pub const BUDGET: &str = "registration_budget";

/// The most registrations that are tried (`MAX_RETRIES` of the source).
pub const MOST_ATTEMPTS: u128 = 10;

/// Code of the end of a transfer whose receiver does not exist.
pub const RECEIVER_NOT_FOUND: &str = "RECEIVER_NOT_FOUND";
/// Code of the end of a transfer whose receiver is not registered at our cost.
pub const REGISTRATION_REFUSED: &str = "REGISTRATION_REFUSED";

/// Whether the receiver can hold the token.
pub(super) fn known_receiver(facts: &Facts) -> Ruling {
    flag(facts, REGISTERED).map_or(Ruling::NotYet, yes_no)
}

/// Whether the receiver is registered at our cost: it exists, tries are left, it did not take our deposit
/// lately, and there is money for it today. No payment is open here: either none was sent, or a proof says
/// that what was sent paid nothing.
pub(super) fn may_register(facts: &Facts) -> Ruling {
    let exists = flag(facts, RECEIVER_EXISTS);
    match (exists, number(facts, ATTEMPTS), flag(facts, LATELY), flag(facts, BUDGET)) {
        (Some(false), ..) | (Some(true), _, Some(true), _) => Ruling::No,
        (Some(true), Some(made), ..) if made >= MOST_ATTEMPTS => Ruling::No,
        (Some(true), Some(_), Some(false), Some(within)) => yes_no(within),
        (Some(true), _, Some(false) | None, _) | (None, ..) => Ruling::NotYet,
    }
}

/// Why a receiver is not registered.
pub(super) fn refusal(facts: &Facts) -> &'static str {
    match flag(facts, RECEIVER_EXISTS) {
        Some(false) => RECEIVER_NOT_FOUND,
        Some(true) | None => REGISTRATION_REFUSED,
    }
}
