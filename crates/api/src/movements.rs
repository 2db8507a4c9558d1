//! The bodies of external money that operators book into and out of accounts.

use crate::user_id::{UserIdInput, UserIdText};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// External money in or out of a Funding account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Movement {
    /// The user whose account it is.
    #[schema(value_type = UserIdInput, example = "4001")]
    pub user_id: UserIdText,
    /// The symbol of the asset that moves.
    #[schema(example = "USDT")]
    pub asset: String,
    /// A plain positive decimal in the asset's unit.
    #[schema(pattern = "^[0-9]+([.][0-9]+)?$", example = "100.00")]
    pub amount: String,
    /// The outside world's id, 1 to 128 visible ASCII characters, unique per kind: the key.
    #[serde(rename = "ref")]
    #[schema(pattern = "^[!-~]{1,128}$", example = "bank-2024-12-23-7")]
    pub reference: String,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "wire received")]
    pub reason: String,
}

/// A deposit or a withdrawal as it was booked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Booked {
    /// The ledger's number of it.
    pub operation_id: u64,
    /// The user whose account it is.
    pub user_id: UserIdText,
    /// The symbol of the asset that moved.
    pub asset: String,
    /// In the asset's unit.
    pub amount: String,
    /// What the account had available right after it.
    pub available: String,
    /// When it was booked, RFC 3339.
    pub created_at: String,
}

/// A page of external movements, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Movements {
    /// The movements of this page.
    pub movements: Vec<MovementRow>,
    /// There may be more: ask with `cursor` set to this.
    pub next: Option<String>,
}

/// An external movement with who booked it, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MovementRow {
    /// The ledger's number of it.
    #[schema(example = 8121)]
    pub operation_id: u64,
    /// Whether it is a `deposit` or a `withdrawal`.
    #[schema(example = "deposit")]
    pub kind: String,
    /// The user whose account it is.
    pub user_id: UserIdText,
    /// The number of the account; absent for the user's Funding account.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "ACC-4001-1")]
    pub number: Option<String>,
    /// The symbol of the asset that moved.
    #[schema(example = "USDT")]
    pub asset: String,
    /// In the asset's unit.
    #[schema(example = "1000.000000")]
    pub amount: String,
    /// What the account had available right after it.
    #[schema(example = "1000.000000")]
    pub available: String,
    /// The outside world's id of it.
    #[serde(rename = "ref")]
    #[schema(example = "bank-2024-12-23-7")]
    pub reference: String,
    /// Who booked it, or proposed it where two persons had to agree: `issuer|sub`.
    #[schema(example = "portage|ada")]
    pub by: String,
    /// The reason that was given, for the audit.
    #[schema(example = "wire received")]
    pub reason: String,
    /// When it was booked, RFC 3339.
    pub at: String,
}

/// External money in or out of a numbered account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberedMovement {
    /// The currency of the account: the symbol of its asset.
    #[schema(example = "USDT")]
    pub currency: String,
    /// A plain positive decimal in the asset's unit.
    #[schema(pattern = "^[0-9]+([.][0-9]+)?$", example = "100.00")]
    pub amount: String,
    /// The outside world's id, 1 to 128 visible ASCII characters, unique per kind, also among the
    /// deposits and withdrawals of users: the key.
    #[serde(rename = "ref")]
    #[schema(pattern = "^[!-~]{1,128}$", example = "bank-2024-12-23-8")]
    pub reference: String,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "wire received")]
    pub reason: String,
}

/// What was booked on a numbered account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BookedNumbered {
    /// The ledger's number of the movement.
    pub operation_id: u64,
    /// The number of the account that changed.
    #[schema(example = "ACC-4001-1")]
    pub number: String,
    /// The user who may move its money.
    pub owner: UserIdText,
    /// The symbol of the asset that it holds.
    #[schema(example = "USDT")]
    pub currency: String,
    /// What was moved, in the asset's unit.
    pub amount: String,
    /// What the account held right after it.
    #[schema(example = "1000.000000")]
    pub balance: String,
    /// When it was booked, RFC 3339.
    pub created_at: String,
}
