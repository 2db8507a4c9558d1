//! The bodies of a batch: many transfers in one request.

use crate::transfers::{CreateTransfer, Transfer};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Transfers to be made, in no order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTransfers {
    /// 1 to 1000, each with its own `cid`; equal ones are the same transfer.
    #[schema(min_items = 1, max_items = 1000)]
    pub transfers: Vec<CreateTransfer>,
}

/// What became of each, in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchResults {
    #[expect(missing_docs, reason = "its doc line would stand in the API's description")]
    pub results: Vec<BatchResult>,
}

/// What became of one create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchResult {
    /// Its place in the request, from 0.
    #[schema(example = 0)]
    pub index: usize,
    /// What the create alone would have answered.
    #[schema(example = 200)]
    pub status: u16,
    /// The key had been used before: this is that transfer, nothing was done now.
    #[schema(example = false)]
    pub replayed: bool,
    /// The transfer, a refusal, or both.
    #[serde(flatten)]
    pub answer: Answer,
}

/// The transfer, a refusal, or both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
#[expect(missing_docs, reason = "a variant's doc line would stand in the API's description")]
pub enum Answer {
    Transfer(Box<Transfer>),
    #[schema(value_type = FailedItem)]
    Failed(Map<String, Value>),
    #[schema(value_type = UnmadeItem)]
    Refused(Map<String, Value>),
}

impl<'de> Deserialize<'de> for Answer {
    /// By what is there: a refusal has a code, a transfer that was opened an id. What is neither is kept as a refusal,
    /// so that one item that cannot be read hides no other.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let fields = Map::deserialize(from)?;
        if fields.contains_key("code") {
            let opened = fields.contains_key("req_id");
            return Ok(if opened { Self::Failed(fields) } else { Self::Refused(fields) });
        }
        Ok(match Transfer::deserialize(&fields) {
            Ok(transfer) => Self::Transfer(Box::new(transfer)),
            Err(_) => Self::Refused(fields),
        })
    }
}

/// An item that opened nothing, or whose outcome is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnmadeItem {
    /// A sentence for a person.
    #[schema(
        example = "An amount is a positive decimal as a text: digits and at most one dot, such as 1000.50"
    )]
    pub error: String,
    /// One of the contract's codes.
    #[schema(example = "INVALID_AMOUNT")]
    pub code: String,
    /// Where the code's page is.
    #[schema(example = "/docs/errors/INVALID_AMOUNT")]
    pub docs: Option<String>,
    /// `unknown` where the outcome is not known: repeat it with the same `cid`.
    #[schema(example = "unknown")]
    pub outcome: Option<String>,
    /// With `DUPLICATE_REQUEST`: the fields in which this differs from the first.
    #[schema(example = json!(["amount"]))]
    pub mismatched_fields: Option<Vec<String>>,
    /// With `OVERLOADED`: what a person has to lift first, where something is paused.
    #[schema(example = "ledger/SPOT")]
    pub paused: Option<String>,
}

/// An item that was opened, ended FAILED or ROLLED_BACK, and moved nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailedItem {
    /// Why it moved none.
    #[serde(flatten)]
    pub unmade: UnmadeItem,
    /// The transfer in its last state.
    #[serde(flatten)]
    pub transfer: Transfer,
}
