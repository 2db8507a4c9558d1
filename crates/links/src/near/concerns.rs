//! Names what operators should know of NEAR as a whole, and how much each matters.

use super::rpc::PROVIDERS_DISAGREE;
pub(super) use crate::concerns::TREASURY_SHORT;
use kernel::code::Code;
use kernel::operators::Severity;

/// The account has less NEAR than the floor: nothing is signed.
pub(super) const NEAR_LOW: &str = "NEAR_LOW";
/// The day's budget for registrations of receivers is used up.
pub(super) const REGISTRATION_BUDGET: &str = "REGISTRATION_BUDGET";
/// A token's contract asks for more for a registration than the settings allow.
pub(super) const REGISTRATION_DEPOSIT: &str = "REGISTRATION_DEPOSIT";
/// A token's contract says that it is paused.
pub(super) const TOKEN_PAUSED: &str = "TOKEN_PAUSED";
/// A token's contract refuses every receiver.
pub(super) const TOKEN_REFUSES: &str = "TOKEN_REFUSES";
/// The relay's account or its token's contract is not what the settings say.
pub(super) const TOKEN_CONTRACT_INVALID: &str = Code::TokenContractInvalid.name();
/// A final transaction moved more than its members were paid.
pub(super) const EVENTS_SURPLUS: &str = "EVENTS_SURPLUS";

/// The classes of causes that say something of the chain as a whole.
pub(super) const CAUSES: [&str; 2] = [NEAR_LOW, PROVIDERS_DISAGREE];

/// How much a kind matters.
pub(super) fn severity(kind: &str) -> Severity {
    match kind {
        NEAR_LOW
        | PROVIDERS_DISAGREE
        | TREASURY_SHORT
        | TOKEN_PAUSED
        | TOKEN_REFUSES
        | TOKEN_CONTRACT_INVALID => Severity::Critical,
        _ => Severity::Warning,
    }
}
