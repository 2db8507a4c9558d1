//! The bodies of account transfers, from one numbered account to another.

use crate::transfers::HistoryEntry;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A transfer between two numbered accounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CreateAccountTransfer {
    /// The account that pays. It must be the caller's.
    #[schema(example = "DE-4001-USD")]
    pub from_account_number: String,
    /// The number of the account that receives.
    #[schema(example = "DE-4002-USD")]
    pub to_account_number: String,
    /// A plain positive decimal in the currency's unit, with at most its decimals.
    #[schema(example = "100.00")]
    pub amount: String,
    /// The symbol of the asset that both accounts hold.
    #[schema(example = "USD")]
    pub currency: String,
    /// The client's own words: 1 to 128 characters, none of them a control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "invoice 12")]
    pub description: Option<String>,
}

/// A transfer whose opening is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenedAccountTransfer {
    /// The transfer's id, as UUID text.
    #[schema(example = "0193f771-751f-0783-41d4-962e0d93e91b")]
    pub transfer_id: String,
    /// `PENDING`; of a replay, where the transfer stands now.
    #[schema(example = "PENDING")]
    pub status: String,
    /// When it was opened, RFC 3339 in UTC.
    pub created_at: String,
}

/// A transfer with everything that happened to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountTransfer {
    /// The transfer's id, as UUID text.
    #[schema(example = "0193f771-751f-0783-41d4-962e0d93e91b")]
    pub transfer_id: String,
    /// `PENDING`, `VALIDATING`, `VALIDATED`, `EXECUTING`, `COMPLETED` or `FAILED`.
    #[schema(example = "COMPLETED")]
    pub status: String,
    /// The number of the account that pays.
    #[schema(example = "DE-4001-USD")]
    pub from_account_number: String,
    /// The number of the account that receives.
    #[schema(example = "DE-4002-USD")]
    pub to_account_number: String,
    /// In the currency's unit, always with all decimals that it has.
    #[schema(example = "100.00")]
    pub amount: String,
    /// The symbol of the asset that moves.
    #[schema(example = "USD")]
    pub currency: String,
    /// The client's own words, where some were given.
    #[schema(example = "invoice 12")]
    pub description: Option<String>,
    /// Of a transfer that FAILED the code that it was refused with, `TARGET_ACCOUNT_NOT_FOUND` for whatever is
    /// wrong with a target of another owner; before an end the cause of the last unclear answer, where there
    /// was one.
    #[schema(example = json!(null))]
    pub reason: Option<String>,
    /// Where it stands, as a sentence.
    pub message: String,
    /// When it was opened, RFC 3339 in UTC.
    pub created_at: String,
    /// When it last moved on, RFC 3339 in UTC.
    pub updated_at: String,
    /// Everything that happened to it, the oldest first; a list leaves it out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(example = json!([{
        "seq": 0, "at": "2026-11-21T09:23:15.121Z", "from": null, "to": "PENDING", "event": "CREATED", "detail": null,
    }]))]
    pub history: Vec<HistoryEntry>,
}

/// A page of account transfers, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AccountTransferPage {
    /// Each without its history.
    pub transfers: Vec<AccountTransfer>,
    /// The `cursor` of the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
