//! The store as the ports see it.

use super::funding::EnlistedLedger;
use super::migrate::{self, SchemaState};
use super::read::read_pool::{ReadPool, SessionContext};
use super::session::preflight;
use super::session::timeline::DatabaseTimeline;
use super::session::writer_health::WriterHealth;
use super::write::queue::{Queue, over};
use super::write::work::{DeliveryAttempt, DeliveryClaim, SingleWrite};
use super::{OpenError, Options};
use kernel::accounts::{AccountsOf, NumberedAccount};
use kernel::answer::Cause;
use kernel::attempt::Attempt;
use kernel::audit::seal::Seal;
use kernel::ids::{AssetId, ChainId, Day, FlowId, Id, LedgerId, Millis, Serial, UserId, WorkerId};
use kernel::limits::DailyUsage;
use kernel::operation::{Identity, Operation};
use kernel::operators::{Approval, ApprovalStatus, Halt, OpenCase, PastAction, Subject};
use kernel::ports::Fut;
use kernel::ports::admin_queries::{
    AdminQueries, CaseFile, CaseRow, Delivery, Search, Stat, Tells,
};
use kernel::ports::audit::{Audit, Trail};
use kernel::ports::journal::{
    Count, Due, DueQuery, Journal, Lease, Linked, Resource, ServiceStatus, Snapshot, Writing,
};
use kernel::record::Record;
use kernel::unit::{Unit, Wrote};
use std::sync::Arc;

/// The store on PostgreSQL. Its connections end when it and its Funding ledger are dropped.
#[expect(missing_debug_implementations, reason = "connections have none")]
pub struct Postgres {
    read_pool: Arc<ReadPool>,
    queue: Arc<Queue>,
    funding: Arc<EnlistedLedger>,
    accounts: Arc<EnlistedLedger>,
    identity: Identity,
}

impl Postgres {
    /// Connects. A database without a table of ours gets them; one that is behind is left as it is.
    ///
    /// # Errors
    /// [`OpenError`]: what is wrong, and what to do about it.
    pub async fn open(options: Options) -> Result<Arc<Self>, OpenError> {
        preflight::check(&options.database).await?;
        match migrate::state(&options.database).await? {
            SchemaState::Empty => drop(migrate::migrate(&options.database).await?),
            SchemaState::Current => {}
            SchemaState::Behind(missing) => return Err(OpenError::Schema(behind(&missing))),
            SchemaState::Foreign(what) => return Err(OpenError::Schema(what)),
        }
        let session = SessionContext {
            timeline: Arc::new(DatabaseTimeline::new(options.fatal.clone())),
            replication: Arc::default(),
            health: Arc::new(WriterHealth::new(options.database.answer)),
        };
        let read_pool = Arc::new(ReadPool::new(&options, &session)?);
        let identity = read_pool.begin().await?;
        let queue = Arc::new(Queue::open(&options, session).await?);
        let enlisted = |ledger| {
            let (read_pool, queue) = (read_pool.clone(), queue.clone());
            Arc::new(EnlistedLedger::new(ledger, read_pool, queue, identity))
        };
        let (funding, accounts) = (enlisted(LedgerId::FUNDING), enlisted(LedgerId::ACCOUNT));
        Ok(Arc::new(Self { read_pool, queue, funding, accounts, identity }))
    }

    pub(crate) fn read_pool(&self) -> &ReadPool {
        &self.read_pool
    }

    /// Who it is, drawn once.
    pub const fn identity(&self) -> Identity {
        self.identity
    }

    /// The Funding ledger, which is enlisted in this journal.
    pub fn funding(&self) -> Arc<EnlistedLedger> {
        self.funding.clone()
    }

    /// The accounts ledger, which is enlisted in this journal too.
    pub fn accounts(&self) -> Arc<EnlistedLedger> {
        self.accounts.clone()
    }
}

fn behind(missing: &[migrate::Migration]) -> String {
    let names: Vec<_> =
        missing.iter().map(|step| format!("{} {}", step.number, step.name)).collect();
    format!(
        "they are those of an older release; missing: {}. Take a backup and run `portage migrate`, \
         then start again",
        names.join(", ")
    )
}

impl Journal for Postgres {
    fn now(&self) -> Millis {
        let (clock, written) = (self.read_pool.clock.now(), self.queue.written());
        if clock > written { clock } else { written }
    }

    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async { over(self.queue.units(units).await).await })
    }

    fn begin(&self, units: Vec<Unit>) -> Fut<'_, Vec<Writing>> {
        Box::pin(self.queue.units(units))
    }

    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(async move { self.read_pool.confirmed(self.read_pool.get(&ids)).await })
    }

    fn numbered_accounts(&self, of: AccountsOf) -> Fut<'_, Result<Vec<NumberedAccount>, Cause>> {
        Box::pin(
            async move { self.read_pool.confirmed(self.read_pool.numbered_accounts(&of)).await },
        )
    }

    fn find_by_idempotency_key(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>> {
        Box::pin(async move {
            self.read_pool
                .confirmed(self.read_pool.find_by_idempotency_key(flow, &scope, &key))
                .await
        })
    }

    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>> {
        Box::pin(self.read_pool.confirmed(self.read_pool.history(id)))
    }

    /// The worker is the one that the store was opened with.
    fn due(&self, _: WorkerId, query: DueQuery) -> Fut<'_, Result<Vec<Due>, Cause>> {
        Box::pin(self.read_pool.due(query))
    }

    fn renew_lease(
        &self,
        worker: WorkerId,
        length: Millis,
        stopped: Option<u64>,
    ) -> Fut<'_, Result<Lease, Cause>> {
        Box::pin(self.read_pool.renew_lease(worker, length, stopped))
    }

    fn end_lease(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>> {
        Box::pin(self.read_pool.end_lease(worker))
    }

    fn workers_not_halted(&self, worker: WorkerId) -> Fut<'_, Result<Vec<WorkerId>, Cause>> {
        Box::pin(self.read_pool.workers_not_halted(worker))
    }

    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>> {
        Box::pin(self.read_pool.open_below(id))
    }

    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(self.read_pool.confirmed(self.read_pool.open_of(user)))
    }

    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>> {
        Box::pin(self.read_pool.counts())
    }

    fn open_older_than(&self, opened: Millis, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(self.read_pool.open_older_than(opened, limit))
    }

    fn open_cases(&self) -> Fut<'_, Result<Vec<OpenCase>, Cause>> {
        Box::pin(self.read_pool.open_cases())
    }

    fn past_action(
        &self,
        caller: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<PastAction>, Cause>> {
        Box::pin(async move {
            self.read_pool.confirmed(self.read_pool.past_action(&caller, &key)).await
        })
    }

    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>> {
        Box::pin(self.read_pool.confirmed(self.read_pool.approval(id)))
    }

    fn resource(&self, name: Arc<str>) -> Fut<'_, Result<Option<Resource>, Cause>> {
        Box::pin(async move { self.read_pool.confirmed(self.read_pool.resource(&name)).await })
    }

    fn resources(&self, prefix: Arc<str>) -> Fut<'_, Result<Vec<Resource>, Cause>> {
        Box::pin(async move { self.read_pool.confirmed(self.read_pool.resources(&prefix)).await })
    }

    fn counter(&self, name: Arc<str>) -> Fut<'_, Result<u128, Cause>> {
        Box::pin(async move { self.read_pool.confirmed(self.read_pool.counter(&name)).await })
    }

    fn attempts_of(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        Box::pin(async move { self.read_pool.confirmed(self.read_pool.attempts_of(&ids)).await })
    }

    fn open_attempts(&self, chain: ChainId) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        Box::pin(self.read_pool.confirmed(self.read_pool.open_attempts(chain)))
    }

    fn attempts_of_lane(
        &self,
        chain: ChainId,
        lane: Arc<str>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        Box::pin(async move {
            let read = self.read_pool.attempts_of_lane(chain, &lane, limit);
            self.read_pool.confirmed(read).await
        })
    }

    fn attempt_of_form(
        &self,
        chain: ChainId,
        name: Arc<[u8]>,
    ) -> Fut<'_, Result<Option<Attempt>, Cause>> {
        Box::pin(async move {
            self.read_pool.confirmed(self.read_pool.attempt_of_form(chain, &name)).await
        })
    }

    fn daily_usage(
        &self,
        user: UserId,
        day: Day,
        asset: AssetId,
    ) -> Fut<'_, Result<DailyUsage, Cause>> {
        Box::pin(self.read_pool.daily_usage(user, day, asset))
    }

    fn writes(&self) -> Result<(), Cause> {
        self.read_pool.health.writers()
    }

    fn service_status(&self) -> Fut<'_, Result<ServiceStatus, Cause>> {
        Box::pin(self.read_pool.service_status())
    }

    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>> {
        Box::pin(self.read_pool.snapshot())
    }
}

impl Audit for Postgres {
    fn trail(&self) -> Fut<'_, Result<Box<dyn Trail>, Cause>> {
        Box::pin(self.read_pool.trail())
    }

    fn put_seal(&self, seal: Seal) -> Fut<'_, Result<(), Cause>> {
        self.queue.ask(|told| SingleWrite::Seal(seal, told))
    }
}

impl AdminQueries for Postgres {
    fn transfers(&self, search: Search) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(async move { self.read_pool.confirmed(self.read_pool.transfers(&search)).await })
    }

    fn numbered(&self, serial: Serial) -> Fut<'_, Result<Option<Record>, Cause>> {
        Box::pin(self.read_pool.confirmed(self.read_pool.numbered(serial)))
    }

    fn legs(&self, id: Id) -> Fut<'_, Result<Vec<(LedgerId, Operation)>, Cause>> {
        Box::pin(self.read_pool.confirmed(self.read_pool.legs(id)))
    }

    fn cases(
        &self,
        open: Option<bool>,
        subject: Option<Subject>,
        before: Option<u64>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<CaseRow>, Cause>> {
        Box::pin(self.read_pool.cases(open, subject, before, limit))
    }

    fn case(&self, number: u64) -> Fut<'_, Result<Option<CaseFile>, Cause>> {
        Box::pin(self.read_pool.case(number))
    }

    fn approvals(
        &self,
        stand: Option<ApprovalStatus>,
        before: Option<Id>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Approval>, Cause>> {
        Box::pin(self.read_pool.approvals(stand, before, limit))
    }

    fn halts(&self, before: Option<u64>, limit: usize) -> Fut<'_, Result<Vec<Halt>, Cause>> {
        Box::pin(self.read_pool.halts(before, limit))
    }

    fn actions(
        &self,
        subject: Option<Arc<str>>,
        before: Option<u64>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<PastAction>, Cause>> {
        Box::pin(async move { self.read_pool.actions(subject.as_deref(), before, limit).await })
    }

    fn stats(&self) -> Fut<'_, Result<Vec<Stat>, Cause>> {
        Box::pin(self.read_pool.stats())
    }

    fn tell(&self) -> Fut<'_, Result<(), Cause>> {
        self.queue.ask(SingleWrite::StartWebhooks)
    }

    fn deliveries(&self, longest: Millis, limit: usize) -> Fut<'_, Result<Vec<Delivery>, Cause>> {
        Box::pin(self.read_pool.deliveries(longest, limit))
    }

    fn undelivered(&self) -> Fut<'_, Result<(u64, Option<Millis>), Cause>> {
        Box::pin(self.read_pool.undelivered())
    }

    fn take_up(&self, due: &Delivery, until: Millis) -> Fut<'_, Result<bool, Cause>> {
        let Delivery { case, tells, due_at, .. } = due;
        let taking =
            DeliveryClaim { case: case.opened.number, tells: *tells, due_at: *due_at, until };
        self.queue.ask(|told| SingleWrite::ClaimDelivery(taking, told))
    }

    fn delivered(
        &self,
        case: u64,
        tells: Tells,
        due_at: Option<Millis>,
        error: Option<Arc<str>>,
    ) -> Fut<'_, Result<(), Cause>> {
        let tried = DeliveryAttempt { case, tells, due_at, error };
        self.queue.ask(|told| SingleWrite::Delivered(tried, told))
    }
}
