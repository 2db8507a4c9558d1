//! The wrapper trait of a journal: each method passes its call on by default.

use super::Wrapper;
use kernel::accounts::{AccountsOf, NumberedAccount};
use kernel::answer::Cause;
use kernel::attempt::Attempt;
use kernel::ids::{AssetId, ChainId, Day, FlowId, Id, Millis, Serial, UserId, WorkerId};
use kernel::limits::DailyUsage;
use kernel::operators::{Approval, OpenCase, PastAction};
use kernel::ports::Fut;
use kernel::ports::journal::{
    AttemptQueries, Count, Due, DueQuery, Journal, Lease, Linked, OperatorQueries, OtherLease,
    Resource, ServiceQueries, ServiceStatus, Snapshot, SnapshotSource, TransferPage,
    TransferQueries, UnitWriter, WorkerLeases, Writing,
};
use kernel::record::Record;
use kernel::unit::{Unit, Wrote};
use std::sync::Arc;

/// What stands around a journal; each default passes its call on.
pub trait JournalWrapper: Send + Sync {
    fn inner(&self) -> &dyn Journal;
    /// In the place of [`UnitWriter::now`].
    fn now(&self) -> Millis {
        self.inner().now()
    }
    /// In the place of [`UnitWriter::ahead`].
    fn ahead(&self) -> Millis {
        self.inner().ahead()
    }
    /// In the place of [`UnitWriter::write`].
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        self.inner().write(units)
    }
    /// In the place of [`UnitWriter::begin`]; by default a write, around which the wrapper stands.
    fn begin(&self, units: Vec<Unit>) -> Fut<'_, Vec<Writing>> {
        Box::pin(async move { self.write(units).await.into_iter().map(Writing::Over).collect() })
    }
    /// In the place of [`TransferQueries::get`].
    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.inner().get(ids)
    }
    /// In the place of [`OperatorQueries::numbered_accounts`].
    fn numbered_accounts(&self, of: AccountsOf) -> Fut<'_, Result<Vec<NumberedAccount>, Cause>> {
        self.inner().numbered_accounts(of)
    }
    /// In the place of [`TransferQueries::find_by_idempotency_key`].
    fn find_by_idempotency_key(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>> {
        self.inner().find_by_idempotency_key(flow, scope, key)
    }
    /// In the place of [`TransferQueries::history`].
    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>> {
        self.inner().history(id)
    }
    /// In the place of [`WorkerLeases::due`].
    fn due(&self, worker: WorkerId, query: DueQuery) -> Fut<'_, Result<Vec<Due>, Cause>> {
        self.inner().due(worker, query)
    }
    /// In the place of [`WorkerLeases::renew_lease`].
    fn renew_lease(
        &self,
        worker: WorkerId,
        length: Millis,
        stopped: Option<u64>,
    ) -> Fut<'_, Result<Lease, Cause>> {
        self.inner().renew_lease(worker, length, stopped)
    }
    /// In the place of [`WorkerLeases::end_lease`].
    fn end_lease(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>> {
        self.inner().end_lease(worker)
    }
    /// In the place of [`WorkerLeases::other_leases`].
    fn other_leases(&self, worker: WorkerId) -> Fut<'_, Result<Vec<OtherLease>, Cause>> {
        self.inner().other_leases(worker)
    }
    /// In the place of [`TransferQueries::open_below`].
    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>> {
        self.inner().open_below(id)
    }
    /// In the place of [`TransferQueries::open_of`].
    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.inner().open_of(user)
    }
    /// In the place of [`TransferQueries::counts`].
    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>> {
        self.inner().counts()
    }
    /// In the place of [`TransferQueries::open_older_than`].
    fn open_older_than(&self, opened: Millis, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.inner().open_older_than(opened, limit)
    }
    /// In the place of [`OperatorQueries::open_cases`].
    fn open_cases(&self) -> Fut<'_, Result<Vec<OpenCase>, Cause>> {
        self.inner().open_cases()
    }
    /// In the place of [`OperatorQueries::past_action`].
    fn past_action(
        &self,
        caller: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<PastAction>, Cause>> {
        self.inner().past_action(caller, key)
    }
    /// In the place of [`OperatorQueries::actions_on`].
    fn actions_on(
        &self,
        kind: &'static str,
        subject: Arc<str>,
    ) -> Fut<'_, Result<Vec<PastAction>, Cause>> {
        self.inner().actions_on(kind, subject)
    }
    /// In the place of [`OperatorQueries::resumes`].
    fn resumes(&self) -> Fut<'_, Result<Vec<PastAction>, Cause>> {
        self.inner().resumes()
    }
    /// In the place of [`OperatorQueries::approval`].
    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>> {
        self.inner().approval(id)
    }
    /// In the place of [`OperatorQueries::pending_approvals`].
    fn pending_approvals(&self) -> Fut<'_, Result<Vec<Approval>, Cause>> {
        self.inner().pending_approvals()
    }
    /// In the place of [`ServiceQueries::resource`].
    fn resource(&self, name: Arc<str>) -> Fut<'_, Result<Option<Resource>, Cause>> {
        self.inner().resource(name)
    }
    /// In the place of [`ServiceQueries::resources`].
    fn resources(&self, prefix: Arc<str>) -> Fut<'_, Result<Vec<Resource>, Cause>> {
        self.inner().resources(prefix)
    }
    /// In the place of [`ServiceQueries::counter`].
    fn counter(&self, name: Arc<str>) -> Fut<'_, Result<u128, Cause>> {
        self.inner().counter(name)
    }
    /// In the place of [`AttemptQueries::attempts_of`].
    fn attempts_of(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        self.inner().attempts_of(ids)
    }
    /// In the place of [`AttemptQueries::open_attempts`].
    fn open_attempts(&self, chain: ChainId) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        self.inner().open_attempts(chain)
    }
    /// In the place of [`AttemptQueries::attempts_of_lane`].
    fn attempts_of_lane(
        &self,
        chain: ChainId,
        lane: Arc<str>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        self.inner().attempts_of_lane(chain, lane, limit)
    }
    /// In the place of [`AttemptQueries::attempt_of_form`].
    fn attempt_of_form(
        &self,
        chain: ChainId,
        name: Arc<[u8]>,
    ) -> Fut<'_, Result<Option<Attempt>, Cause>> {
        self.inner().attempt_of_form(chain, name)
    }
    /// In the place of [`ServiceQueries::daily_usage`].
    fn daily_usage(
        &self,
        user: UserId,
        day: Day,
        asset: AssetId,
    ) -> Fut<'_, Result<DailyUsage, Cause>> {
        self.inner().daily_usage(user, day, asset)
    }
    /// In the place of [`ServiceQueries::service_status`].
    fn service_status(&self) -> Fut<'_, Result<ServiceStatus, Cause>> {
        self.inner().service_status()
    }
    /// In the place of [`SnapshotSource::snapshot`].
    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>> {
        self.inner().snapshot()
    }
}

impl<T: JournalWrapper> UnitWriter for Wrapper<T> {
    fn now(&self) -> Millis {
        self.0.now()
    }
    fn ahead(&self) -> Millis {
        self.0.ahead()
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        self.0.write(units)
    }
    fn begin(&self, units: Vec<Unit>) -> Fut<'_, Vec<Writing>> {
        self.0.begin(units)
    }
}

impl<T: JournalWrapper> TransferQueries for Wrapper<T> {
    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.0.get(ids)
    }
    fn find_by_idempotency_key(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>> {
        self.0.find_by_idempotency_key(flow, scope, key)
    }
    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>> {
        self.0.history(id)
    }
    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>> {
        self.0.open_below(id)
    }
    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.0.open_of(user)
    }
    fn open_older_than(&self, opened: Millis, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.0.open_older_than(opened, limit)
    }
    fn before_time(&self, at: Millis) -> Fut<'_, Result<Serial, Cause>> {
        self.0.inner().before_time(at)
    }
    fn transfers_after(
        &self,
        after: Serial,
        flow: Option<FlowId>,
        limit: usize,
    ) -> Fut<'_, Result<TransferPage, Cause>> {
        self.0.inner().transfers_after(after, flow, limit)
    }
    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>> {
        self.0.counts()
    }
}

impl<T: JournalWrapper> WorkerLeases for Wrapper<T> {
    fn due(&self, worker: WorkerId, query: DueQuery) -> Fut<'_, Result<Vec<Due>, Cause>> {
        self.0.due(worker, query)
    }
    fn renew_lease(
        &self,
        worker: WorkerId,
        length: Millis,
        stopped: Option<u64>,
    ) -> Fut<'_, Result<Lease, Cause>> {
        self.0.renew_lease(worker, length, stopped)
    }
    fn end_lease(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>> {
        self.0.end_lease(worker)
    }
    fn other_leases(&self, worker: WorkerId) -> Fut<'_, Result<Vec<OtherLease>, Cause>> {
        self.0.other_leases(worker)
    }
}

impl<T: JournalWrapper> AttemptQueries for Wrapper<T> {
    fn attempts_of(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        self.0.attempts_of(ids)
    }
    fn open_attempts(&self, chain: ChainId) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        self.0.open_attempts(chain)
    }
    fn attempts_of_lane(
        &self,
        chain: ChainId,
        lane: Arc<str>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        self.0.attempts_of_lane(chain, lane, limit)
    }
    fn attempt_of_form(
        &self,
        chain: ChainId,
        name: Arc<[u8]>,
    ) -> Fut<'_, Result<Option<Attempt>, Cause>> {
        self.0.attempt_of_form(chain, name)
    }
}

impl<T: JournalWrapper> OperatorQueries for Wrapper<T> {
    fn open_cases(&self) -> Fut<'_, Result<Vec<OpenCase>, Cause>> {
        self.0.open_cases()
    }
    fn past_action(
        &self,
        caller: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<PastAction>, Cause>> {
        self.0.past_action(caller, key)
    }
    fn actions_on(
        &self,
        kind: &'static str,
        subject: Arc<str>,
    ) -> Fut<'_, Result<Vec<PastAction>, Cause>> {
        self.0.actions_on(kind, subject)
    }
    fn resumes(&self) -> Fut<'_, Result<Vec<PastAction>, Cause>> {
        self.0.resumes()
    }
    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>> {
        self.0.approval(id)
    }
    fn pending_approvals(&self) -> Fut<'_, Result<Vec<Approval>, Cause>> {
        self.0.pending_approvals()
    }
    fn numbered_accounts(&self, of: AccountsOf) -> Fut<'_, Result<Vec<NumberedAccount>, Cause>> {
        self.0.numbered_accounts(of)
    }
}

impl<T: JournalWrapper> ServiceQueries for Wrapper<T> {
    fn service_status(&self) -> Fut<'_, Result<ServiceStatus, Cause>> {
        self.0.service_status()
    }
    fn resource(&self, name: Arc<str>) -> Fut<'_, Result<Option<Resource>, Cause>> {
        self.0.resource(name)
    }
    fn resources(&self, prefix: Arc<str>) -> Fut<'_, Result<Vec<Resource>, Cause>> {
        self.0.resources(prefix)
    }
    fn counter(&self, name: Arc<str>) -> Fut<'_, Result<u128, Cause>> {
        self.0.counter(name)
    }
    fn daily_usage(
        &self,
        user: UserId,
        day: Day,
        asset: AssetId,
    ) -> Fut<'_, Result<DailyUsage, Cause>> {
        self.0.daily_usage(user, day, asset)
    }
}

impl<T: JournalWrapper> SnapshotSource for Wrapper<T> {
    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>> {
        self.0.snapshot()
    }
}
