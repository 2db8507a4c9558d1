//! Implements the port `WebhookOutbox` on SQLite, through the writer and the readers.

use super::{WebhookWrite, WebhookWritten, rows};
use crate::sqlite::Embedded;
use crate::sqlite::write::work::{PendingAnswer, Work};
use kernel::answer::Cause;
use kernel::ids::{Id, Millis, Serial};
use kernel::ports::Fut;
use kernel::ports::webhooks::{
    BacklogQuery, CaseEvent, ClaimQuery, EndpointBacklog, MessageBatch, Progress, TriedMessage,
    WebhookMessage, WebhookOutbox,
};
use kernel::record::Record;
use tokio::sync::oneshot;

impl Embedded {
    /// Sends the change to the writer; answers when it is durable.
    async fn webhooks(&self, write: WebhookWrite) -> Result<WebhookWritten, Cause> {
        let (sender, answer) = oneshot::channel();
        let work = Work::Webhook(PendingAnswer::new(write, sender));
        self.writer.send(work).await.map_err(|_| Cause::of("STORE_CLOSED"))?;
        answer.await.unwrap_or(Err(Cause::of("STORE_CLOSED")))
    }
}

/// Another answer than the question has.
fn other<T>() -> Result<T, Cause> {
    Err(Cause::of("STORE_CLOSED"))
}

impl WebhookOutbox for Embedded {
    fn progress(&self) -> Fut<'_, Result<Vec<Progress>, Cause>> {
        self.ask(|db, _| rows::progress(db))
    }

    fn watched(&self, after: Serial, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.search(move |db, flows| rows::watched(db, flows, None, after, limit))
    }

    fn ended_late(
        &self,
        since: Millis,
        after: Serial,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.search(move |db, flows| rows::watched(db, flows, Some(since), after, limit))
    }

    fn case_events(&self, limit: usize) -> Fut<'_, Result<Vec<CaseEvent>, Cause>> {
        self.ask(move |db, _| rows::case_events(db, limit))
    }

    fn case_events_since(
        &self,
        since: Millis,
        limit: usize,
    ) -> Fut<'_, Result<Vec<CaseEvent>, Cause>> {
        self.search(move |db, _| rows::case_events_since(db, since, limit))
    }

    fn queue(&self, batch: MessageBatch) -> Fut<'_, Result<bool, Cause>> {
        Box::pin(async move {
            match self.webhooks(WebhookWrite::Queue(batch)).await? {
                WebhookWritten::Queued(written) => Ok(written),
                WebhookWritten::Claimed(_) | WebhookWritten::Rows(_) => other(),
            }
        })
    }

    fn claim(&self, query: ClaimQuery) -> Fut<'_, Result<Vec<WebhookMessage>, Cause>> {
        Box::pin(async move {
            match self.webhooks(WebhookWrite::Claim(query)).await? {
                WebhookWritten::Claimed(messages) => Ok(messages),
                WebhookWritten::Queued(_) | WebhookWritten::Rows(_) => other(),
            }
        })
    }

    fn waiting(&self, of: Vec<BacklogQuery>) -> Fut<'_, Result<Vec<EndpointBacklog>, Cause>> {
        self.search(move |db, _| of.iter().map(|one| rows::waiting(db, one)).collect())
    }

    fn tried(&self, tried: Vec<TriedMessage>) -> Fut<'_, Result<(), Cause>> {
        Box::pin(async move { self.webhooks(WebhookWrite::Tried(tried)).await.map(drop) })
    }

    fn messages(
        &self,
        endpoint: Id,
        before: Option<u64>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<WebhookMessage>, Cause>> {
        self.ask(move |db, _| rows::messages(db, endpoint, before, limit))
    }

    fn message(&self, endpoint: Id, number: u64) -> Fut<'_, Result<Option<WebhookMessage>, Cause>> {
        self.ask(move |db, _| rows::one_message(db, endpoint, number))
    }

    fn forget(&self, before: Millis, limit: usize) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(async move {
            match self.webhooks(WebhookWrite::Forget(before, limit)).await? {
                WebhookWritten::Rows(rows) => Ok(rows),
                WebhookWritten::Queued(_) | WebhookWritten::Claimed(_) => other(),
            }
        })
    }
}
