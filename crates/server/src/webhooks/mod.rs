//! Webhooks: what happened is posted, signed, until it was taken.
//!
//! Two ways share the sender. `alerts` posts each case to the one address of `alerts.webhook_url`.
//! Endpoints that operators add are told of every flow's transfers and of cases: `fan_out` finds the
//! events behind a cursor and queues their messages, `replay` queues them again, `dispatch` posts what is
//! due. Nothing waits for a receiver, and everything is the journal's: a restart goes on where the last
//! process was.

mod alerts;
pub mod dispatch;
mod endpoints;
mod event;
pub mod fan_out;
mod mail;
mod message;
mod public_address;
pub mod replay;
mod sender;
pub mod sign;
pub mod target;

pub use alerts::{BACKOFF, WEBHOOKS, WebhookContext, Webhooks};
pub use mail::Mailer;
