//! Funding as a [`Ledger`] of its own: the plain path, operators, and external money.

use super::read::read_pool::ReadPool;
use super::write::queue::Queue;
use super::write::work::{AnswerSender, SingleWrite};
use crate::rules::Request;
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::operation::{Identity, Incarnation, Key, Known, Op, Operation};
use kernel::ports::Fut;
use kernel::ports::ledger::{
    Authority, Enlist, External, Holding, Ledger, Moved, Reply, StatusChange, Stored, Totals,
    Whose, World,
};
use std::sync::Arc;

/// The Funding ledger. It lives in the journal's database, so it is always the one that the journal
/// knows; only its identity is compared.
#[expect(missing_debug_implementations, reason = "connections have none")]
pub struct Funding {
    read_pool: Arc<ReadPool>,
    queue: Arc<Queue>,
    identity: Identity,
}

impl Funding {
    pub(crate) const fn new(
        read_pool: Arc<ReadPool>,
        queue: Arc<Queue>,
        identity: Identity,
    ) -> Self {
        Self { read_pool, queue, identity }
    }

    const fn known(&self, highest: u64) -> Known {
        Known { identity: self.identity, incarnation: Incarnation(0), highest }
    }

    fn reply<T>(&self, asked: Result<(u64, T), Cause>) -> Reply<T> {
        match asked {
            Ok((highest, found)) => Reply::Answered(self.known(highest), found),
            Err(cause) => Reply::NoAnswer(cause),
        }
    }

    /// What it is now, unless the request is for another ledger.
    async fn meant<T>(&self, known: Known) -> Result<Known, Reply<T>> {
        let highest = self.read_pool.highest().await.map_err(Reply::NoAnswer)?;
        let now = self.known(highest);
        let same = (known.identity, known.incarnation) == (now.identity, now.incarnation);
        if same && known.highest <= highest { Ok(now) } else { Err(Reply::OtherLedger(now)) }
    }

    /// What it is after something was done.
    async fn after(&self, before: Known) -> Known {
        self.read_pool.highest().await.map_or(before, |highest| self.known(highest))
    }

    async fn write<T: Send + 'static>(
        &self,
        known: Known,
        write: impl FnOnce(AnswerSender<T>) -> SingleWrite,
    ) -> Reply<T> {
        let now = match self.meant(known).await {
            Ok(now) => now,
            Err(other) => return other,
        };
        match self.queue.ask(write).await {
            Ok(done) => Reply::Answered(self.after(now).await, done),
            Err(cause) => Reply::NoAnswer(cause),
        }
    }
}

impl Ledger for Funding {
    fn id(&self) -> LedgerId {
        LedgerId::FUNDING
    }

    fn hello(&self) -> Fut<'_, Reply<()>> {
        Box::pin(async { self.reply(self.read_pool.highest().await.map(|highest| (highest, ()))) })
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(async move {
            let now = match self.meant(known).await {
                Ok(now) => now,
                Err(other) => return other,
            };
            let answers = self.queue.legs(&ops).await;
            Reply::Answered(self.after(now).await, answers)
        })
    }

    fn query(&self, _: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        Box::pin(
            async move { self.reply(self.read_pool.confirmed(self.read_pool.stored(key)).await) },
        )
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        Box::pin(self.write(known, move |told| SingleWrite::Fence(key, told)))
    }

    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        Box::pin(async { self.reply(self.read_pool.totals().await) })
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        Box::pin(async move { self.reply(self.read_pool.operations(after, limit).await) })
    }

    /// The journal keeps every operation for ever: nothing to forget.
    fn horizon(&self, _: Known, _: Id, _: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        self.hello()
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        Box::pin(async move {
            self.reply(self.read_pool.confirmed(self.read_pool.accounts(whose)).await)
        })
    }

    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Reply<bool>> {
        Box::pin(self.write(known, move |told| SingleWrite::Status(change, told)))
    }

    fn enlist(&self) -> Option<&dyn Enlist> {
        Some(self)
    }
}

impl Enlist for Funding {
    fn holds(&self) -> bool {
        true
    }
}

impl World for Funding {
    fn book(&self, movement: External, authority: Authority) -> Fut<'_, Result<Moved, Cause>> {
        let request = Box::new(Request { movement, authority });
        self.queue.ask(|sender| SingleWrite::External(request, sender))
    }

    fn booked(&self, movement: External) -> Fut<'_, Result<Option<Moved>, Cause>> {
        Box::pin(async move { self.read_pool.confirmed(self.read_pool.booked(&movement)).await })
    }
}
