//! The shell of a journal.

use super::Shell;
use kernel::answer::Cause;
use kernel::ids::{AssetId, FlowId, Id, Millis, UserId, WorkerId};
use kernel::people::{Acted, Approval, Day, OpenCase, Spent};
use kernel::ports::Fut;
use kernel::ports::journal::{Count, Due, Journal, Lease, Linked, Snapshot, Standing};
use kernel::record::Record;
use kernel::unit::{Unit, Wrote};
use std::sync::Arc;

/// What stands around a journal; each default passes its call on.
pub trait JournalShell: Send + Sync {
    /// The journal itself.
    fn inner(&self) -> &dyn Journal;
    /// In the place of [`Journal::now`].
    fn now(&self) -> Millis {
        self.inner().now()
    }
    /// In the place of [`Journal::write`].
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        self.inner().write(units)
    }
    /// In the place of [`Journal::get`].
    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.inner().get(ids)
    }
    /// In the place of [`Journal::bound`].
    fn bound(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>> {
        self.inner().bound(flow, scope, key)
    }
    /// In the place of [`Journal::history`].
    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>> {
        self.inner().history(id)
    }
    /// In the place of [`Journal::due`].
    fn due(&self, worker: WorkerId, limit: usize) -> Fut<'_, Result<Vec<Due>, Cause>> {
        self.inner().due(worker, limit)
    }
    /// In the place of [`Journal::alive`].
    fn alive(
        &self,
        worker: WorkerId,
        length: Millis,
        stopped: Option<u64>,
    ) -> Fut<'_, Result<Lease, Cause>> {
        self.inner().alive(worker, length, stopped)
    }
    /// In the place of [`Journal::leave`].
    fn leave(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>> {
        self.inner().leave(worker)
    }
    /// In the place of [`Journal::moving`].
    fn moving(&self, worker: WorkerId) -> Fut<'_, Result<Vec<WorkerId>, Cause>> {
        self.inner().moving(worker)
    }
    /// In the place of [`Journal::open_below`].
    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>> {
        self.inner().open_below(id)
    }
    /// In the place of [`Journal::open_of`].
    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.inner().open_of(user)
    }
    /// In the place of [`Journal::counts`].
    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>> {
        self.inner().counts()
    }
    /// In the place of [`Journal::aged`].
    fn aged(&self, opened: Millis, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.inner().aged(opened, limit)
    }
    /// In the place of [`Journal::open_cases`].
    fn open_cases(&self) -> Fut<'_, Result<Vec<OpenCase>, Cause>> {
        self.inner().open_cases()
    }
    /// In the place of [`Journal::acted`].
    fn acted(&self, caller: Arc<str>, key: Arc<str>) -> Fut<'_, Result<Option<Acted>, Cause>> {
        self.inner().acted(caller, key)
    }
    /// In the place of [`Journal::approval`].
    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>> {
        self.inner().approval(id)
    }
    /// In the place of [`Journal::spent`].
    fn spent(&self, user: UserId, day: Day, asset: AssetId) -> Fut<'_, Result<Spent, Cause>> {
        self.inner().spent(user, day, asset)
    }
    /// In the place of [`Journal::standing`].
    fn standing(&self) -> Fut<'_, Result<Standing, Cause>> {
        self.inner().standing()
    }
    /// In the place of [`Journal::snapshot`].
    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>> {
        self.inner().snapshot()
    }
}

impl<T: JournalShell> Journal for Shell<T> {
    fn now(&self) -> Millis {
        self.0.now()
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        self.0.write(units)
    }
    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.0.get(ids)
    }
    fn bound(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>> {
        self.0.bound(flow, scope, key)
    }
    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>> {
        self.0.history(id)
    }
    fn due(&self, worker: WorkerId, limit: usize) -> Fut<'_, Result<Vec<Due>, Cause>> {
        self.0.due(worker, limit)
    }
    fn alive(
        &self,
        worker: WorkerId,
        length: Millis,
        stopped: Option<u64>,
    ) -> Fut<'_, Result<Lease, Cause>> {
        self.0.alive(worker, length, stopped)
    }
    fn leave(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>> {
        self.0.leave(worker)
    }
    fn moving(&self, worker: WorkerId) -> Fut<'_, Result<Vec<WorkerId>, Cause>> {
        self.0.moving(worker)
    }
    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>> {
        self.0.open_below(id)
    }
    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.0.open_of(user)
    }
    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>> {
        self.0.counts()
    }
    fn aged(&self, opened: Millis, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.0.aged(opened, limit)
    }
    fn open_cases(&self) -> Fut<'_, Result<Vec<OpenCase>, Cause>> {
        self.0.open_cases()
    }
    fn acted(&self, caller: Arc<str>, key: Arc<str>) -> Fut<'_, Result<Option<Acted>, Cause>> {
        self.0.acted(caller, key)
    }
    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>> {
        self.0.approval(id)
    }
    fn spent(&self, user: UserId, day: Day, asset: AssetId) -> Fut<'_, Result<Spent, Cause>> {
        self.0.spent(user, day, asset)
    }
    fn standing(&self) -> Fut<'_, Result<Standing, Cause>> {
        self.0.standing()
    }
    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>> {
        self.0.snapshot()
    }
}
