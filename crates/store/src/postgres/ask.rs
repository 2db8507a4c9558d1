//! The connections that questions use: theirs alone, so that none waits for a write.

use super::due::Given;
use super::fault::{Fault, whole};
use super::origin::Past;
use super::session::{self, Use};
use super::text::int;
use super::watch::Watch;
use super::{OpenError, Options, Time};
use deadpool_postgres::{Client, Object, Pool, PoolError};
use kernel::answer::Cause;
use kernel::ids::WorkerId;
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
}

impl Desk {
    /// Connects nowhere yet: each connection is made when it is needed.
    ///
    /// # Errors
    /// The settings name nothing that could be a database.
    pub(crate) fn new(options: &Options, past: &Arc<Past>) -> Result<Self, OpenError> {
        let pool = |what| session::pool(&options.database, what, past).map_err(OpenError::Settings);
        Ok(Self {
            questions: pool(Use::Questions)?,
            searches: pool(Use::Searches)?,
            instants: pool(Use::Instants)?,
            leases: pool(Use::Leases)?,
            flows: options.flows.clone(),
            time: options.time.clone(),
            worker: options.worker,
            given: Mutex::default(),
            watch: Watch::new(options.time.clone(), options.clock.clone()),
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
    pub(super) async fn question(&self) -> Result<Client, Cause> {
        taken(&self.questions).await
    }

    /// For what may read many rows.
    pub(super) async fn search(&self) -> Result<Client, Cause> {
        taken(&self.searches).await
    }

    /// For leases.
    pub(super) async fn lease(&self) -> Result<Client, Cause> {
        taken(&self.leases).await
    }

    /// One instant of the database, from now on.
    pub(super) async fn instant(&self) -> Result<Instant, Cause> {
        let instant = Instant { db: Some(taken(&self.instants).await?), flows: self.flows.clone() };
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1";
        instant.db()?.batch_execute(begin).await.map_err(|fault| Fault::from(fault).cause())?;
        Ok(instant)
    }

    /// The time as a statement takes it: a hand's, or none where the database's own counts.
    pub(super) fn hand(&self) -> Option<i64> {
        match &self.time {
            Time::Database => None,
            Time::Hand(clock) => Some(int(clock.now())),
        }
    }
}

async fn taken(pool: &Pool) -> Result<Client, Cause> {
    pool.get().await.map_err(|fault| match fault {
        PoolError::Backend(fault) => Cause::because("STORE_CUT", whole(&fault)),
        // a connection whose settings were refused, or that leads to another database
        PoolError::PostCreateHook(fault) => Cause::because("STORE_CUT", fault.to_string()),
        other @ (PoolError::Timeout(_) | PoolError::Closed | PoolError::NoRuntimeSpecified) => {
            Cause::because("STORE_BUSY", other.to_string())
        }
    })
}

/// One statement, prepared once for each connection.
pub(super) async fn rows(
    db: &Client,
    sql: &str,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, Fault> {
    let statement = db.prepare_cached(sql).await?;
    Ok(db.query(&statement, params).await?)
}

/// The one row of a statement, or none.
pub(super) async fn one(
    db: &Client,
    sql: &str,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Option<Row>, Fault> {
    let statement = db.prepare_cached(sql).await?;
    Ok(db.query_opt(&statement, params).await?)
}

/// A read transaction of one instant; it ends when this is dropped.
pub(super) struct Instant {
    db: Option<Client>,
    pub(super) flows: Arc<Flows>,
}

impl Instant {
    pub(super) fn db(&self) -> Result<&Client, Cause> {
        self.db.as_ref().ok_or_else(|| Cause::of("STORE_CLOSED"))
    }
}

impl Drop for Instant {
    fn drop(&mut self) {
        let Some(db) = self.db.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            // without a runtime nobody ends the transaction but the connection's own end
            drop(Object::take(db));
            return;
        };
        runtime.spawn(async move {
            if db.batch_execute("ROLLBACK").await.is_err() {
                drop(Object::take(db));
            }
        });
    }
}
