//! Funding as a [`Ledger`] of its own: the plain path, operators, and the world.

use super::super::ask::Desk;
use super::super::queue::Queue;
use super::super::work::{Solo, Told};
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::ports::Fut;
use kernel::ports::ledger::{
    Enlist, External, Heard, Holding, Identity, Incarnation, Known, Ledger, Moved, StatusChange,
    Stored, Totals, Whose, World,
};
use kernel::unit::{Key, Op, Operation};
use std::sync::Arc;

/// The Funding ledger. It lives in the journal's database, so it is always the one that the journal
/// knows; only its identity is compared.
#[expect(missing_debug_implementations, reason = "connections have none")]
pub struct Funding {
    desk: Arc<Desk>,
    queue: Arc<Queue>,
    identity: Identity,
}

impl Funding {
    pub(crate) const fn new(desk: Arc<Desk>, queue: Arc<Queue>, identity: Identity) -> Self {
        Self { desk, queue, identity }
    }

    const fn known(&self, highest: u64) -> Known {
        Known { identity: self.identity, incarnation: Incarnation(0), highest }
    }

    fn heard<T>(&self, asked: Result<(u64, T), Cause>) -> Heard<T> {
        match asked {
            Ok((highest, found)) => Heard::Said(self.known(highest), found),
            Err(cause) => Heard::Nothing(cause),
        }
    }

    /// What it is now, unless the request is for another ledger.
    async fn meant<T>(&self, known: Known) -> Result<Known, Heard<T>> {
        let highest = self.desk.highest().await.map_err(Heard::Nothing)?;
        let now = self.known(highest);
        let same = (known.identity, known.incarnation) == (now.identity, now.incarnation);
        if same && known.highest <= highest { Ok(now) } else { Err(Heard::Wrong(now)) }
    }

    /// What it is after something was done.
    async fn after(&self, before: Known) -> Known {
        self.desk.highest().await.map_or(before, |highest| self.known(highest))
    }

    async fn write<T: Send + 'static>(
        &self,
        known: Known,
        solo: impl FnOnce(Told<T>) -> Solo,
    ) -> Heard<T> {
        let now = match self.meant(known).await {
            Ok(now) => now,
            Err(other) => return other,
        };
        match self.queue.ask(solo).await {
            Ok(done) => Heard::Said(self.after(now).await, done),
            Err(cause) => Heard::Nothing(cause),
        }
    }
}

impl Ledger for Funding {
    fn id(&self) -> LedgerId {
        LedgerId::FUNDING
    }

    fn hello(&self) -> Fut<'_, Heard<()>> {
        Box::pin(async { self.heard(self.desk.highest().await.map(|highest| (highest, ()))) })
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Heard<Vec<Answer>>> {
        Box::pin(async move {
            let now = match self.meant(known).await {
                Ok(now) => now,
                Err(other) => return other,
            };
            let answers = self.queue.legs(&ops).await;
            Heard::Said(self.after(now).await, answers)
        })
    }

    fn query(&self, _: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        Box::pin(async move { self.heard(self.desk.confirmed(self.desk.stored(key)).await) })
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        Box::pin(self.write(known, move |told| Solo::Fence(key, told)))
    }

    fn totals(&self) -> Fut<'_, Heard<Vec<(AssetId, Totals)>>> {
        Box::pin(async { self.heard(self.desk.totals().await) })
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Heard<Vec<Operation>>> {
        Box::pin(async move { self.heard(self.desk.operations(after, limit).await) })
    }

    /// The journal keeps every operation for ever: nothing to forget.
    fn horizon(&self, _: Known, _: Id, _: Arc<[Id]>) -> Fut<'_, Heard<()>> {
        self.hello()
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Heard<Vec<Holding>>> {
        Box::pin(async move { self.heard(self.desk.confirmed(self.desk.accounts(whose)).await) })
    }

    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Heard<bool>> {
        Box::pin(self.write(known, move |told| Solo::Status(change, told)))
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
    fn external(&self, movement: External) -> Fut<'_, Result<Moved, Cause>> {
        self.queue.ask(|told| Solo::External(movement, told))
    }

    fn booked(&self, movement: External) -> Fut<'_, Result<Option<Moved>, Cause>> {
        Box::pin(async move { self.desk.confirmed(self.desk.booked(&movement)).await })
    }
}
