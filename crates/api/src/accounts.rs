//! The bodies of accounts for operators, and of a user's own balances.

use crate::user_id::UserIdText;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of accounts, by user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Accounts {
    /// One row for each user, account type and asset.
    pub accounts: Vec<AccountRow>,
    /// There are more: ask with `after` set to this.
    pub next: Option<UserIdText>,
    /// Ledgers that did not answer: nothing of them is in this page.
    #[serde(default)]
    #[schema(required, example = json!([]))]
    pub silent: Vec<Silent>,
    /// Changes of a status that wait for their ledger, oldest first: until it has answered, `status` above is the one
    /// before.
    #[serde(default)]
    #[schema(required, example = json!([]))]
    pub waiting: Vec<WaitingStatus>,
}

/// A change of an account's status that its ledger does not have yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WaitingStatus {
    /// The user who has the account.
    pub user_id: UserIdText,
    /// The account type, for example `SPOT`.
    pub account: String,
    /// What the account becomes: `ACTIVE`, `FROZEN` or `DISABLED`.
    #[schema(example = "FROZEN")]
    pub status: String,
    /// Who asked for it: `issuer|sub`.
    #[schema(example = "portage|ops-7")]
    pub by: String,
    /// Why, as it was asked for.
    #[schema(example = "court order 12")]
    pub reason: String,
}

/// A ledger that did not answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct Silent {
    /// The account type that the ledger keeps.
    pub account: String,
    /// `TIMEOUT`, `UNREACHABLE`, `WRONG_LEDGER`, …; `NOT_OFFERED` of one that lists no accounts (the
    /// simple form, or a full one without the route).
    #[schema(example = "UNREACHABLE")]
    pub why: String,
}

/// One asset of one account, in the asset's unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AccountRow {
    /// The user who has the account.
    pub user_id: UserIdText,
    /// The account type, for example `SPOT`.
    pub account: String,
    /// The symbol of the asset.
    pub asset: String,
    /// What may be used.
    pub available: String,
    /// What is held for withdrawals under way.
    pub frozen: String,
    /// `ACTIVE`, `FROZEN` or `DISABLED`.
    #[schema(example = "ACTIVE")]
    pub status: String,
}

/// What an account becomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetStatus {
    /// `ACTIVE`, `FROZEN` (receives, does not pay) or `DISABLED`.
    #[schema(pattern = "^(ACTIVE|FROZEN|DISABLED)$", example = "FROZEN")]
    pub status: String,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "court order 12")]
    pub reason: String,
}

/// What an account became.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StatusSet {
    /// The user who has the account.
    pub user_id: UserIdText,
    /// The account type, for example `SPOT`.
    pub account: String,
    /// The status from now on: `ACTIVE`, `FROZEN` or `DISABLED`.
    #[schema(example = "FROZEN")]
    pub status: String,
}

/// One asset of one account. Amounts are in the asset's unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Balance {
    /// The account type; `ACCOUNT` of an account with a number.
    pub account: String,
    /// The number of the account, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "ACC-4001-1")]
    pub number: Option<String>,
    /// The asset's symbol; none where the ledger does not answer.
    pub asset: Option<String>,
    /// What may be used.
    pub available: Option<String>,
    /// What is held for withdrawals under way.
    pub frozen: Option<String>,
    /// What was withdrawn from here and has neither arrived nor come back, without what is still
    /// in `frozen`.
    pub in_flight: Option<String>,
    /// `ACTIVE`, `FROZEN`, `DISABLED` (`CLOSED` of an account with a number); `UNAVAILABLE` where the
    /// ledger does not answer.
    #[schema(example = "ACTIVE")]
    pub status: String,
}
