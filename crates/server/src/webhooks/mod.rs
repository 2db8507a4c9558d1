//! Webhooks: post signed events to receivers, and repeat each until the receiver accepts it.
//!
//! Two paths share the sender. `alerts` posts each case to the one address of `alerts.webhook_url`. Endpoints that
//! operators add receive events of every flow's transfers and of cases: `fan_out` finds the events behind a cursor
//! and queues their messages, `replay` queues them again, `dispatch` posts the due ones. Nothing waits for a
//! receiver, and the journal stores everything: after a restart the tasks continue where the last process was.

mod alerts;
pub mod dispatch;
mod endpoints;
pub(crate) mod event;
pub mod fan_out;
mod mail;
pub(crate) mod message;
mod payees;
mod public_address;
pub mod replay;
mod sender;
pub mod sign;
pub mod target;

pub use alerts::{BACKOFF, WEBHOOKS, WebhookContext, Webhooks};
pub use mail::Mailer;
