//! The kinds of cases that the engine opens, each with its severity.

use crate::plan::chain_stop::LANE_AHEAD;
use kernel::operators::Severity;
use kernel::ports::chain::LOCK_SPENT;
use kernel::webhooks::{BACKLOG_CASE, DISABLED_CASE};

/// A transaction that no attempt has names transfers, and does not pay what they wait for.
pub(crate) const FOREIGN_PAYMENT: &str = "FOREIGN_PAYMENT";
/// A form that does not pay what its members say, or a lock that was used before.
pub(crate) const CHAIN_CONTRADICTION: &str = "CHAIN_CONTRADICTION";
/// A final transaction did less, or another thing, than its members say.
pub(crate) const EVENTS_MISMATCH: &str = kernel::ports::chain::EVENTS_MISMATCH;
/// The chain port gave a proof that cannot be one.
pub(crate) const VERDICT_REFUSED: &str = "VERDICT_REFUSED";
/// An attempt takes longer than its flow says is normal in its state.
pub(crate) const ATTEMPT_SLOW: &str = "ATTEMPT_SLOW";
/// A key is missing: an open attempt needs one that its process does not have, or this process has one that
/// the account on the chain does not have.
pub(crate) const KEY_MISSING: &str = "KEY_MISSING";
/// The account on the chain has a key again that was retired and proven gone.
pub(crate) const KEY_RETURNED: &str = "KEY_RETURNED";
/// Transfers wait long for an attempt on a chain.
pub(crate) const CHAIN_BACKLOG: &str = "CHAIN_BACKLOG";

/// The account of the chain has too little for fees: nothing is signed.
pub(crate) const NEAR_LOW: &str = "NEAR_LOW";
/// The key of a vault has too little for fees: nothing is signed.
pub(crate) const FEES_LOW: &str = "FEES_LOW";
/// The issuer of the token froze the vault, or it is not what the settings say: nothing is signed.
pub(crate) const VAULT_FROZEN: &str = "VAULT_FROZEN";
/// The providers of a chain have disagreed for long.
pub(crate) const PROVIDERS_DISAGREE: &str = "PROVIDERS_DISAGREE";
/// One provider has shown for long what enough others show otherwise.
pub(crate) const PROVIDER_OUTVOTED: &str = "PROVIDER_OUTVOTED";
/// The settings let one provider of a chain count alone.
pub(crate) const ONE_PROVIDER: &str = "ONE_PROVIDER";
/// The day's budget for registrations of receivers is used up.
pub(crate) const REGISTRATION_BUDGET: &str = "REGISTRATION_BUDGET";
/// A token's contract asks for more for a registration than the settings allow.
pub(crate) const REGISTRATION_DEPOSIT: &str = "REGISTRATION_DEPOSIT";
/// The account of the chain has too little of a token for a payment that waits.
pub(crate) const TREASURY_SHORT: &str = "TREASURY_SHORT";
/// A token's contract is paused: nothing is paid in that token.
pub(crate) const TOKEN_PAUSED: &str = "TOKEN_PAUSED";
/// A token's contract refuses every receiver: nothing is paid in that token.
pub(crate) const TOKEN_REFUSES: &str = "TOKEN_REFUSES";
/// The providers show another chain than the settings and the journal name: nothing is signed for it.
pub(crate) const WRONG_CHAIN: &str = kernel::ports::chain::WRONG_CHAIN;
/// One provider shows another chain, and is asked nothing else.
pub(crate) const WRONG_PROVIDER: &str = "WRONG_PROVIDER";
/// The account of the chain, or a token's contract, is not what the settings say: the intake refuses
/// transfers.
pub(crate) const TOKEN_CONTRACT_INVALID: &str = kernel::code::Code::TokenContractInvalid.name();
/// A final transaction moved more than its members were paid.
pub(crate) const EVENTS_SURPLUS: &str = "EVENTS_SURPLUS";
/// A ledger that the journal met is named by no settings.
pub(crate) const LEDGER_NOT_CONFIGURED: &str = "LEDGER_NOT_CONFIGURED";

/// The movements of a vault have not been read for longer than is normal: deposits are not seen.
pub(crate) const WATCHER_BEHIND: &str = "WATCHER_BEHIND";
/// A vault has less than its books say: the chains on which books are kept stand.
pub(crate) const VAULT_SHORT: &str = "VAULT_SHORT";
/// A vault has more than its books say.
pub(crate) const VAULT_SURPLUS: &str = "VAULT_SURPLUS";

/// Every kind of case that the engine opens, with its severity.
pub(crate) const KINDS: [(&str, Severity); 53] = [
    ("STUCK", Severity::Warning),
    ("TARGET_PENDING", Severity::Critical),
    ("COMPENSATION", Severity::Critical),
    ("IRREVERSIBLE", Severity::Critical),
    ("POISON", Severity::Critical),
    ("CONTRADICTION", Severity::Critical),
    ("CONSERVATION", Severity::Critical),
    ("RESTORED", Severity::Critical),
    ("WRONG_LEDGER", Severity::Critical),
    ("JWKS_STALE", Severity::Critical),
    ("CLOCK", Severity::Critical),
    ("ABNORMAL_FREQUENCY", Severity::Warning),
    ("LEDGER_SILENT", Severity::Warning),
    ("SIMPLE_LEDGER", Severity::Warning),
    (LEDGER_NOT_CONFIGURED, Severity::Critical),
    ("TORN_TAIL", Severity::Warning),
    ("DEAD_LETTER", Severity::Warning),
    (LANE_AHEAD, Severity::Critical),
    (FOREIGN_PAYMENT, Severity::Critical),
    (CHAIN_CONTRADICTION, Severity::Critical),
    (VERDICT_REFUSED, Severity::Critical),
    (ATTEMPT_SLOW, Severity::Critical),
    (CHAIN_BACKLOG, Severity::Warning),
    (LOCK_SPENT, Severity::Critical),
    (KEY_MISSING, Severity::Warning),
    (KEY_RETURNED, Severity::Critical),
    (EVENTS_MISMATCH, Severity::Critical),
    (NEAR_LOW, Severity::Critical),
    (FEES_LOW, Severity::Critical),
    (VAULT_FROZEN, Severity::Critical),
    (PROVIDERS_DISAGREE, Severity::Critical),
    (PROVIDER_OUTVOTED, Severity::Warning),
    (ONE_PROVIDER, Severity::Warning),
    (REGISTRATION_BUDGET, Severity::Warning),
    (REGISTRATION_DEPOSIT, Severity::Warning),
    (TREASURY_SHORT, Severity::Critical),
    (TOKEN_PAUSED, Severity::Critical),
    (TOKEN_REFUSES, Severity::Critical),
    (TOKEN_CONTRACT_INVALID, Severity::Critical),
    (WRONG_CHAIN, Severity::Critical),
    (WRONG_PROVIDER, Severity::Warning),
    (EVENTS_SURPLUS, Severity::Warning),
    (WATCHER_BEHIND, Severity::Critical),
    (VAULT_SHORT, Severity::Critical),
    (VAULT_SURPLUS, Severity::Warning),
    // the poster of webhooks opens it, and an operator's action closes it
    (DISABLED_CASE, Severity::Warning),
    // the poster of webhooks opens and closes it
    (BACKLOG_CASE, Severity::Warning),
    ("PARKED", Severity::Warning),
    ("CONSUMER_LAG", Severity::Warning),
    ("OUTBOX_AGE", Severity::Warning),
    ("MESSAGE_GAP", Severity::Warning),
    ("MESSAGE_MISMATCH", Severity::Critical),
    ("FOREIGN_MESSAGES", Severity::Critical),
];
