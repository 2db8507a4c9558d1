//! Implements the port `Inbox` on SQLite, through the writer and the readers.

use super::{InboxWrite, rows};
use crate::sqlite::Embedded;
use crate::sqlite::write::work::{PendingAnswer, Work};
use kernel::answer::Cause;
use kernel::ports::Fut;
use kernel::ports::bus::BusDelivery;
use kernel::ports::inbox::{Inbox, NextTry, ParkedKey, ParkedMessage, ParkedName};
use std::sync::Arc;
use tokio::sync::oneshot;

impl Embedded {
    /// Sends the change to the writer; answers when it is durable.
    async fn inbox(&self, write: InboxWrite) -> Result<(), Cause> {
        let (sender, answer) = oneshot::channel();
        let work = Work::Inbox(PendingAnswer::new(write, sender));
        self.writer.send(work).await.map_err(|_| Cause::of("STORE_CLOSED"))?;
        answer.await.unwrap_or(Err(Cause::of("STORE_CLOSED")))
    }
}

impl Inbox for Embedded {
    fn consumed(
        &self,
        group: &'static str,
        numbers: Vec<u128>,
    ) -> Fut<'_, Result<Vec<u128>, Cause>> {
        self.ask(move |db, _| rows::consumed(db, group, &numbers))
    }

    fn park(
        &self,
        group: Arc<str>,
        messages: Vec<BusDelivery>,
        next: NextTry,
    ) -> Fut<'_, Result<(), Cause>> {
        Box::pin(self.inbox(InboxWrite::Park(group, messages, next)))
    }

    fn parked_keys(
        &self,
        group: Option<Arc<str>>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<ParkedKey>, Cause>> {
        self.ask(move |db, _| rows::keys(db, group.as_deref(), limit))
    }

    fn parked(&self, name: ParkedName, limit: usize) -> Fut<'_, Result<Vec<ParkedMessage>, Cause>> {
        self.ask(move |db, _| rows::messages(db, &name, limit))
    }

    fn try_again(&self, name: ParkedName, next: NextTry) -> Fut<'_, Result<(), Cause>> {
        Box::pin(self.inbox(InboxWrite::TryAgain(name, next)))
    }

    fn unpark(
        &self,
        name: ParkedName,
        consumed: Vec<u128>,
        upto: u64,
    ) -> Fut<'_, Result<(), Cause>> {
        Box::pin(self.inbox(InboxWrite::Unpark { name, consumed, upto }))
    }
}
