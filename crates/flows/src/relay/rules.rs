//! What is decided about a receiver before it is paid. Pure over the facts that are named here; a fact
//! that is missing is *not yet*.

use crate::facts::{flag, number, yes_no};
use kernel::flow::life::Ruling;
use kernel::record::Facts;

/// Flag: the token's contract has a storage balance for the receiver, in a final block; yes is
/// remembered, since a balance is not taken away by others.
pub const REGISTERED: &str = "receiver_registered";
/// Flag: the chain has an account of that name, in a final block. One that does not exist cannot be
/// registered.
pub const RECEIVER_EXISTS: &str = "receiver_exists";
/// Number: how many registrations were tried for this transfer; the journal counts them.
pub const ATTEMPTS: &str = "registration_attempts";
/// Flag: what registrations may cost today is not used up.
pub const BUDGET: &str = "registration_budget";

/// The most registrations that are tried (`MAX_RETRIES` of the source).
pub const MOST_ATTEMPTS: u128 = 10;

/// Whether the receiver can hold the token.
pub(super) fn known_receiver(facts: &Facts) -> Ruling {
    flag(facts, REGISTERED).map_or(Ruling::NotYet, yes_no)
}

/// Whether the receiver is registered at our cost: it exists, tries are left, and there is money for it.
/// Without budget it waits.
pub(super) fn may_register(facts: &Facts) -> Ruling {
    match (flag(facts, RECEIVER_EXISTS), number(facts, ATTEMPTS), flag(facts, BUDGET)) {
        (Some(false), _, _) => Ruling::No,
        (Some(true), Some(made), _) if made >= MOST_ATTEMPTS => Ruling::No,
        (Some(true), Some(_), Some(true)) => Ruling::Yes,
        (Some(true), _, _) | (None, _, _) => Ruling::NotYet,
    }
}
