//! The actions on endpoints of webhooks, as rows of the table of actions.

use super::action::no_value;
use crate::ids::{Id, Millis};
use crate::webhooks::{Channel, EndpointStatus, EventFilter, WebhookSecret};
use serde::Serialize;
use std::sync::Arc;

/// An endpoint that is added. It begins ACTIVE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewWebhook {
    /// Its id, drawn for it.
    #[serde(skip)]
    pub id: Id,
    /// The key that signs what it gets, drawn for it.
    #[serde(skip)]
    pub secret: WebhookSecret,
    /// How it is reached.
    pub channel: Channel,
    /// Where: an address, or the address of a mailbox.
    pub target: Arc<str>,
    /// The operator's own words for it.
    pub description: Arc<str>,
    /// Which events it wants.
    #[serde(flatten)]
    pub filter: EventFilter,
}

/// What changes of an endpoint; `None` leaves it as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WebhookChange {
    /// The endpoint that is meant.
    #[serde(skip)]
    pub id: Id,
    /// Where it is from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Arc<str>>,
    /// The key that signs from now on, drawn for the change: it takes effect where the target is at another host.
    #[serde(skip)]
    pub secret: Option<WebhookSecret>,
    /// The operators' own words for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Arc<str>>,
    /// The types of events that it wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<Arc<str>>>,
    /// The flows whose transfers the endpoint wants; an empty list: those of every flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<Arc<str>>>,
    /// The owner whose transfers the endpoint wants; `Some(None)`: those of every owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<Option<Arc<str>>>,
    /// Whether the endpoint gets events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<EndpointStatus>,
}

/// Something that an operator does with an endpoint. It serializes as its value in the audit; a secret
/// is never part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum WebhookAction {
    /// Adds an endpoint that is ACTIVE.
    Add(NewWebhook),
    /// Changes an endpoint, enables or disables it.
    Change(WebhookChange),
    /// Deletes an endpoint. What waits for it is not sent.
    Delete(#[serde(serialize_with = "no_value")] Id),
    /// Signs with a new secret, and with those before it for a time.
    Rotate {
        /// The endpoint that is meant.
        #[serde(skip)]
        id: Id,
        /// The new secret, drawn for it.
        #[serde(skip)]
        secret: WebhookSecret,
        /// How long the secrets before it sign too.
        overlap_ms: Millis,
    },
    /// Sends a test event.
    Test(#[serde(serialize_with = "no_value")] Id),
    /// Sends a message of the log again.
    Resend {
        /// The endpoint that is meant.
        #[serde(skip)]
        id: Id,
        /// The number of the message in the log.
        number: u64,
    },
    /// Sends every event again that it wants and that happened at or after a time.
    Replay {
        /// The endpoint that is meant.
        #[serde(skip)]
        id: Id,
        /// The time of the first event.
        since: Millis,
    },
}

impl WebhookAction {
    /// The word in the audit, and the endpoint where there is one already.
    pub(super) const fn row(&self) -> (&'static str, Option<Id>) {
        match self {
            Self::Add(_) => ("ADD_WEBHOOK", None),
            Self::Change(change) => ("CHANGE_WEBHOOK", Some(change.id)),
            Self::Delete(id) => ("DELETE_WEBHOOK", Some(*id)),
            Self::Rotate { id, .. } => ("ROTATE_WEBHOOK", Some(*id)),
            Self::Test(id) => ("TEST_WEBHOOK", Some(*id)),
            Self::Resend { id, .. } => ("RESEND_WEBHOOK", Some(*id)),
            Self::Replay { id, .. } => ("REPLAY_WEBHOOK", Some(*id)),
        }
    }
}
