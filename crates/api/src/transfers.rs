//! The bodies of internal transfers, between two accounts of one user.

use crate::problem::Problem;
use crate::user_id::{UserIdInput, UserIdText};
use crate::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A transfer between two accounts of one user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTransfer {
    /// The account type that pays: `FUNDING` or `SPOT`.
    #[schema(example = "FUNDING")]
    pub from: String,
    /// The account type that receives.
    #[schema(example = "SPOT")]
    pub to: String,
    /// The symbol of the asset that moves.
    #[schema(example = "USDT")]
    pub asset: String,
    /// A plain positive decimal in the asset's unit, with at most its decimals.
    #[schema(example = "100.00")]
    pub amount: String,
    /// The client's own key, 1 to 64 visible ASCII characters, bound for ever. The header
    /// `Idempotency-Key` is another spelling of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "order-7")]
    pub cid: Option<String>,
    /// For whom; the token's own user, or with `transfers:any` the user that is named (then required).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<UserIdInput>, example = "4001")]
    pub user_id: Option<UserIdText>,
    /// The client's own reference: 1 to 64 characters, none of them a control.
    #[serde(
        default,
        deserialize_with = "words::reference",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(example = "invoice 12")]
    pub reference: Option<String>,
    /// The client's own words: at most 8 names of 1 to 32 visible ASCII characters, each with up
    /// to 128 characters, none of them a control.
    #[serde(
        default,
        deserialize_with = "words::metadata",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(example = json!({"team": "7"}))]
    pub metadata: Option<BTreeMap<String, String>>,
}

/// What became of a create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Transfer {
    /// The journal's number of the transfer.
    pub transfer_id: u64,
    /// The id by which the transfer is asked for.
    #[schema(example = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
    pub req_id: String,
    /// The account type that pays.
    pub from: String,
    /// The account type that receives.
    pub to: String,
    /// The symbol of the asset that moves.
    pub asset: String,
    /// In the asset's unit, always with all decimals that the asset has.
    #[schema(example = "100.000000")]
    pub amount: String,
    /// `COMMITTED`, `PENDING` (not ended yet), `FAILED` or `ROLLED_BACK`.
    #[schema(example = "COMMITTED")]
    pub state: String,
    /// The same as a sentence.
    pub message: String,
    /// The client's key, where one was given.
    pub cid: Option<String>,
    /// The client's own reference, where one was given.
    pub reference: Option<String>,
    /// The client's own words.
    #[serde(default)]
    #[schema(required)]
    pub metadata: BTreeMap<String, String>,
    /// When it was opened, RFC 3339.
    pub created_at: String,
    /// When it was last written, RFC 3339.
    pub updated_at: String,
}

/// A transfer that moved no money in the end: an error and the transfer in one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailedTransfer {
    /// Why it moved none.
    #[serde(flatten)]
    pub problem: Problem,
    /// The transfer in its last state.
    #[serde(flatten)]
    pub transfer: Transfer,
}

/// A create that is well-formed and does not end well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(missing_docs, reason = "a variant's doc line would stand in the API's description")]
pub enum UnsuccessfulCreate {
    Ended(Box<FailedTransfer>),
    Refused(Box<Problem>),
}

/// A transfer, or with `dry_run` what would become of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(missing_docs, reason = "a variant's doc line would stand in the API's description")]
pub enum CreateResult {
    Transfer(Transfer),
    Dry(DryRun),
}

/// What would become of a create in the present state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DryRun {
    /// Always: nothing was done.
    #[schema(example = true)]
    pub dry_run: bool,
    /// `COMMITTED`, or the code that would be answered. `PENDING` where the key is bound to a
    /// transfer that is under way.
    #[schema(example = "COMMITTED")]
    pub would: String,
    /// The transfer that the key is bound to: a create would tell of it and make nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub req_id: Option<String>,
    /// With `DUPLICATE_REQUEST`: the fields in which this request differs from the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mismatched_fields: Option<Vec<String>>,
    /// Ledgers in the simple form, which show no accounts: whether they would refuse is not in
    /// `would`, because it cannot be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unasked: Option<Vec<String>>,
}

/// A transfer with everything that happened to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TransferStory {
    /// As in the answer to the create, but `state` is the exact one: `INIT`, `SOURCE_PENDING`,
    /// `SOURCE_DONE`, `TARGET_PENDING`, `COMMITTED`, `FAILED`, `COMPENSATING` or `ROLLED_BACK`.
    #[serde(flatten)]
    pub transfer: Transfer,
    /// The last refusal, or the cause of the last unclear answer.
    pub error: Option<String>,
    /// Unclear answers so far.
    #[schema(example = 0)]
    pub retry_count: u32,
    /// What happened to it, oldest first.
    pub history: Vec<HistoryEntry>,
}

/// One step of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HistoryEntry {
    /// The place in the history, from 0.
    #[schema(example = 4)]
    pub seq: u32,
    /// When it was written, RFC 3339.
    pub at: String,
    /// The state before; none where it begins.
    #[schema(example = "TARGET_PENDING")]
    pub from: Option<String>,
    /// The state after the step.
    #[schema(example = "COMMITTED")]
    pub to: String,
    /// `CREATED`, `SOURCE_CALL`, `SOURCE_OK`, `SOURCE_FAIL`, `TARGET_CALL`, `TARGET_OK`,
    /// `TARGET_FAIL`, `ROLLBACK_OK`, `RETRY` or `OPERATOR`.
    #[schema(example = "TARGET_OK")]
    pub event: String,
    /// Evidence or cause; of `OPERATOR`, the action's name.
    pub detail: Option<String>,
}

/// A page of transfers, newest first by `transfer_id`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Page {
    /// As a get shows them, but for the history: `state` is the exact one.
    pub transfers: Vec<Transfer>,
    /// There are more: ask with `cursor` set to this. It means nothing else.
    pub next: Option<String>,
}
