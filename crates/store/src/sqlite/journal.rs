//! Implements the journal's ports: sends every write to the writer, and every query to the readers.

use super::funding::accounts;
use super::read::{attempts, named_values, numbers, operators, snapshot, transfers};
use super::write::daily_usage;
use super::write::work::Work;
use super::{Embedded, reader};
use kernel::accounts::{AccountsOf, NumberedAccount};
use kernel::answer::Cause;
use kernel::attempt::Attempt;
use kernel::ids::{AssetId, ChainId, Day, FlowId, Id, Millis, Serial, UserId, WorkerId};
use kernel::limits::DailyUsage;
use kernel::operators::{Approval, OpenCase, PastAction};
use kernel::ports::Fut;
use kernel::ports::clock::TICKS;
use kernel::ports::journal::{
    AttemptQueries, Count, Due, DueQuery, Lease, Linked, OperatorQueries, OtherLease, Resource,
    ServiceQueries, ServiceStatus, Snapshot, SnapshotSource, TransferPage, TransferQueries,
    UnitWriter, WorkerLeases,
};
use kernel::record::Record;
use kernel::unit::{Unit, Wrote};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use tokio::sync::oneshot;

/// The longest time that a write may take before the store counts as one that takes none.
const LONGEST_WRITE: Millis = 5_000;

impl UnitWriter for Embedded {
    fn now(&self) -> Millis {
        self.time.now()
    }

    fn ahead(&self) -> Millis {
        self.time.ahead()
    }

    fn writes(&self) -> Result<(), Cause> {
        let begun = self.begun.load(Ordering::Acquire);
        let took = self.clock.ticks().saturating_sub(begun) / TICKS;
        if begun == 0 || took <= LONGEST_WRITE {
            return Ok(());
        }
        let what = format!(
            "a write waits for {took} ms: another process holds the lock of the database, or the disk stands still"
        );
        Err(Cause::because("STORE_BUSY", what))
    }

    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            let asked = units.len();
            if asked == 0 {
                return Vec::new();
            }
            let closed = || vec![Wrote::Unknown(Cause::of("STORE_CLOSED")); asked];
            let (sender, answer) = oneshot::channel();
            let wrote = Vec::with_capacity(asked);
            if self.writer.send(Work::Units { units, wrote, sender }).await.is_err() {
                return closed();
            }
            answer.await.unwrap_or_else(|_| closed())
        })
    }
}

impl TransferQueries for Embedded {
    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.ask(move |db, flows| transfers::get(db, flows, &ids))
    }

    fn find_by_idempotency_key(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>> {
        self.ask(move |db, flows| transfers::bound(db, flows, flows.table(flow).flow, &scope, &key))
    }

    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>> {
        self.ask(move |db, flows| transfers::history(db, flows, id))
    }

    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>> {
        self.ask(move |db, flows| transfers::open_below(db, flows, id))
    }

    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.ask(move |db, flows| transfers::open_of(db, flows, user))
    }

    fn open_older_than(&self, opened: Millis, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.ask(move |db, flows| transfers::open_older_than(db, flows, opened, limit))
    }

    fn before_time(&self, at: Millis) -> Fut<'_, Result<Serial, Cause>> {
        self.search(move |db, _| numbers::before_time(db, at))
    }

    fn transfers_after(
        &self,
        after: Serial,
        flow: Option<FlowId>,
        limit: usize,
    ) -> Fut<'_, Result<TransferPage, Cause>> {
        self.search(move |db, flows| numbers::transfers_after(db, flows, after, flow, limit))
    }

    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>> {
        self.ask(transfers::counts)
    }
}

impl WorkerLeases for Embedded {
    fn due(&self, _: WorkerId, query: DueQuery) -> Fut<'_, Result<Vec<Due>, Cause>> {
        let (handed_out, now) = (self.handed_out.clone(), self.now());
        self.ask(move |db, flows| {
            handed_out.lock().unwrap_or_else(PoisonError::into_inner).take(db, flows, now, &query)
        })
    }

    fn renew_lease(
        &self,
        worker: WorkerId,
        _: Millis,
        _: Option<u64>,
    ) -> Fut<'_, Result<Lease, Cause>> {
        // the folder's lock is the lease
        *self.worker.lock().unwrap_or_else(PoisonError::into_inner) = Some(worker);
        Box::pin(std::future::ready(Ok(Lease { lost: false, ends: false })))
    }

    fn end_lease(&self, _: WorkerId) -> Fut<'_, Result<(), Cause>> {
        *self.worker.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Box::pin(std::future::ready(Ok(())))
    }

    fn other_leases(&self, _: WorkerId) -> Fut<'_, Result<Vec<OtherLease>, Cause>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

impl AttemptQueries for Embedded {
    fn attempts_of(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        self.ask(move |db, flows| attempts::of_transfers(db, flows, &ids))
    }

    fn open_attempts(&self, chain: ChainId) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        self.ask(move |db, flows| attempts::open(db, flows, chain))
    }

    fn attempts_of_lane(
        &self,
        chain: ChainId,
        lane: Arc<str>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        self.ask(move |db, flows| attempts::of_lane(db, flows, chain, &lane, limit))
    }

    fn attempt_of_form(
        &self,
        chain: ChainId,
        name: Arc<[u8]>,
    ) -> Fut<'_, Result<Option<Attempt>, Cause>> {
        self.ask(move |db, flows| attempts::of_form(db, flows, chain, &name))
    }
}

impl OperatorQueries for Embedded {
    fn open_cases(&self) -> Fut<'_, Result<Vec<OpenCase>, Cause>> {
        self.ask(|db, _| operators::open_cases(db))
    }

    fn past_action(
        &self,
        caller: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<PastAction>, Cause>> {
        self.ask(move |db, _| operators::past_action(db, &caller, &key))
    }

    fn actions_on(
        &self,
        kind: &'static str,
        subject: Arc<str>,
    ) -> Fut<'_, Result<Vec<PastAction>, Cause>> {
        self.ask(move |db, _| operators::actions_on(db, kind, &subject))
    }

    fn resumes(&self) -> Fut<'_, Result<Vec<PastAction>, Cause>> {
        self.ask(|db, _| operators::resumes(db))
    }

    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>> {
        let now = self.now();
        self.ask(move |db, _| operators::approval(db, id, now))
    }

    fn pending_approvals(&self) -> Fut<'_, Result<Vec<Approval>, Cause>> {
        let now = self.now();
        self.ask(move |db, _| operators::pending_approvals(db, now))
    }

    fn numbered_accounts(&self, of: AccountsOf) -> Fut<'_, Result<Vec<NumberedAccount>, Cause>> {
        self.ask(move |db, _| accounts::list(db, &of))
    }
}

impl ServiceQueries for Embedded {
    fn service_status(&self) -> Fut<'_, Result<ServiceStatus, Cause>> {
        let worker = *self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        self.ask(move |db, flows| {
            let mut status = transfers::service_status(db, flows)?;
            for owner in &mut status.owners {
                owner.lives = Some(owner.worker) == worker;
            }
            Ok(status)
        })
    }

    fn resource(&self, name: Arc<str>) -> Fut<'_, Result<Option<Resource>, Cause>> {
        self.ask(move |db, _| named_values::resource(db, &name))
    }

    fn resources(&self, prefix: Arc<str>) -> Fut<'_, Result<Vec<Resource>, Cause>> {
        self.ask(move |db, _| named_values::resources(db, &prefix))
    }

    fn counter(&self, name: Arc<str>) -> Fut<'_, Result<u128, Cause>> {
        self.ask(move |db, _| named_values::counter(db, &name))
    }

    fn daily_usage(
        &self,
        user: UserId,
        day: Day,
        asset: AssetId,
    ) -> Fut<'_, Result<DailyUsage, Cause>> {
        self.ask(move |db, _| daily_usage::daily_usage(db, user, day, asset))
    }
}

impl SnapshotSource for Embedded {
    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>> {
        let (file, flows) = (self.file.clone(), self.flows.clone());
        let begun =
            self.readers.ask(move |_| snapshot::SnapshotTransaction::begin(reader(&file)?, flows));
        Box::pin(async move {
            let instant: Box<dyn Snapshot> = Box::new(begun.await?);
            Ok(instant)
        })
    }
}
