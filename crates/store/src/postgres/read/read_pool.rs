//! Keeps the connections that only queries and leases use, so that no query waits for a write.

use super::due::ScanState;
use crate::postgres::columns::int;
use crate::postgres::error::StoreError;
use crate::postgres::session::connect::{self, Pool, Pooled, Purpose};
use crate::postgres::session::database_clock::DatabaseClock;
use crate::postgres::session::replication::Replication;
use crate::postgres::session::timeline::DatabaseTimeline;
use crate::postgres::session::writer_health::WriterHealth;
use crate::postgres::{DatabaseOpenError, Options, Time, number_blocks};
use deadpool::managed::PoolError;
use kernel::answer::Cause;
use kernel::flow::table::Flows;
use kernel::ids::{LedgerId, Serial, WorkerId};
use kernel::operation::Identity;
use kernel::ports::clock::JournalTime;
use std::sync::{Arc, Mutex};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// The pool of the connections for queries and leases.
pub(crate) struct ReadPool {
    questions: Pool,
    searches: Pool,
    instants: Pool,
    leases: Pool,
    pub(crate) flows: Arc<Flows>,
    pub(crate) time: Time,
    pub(crate) worker: WorkerId,
    pub(crate) scan: Mutex<ScanState>,
    pub(crate) clock: Arc<DatabaseClock>,
    pub(crate) replication: Arc<Replication>,
    pub(crate) health: Arc<WriterHealth>,
}

/// The state that the connections of a process share.
#[derive(Clone)]
pub(crate) struct SessionContext {
    pub(crate) clock: Arc<DatabaseClock>,
    /// The journal's time, as this process knows it.
    pub(crate) time: Arc<JournalTime>,
    pub(crate) timeline: Arc<DatabaseTimeline>,
    pub(crate) replication: Arc<Replication>,
    pub(crate) health: Arc<WriterHealth>,
}

impl ReadPool {
    /// Connects nowhere yet: each connection is made when it is needed.
    ///
    /// # Errors
    /// The settings name nothing that could be a database.
    pub(crate) fn new(
        options: &Options,
        session: &SessionContext,
    ) -> Result<Self, DatabaseOpenError> {
        let SessionContext { clock, timeline, replication, health, .. } = session;
        let pool = |what| {
            connect::pool(&options.database, what, timeline, replication)
                .map_err(DatabaseOpenError::Settings)
        };
        Ok(Self {
            questions: pool(Purpose::Questions)?,
            searches: pool(Purpose::Searches)?,
            instants: pool(Purpose::Instants)?,
            leases: pool(Purpose::Leases)?,
            flows: options.flows.clone(),
            time: options.time.clone(),
            worker: options.worker,
            scan: Mutex::default(),
            clock: clock.clone(),
            replication: replication.clone(),
            health: health.clone(),
        })
    }

    /// Sets the watch; says who the store is.
    ///
    /// # Errors
    /// It does not answer, or never drew an identity.
    pub(crate) async fn begin(&self) -> Result<Identity, DatabaseOpenError> {
        let unreachable = |cause: Cause| DatabaseOpenError::Unreachable(cause.to_string());
        let db = self.question().await.map_err(unreachable)?;
        let sql = "SELECT portage_now(), \
                   (SELECT value FROM service_state WHERE name = 'identity')";
        let row = one(&db, sql, &[]).await.map_err(|error| unreachable(error.cause()))?;
        let row = row.ok_or_else(|| DatabaseOpenError::Schema("no time".to_owned()))?;
        let read = |error| unreachable(StoreError::from(error).cause());
        self.clock.set(row.try_get(0).map_err(read)?);
        let text: Option<String> = row.try_get(1).map_err(read)?;
        let number = text.and_then(|text| u128::from_str_radix(&text, 16).ok());
        number
            .map(Identity)
            .ok_or_else(|| DatabaseOpenError::Schema("no identity in them".to_owned()))
    }

    /// A connection for a query that an index answers.
    pub(crate) async fn question(&self) -> Result<Pooled, Cause> {
        checkout(&self.questions).await
    }

    /// A connection for a query that may read many rows.
    pub(crate) async fn search(&self) -> Result<Pooled, Cause> {
        checkout(&self.searches).await
    }

    pub(crate) async fn lease(&self) -> Result<Pooled, Cause> {
        checkout(&self.leases).await
    }

    /// One instant of the database, from now on.
    pub(crate) async fn instant(&self) -> Result<SnapshotTransaction, Cause> {
        let db = checkout(&self.instants).await?;
        // before it begins: a transaction that had a number by then and is not seen at work has
        // ended
        let complete = number_blocks::complete(&db).await.map_err(|error| error.cause())?;
        let (questions, flows) = (self.questions.clone(), self.flows.clone());
        let instant = SnapshotTransaction {
            db: Some(db),
            questions,
            flows,
            complete,
            reading: None,
            cursors: 0,
        };
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1";
        instant.db()?.batch(begin).await.map_err(|error| StoreError::from(error).cause())?;
        Ok(instant)
    }

    /// What was read, where it is known to be on the standby that must have every COMMIT: one of
    /// our own goes behind it, which serves all who had read until it began.
    ///
    /// # Errors
    /// The read's; or it is unknown whether the standby has it.
    pub(crate) async fn confirmed<T>(
        &self,
        read: impl Future<Output = Result<T, Cause>>,
    ) -> Result<T, Cause> {
        let found = read.await?;
        self.confirm_reads().await?;
        Ok(found)
    }

    /// Makes sure that the standby has everything that was read until now.
    pub(crate) async fn confirm_reads(&self) -> Result<(), Cause> {
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

    /// The time parameter of a statement: the manual clock's, or none where the database's own counts.
    pub(crate) fn manual_now(&self) -> Option<i64> {
        match &self.time {
            Time::Database => None,
            Time::Manual(clock) => Some(int(clock.now())),
        }
    }
}

async fn checkout(pool: &Pool) -> Result<Pooled, Cause> {
    pool.get().await.map_err(|error| match error {
        // also one whose settings were refused, or that leads to another database
        PoolError::Backend(error) => Cause::because("STORE_CUT", error),
        other @ (PoolError::Timeout(_)
        | PoolError::Closed
        | PoolError::NoRuntimeSpecified
        | PoolError::PostCreateHook(_)) => Cause::because("STORE_BUSY", other.to_string()),
    })
}

/// One statement, prepared once for each connection.
pub(crate) async fn rows(
    db: &Pooled,
    sql: &str,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, StoreError> {
    let statement = db.prepared(sql).await?;
    Ok(db.query(&statement, params).await?)
}

/// The one row of a statement, or none.
pub(crate) async fn one(
    db: &Pooled,
    sql: &str,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Option<Row>, StoreError> {
    let statement = db.prepared(sql).await?;
    Ok(db.query_opt(&statement, params).await?)
}

/// A statement that writes, as a transaction by itself.
pub(crate) async fn written(
    db: &Pooled,
    sql: &str,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, StoreError> {
    let statement = db.prepared(sql).await?;
    db.alone(&statement, params).await
}

/// A read transaction of one instant; it ends when this is dropped.
pub(crate) struct SnapshotTransaction {
    db: Option<Pooled>,
    questions: Pool,
    pub(crate) flows: Arc<Flows>,
    pub(crate) complete: Serial,
    /// The ledger whose sums by account are being read.
    pub(crate) reading: Option<LedgerId>,
    /// The number of such readings so far, which is the number of the last one's cursor.
    pub(crate) cursors: u32,
}

impl SnapshotTransaction {
    /// Whether the server's process is at work, as another connection sees it.
    pub(crate) async fn runs(&self, pid: i32) -> Result<bool, Cause> {
        let db = checkout(&self.questions).await?;
        let sql = "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND state = 'active'";
        Ok(one(&db, sql, &[&pid]).await?.is_some())
    }

    pub(crate) fn db(&self) -> Result<&Pooled, Cause> {
        self.db.as_ref().ok_or_else(|| Cause::of("STORE_CLOSED"))
    }
}

impl Drop for SnapshotTransaction {
    fn drop(&mut self) {
        let Some(db) = self.db.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            // without a runtime only the end of the connection ends the transaction
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
