//! The queue and the log of webhooks: which events endpoints are to get, and what came of each.
//!
//! A transfer writes nothing here. A task finds events behind a cursor over the transfers' numbers, and
//! writes their messages together with the next value of the cursor.

use super::Fut;
use super::admin_queries::{CaseRow, Tells};
use crate::answer::Cause;
use crate::ids::{Id, Millis, Serial};
use crate::record::Record;
use std::sync::Arc;

/// How far something is, by name: a cursor, a count, a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The name of what is counted.
    pub name: Arc<str>,
    /// How far it is.
    pub value: u64,
    /// How often it was changed: what guards the next change.
    pub version: u64,
}

/// A change of a [`Progress`], from the version that was read; 0: there was none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressMove {
    /// The name of what is counted.
    pub name: Arc<str>,
    /// The version that was read.
    pub version: u64,
    /// How far it is from now on.
    pub value: u64,
}

/// A message that an endpoint is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// The endpoint that is meant.
    pub endpoint: Id,
    /// The `webhook-id`: the same whenever the same event is sent.
    pub id: Arc<str>,
    /// The type of the event.
    pub kind: Arc<str>,
    /// What it is about, for the log: a transfer's id, a case's number.
    pub subject: Arc<str>,
    /// The body that is sent.
    pub body: Arc<str>,
    /// It is sent again where it was sent before.
    pub again: bool,
}

/// A message with what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookMessage {
    /// The endpoint that is meant.
    pub endpoint: Id,
    /// Its number in the log.
    pub number: u64,
    /// The `webhook-id`, the same at every try.
    pub id: Arc<str>,
    /// The type of the event.
    pub kind: Arc<str>,
    /// What it is about.
    pub subject: Arc<str>,
    /// The body that is sent.
    pub body: Arc<str>,
    /// When it was queued, by the journal's time.
    pub at: Millis,
    /// How often it was tried since.
    pub attempts: u32,
    /// When it is tried next; `None`: it was taken, or given up.
    pub due_at: Option<Millis>,
    /// When it was tried last.
    pub tried_at: Option<Millis>,
    /// When it was first taken; it stays where the message is sent again.
    pub delivered_at: Option<Millis>,
    /// The status of the last answer.
    pub status: Option<u16>,
    /// Why the last try failed.
    pub error: Option<Arc<str>>,
}

/// The result of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedMessage {
    /// The endpoint that is meant.
    pub endpoint: Id,
    /// The number of the message in the log.
    pub number: u64,
    /// How long from now it waits for its next try; `None`: it was taken, or is given up.
    pub wait: Option<Millis>,
    /// The status that was answered.
    pub status: Option<u16>,
    /// Why it failed; `None`: it was taken.
    pub error: Option<Arc<str>>,
}

/// The result of one look at the journal's facts: it is written whole, or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageBatch {
    /// What moves on. The write is lost where one of them was moved meanwhile.
    pub moves: Vec<ProgressMove>,
    /// What endpoints are to be sent.
    pub messages: Vec<NewMessage>,
    /// Messages of the log that are sent again, by endpoint and number.
    pub resend: Vec<(Id, u64)>,
    /// Transfers that the cursor passes and that have not ended.
    pub watch: Vec<Serial>,
    /// Watched transfers that have ended, and when.
    pub ended: Vec<(Serial, Millis)>,
    /// Halves of cases' episodes whose messages are among these.
    pub told: Vec<(u64, Tells)>,
}

/// Half of a case's episode that endpoints have not got yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseEvent {
    /// The case, as it is stored.
    pub case: CaseRow,
    /// The half that it is: the opening of the case, or its end.
    pub tells: Tells,
    /// When it happened, by the journal's time.
    pub at: Millis,
}

/// Which messages are taken up for a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimQuery {
    /// Those of this endpoint.
    pub endpoint: Id,
    /// How long no other process tries them.
    pub hold: Millis,
    /// One that is due further away than this counts as due: a clock was set back.
    pub longest: Millis,
    /// The most that are read.
    pub limit: usize,
}

/// A request for the messages that an endpoint has still to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BacklogQuery {
    /// The endpoint that is meant.
    pub endpoint: Id,
    /// Those that were queued at or after this time are counted apart.
    pub since: Millis,
}

/// The messages that an endpoint has still to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndpointBacklog {
    /// The number of all messages that wait.
    pub messages: u64,
    /// Those that were queued since the time of the request.
    pub queued_since: u64,
}

/// The queue and the log of webhooks.
pub trait WebhookOutbox: Send + Sync {
    /// How far everything is.
    fn progress(&self) -> Fut<'_, Result<Vec<Progress>, Cause>>;
    /// Watched transfers above a number whose end was not found yet, as they are now: by number, at
    /// most `limit`.
    fn watched(&self, after: Serial, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>>;
    /// Watched transfers above a number that ended at or after a time: by number, at most `limit`.
    fn ended_late(
        &self,
        since: Millis,
        after: Serial,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Record>, Cause>>;
    /// The halves of cases' episodes that endpoints have not got, the oldest first.
    fn case_events(&self, limit: usize) -> Fut<'_, Result<Vec<CaseEvent>, Cause>>;
    /// What happened to cases at or after a time, the newest first, at most `limit`.
    fn case_events_since(
        &self,
        since: Millis,
        limit: usize,
    ) -> Fut<'_, Result<Vec<CaseEvent>, Cause>>;
    /// Writes a batch; false where something in it was moved meanwhile, and nothing was written.
    fn queue(&self, batch: MessageBatch) -> Fut<'_, Result<bool, Cause>>;
    /// Takes up messages whose time has come, the oldest first: a compare-and-swap on their time, so
    /// that one of several processes has each.
    fn claim(&self, query: ClaimQuery) -> Fut<'_, Result<Vec<WebhookMessage>, Cause>>;
    /// How many messages each of these endpoints has still to take, in their order.
    fn waiting(&self, of: Vec<BacklogQuery>) -> Fut<'_, Result<Vec<EndpointBacklog>, Cause>>;
    /// Stores the results of tries. A message that its endpoint has taken stays taken.
    fn tried(&self, tried: Vec<TriedMessage>) -> Fut<'_, Result<(), Cause>>;
    /// The log of an endpoint, newest first, below a number.
    fn messages(
        &self,
        endpoint: Id,
        before: Option<u64>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<WebhookMessage>, Cause>>;
    /// A message of an endpoint's log.
    fn message(&self, endpoint: Id, number: u64) -> Fut<'_, Result<Option<WebhookMessage>, Cause>>;
    /// Forgets messages that were queued before a time, and watched transfers that ended before it, at
    /// most `limit` of each; gives back how many.
    fn forget(&self, before: Millis, limit: usize) -> Fut<'_, Result<u64, Cause>>;
}
