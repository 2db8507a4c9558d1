//! A connection with its limits. Where an answer does not come in time, the client gives the connection
//! up. It counts every notice that the server sends, since a COMMIT that comes with a notice may not
//! have reached the standby.

use super::connect::{Database, Purpose, config, settings, spawn, without_tls};
use super::replication::{MARK, Replication};
use crate::postgres::error::StoreError;
use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Config, Connection, NoTls, Row, Socket, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Why a statement has no answer that counts.
#[derive(Debug)]
pub(crate) enum ConnectionError {
    /// The driver's, or the server's own.
    Postgres(tokio_postgres::Error),
    /// No answer came within this time.
    Silent(Duration),
    /// The server acknowledged a COMMIT, and said this beside it.
    Noticed(Arc<str>),
    /// The number of COMMITs of this process that were given up and still wait for the synchronous standby.
    Waits(i64),
    /// The settings name nothing that could be a database.
    Settings(String),
}

impl ConnectionError {
    /// The session may only read.
    fn is_read_only(&self) -> bool {
        let Self::Postgres(error) = self else { return false };
        error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION)
    }
}

impl From<tokio_postgres::Error> for ConnectionError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error)
    }
}

impl std::fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Postgres(error) => write!(f, "{}", crate::postgres::error::full_text(error)),
            Self::Silent(limit) => write!(f, "no answer for {} ms", limit.as_millis()),
            Self::Noticed(notice) => write!(f, "COMMIT came with a notice: {notice}"),
            Self::Waits(commits) => {
                write!(
                    f,
                    "{commits} COMMITs of this process still wait for the synchronous standby"
                )
            }
            Self::Settings(what) => f.write_str(what),
        }
    }
}

/// The notices that the server sent on one connection.
#[derive(Debug, Default)]
struct Notices {
    count: AtomicU64,
    last: Mutex<Arc<str>>,
}

impl Notices {
    fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    fn add(&self, notice: Arc<str>) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = notice;
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    /// # Errors
    /// The server has sent a notice since that count.
    fn none_since(&self, before: u64) -> Result<(), ConnectionError> {
        if self.count() == before {
            return Ok(());
        }
        Err(ConnectionError::Noticed(
            self.last.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        ))
    }
}

/// See the module. Healthy, it ends in order when this is dropped; given up, at once.
pub(crate) struct Client {
    inner: tokio_postgres::Client,
    /// Each statement is prepared once.
    statements: Mutex<HashMap<String, Statement>>,
    notices: Arc<Notices>,
    driver: AbortHandle,
    /// The longest wait for an answer.
    limit: Option<Duration>,
    given_up: AtomicBool,
    /// The server's process, and where it is noted that this one may still be at work.
    pid: i32,
    replication: Arc<Replication>,
}

impl Client {
    /// Connects, and sets what every session of ours has; `lock`: the longest wait for a row.
    ///
    /// # Errors
    /// The server's; it does not answer; a COMMIT of this process still waits for its standby, and
    /// this connection was to write.
    pub(crate) async fn connect(
        database: &Database,
        purpose: Purpose,
        lock: Duration,
        replication: &Arc<Replication>,
    ) -> Result<Self, ConnectionError> {
        let config = config(database, purpose.name()).map_err(ConnectionError::Settings)?;
        let limit = Some(database.connect);
        let Opened { inner, driver, notices } = within(limit, opened(database, &config)).await?;
        let mut client = Self {
            inner,
            statements: Mutex::default(),
            notices,
            driver,
            limit,
            given_up: AtomicBool::new(false),
            pid: 0,
            replication: replication.clone(),
        };
        client.batch(&format!("{}; {}", settings(database, lock), purpose.settings())).await?;
        let sql = "SELECT pg_backend_pid(), current_setting('synchronous_standby_names') <> ''";
        let row = client.query_one(sql, &[]).await?;
        client.pid = row.try_get(0)?;
        replication.required(row.try_get(1)?);
        if purpose.writes() {
            replication.waited_for(&client).await?;
        }
        client.limit = Some(purpose.limit(database));
        Ok(client)
    }

    pub(crate) const fn pid(&self) -> i32 {
        self.pid
    }

    /// An answer may take as long as it takes: for a person who waits for it.
    pub(crate) const fn unlimited(&mut self) {
        self.limit = None;
    }

    /// True where the connection cannot be used again.
    pub(crate) fn is_over(&self) -> bool {
        self.inner.is_closed() || self.given_up.load(Ordering::Acquire)
    }

    /// Ends it at once: what it was asked last is unknown. The server may go on with that.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::Release);
        self.replication.abandoned(self.pid);
        self.driver.abort();
    }

    /// Waits for an answer no longer than the limit.
    async fn within<T>(
        &self,
        limit: Option<Duration>,
        asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, ConnectionError> {
        let answer = within(limit, async { Ok(asked.await?) }).await;
        if let Err(ConnectionError::Silent(limit)) = &answer {
            tracing::warn!(
                pid = self.pid,
                ?limit,
                "a connection to the database is silent: given up"
            );
            self.give_up();
        }
        if answer.as_ref().is_err_and(ConnectionError::is_read_only) {
            // it stays so, whatever the database allows later
            self.given_up.store(true, Ordering::Release);
        }
        answer
    }

    /// The statement, prepared once for the session.
    pub(crate) async fn prepared(&self, sql: &str) -> Result<Statement, ConnectionError> {
        let known =
            self.statements.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.within(self.limit, self.inner.prepare(sql)).await?;
        let mut all = self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    pub(crate) async fn query(
        &self,
        statement: &Statement,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, ConnectionError> {
        self.within(self.limit, self.inner.query(statement, params)).await
    }

    /// Without a limit: the caller checks by itself whether the server is still at work.
    pub(crate) async fn query_at_length(&self, sql: &str) -> Result<Vec<Row>, ConnectionError> {
        Ok(self.inner.query(sql, &[]).await?)
    }

    /// At most one row.
    pub(crate) async fn query_opt(
        &self,
        statement: &Statement,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, ConnectionError> {
        self.within(self.limit, self.inner.query_opt(statement, params)).await
    }

    /// Exactly one row, of a text that is asked once.
    pub(crate) async fn query_one(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, ConnectionError> {
        self.within(self.limit, self.inner.query_one(sql, params)).await
    }

    /// Runs a statement; the number of rows that it changed.
    pub(crate) async fn execute(
        &self,
        statement: &Statement,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, ConnectionError> {
        self.within(self.limit, self.inner.execute(statement, params)).await
    }

    /// Statements without parameters, one after the other.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), ConnectionError> {
        self.within(self.limit, self.inner.batch_execute(sql)).await
    }

    /// Whether the server answers at all, within the time in which a connection is made.
    pub(crate) async fn ping(&self, limit: Duration) -> Result<(), ConnectionError> {
        self.within(Some(limit), self.inner.batch_execute("SELECT 1")).await
    }

    /// Sends a statement and COMMIT behind it. An error of the statement: nothing was written. An
    /// error of COMMIT, a notice beside it, or no answer: the outcome is unknown ([`StoreError::Cut`]).
    pub(crate) async fn execute_and_commit(
        &self,
        statement: &Statement,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<(), StoreError> {
        let (number, before) = (self.replication.begins(), self.notices.count());
        let mut sent = std::pin::pin!(self.execute(statement, params));
        let mut end = std::pin::pin!(self.inner.batch_execute("COMMIT"));
        let mut ended = None;
        // polled in this order, so COMMIT goes out last
        let sent = poll_fn(|cx| {
            let sent = sent.as_mut().poll(cx);
            if ended.is_none()
                && let Poll::Ready(end) = end.as_mut().poll(cx)
            {
                ended = Some(end);
            }
            sent
        });
        let sent = sent.await;
        // its time begins with the statement's answer
        let end = match ended {
            Some(end) => end.map_err(ConnectionError::from),
            None if self.is_over() => Ok(()),
            None => self.within(self.limit, end).await,
        };
        sent?;
        end.and_then(|()| self.notices.none_since(before)).map_err(StoreError::commit_unknown)?;
        self.replication.confirmed(number);
        Ok(())
    }

    /// A statement that is a transaction by itself: an answer beside a notice is none. It confirms
    /// nothing that was read: where it changed no row, its COMMIT waited for no standby.
    pub(crate) async fn alone(
        &self,
        statement: &Statement,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        let before = self.notices.count();
        let rows = self.query(statement, params).await?;
        self.notices.none_since(before).map_err(StoreError::commit_unknown)?;
        Ok(rows)
    }

    /// Writes a mark: its COMMIT waits for the standby, and everything that was read before it is
    /// there.
    ///
    /// # Errors
    /// It is unknown whether it is.
    pub(crate) async fn mark(&self) -> Result<(), StoreError> {
        let number = self.replication.begins();
        let mark = self.prepared(MARK).await?;
        self.alone(&mark, &[]).await?;
        self.replication.confirmed(number);
        Ok(())
    }
}

/// Waits for an answer no longer than a limit.
async fn within<T>(
    limit: Option<Duration>,
    asked: impl Future<Output = Result<T, ConnectionError>>,
) -> Result<T, ConnectionError> {
    match limit {
        None => asked.await,
        Some(limit) => timeout(limit, asked).await.unwrap_or(Err(ConnectionError::Silent(limit))),
    }
}

struct Opened {
    inner: tokio_postgres::Client,
    driver: AbortHandle,
    notices: Arc<Notices>,
}

/// Connects, with TLS where that is asked for, and carries what the connection says beside it.
async fn opened(database: &Database, config: &Config) -> Result<Opened, ConnectionError> {
    let notices = Arc::new(Notices::default());
    let (inner, driver) = if without_tls(config) {
        let (inner, connection) = config.connect(NoTls).await?;
        (inner, spawn(drive(connection, notices.clone())))
    } else {
        let tls = MakeRustlsConnect::new(database.tls.clone());
        let (inner, connection) = config.connect(tls).await?;
        (inner, spawn(drive(connection, notices.clone())))
    };
    Ok(Opened { inner, driver, notices })
}

/// Carries what a connection says until it ends.
async fn drive<T>(mut connection: Connection<Socket, T>, notices: Arc<Notices>)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        // a notice is counted before the answer behind it is handed on
        match poll_fn(|cx| connection.poll_message(cx)).await {
            Some(Ok(AsyncMessage::Notice(notice))) => {
                let text = format!("{} ({})", notice.message(), notice.code().code());
                tracing::warn!(notice = text, "the database says");
                notices.add(text.into());
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                tracing::warn!(fault = %error, "a connection to the database ended");
                return;
            }
            None => return,
        }
    }
}
