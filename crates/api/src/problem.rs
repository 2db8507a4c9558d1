//! The body of every error.

use crate::proof::Break;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The shape of every error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// A sentence for a person.
    #[schema(
        example = "An amount is a positive decimal as a text: digits and at most one dot, such as 1000.50"
    )]
    pub error: String,
    /// One of the contract's codes.
    #[schema(example = "INVALID_AMOUNT")]
    pub code: String,
    /// Names this request in the log; also in the header `x-request-id`.
    #[serde(default)]
    #[schema(required)]
    pub request_id: String,
    /// Where the code's page is: what happened, is the money safe, what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "/docs/errors/INVALID_AMOUNT")]
    pub docs: Option<String>,
    /// `unknown` where the outcome of the request is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "unknown")]
    pub outcome: Option<String>,
    /// With `DUPLICATE_REQUEST`: the fields in which this request differs from the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(["amount"]))]
    pub mismatched_fields: Option<Vec<String>>,
    /// With `OVERLOADED`: what a person has to lift first, where something is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "ledger/SPOT")]
    pub paused: Option<String>,
    /// With `ALREADY_DECIDED`: how it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "REJECTED")]
    pub status: Option<String>,
    /// With `SECOND_PERSON_REQUIRED`: the proposal that another person approves.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
    pub approval_id: Option<String>,
    /// With `BREAKS_NOT_ACCEPTED`: what does not add up and was not accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaks: Option<Vec<Break>>,
}
