//! The bodies of webhook endpoints and their deliveries.

use crate::given::given;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Every endpoint, in the order in which they were added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookList {
    /// The endpoints; at most 100.
    pub webhooks: Vec<WebhookRow>,
}

/// An endpoint that is told of events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookRow {
    /// The id of the endpoint.
    #[schema(example = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
    pub id: String,
    /// `http` (a signed POST) or `email`.
    #[schema(example = "http")]
    pub channel: String,
    /// The address that is posted to, or the mailbox.
    #[schema(example = "https://hooks.example.com/portage")]
    pub target: String,
    /// The operators' own words for it.
    #[schema(example = "the ledger team's bot")]
    pub description: String,
    /// The types of events that it wants.
    #[schema(example = json!(["transfer.failed", "case.*"]))]
    pub events: Vec<String>,
    /// The flows whose transfers it wants; empty: those of every flow.
    #[schema(example = json!(["internal"]))]
    pub flows: Vec<String>,
    /// The owner whose transfers it wants; `null`: those of every owner.
    #[schema(example = "user:4001")]
    pub owner: Option<String>,
    /// `ACTIVE`, or `DISABLED`: told of nothing.
    #[schema(example = "ACTIVE")]
    pub status: String,
    /// Why the service disabled it.
    pub disabled_because: Option<String>,
    /// When it was added, RFC 3339.
    pub created_at: String,
    /// It is told of what happened since then, RFC 3339; the rest is sent by a replay.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub enabled_at: String,
    /// Until then the secrets before the last one sign too, RFC 3339.
    pub rotating_until: Option<String>,
}

/// An endpoint with its secret, which is shown this once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookWithSecret {
    /// The endpoint that is meant.
    #[serde(flatten)]
    pub webhook: WebhookRow,
    /// The key that signs what it gets, by Standard Webhooks. `null` of an e-mail, and of a repeat: rotate
    /// a secret that was lost.
    #[schema(example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=")]
    pub secret: Option<String>,
}

/// An endpoint that is added. It begins ACTIVE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddWebhook {
    /// `http` (a signed POST) or `email`.
    #[serde(default = "http")]
    #[schema(default = "http", pattern = "^(http|email)$", example = "http")]
    pub channel: String,
    /// An address of HTTPS, or of a mailbox.
    #[schema(max_length = 1024, example = "https://hooks.example.com/portage")]
    pub target: String,
    /// Your own words for it: at most 1024 characters.
    #[serde(default)]
    #[schema(max_length = 1024, example = "the ledger team's bot")]
    pub description: String,
    /// What it is told of: `transfer.completed`, `transfer.failed`, `transfer.rolled_back`,
    /// `transfer.kept`, `transfer.held`, `case.opened`, `case.closed`; `transfer.*`, `case.*`; `*`.
    #[schema(min_items = 1, max_items = 32, example = json!(["transfer.failed", "case.*"]))]
    pub events: Vec<String>,
    /// Only transfers of these flows.
    #[serde(default)]
    #[schema(max_items = 32, example = json!(["internal"]))]
    pub flows: Vec<String>,
    /// Only transfers of this owner: `user:4001`, `principal:issuer|sub`, `chain:30:address`.
    #[serde(default)]
    #[schema(example = "user:4001")]
    pub owner: Option<String>,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "ticket 4711")]
    pub reason: String,
}

/// What changes of an endpoint. What is left out stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeWebhook {
    /// An address of HTTPS, or of a mailbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1024, example = "https://hooks.example.com/portage")]
    pub target: Option<String>,
    /// Your own words for it: at most 1024 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1024, example = "the ledger team's bot")]
    pub description: Option<String>,
    /// What it is told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 32, example = json!(["transfer.*"]))]
    pub events: Option<Vec<String>>,
    /// Only transfers of these flows; empty: of every flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 32, example = json!([]))]
    pub flows: Option<Vec<String>>,
    /// Only transfers of this owner; `null`: of every owner.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "user:4001")]
    pub owner: Option<Option<String>>,
    /// `ACTIVE`, or `DISABLED`: told of nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(ACTIVE|DISABLED)$", example = "ACTIVE")]
    pub status: Option<String>,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "the receiver is back")]
    pub reason: String,
}

/// How a secret is rotated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateWebhook {
    /// The time for which the earlier secrets sign too, in seconds: 0 to 2592000; the default is a day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 2_592_000, example = 86_400)]
    pub overlap_seconds: Option<u64>,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "a year has passed")]
    pub reason: String,
}

/// A page of an endpoint's log, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Deliveries {
    /// The messages, one row for each.
    pub deliveries: Vec<DeliveryRow>,
    /// There may be more: ask with `cursor` set to this.
    pub next: Option<String>,
}

/// A message to an endpoint, with what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryRow {
    /// Its number in the log, by which it is sent again.
    #[schema(example = 12)]
    pub number: u64,
    /// The `webhook-id`: the same whenever the same event is sent.
    #[schema(example = "msg_9f86d081884c7d659a2feaa0c55ad015")]
    pub id: String,
    /// The type of the event.
    #[schema(example = "transfer.completed")]
    pub r#type: String,
    /// What it is about: a transfer's id, `case/<number>`, `webhook/<id>`.
    #[schema(example = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
    pub subject: String,
    /// `QUEUED`, `DELIVERED`, or `GIVEN_UP` after the last try.
    #[schema(example = "DELIVERED")]
    pub status: String,
    /// The number of tries since it was queued or sent again.
    #[schema(example = 1)]
    pub attempts: u32,
    /// When it was queued, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub queued_at: String,
    /// When it is tried next, RFC 3339.
    pub next_try_at: Option<String>,
    /// When it was tried last, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.160Z")]
    pub tried_at: Option<String>,
    /// When it was first taken, RFC 3339; it stays where the message is sent again.
    #[schema(example = "2026-11-21T09:23:15.160Z")]
    pub delivered_at: Option<String>,
    /// The status of the last answer.
    #[schema(example = 200)]
    pub response_status: Option<u16>,
    /// Why the last try failed.
    pub error: Option<String>,
}

/// What is sent again, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayWebhook {
    /// Every event that the endpoint wants and that happened at or after this time, RFC 3339.
    #[schema(example = "2026-11-21T09:00:00Z")]
    pub since: String,
    /// Says how many messages that would be, and sends none.
    #[serde(default)]
    #[schema(default = false)]
    pub dry_run: bool,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "the receiver was down")]
    pub reason: String,
}

/// How much a replay would send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReplayPreview {
    /// How many messages would be sent.
    #[schema(example = 1342)]
    pub messages: u64,
    /// False where only the first 200000 transfers were looked at.
    #[schema(example = true)]
    pub complete: bool,
}

fn http() -> String {
    "http".to_owned()
}
