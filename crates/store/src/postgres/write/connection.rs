//! One connection that writes, and the lane that it holds by an advisory lock.

use super::workspace::WriteNumbers;
use crate::postgres::columns::uint;
use crate::postgres::error::StoreError;
use crate::postgres::session::client::{Client, ConnectionError};
use crate::postgres::session::connect::{Database, Purpose, connect};
use crate::postgres::session::replication::{ReadMark, Replication};
use crate::postgres::session::timeline::DatabaseTimeline;
use crate::postgres::session::writer_health::WriterHealth;
use crate::postgres::{DatabaseOpenError, Time};
use kernel::ids::Millis;
use kernel::ports::clock::JournalTime;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Statement;

/// The advisory lock of lane n is this and n: held for as long as the session lives.
const LANE: i32 = 0x506f_7274;

pub(crate) struct WriteConnection {
    pub(crate) client: Client,
    pub(crate) lane: i32,
    /// Its last row of `audit_units`.
    pub(crate) n: u64,
    /// When it wrote last.
    pub(crate) at: Millis,
    /// The highest number of an operation that it wrote.
    pub(crate) seq: u64,
    shared: Arc<ConnectionContext>,
}

/// When a write is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteTime {
    /// The time of its rows.
    pub(crate) at: Millis,
    /// The database's own time, by which whatever is due is found.
    pub(crate) put: Millis,
    /// How far the journal's time is ahead of the database's.
    pub(crate) ahead: Millis,
}

/// The state that the lanes of a process share.
pub(crate) struct ConnectionContext {
    pub(crate) database: Database,
    pub(crate) time: Time,
    /// The journal's time, which is never before what this process wrote.
    pub(crate) journal_time: Arc<JournalTime>,
    /// The database that this process works on.
    pub(crate) timeline: Arc<DatabaseTimeline>,
    /// The standby that must have every COMMIT, where one must.
    pub(crate) replication: Arc<Replication>,
    /// Tracks whether the writers get answers.
    pub(crate) health: Arc<WriterHealth>,
}

/// The rights that every transfer needs, from its opening to its end: the tables, and what is done there.
const RIGHTS: &str = include_str!("sql/rights.sql");

impl WriteConnection {
    /// True where this session has the rights and the tables that every transfer needs.
    ///
    /// # Errors
    /// Nothing is known of them.
    pub(crate) async fn may_write(&self) -> Result<bool, StoreError> {
        Ok(self.client.query_one(RIGHTS, &[]).await?.try_get(0)?)
    }

    /// Connects, and takes the first lane that no session holds; `lock`: the longest wait for a
    /// row.
    ///
    /// # Errors
    /// [`DatabaseOpenError`].
    pub(crate) async fn open(
        shared: Arc<ConnectionContext>,
        lock: Duration,
    ) -> Result<Self, DatabaseOpenError> {
        let client = connect(&shared.database, Purpose::Writer, lock, &shared.replication).await?;
        shared.timeline.check(&client).await.map_err(DatabaseOpenError::Unreachable)?;
        let mut lane = 0;
        let sql = "SELECT pg_try_advisory_lock($1, $2)";
        loop {
            let row = client.query_one(sql, &[&LANE, &lane]).await.map_err(unreachable)?;
            if row.try_get(0).map_err(ConnectionError::from).map_err(unreachable)? {
                break;
            }
            lane += 1;
        }
        let sql = "INSERT INTO lanes VALUES ($1, 0, 0, 0) ON CONFLICT DO NOTHING";
        let statement = client.prepared(sql).await.map_err(unreachable)?;
        client.alone(&statement, &[&lane]).await.map_err(|error| {
            if let StoreError::Unwritable { reason, .. } | StoreError::NoRight(reason) = &error {
                shared.health.write_refused(reason);
            }
            failed(&error)
        })?;
        let sql = "SELECT n, at, seq FROM lanes WHERE lane = $1";
        let row = client.query_one(sql, &[&lane]).await.map_err(unreachable)?;
        let number = |column| row.try_get(column).map(uint).map_err(|e| unreachable(e.into()));
        let (n, at, seq) = (number(0)?, number(1)?, number(2)?);
        Ok(Self { client, lane, n, at, seq, shared })
    }

    /// The time of a write that the database gave this one, which never goes back; the database's own, by which whatever
    /// is due is found; and how far the journal's time is ahead of that.
    pub(crate) fn time(&self, database: Millis) -> WriteTime {
        let now = match &self.shared.time {
            Time::Database => database,
            Time::Manual(clock) => clock.now(),
        };
        let journal = self.shared.journal_time.now();
        let at =
            [self.at, journal].into_iter().fold(now, |at, last| if last > at { last } else { at });
        WriteTime { at, put: now, ahead: journal.saturating_sub(now) }
    }

    /// Notes the time of a write.
    pub(crate) fn written(&self, at: Millis) {
        self.shared.journal_time.advance_to(at);
    }

    /// Notes how far the database's durable log reaches.
    pub(crate) fn reached(&self, lsn: u64) {
        self.shared.timeline.reached(lsn);
    }

    /// Notes that this row of `audit_units` is durable.
    pub(crate) fn noted(&self, n: u64, at: Millis) {
        self.shared.timeline.record_unit(self.lane, n, at);
    }

    /// When any lane wrote last.
    ///
    /// # Errors
    /// [`DatabaseOpenError`].
    pub(crate) async fn latest(&self) -> Result<Millis, DatabaseOpenError> {
        let sql = "SELECT coalesce(max(at), 0) FROM lanes";
        let row = self.client.query_one(sql, &[]).await.map_err(unreachable)?;
        row.try_get(0).map(uint).map_err(|error| unreachable(error.into()))
    }

    pub(crate) fn numbers(&self) -> WriteNumbers {
        WriteNumbers { lane: self.lane, unit: self.n.saturating_add(1), ..WriteNumbers::default() }
    }

    /// The statement, prepared once for the session.
    pub(crate) async fn prepared(&self, sql: &str) -> Result<Statement, StoreError> {
        Ok(self.client.prepared(sql).await?)
    }

    /// Ends a transaction of which nothing shall be kept.
    pub(crate) async fn rollback(&self) -> Result<(), StoreError> {
        Ok(self.client.batch("ROLLBACK").await?)
    }

    /// Takes note of what was read until now, for [`WriteConnection::confirm_read`].
    pub(crate) fn read(&self) -> Option<ReadMark> {
        self.shared.replication.read()
    }

    /// What was read then is answered from, and nothing was written: where a standby must have
    /// every COMMIT, one of our own goes behind it.
    pub(crate) async fn confirm_read(&self, read: Option<ReadMark>) -> Result<(), StoreError> {
        let Some(read) = read.filter(|read| !self.shared.replication.covers(*read)) else {
            return Ok(());
        };
        tracing::debug!(?read, "a COMMIT of our own goes behind what was read");
        self.client.mark().await
    }

    /// Notes whether the database requires a standby.
    pub(crate) fn requires(&self, standby: bool) {
        self.shared.replication.required(standby);
    }

    /// The numbers of the lane's row after a write; `entries`: the write has history.
    pub(crate) fn after(&self, numbers: &WriteNumbers, entries: bool) -> (u64, u64) {
        let n = if entries { numbers.unit } else { self.n };
        let last = numbers.seq.saturating_sub(1);
        (n, if last > self.seq { last } else { self.seq })
    }
}

fn unreachable(error: ConnectionError) -> DatabaseOpenError {
    failed(&error.into())
}

fn failed(error: &StoreError) -> DatabaseOpenError {
    DatabaseOpenError::Unreachable(error.cause().to_string())
}
