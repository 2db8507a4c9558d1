//! The store behind a process that dies at a chosen write of a deed.

use kernel::answer::Cause;
use kernel::ids::{AssetId, FlowId, Id, Millis, UserId, WorkerId};
use kernel::people::{Acted, Approval, Day, OpenCase, Spent};
use kernel::ports::Fut;
use kernel::ports::journal::{Count, Due, Journal, Lease, Linked, Snapshot, Standing};
use kernel::record::Record;
use kernel::unit::{Put, Unit, Wrote};
use std::sync::{Arc, Mutex, PoisonError};
use store::embedded::Embedded;
use tokio::sync::Notify;

/// On which side of a write the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

/// Where the process dies next.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    at: Mutex<Option<(Side, usize)>>,
    fell: Notify,
}

impl Cut {
    /// From now on: at so many writes of deeds, the next one is 1.
    pub(crate) fn set(&self, side: Side, write: usize) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = Some((side, write));
    }

    /// Waits until it died.
    pub(crate) async fn fell(&self) {
        self.fell.notified().await;
    }

    /// The side on which this write is cut, if it is.
    fn falls(&self, units: &[Unit]) -> Option<Side> {
        let deed = |unit: &Unit| {
            unit.then.puts.iter().any(|put| matches!(put, Put::Action(_)))
                || unit.then.events.iter().any(|event| event.what == "OPERATOR")
        };
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        let (side, write) = at.as_mut().filter(|_| units.iter().any(deed))?;
        *write -= 1;
        if *write > 0 {
            return None;
        }
        let side = *side;
        *at = None;
        Some(side)
    }

    async fn fall<T>(&self) -> T {
        self.fell.notify_one();
        std::future::pending().await
    }
}

/// The store as the dying process sees it.
pub(crate) struct Dying {
    pub(crate) store: Arc<Embedded>,
    pub(crate) cut: Arc<Cut>,
}

impl Journal for Dying {
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            match self.cut.falls(&units) {
                None => self.store.write(units).await,
                Some(Side::Before) => self.cut.fall().await,
                Some(Side::After) => {
                    self.store.write(units).await;
                    self.cut.fall().await
                }
            }
        })
    }

    fn now(&self) -> Millis {
        self.store.now()
    }
    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.store.get(ids)
    }
    fn bound(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>> {
        self.store.bound(flow, scope, key)
    }
    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>> {
        self.store.history(id)
    }
    fn due(&self, worker: WorkerId, limit: usize) -> Fut<'_, Result<Vec<Due>, Cause>> {
        self.store.due(worker, limit)
    }
    fn alive(
        &self,
        worker: WorkerId,
        length: Millis,
        stopped: Option<u64>,
    ) -> Fut<'_, Result<Lease, Cause>> {
        self.store.alive(worker, length, stopped)
    }
    fn leave(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>> {
        self.store.leave(worker)
    }
    fn moving(&self, worker: WorkerId) -> Fut<'_, Result<Vec<WorkerId>, Cause>> {
        self.store.moving(worker)
    }
    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>> {
        self.store.open_below(id)
    }
    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.store.open_of(user)
    }
    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>> {
        self.store.counts()
    }
    fn aged(&self, opened: Millis, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.store.aged(opened, limit)
    }
    fn open_cases(&self) -> Fut<'_, Result<Vec<OpenCase>, Cause>> {
        self.store.open_cases()
    }
    fn acted(&self, caller: Arc<str>, key: Arc<str>) -> Fut<'_, Result<Option<Acted>, Cause>> {
        self.store.acted(caller, key)
    }
    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>> {
        self.store.approval(id)
    }
    fn spent(&self, user: UserId, day: Day, asset: AssetId) -> Fut<'_, Result<Spent, Cause>> {
        self.store.spent(user, day, asset)
    }
    fn standing(&self) -> Fut<'_, Result<Standing, Cause>> {
        self.store.standing()
    }
    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>> {
        self.store.snapshot()
    }
}
