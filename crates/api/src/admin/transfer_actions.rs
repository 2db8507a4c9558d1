//! The bodies of operators' actions on transfers.

use super::actions::Done;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// What a person says that the open call of a transfer came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// `done`: the ledger's own stored DONE must bear it out. `rejected`: a fence must, or the
    /// stored refusal. `dead`: only on chains.
    #[schema(pattern = "^(done|rejected|dead)$", example = "rejected")]
    pub answer: String,
    /// What bears it out, for the one who approves and for the audit: an object of at most 4 KiB.
    #[schema(example = json!({"ticket": "4711", "seen": "not in the ledger's statement"}))]
    pub evidence: Value,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "the ledger was restored without it")]
    pub reason: String,
}

/// Words about a transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTransferNote {
    /// 1 to 1000 characters, no control but the end of a line; kept without spaces around them and in
    /// Unicode's NFC.
    #[schema(min_length = 1, max_length = 1000, example = "The user's bank confirmed by phone")]
    pub text: String,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "ticket 4711")]
    pub reason: String,
}

/// Many transfers and one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TransferActions {
    /// Their ids, 1 to 100.
    #[schema(min_items = 1, max_items = 100, example = json!(["01JFVQ2X8Z0Y1M3N4P5R6S7T8V"]))]
    pub ids: Vec<String>,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "the ledger is back")]
    pub reason: String,
}

/// What became of each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TransferActionResults {
    /// In the order of the request.
    pub results: Vec<TransferActionResult>,
}

/// What became of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TransferActionResult {
    /// As it was asked.
    #[schema(example = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
    pub id: String,
    /// What it came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<Done>,
    /// Why it was not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The same as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
