//! The bodies of pauses, which hold until an operator lifts them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Something that is to stand still.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPause {
    /// `flow`, `ledger`, `chain`, `asset`, `account` or `group` (of consumers).
    #[schema(pattern = "^(flow|ledger|chain|asset|account|group)$", example = "ledger")]
    pub kind: String,
    /// Which one: `internal`, `SPOT`, `USDT`, `4001/SPOT`, `execution-group`.
    #[schema(example = "SPOT")]
    pub name: String,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "maintenance until 14:00")]
    pub reason: String,
}

/// Every pause that is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pauses {
    /// The pauses, the oldest first.
    pub pauses: Vec<Pause>,
}

/// One pause that is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pause {
    /// Names it where it is lifted.
    #[schema(example = 3)]
    pub id: u64,
    /// `flow`, `ledger`, `chain`, `asset`, `account`, `group` or `transfer`.
    #[schema(example = "ledger")]
    pub kind: String,
    /// Which one of that kind is paused.
    #[schema(example = "SPOT")]
    pub name: String,
    /// The reason that was given.
    #[schema(example = "maintenance until 14:00")]
    pub reason: String,
    /// Who: a principal, or `engine` after a contradiction.
    #[schema(example = "portage|ops-7")]
    pub by: String,
    /// Since when, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub at: String,
}
