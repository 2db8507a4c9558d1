//! Names what operators should know of Solana as a whole, and how much each matters.

pub(super) use crate::concerns::TREASURY_SHORT;
use crate::rpc::PROVIDERS_DISAGREE;
use kernel::operators::Severity;

/// The vault's key has fewer lamports than the floor: nothing is signed.
pub(super) const FEES_LOW: &str = "FEES_LOW";
/// The token's issuer froze the vault's account, or it is not what the settings say: nothing is signed.
pub(super) const VAULT_FROZEN: &str = "VAULT_FROZEN";

/// The classes of causes that say something of the chain as a whole.
pub(super) const CAUSES: [&str; 4] = [FEES_LOW, TREASURY_SHORT, VAULT_FROZEN, PROVIDERS_DISAGREE];

/// How much a kind matters: each of them holds payments up.
pub(super) fn severity(_: &str) -> Severity {
    Severity::Critical
}
