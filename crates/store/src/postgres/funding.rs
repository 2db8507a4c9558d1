//! Implements the port [`Ledger`] for an enlisted ledger: single legs, operators' queries, deposits and
//! withdrawals.

use super::read::read_pool::ReadPool;
use super::write::queue::{Queue, over};
use super::write::work::{AnswerSender, FenceRequest, SingleWrite};
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::operation::{Identity, Incarnation, Key, Known, Op, Operation};
use kernel::ports::Fut;
use kernel::ports::journal::Writing;
use kernel::ports::ledger::{
    Authority, Enlist, External, Holding, Ledger, Moved, Reply, StatusChange, Stored, Totals,
    Whose, World,
};
use kernel::rules::Request;
use std::sync::Arc;

/// Numbered accounts are listed and changed through the journal, by their numbers.
const NUMBERED: Cause = Cause::of("NUMBERED_ACCOUNTS");

/// Funding, or the accounts ledger. It lives in the journal's database, so it is always the one that
/// the journal knows; only its identity is compared.
#[expect(missing_debug_implementations, reason = "connections have none")]
pub struct EnlistedLedger {
    ledger: LedgerId,
    read_pool: Arc<ReadPool>,
    queue: Arc<Queue>,
    identity: Identity,
}

impl EnlistedLedger {
    pub(crate) const fn new(
        ledger: LedgerId,
        read_pool: Arc<ReadPool>,
        queue: Arc<Queue>,
        identity: Identity,
    ) -> Self {
        Self { ledger, read_pool, queue, identity }
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

    /// The ledger's state now, unless the request is for another ledger.
    async fn meant<T>(&self, known: Known) -> Result<Known, Reply<T>> {
        let highest = self.read_pool.highest().await.map_err(Reply::NoAnswer)?;
        let now = self.known(highest);
        let same = (known.identity, known.incarnation) == (now.identity, now.incarnation);
        if same && known.highest <= highest { Ok(now) } else { Err(Reply::OtherLedger(now)) }
    }

    /// The ledger's state after a write.
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

impl Ledger for EnlistedLedger {
    fn id(&self) -> LedgerId {
        self.ledger
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
            let answers = over(self.queue.legs(self.ledger, &ops).await).await;
            Reply::Answered(self.after(now).await, answers)
        })
    }

    fn begin(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Writing<Answer>>>> {
        Box::pin(async move {
            let now = match self.meant(known).await {
                Ok(now) => now,
                Err(other) => return other,
            };
            let begun = self.queue.legs(self.ledger, &ops).await;
            Reply::Answered(self.after(now).await, begun)
        })
    }

    fn query(&self, _: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        Box::pin(async move {
            self.reply(self.read_pool.confirmed(self.read_pool.stored(self.ledger, key)).await)
        })
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        let fence = FenceRequest { ledger: self.ledger, key };
        Box::pin(self.write(known, move |told| SingleWrite::Fence(fence, told)))
    }

    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        Box::pin(async { self.reply(self.read_pool.totals(self.ledger).await) })
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        Box::pin(
            async move { self.reply(self.read_pool.operations(self.ledger, after, limit).await) },
        )
    }

    /// The journal keeps every operation for ever: nothing to forget.
    fn horizon(&self, _: Known, _: Id, _: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        self.hello()
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        if self.ledger != LedgerId::FUNDING {
            return Box::pin(async { Reply::NoAnswer(NUMBERED) });
        }
        Box::pin(async move {
            self.reply(self.read_pool.confirmed(self.read_pool.accounts(whose)).await)
        })
    }

    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Reply<bool>> {
        if self.ledger != LedgerId::FUNDING {
            return Box::pin(async { Reply::NoAnswer(NUMBERED) });
        }
        Box::pin(self.write(known, move |told| SingleWrite::Status(change, told)))
    }

    fn enlist(&self) -> Option<&dyn Enlist> {
        Some(self)
    }
}

impl Enlist for EnlistedLedger {
    fn holds(&self) -> bool {
        self.ledger == LedgerId::FUNDING
    }
}

impl World for EnlistedLedger {
    fn book(&self, movement: External, authority: Authority) -> Fut<'_, Result<Moved, Cause>> {
        let request = Box::new(Request { movement, authority });
        self.queue.ask(|sender| SingleWrite::External(request, sender))
    }

    fn booked(&self, movement: External) -> Fut<'_, Result<Option<Moved>, Cause>> {
        Box::pin(async move { self.read_pool.confirmed(self.read_pool.booked(&movement)).await })
    }
}
