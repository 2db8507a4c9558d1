//! The store as the ports see it.

use super::ask::{Common, Desk};
use super::funding::Funding;
use super::health::Health;
use super::migrate::{self, State};
use super::origin::Past;
use super::queue::{Queue, over};
use super::work::{Solo, Taking, Try};
use super::{OpenError, Options, safe};
use kernel::answer::Cause;
use kernel::audit::seal::Seal;
use kernel::ids::{AssetId, FlowId, Id, LedgerId, Millis, Serial, UserId, WorkerId};
use kernel::people::{About, Acted, Approval, Day, Halt, OpenCase, Spent, Stand};
use kernel::ports::Fut;
use kernel::ports::audit::{Audit, Trail};
use kernel::ports::journal::{Count, Due, Journal, Lease, Linked, Snapshot, Standing, Writing};
use kernel::ports::ledger::Identity;
use kernel::ports::office::{CaseFile, CaseRow, Delivery, Office, Search, Stat, Tells};
use kernel::record::Record;
use kernel::unit::{Operation, Unit, Wrote};
use std::sync::Arc;

/// The store on PostgreSQL. Its connections end when it and its Funding ledger are dropped.
#[expect(missing_debug_implementations, reason = "connections have none")]
pub struct Postgres {
    desk: Arc<Desk>,
    queue: Arc<Queue>,
    funding: Arc<Funding>,
    identity: Identity,
}

impl Postgres {
    /// Connects. A database without a table of ours gets them; one that is behind is left as it is.
    ///
    /// # Errors
    /// [`OpenError`]: what is wrong, and what to do about it.
    pub async fn open(options: Options) -> Result<Arc<Self>, OpenError> {
        safe::check(&options.database).await?;
        match migrate::state(&options.database).await? {
            State::Empty => drop(migrate::migrate(&options.database).await?),
            State::Current => {}
            State::Behind(missing) => return Err(OpenError::Shape(behind(&missing))),
            State::Foreign(what) => return Err(OpenError::Shape(what)),
        }
        let common = Common {
            past: Arc::new(Past::new(options.fatal.clone())),
            replication: Arc::default(),
            health: Arc::new(Health::new(options.database.answer)),
        };
        let desk = Arc::new(Desk::new(&options, &common)?);
        let identity = desk.begin().await?;
        let queue = Arc::new(Queue::open(&options, common).await?);
        let funding = Arc::new(Funding::new(desk.clone(), queue.clone(), identity));
        Ok(Arc::new(Self { desk, queue, funding, identity }))
    }

    pub(super) fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Who it is, drawn once.
    pub const fn identity(&self) -> Identity {
        self.identity
    }

    /// The Funding ledger, which is enlisted in this journal.
    pub fn funding(&self) -> Arc<Funding> {
        self.funding.clone()
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
        let (clock, written) = (self.desk.watch.now(), self.queue.written());
        if clock > written { clock } else { written }
    }

    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async { over(self.queue.units(units).await).await })
    }

    fn begin(&self, units: Vec<Unit>) -> Fut<'_, Vec<Writing>> {
        Box::pin(self.queue.units(units))
    }

    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(async move { self.desk.confirmed(self.desk.get(&ids)).await })
    }

    fn bound(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>> {
        Box::pin(async move { self.desk.confirmed(self.desk.bound(flow, &scope, &key)).await })
    }

    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>> {
        Box::pin(self.desk.confirmed(self.desk.history(id)))
    }

    /// The worker is the one that the store was opened with.
    fn due(&self, _: WorkerId, limit: usize) -> Fut<'_, Result<Vec<Due>, Cause>> {
        Box::pin(self.desk.due(limit))
    }

    fn alive(
        &self,
        worker: WorkerId,
        length: Millis,
        stopped: Option<u64>,
    ) -> Fut<'_, Result<Lease, Cause>> {
        Box::pin(self.desk.alive(worker, length, stopped))
    }

    fn leave(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>> {
        Box::pin(self.desk.leave(worker))
    }

    fn moving(&self, worker: WorkerId) -> Fut<'_, Result<Vec<WorkerId>, Cause>> {
        Box::pin(self.desk.moving(worker))
    }

    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>> {
        Box::pin(self.desk.open_below(id))
    }

    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(self.desk.confirmed(self.desk.open_of(user)))
    }

    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>> {
        Box::pin(self.desk.counts())
    }

    fn aged(&self, opened: Millis, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(self.desk.aged(opened, limit))
    }

    fn open_cases(&self) -> Fut<'_, Result<Vec<OpenCase>, Cause>> {
        Box::pin(self.desk.open_cases())
    }

    fn acted(&self, caller: Arc<str>, key: Arc<str>) -> Fut<'_, Result<Option<Acted>, Cause>> {
        Box::pin(async move { self.desk.confirmed(self.desk.acted(&caller, &key)).await })
    }

    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>> {
        Box::pin(self.desk.confirmed(self.desk.approval(id)))
    }

    fn spent(&self, user: UserId, day: Day, asset: AssetId) -> Fut<'_, Result<Spent, Cause>> {
        Box::pin(self.desk.spent(user, day, asset))
    }

    fn writes(&self) -> Result<(), Cause> {
        self.desk.health.writers()
    }

    fn standing(&self) -> Fut<'_, Result<Standing, Cause>> {
        Box::pin(self.desk.standing())
    }

    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>> {
        Box::pin(self.desk.snapshot())
    }
}

impl Audit for Postgres {
    fn trail(&self) -> Fut<'_, Result<Box<dyn Trail>, Cause>> {
        Box::pin(self.desk.trail())
    }

    fn put_seal(&self, seal: Seal) -> Fut<'_, Result<(), Cause>> {
        self.queue.ask(|told| Solo::Seal(seal, told))
    }
}

impl Office for Postgres {
    fn transfers(&self, search: Search) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(async move { self.desk.confirmed(self.desk.transfers(&search)).await })
    }

    fn numbered(&self, serial: Serial) -> Fut<'_, Result<Option<Record>, Cause>> {
        Box::pin(self.desk.confirmed(self.desk.numbered(serial)))
    }

    fn legs(&self, id: Id) -> Fut<'_, Result<Vec<(LedgerId, Operation)>, Cause>> {
        Box::pin(self.desk.confirmed(self.desk.legs(id)))
    }

    fn cases(
        &self,
        open: Option<bool>,
        about: Option<About>,
        before: Option<u64>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<CaseRow>, Cause>> {
        Box::pin(self.desk.cases(open, about, before, limit))
    }

    fn case(&self, number: u64) -> Fut<'_, Result<Option<CaseFile>, Cause>> {
        Box::pin(self.desk.case(number))
    }

    fn approvals(
        &self,
        stand: Option<Stand>,
        before: Option<Id>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Approval>, Cause>> {
        Box::pin(self.desk.approvals(stand, before, limit))
    }

    fn halts(&self, before: Option<u64>, limit: usize) -> Fut<'_, Result<Vec<Halt>, Cause>> {
        Box::pin(self.desk.halts(before, limit))
    }

    fn actions(
        &self,
        subject: Option<Arc<str>>,
        before: Option<u64>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Acted>, Cause>> {
        Box::pin(async move { self.desk.actions(subject.as_deref(), before, limit).await })
    }

    fn stats(&self) -> Fut<'_, Result<Vec<Stat>, Cause>> {
        Box::pin(self.desk.stats())
    }

    fn tell(&self) -> Fut<'_, Result<(), Cause>> {
        self.queue.ask(Solo::Telling)
    }

    fn deliveries(&self, longest: Millis, limit: usize) -> Fut<'_, Result<Vec<Delivery>, Cause>> {
        Box::pin(self.desk.deliveries(longest, limit))
    }

    fn undelivered(&self) -> Fut<'_, Result<(u64, Option<Millis>), Cause>> {
        Box::pin(self.desk.undelivered())
    }

    fn take_up(&self, due: &Delivery, until: Millis) -> Fut<'_, Result<bool, Cause>> {
        let Delivery { case, tells, due_at, .. } = due;
        let taking = Taking { case: case.number, tells: *tells, due_at: *due_at, until };
        self.queue.ask(|told| Solo::TakenUp(taking, told))
    }

    fn delivered(
        &self,
        case: u64,
        tells: Tells,
        due_at: Option<Millis>,
        error: Option<Arc<str>>,
    ) -> Fut<'_, Result<(), Cause>> {
        let tried = Try { case, tells, due_at, error };
        self.queue.ask(|told| Solo::Delivered(tried, told))
    }
}
