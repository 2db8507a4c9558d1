//! The bodies of internal transfers in the v2 source's spelling: lower case, UUID text, times in milliseconds.

use crate::problem::Problem;
use crate::user_id::{UserIdInput, UserIdText};
use crate::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A transfer between two accounts of one user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateV2 {
    /// The account that pays: `funding` or `trading`; `future` and `margin` where configured.
    #[schema(example = "funding")]
    pub from: String,
    /// The account that receives.
    #[schema(example = "trading")]
    pub to: String,
    /// For whom; the token's own user, or with `transfers:any` the user that is named (then required).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<UserIdInput>, example = "4001")]
    pub user_id: Option<UserIdText>,
    /// The symbol of the asset that moves.
    #[schema(example = "BTC")]
    pub asset: String,
    /// A plain positive decimal in the asset's unit, with at most its decimals.
    #[schema(example = "1.5")]
    pub amount: String,
    /// The client's own key, as in the other spelling; the same key there is the same transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "order-8")]
    pub cid: Option<String>,
    /// The client's own reference, as in the other spelling.
    #[serde(
        default,
        deserialize_with = "words::reference",
        skip_serializing_if = "Option::is_none"
    )]
    pub reference: Option<String>,
    /// The client's own words, as in the other spelling.
    #[serde(
        default,
        deserialize_with = "words::metadata",
        skip_serializing_if = "Option::is_none"
    )]
    pub metadata: Option<BTreeMap<String, String>>,
}

/// What became of a create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MadeV2 {
    /// The transfer's id, as UUID text.
    #[schema(example = "0193f771-751f-0783-41d4-962e0d93e91b")]
    pub req_id: String,
    /// `committed`, `pending` or `failed` (it ended and moved nothing).
    #[schema(example = "committed")]
    pub status: String,
    /// The same as a sentence.
    pub message: String,
}

/// A transfer that moved no money in the end: an error and the answer in one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailedV2 {
    /// Why it moved none.
    #[serde(flatten)]
    pub problem: Problem,
    /// The answer to the create.
    #[serde(flatten)]
    pub made: MadeV2,
}

/// A create that is well-formed and does not end well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(missing_docs, reason = "a variant's doc line would stand in the API's description")]
pub enum UnmadeV2 {
    Ended(Box<FailedV2>),
    Refused(Box<Problem>),
}

/// A transfer in the v2 spelling.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TransferV2 {
    /// The transfer's id, as UUID text.
    #[schema(example = "0193f771-751f-0783-41d4-962e0d93e91b")]
    pub req_id: String,
    /// `init`, `source_pending`, `source_done`, `target_pending`, `compensating`, `committed`,
    /// `rolled_back` or `failed`.
    #[schema(example = "committed")]
    pub state: String,
    /// The account that pays.
    #[schema(example = "funding")]
    pub from: String,
    /// The account that receives.
    #[schema(example = "trading")]
    pub to: String,
    /// The user whose transfer it is.
    pub user_id: UserIdText,
    /// The symbol of the asset that moves.
    pub asset: String,
    /// In the asset's unit.
    pub amount: String,
    /// Where it stands, as a sentence.
    pub message: String,
    /// The last refusal, or the cause of the last unclear answer.
    pub error: Option<String>,
    /// Unclear answers so far.
    #[schema(example = 0)]
    pub retry_count: u32,
    /// The client's key, where one was given.
    pub cid: Option<String>,
    /// The client's own reference, where one was given.
    pub reference: Option<String>,
    /// The client's own words.
    #[serde(default)]
    #[schema(required)]
    pub metadata: BTreeMap<String, String>,
    /// When it was opened, in milliseconds since 1970.
    #[schema(example = 1_702_400_000_000_u64)]
    pub created_at: u64,
    /// When it was last written, in milliseconds since 1970.
    #[schema(example = 1_702_400_000_250_u64)]
    pub updated_at: u64,
}
