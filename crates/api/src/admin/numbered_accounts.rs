//! The bodies of numbered accounts.

use crate::user_id::{UserIdInput, UserIdText};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of accounts, in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NumberedAccounts {
    /// The accounts, one row for each.
    pub accounts: Vec<NumberedAccountRow>,
    /// There may be more: ask with `cursor` set to this.
    pub next: Option<String>,
}

/// A numbered account as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NumberedAccountRow {
    /// Its number, unique for ever.
    #[schema(example = "ACC-4001-1")]
    pub number: String,
    /// The user who may move its money; never changes.
    pub owner: UserIdText,
    /// The symbol of the one asset that it holds; never changes.
    #[schema(example = "USDT")]
    pub currency: String,
    /// What it holds, in the asset's unit. Of an action: what it held when the action was done.
    #[schema(example = "0.000000")]
    pub balance: String,
    /// `ACTIVE`, `FROZEN` (receives, does not pay) or `CLOSED` (empty, for ever).
    #[schema(example = "ACTIVE")]
    pub status: String,
    /// Raised by every change of the account, its balance included.
    #[schema(example = 1)]
    pub version: u64,
}

/// An account that is opened. It begins ACTIVE and empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenNumberedAccount {
    /// 1 to 34 upper-case letters, digits and dashes, no dash in front; never used before. An IBAN
    /// without its spaces fits.
    #[schema(pattern = "^[A-Z0-9][A-Z0-9-]{0,33}$", example = "ACC-4001-1")]
    pub number: String,
    /// The user who may move its money.
    #[schema(value_type = UserIdInput, example = "4001")]
    pub owner: UserIdText,
    /// The symbol of the one asset that it holds.
    #[schema(example = "USDT")]
    pub currency: String,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "opened by contract 12")]
    pub reason: String,
}

/// What a numbered account becomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetNumberedStatus {
    /// `ACTIVE`, `FROZEN` (receives, does not pay) or `CLOSED`: only an empty account, and for ever.
    #[schema(pattern = "^(ACTIVE|FROZEN|CLOSED)$", example = "FROZEN")]
    pub status: String,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "court order 12")]
    pub reason: String,
}
