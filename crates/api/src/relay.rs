//! The bodies of relay transfers: tokens on NEAR, from the relay's account to any other.

use crate::batch::UnmadeItem;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A payment from the relay's account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRelayTransfer {
    /// The account on NEAR that is paid.
    #[schema(example = "alice.near")]
    pub receiver_id: String,
    /// How much, in the token's base units: digits alone.
    #[schema(example = "1000000")]
    pub amount: String,
}

/// A transfer whose opening is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpenedRelayTransfer {
    /// The key that it was asked for under.
    #[schema(example = "payout-7")]
    pub transfer_id: String,
    /// The transfer's id at Portage, which operators and their commands know it by.
    #[schema(example = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
    pub req_id: String,
    /// `RECEIVED`; of a replay, where the transfer stands now.
    #[schema(example = "RECEIVED")]
    pub status: String,
    /// The account on NEAR that is paid.
    #[schema(example = "alice.near")]
    pub receiver_id: String,
    /// In the token's base units.
    #[schema(example = "1000000")]
    pub amount: String,
    /// When it was opened, RFC 3339 in UTC.
    pub created_at: String,
    /// The transaction that carries it, or carried it last, in base58; it may be one that never landed.
    #[schema(example = json!(null))]
    pub tx_hash: Option<String>,
    /// When its transaction was proven final, RFC 3339 in UTC.
    #[schema(example = json!(null))]
    pub completed_at: Option<String>,
}

/// A transfer of the relay with everything that happened to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RelayTransfer {
    /// As the answer to the create has it.
    #[serde(flatten)]
    pub opened: OpenedRelayTransfer,
    /// Attempts made for it so far, registrations included.
    #[schema(example = 0)]
    pub retry_count: u32,
    /// When it last moved on, RFC 3339 in UTC.
    pub updated_at: String,
    /// Of a transfer that FAILED why; before an end the last error, where there was one.
    #[schema(example = json!(null))]
    pub error_message: Option<String>,
    /// What happened to it, the oldest first.
    #[schema(example = json!([{"time": "2026-11-21T09:23:15.121Z", "event": "RECEIVED"}]))]
    pub events: Vec<RelayEvent>,
}

/// Something that happened to a transfer of the relay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RelayEvent {
    /// When, RFC 3339 in UTC.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub time: String,
    /// The status that was reached; `ERROR` of an attempt that failed and is made again, and of providers of the chain
    /// that hold the transfer up, once until it goes on.
    #[schema(example = "SUBMITTED")]
    pub event: String,
    /// With `SUBMITTED`: the transaction, in base58.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "6zgh2u9DqHHiXzdy9ouTP7oGky2T4nugqzqt9wJZwNFm")]
    pub tx_hash: Option<String>,
    /// With `ERROR`: its code, such as `SPOILED` or `TREASURY_SHORT` of an attempt, `TIMEOUT` or `PROVIDERS_DISAGREE` of
    /// providers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "ATTEMPT_DEAD")]
    pub error_type: Option<String>,
    /// With `ERROR`: the same as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "The transaction can never land; the transfer is sent again")]
    pub message: Option<String>,
    /// With `ERROR`: the number of errors by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1)]
    pub retry_count: Option<u32>,
    /// With `ERROR`: whether the step is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = true)]
    pub will_retry: Option<bool>,
}

/// Payments from the relay's account, in no order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRelayTransfers {
    /// 1 to 1000, each with its own key; equal ones are the same transfer.
    #[schema(min_items = 1, max_items = 1000)]
    pub transfers: Vec<KeyedRelayTransfer>,
}

/// One payment of many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyedRelayTransfer {
    /// The transfer's name, bound for ever: 1 to 128 visible ASCII characters. An item without one is refused, and
    /// the others go on.
    #[serde(default)]
    #[schema(example = "payout-7", required = true)]
    pub key: String,
    /// The account on NEAR that is paid.
    #[schema(example = "alice.near")]
    pub receiver_id: String,
    /// How much, in the token's base units: digits alone.
    #[schema(example = "1000000")]
    pub amount: String,
}

/// What became of each, in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RelayBatchResults {
    #[expect(missing_docs, reason = "its doc line would stand in the API's description")]
    pub results: Vec<RelayBatchResult>,
}

/// What became of one payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RelayBatchResult {
    /// Its place in the request, from 0.
    #[schema(example = 0)]
    pub index: usize,
    /// What the create alone would have answered, as the status of HTTP.
    #[schema(example = 201)]
    pub http_status: u16,
    /// The key had been used before: this is that transfer, nothing was done now.
    #[schema(example = false)]
    pub replayed: bool,
    /// The transfer, or why there is none.
    #[serde(flatten)]
    pub answer: RelayAnswer,
}

/// The transfer, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
#[expect(missing_docs, reason = "a variant's doc line would stand in the API's description")]
pub enum RelayAnswer {
    Transfer(OpenedRelayTransfer),
    #[schema(value_type = UnmadeItem)]
    Refused(Map<String, Value>),
}

impl<'de> Deserialize<'de> for RelayAnswer {
    /// What has not the fields of a transfer is a refusal.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let fields = Map::deserialize(from)?;
        Ok(match OpenedRelayTransfer::deserialize(&fields) {
            Ok(opened) => Self::Transfer(opened),
            Err(_) => Self::Refused(fields),
        })
    }
}
