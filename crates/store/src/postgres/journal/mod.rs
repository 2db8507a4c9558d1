//! The store on PostgreSQL implements the journal's ports: it sends writes to the queue of the lanes
//! and queries to the read pool.

mod admin;
mod queries;

use super::funding::EnlistedLedger;
use super::migrate::{self, SchemaState};
use super::read::read_pool::{ReadPool, SessionContext};
use super::session::database_clock::DatabaseClock;
use super::session::preflight;
use super::session::timeline::DatabaseTimeline;
use super::session::writer_health::WriterHealth;
use super::write::queue::{Queue, over};
use super::{DatabaseOpenError, Options};
use kernel::answer::Cause;
use kernel::ids::{LedgerId, Millis, WorkerId};
use kernel::operation::Identity;
use kernel::ports::Fut;
use kernel::ports::clock::JournalTime;
use kernel::ports::journal::{Due, DueQuery, Lease, OtherLease, UnitWriter, WorkerLeases, Writing};
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
    /// [`DatabaseOpenError`]: what is wrong, and what to do about it.
    pub async fn open(options: Options) -> Result<Arc<Self>, DatabaseOpenError> {
        preflight::check(&options.database).await?;
        match migrate::state(&options.database).await? {
            SchemaState::Empty => drop(migrate::migrate(&options.database).await?),
            SchemaState::Current => {}
            SchemaState::Behind(missing) => {
                return Err(DatabaseOpenError::Schema(behind(&missing)));
            }
            SchemaState::Foreign(what) => return Err(DatabaseOpenError::Schema(what)),
        }
        let clock = Arc::new(DatabaseClock::new(options.time.clone(), options.clock.clone()));
        let session = SessionContext {
            time: Arc::new(JournalTime::new(clock.clone(), 0)),
            clock,
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

    /// The identity of this store, which is drawn once.
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

impl UnitWriter for Postgres {
    fn now(&self) -> Millis {
        self.queue.time().now()
    }

    fn ahead(&self) -> Millis {
        self.queue.time().ahead()
    }

    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async { over(self.queue.units(units).await).await })
    }

    fn begin(&self, units: Vec<Unit>) -> Fut<'_, Vec<Writing>> {
        Box::pin(self.queue.units(units))
    }

    fn writes(&self) -> Result<(), Cause> {
        self.read_pool.health.takes_writes()
    }
}

impl WorkerLeases for Postgres {
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

    fn other_leases(&self, worker: WorkerId) -> Fut<'_, Result<Vec<OtherLease>, Cause>> {
        Box::pin(self.read_pool.other_leases(worker))
    }
}
