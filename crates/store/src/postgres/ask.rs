//! The connections that questions use: theirs alone, so that none waits for a write.

use super::blocks;
use super::due::Given;
use super::fault::Fault;
use super::health::Health;
use super::origin::Past;
use super::replication::Replication;
use super::session::{self, Pool, Pooled, Purpose};
use super::text::int;
use super::watch::Watch;
use super::{OpenError, Options, Time};
use deadpool::managed::PoolError;
use kernel::answer::Cause;
use kernel::ids::{LedgerId, Serial, WorkerId};
use kernel::ports::ledger::Identity;
use kernel::table::Flows;
use std::sync::{Arc, Mutex};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// Whatever is asked, and the leases.
pub(crate) struct Desk {
    questions: Pool,
    searches: Pool,
    instants: Pool,
    leases: Pool,
    pub(super) flows: Arc<Flows>,
    pub(super) time: Time,
    pub(super) worker: WorkerId,
    pub(super) given: Mutex<Given>,
    pub(super) watch: Watch,
    pub(super) replication: Arc<Replication>,
    pub(super) health: Arc<Health>,
}

/// What the connections of a process share.
#[derive(Clone)]
pub(crate) struct Common {
    pub(crate) past: Arc<Past>,
    pub(crate) replication: Arc<Replication>,
    pub(crate) health: Arc<Health>,
}

impl Desk {
    /// Connects nowhere yet: each connection is made when it is needed.
    ///
    /// # Errors
    /// The settings name nothing that could be a database.
    pub(crate) fn new(options: &Options, common: &Common) -> Result<Self, OpenError> {
        let Common { past, replication, health } = common;
        let pool = |what| {
            session::pool(&options.database, what, past, replication).map_err(OpenError::Settings)
        };
        Ok(Self {
            questions: pool(Purpose::Questions)?,
            searches: pool(Purpose::Searches)?,
            instants: pool(Purpose::Instants)?,
            leases: pool(Purpose::Leases)?,
            flows: options.flows.clone(),
            time: options.time.clone(),
            worker: options.worker,
            given: Mutex::default(),
            watch: Watch::new(options.time.clone(), options.clock.clone()),
            replication: replication.clone(),
            health: health.clone(),
        })
    }

    /// Sets the watch; says who the store is.
    ///
    /// # Errors
    /// It does not answer, or never drew an identity.
    pub(crate) async fn begin(&self) -> Result<Identity, OpenError> {
        let unreachable = |cause: Cause| OpenError::Unreachable(cause.to_string());
        let db = self.question().await.map_err(unreachable)?;
        let sql = "SELECT portage_now(), \
                   (SELECT value FROM service_state WHERE name = 'identity')";
        let row = one(&db, sql, &[]).await.map_err(|fault| unreachable(fault.cause()))?;
        let row = row.ok_or_else(|| OpenError::Shape("no time".to_owned()))?;
        let read = |fault| unreachable(Fault::from(fault).cause());
        self.watch.set(row.try_get(0).map_err(read)?);
        let text: Option<String> = row.try_get(1).map_err(read)?;
        let number = text.and_then(|text| u128::from_str_radix(&text, 16).ok());
        number.map(Identity).ok_or_else(|| OpenError::Shape("no identity in them".to_owned()))
    }

    /// For what an index answers.
    pub(super) async fn question(&self) -> Result<Pooled, Cause> {
        taken(&self.questions).await
    }

    /// For what may read many rows.
    pub(super) async fn search(&self) -> Result<Pooled, Cause> {
        taken(&self.searches).await
    }

    /// For leases.
    pub(super) async fn lease(&self) -> Result<Pooled, Cause> {
        taken(&self.leases).await
    }

    /// One instant of the database, from now on.
    pub(super) async fn instant(&self) -> Result<Instant, Cause> {
        let db = taken(&self.instants).await?;
        // before it begins: whoever had a number by then and is not seen at work has ended
        let complete = blocks::complete(&db).await.map_err(|fault| fault.cause())?;
        let (questions, flows) = (self.questions.clone(), self.flows.clone());
        let instant =
            Instant { db: Some(db), questions, flows, complete, reading: None, cursors: 0 };
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1";
        instant.db()?.batch(begin).await.map_err(|fault| Fault::from(fault).cause())?;
        Ok(instant)
    }

    /// What was read, where it is known to be on the standby that must have every COMMIT: one of our
    /// own goes behind it, which serves all who had read until it began.
    ///
    /// # Errors
    /// The read's; or nobody knows whether the standby has it.
    pub(super) async fn confirmed<T>(
        &self,
        read: impl Future<Output = Result<T, Cause>>,
    ) -> Result<T, Cause> {
        let found = read.await?;
        self.stands().await?;
        Ok(found)
    }

    /// What was read until now is on the standby.
    pub(super) async fn stands(&self) -> Result<(), Cause> {
        let Some(read) = self.replication.read() else { return Ok(()) };
        let mut failed = self.replication.turn().await;
        if self.replication.covers(read) {
            return Ok(());
        }
        if read.before(*failed) {
            return Err(Cause::because("STORE_CUT", "the standby may not have it"));
        }
        let mark = self.replication.newest();
        let wrote = async { Ok::<_, Cause>(self.lease().await?.mark().await?) };
        wrote.await.inspect_err(|_| *failed = mark.saturating_add(1))
    }

    /// The time as a statement takes it: a hand's, or none where the database's own counts.
    pub(super) fn hand(&self) -> Option<i64> {
        match &self.time {
            Time::Database => None,
            Time::Hand(clock) => Some(int(clock.now())),
        }
    }
}

async fn taken(pool: &Pool) -> Result<Pooled, Cause> {
    pool.get().await.map_err(|fault| match fault {
        // also one whose settings were refused, or that leads to another database
        PoolError::Backend(fault) => Cause::because("STORE_CUT", fault),
        other @ (PoolError::Timeout(_)
        | PoolError::Closed
        | PoolError::NoRuntimeSpecified
        | PoolError::PostCreateHook(_)) => Cause::because("STORE_BUSY", other.to_string()),
    })
}

/// One statement, prepared once for each connection.
pub(super) async fn rows(
    db: &Pooled,
    sql: &str,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, Fault> {
    let statement = db.prepared(sql).await?;
    Ok(db.query(&statement, params).await?)
}

/// The one row of a statement, or none.
pub(super) async fn one(
    db: &Pooled,
    sql: &str,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Option<Row>, Fault> {
    let statement = db.prepared(sql).await?;
    Ok(db.query_opt(&statement, params).await?)
}

/// A statement that writes, as a transaction by itself.
pub(super) async fn written(
    db: &Pooled,
    sql: &str,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, Fault> {
    let statement = db.prepared(sql).await?;
    db.alone(&statement, params).await
}

/// A read transaction of one instant; it ends when this is dropped.
pub(super) struct Instant {
    db: Option<Pooled>,
    questions: Pool,
    pub(super) flows: Arc<Flows>,
    /// See [`kernel::ports::journal::Snapshot::complete`].
    pub(super) complete: Serial,
    /// The ledger whose sums by account are being read.
    pub(super) reading: Option<LedgerId>,
    /// So many such readings were begun: the number of the last one's cursor.
    pub(super) cursors: u32,
}

impl Instant {
    /// Whether the server's process is at work, as another connection sees it.
    pub(super) async fn runs(&self, pid: i32) -> Result<bool, Cause> {
        let db = taken(&self.questions).await?;
        let sql = "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND state = 'active'";
        Ok(one(&db, sql, &[&pid]).await?.is_some())
    }

    pub(super) fn db(&self) -> Result<&Pooled, Cause> {
        self.db.as_ref().ok_or_else(|| Cause::of("STORE_CLOSED"))
    }
}

impl Drop for Instant {
    fn drop(&mut self) {
        let Some(db) = self.db.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            // without a runtime nobody ends the transaction but the connection's own end
            drop(Pooled::take(db));
            return;
        };
        runtime.spawn(async move {
            if db.batch("ROLLBACK").await.is_err() {
                drop(Pooled::take(db));
            }
        });
    }
}
