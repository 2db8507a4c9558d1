//! Makes the connections of this store: their settings, their TLS, and the pools for each purpose.

use super::client::{Client, ConnectionError};
use super::replication::Replication;
use super::timeline::DatabaseTimeline;
use crate::postgres::DatabaseOpenError;
use crate::postgres::error::full_text;
use deadpool::Runtime;
use deadpool::managed::{self, Metrics, RecycleError, RecycleResult};
use rustls::ClientConfig;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;

/// How the database is reached and how long anything may take there.
#[derive(Debug, Clone)]
pub struct Database {
    /// A URL or a list of `key=value`, as libpq takes them; the password with it or in `password`.
    pub url: String,
    /// The password, where the URL has none.
    pub password: Option<String>,
    /// Which servers are trusted; TLS is used where the URL's `sslmode` asks.
    pub tls: ClientConfig,
    pub readers: usize,
    /// Connections that write, beside one that waits for what others lock.
    pub writers: usize,
    /// The longest that a connection may take to be made.
    pub connect: Duration,
    /// The longest wait for a row that another transaction holds.
    pub lock: Duration,
    /// The longest statement, by the server's clock.
    pub statement: Duration,
    /// The longest wait for the answer to a statement or a COMMIT, by ours: then the connection is
    /// given up, and what became of it is unknown. Longer than `statement`.
    pub answer: Duration,
    /// How long a worker's lease lasts without being renewed.
    pub lease: Duration,
}

/// The longest that a transaction of ours may stand idle: after it the database ends the session,
/// and what waits for its rows goes on.
const IDLE: Duration = Duration::from_secs(5);

/// The time without traffic after which both sides ask a connection for a sign of life.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// The time between two of these probes.
const PROBE: Duration = Duration::from_secs(5);
/// The number of probes without an answer after which a connection is closed.
const PROBES: u32 = 3;

/// What the address of a database looks like.
const FORM: &str = "it begins with postgres://, or is a list of key=value";

/// The configuration of `url`, with the options of every session of the store.
pub(crate) fn config(database: &Database, name: &str) -> Result<Config, String> {
    let mut config: Config =
        database.url.parse().map_err(|error| format!("database.url: {error}; {FORM}"))?;
    if let (None, Some(password)) = (config.get_password(), &database.password) {
        config.password(password);
    }
    config.application_name(name).connect_timeout(database.connect);
    config.keepalives_idle(KEEPALIVE).keepalives_interval(PROBE).keepalives_retries(PROBES);
    config.tcp_user_timeout(database.answer);
    Ok(config)
}

/// The settings of a session, whatever the database's own are.
pub(crate) fn settings(database: &Database, lock: Duration) -> String {
    format!(
        "SET synchronous_commit = on; SET lock_timeout = {}; SET statement_timeout = {}; \
         SET idle_in_transaction_session_timeout = {}; SET default_transaction_isolation = \
         'read committed'; SET jit = off; \
         SET client_min_messages = warning; SET timezone = 'UTC'; \
         SET tcp_keepalives_idle = {}; SET tcp_keepalives_interval = {}; \
         SET tcp_keepalives_count = {PROBES}; SET tcp_user_timeout = {}",
        lock.as_millis(),
        database.statement.as_millis(),
        IDLE.as_millis(),
        KEEPALIVE.as_secs(),
        PROBE.as_secs(),
        database.answer.as_millis()
    )
}

/// What a writer's statements look for has a key and an index, and the rows are few beside the
/// table: a plan that was made when the table was empty must not read all of it ever after.
const PLANS: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
    SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off";

/// True where TLS is not even tried: the settings do not ask for it, or a socket has no name to
/// check.
pub(crate) fn without_tls(config: &Config) -> bool {
    config.get_ssl_mode() == SslMode::Disable
        || config.get_hostaddrs().is_empty()
            && config.get_hosts().iter().all(|host| match host {
                Host::Tcp(_) => false,
                Host::Unix(_) => true,
            })
}

/// Runs what carries a connection, or writes on one, until the store is dropped.
#[expect(
    clippy::disallowed_methods,
    reason = "a connection is the store's own, as its threads are"
)]
pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
    tokio::spawn(work).abort_handle()
}

/// One connection of its own, with its settings; it ends when the client is dropped.
///
/// # Errors
/// Why there is none.
pub(crate) async fn connect(
    database: &Database,
    purpose: Purpose,
    lock: Duration,
    replication: &Arc<Replication>,
) -> Result<Client, DatabaseOpenError> {
    Box::pin(Client::connect(database, purpose, lock, replication)).await.map_err(|error| {
        match error {
            ConnectionError::Settings(what) => DatabaseOpenError::Settings(what),
            error @ (ConnectionError::Postgres(_)
            | ConnectionError::Silent(_)
            | ConnectionError::Noticed(_)
            | ConnectionError::Waits(_)) => DatabaseOpenError::Unreachable(error.to_string()),
        }
    })
}

/// A connection that a command makes once.
///
/// # Errors
/// Why there is none.
pub(crate) async fn connect_once(database: &Database) -> Result<Client, DatabaseOpenError> {
    let replication = Arc::default();
    let made = Client::connect(database, Purpose::Tool, database.lock, &replication);
    Box::pin(made).await.map_err(|error| match error {
        ConnectionError::Postgres(error) if refuses_login(&error) => {
            let why = full_text(&error);
            DatabaseOpenError::Settings(format!("database.url: {}: {why}", place(database)))
        }
        ConnectionError::Settings(what) => DatabaseOpenError::Settings(what),
        error @ (ConnectionError::Postgres(_)
        | ConnectionError::Silent(_)
        | ConnectionError::Noticed(_)
        | ConnectionError::Waits(_)) => {
            DatabaseOpenError::Unreachable(format!("{}: {error}", place(database)))
        }
    })
}

/// What the client says where the server asks for a password and the settings have none.
const NO_PASSWORD: &str = "password missing";

/// True where the server is there and knows no such user, password or database: waiting does not help.
fn refuses_login(error: &tokio_postgres::Error) -> bool {
    let cause = std::error::Error::source(error);
    if cause.is_some_and(|cause| cause.to_string() == NO_PASSWORD) {
        return true;
    }
    let states = [
        SqlState::INVALID_PASSWORD,
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        SqlState::INVALID_CATALOG_NAME,
    ];
    error.code().is_some_and(|code| states.contains(code))
}

/// Where the database is, for a person: hosts with their ports, and its name.
fn place(database: &Database) -> String {
    let Ok(config) = database.url.parse::<Config>() else { return "no address".to_owned() };
    let ports = config.get_ports();
    let port = |n: usize| ports.get(n).or_else(|| ports.first()).copied().unwrap_or(5432);
    let named = config.get_hosts().iter().enumerate().map(|(n, host)| match host {
        Host::Tcp(name) => format!("{name}:{}", port(n)),
        Host::Unix(folder) => format!("{}, port {}", folder.display(), port(n)),
    });
    let hosts: Vec<String> = named.collect();
    format!(
        "{}, database {}",
        hosts.join(", "),
        config.get_dbname().unwrap_or("of the user's name")
    )
}

/// The purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// One that writes transfers.
    Writer,
    /// The queries and migrations of a command.
    Tool,
    /// Queries that an index answers.
    Questions,
    /// Operators' searches, which may read many rows.
    Searches,
    /// Reads of everything as of one instant.
    Instants,
    /// Leases. These connections write.
    Leases,
}

/// The longest statement of one that reads everything: sums over all operations.
const WHOLE: Duration = Duration::from_secs(600);

impl Purpose {
    /// The name of a session (`application_name`).
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Writer => "portage: writer",
            Self::Tool => "portage: command",
            Self::Questions => "portage: questions",
            Self::Searches => "portage: searches",
            Self::Instants => "portage: instants",
            Self::Leases => "portage: leases",
        }
    }

    /// Whether its sessions write, and so may wait for a standby.
    pub(crate) const fn writes(self) -> bool {
        match self {
            Self::Writer | Self::Leases => true,
            Self::Tool | Self::Questions | Self::Searches | Self::Instants => false,
        }
    }

    /// The longest wait for an answer.
    pub(crate) fn limit(self, database: &Database) -> Duration {
        match self {
            Self::Instants => WHOLE + database.answer,
            Self::Writer | Self::Tool | Self::Questions | Self::Searches | Self::Leases => {
                database.answer
            }
        }
    }

    /// The most connections of this purpose.
    const fn size(self, database: &Database) -> usize {
        match self {
            Self::Writer | Self::Tool => 1,
            Self::Questions => database.readers,
            Self::Searches | Self::Leases => 2,
            Self::Instants => 4,
        }
    }

    /// What its sessions have beside what all have. A statement is planned once, maybe while its
    /// tables are empty, and then an index looks dearer than it will be: only what reads everything
    /// anyway may read a table from end to end.
    pub(crate) fn settings(self) -> String {
        match self {
            Self::Writer | Self::Tool => PLANS.to_owned(),
            Self::Questions | Self::Searches => {
                "SET default_transaction_read_only = on; SET enable_seqscan = off; \
                 SET plan_cache_mode = force_generic_plan"
                    .to_owned()
            }
            Self::Instants => format!(
                "SET default_transaction_read_only = on; SET statement_timeout = {}",
                WHOLE.as_millis()
            ),
            Self::Leases => {
                "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan".to_owned()
            }
        }
    }
}

/// Makes the connections of a pool.
pub(crate) struct Manager {
    database: Database,
    purpose: Purpose,
    timeline: Arc<DatabaseTimeline>,
    replication: Arc<Replication>,
}

impl managed::Manager for Manager {
    type Type = Client;
    type Error = String;

    async fn create(&self) -> Result<Client, String> {
        let Self { database, purpose, timeline, replication } = self;
        // boxed: it is some 30 kB, which each use of a pool would carry
        let client = Box::pin(Client::connect(database, *purpose, database.lock, replication));
        let client = client.await.map_err(|error| error.to_string())?;
        Box::pin(timeline.check(&client)).await?;
        Ok(client)
    }

    /// One that was not used for a while may have become silent meanwhile.
    async fn recycle(&self, client: &mut Client, metrics: &Metrics) -> RecycleResult<String> {
        if client.is_over() {
            return Err(RecycleError::message("it ended"));
        }
        if metrics.last_used() < KEEPALIVE {
            return Ok(());
        }
        let answers = client.ping(self.database.connect).await;
        answers.map_err(|error| RecycleError::Backend(error.to_string()))
    }
}

/// Connections that are shared.
pub(crate) type Pool = managed::Pool<Manager>;
/// One of them, for as long as it is held.
pub(crate) type Pooled = managed::Object<Manager>;

/// Connections that are shared.
///
/// # Errors
/// The URL, or a limit, is none.
pub(crate) fn pool(
    database: &Database,
    purpose: Purpose,
    timeline: &Arc<DatabaseTimeline>,
    replication: &Arc<Replication>,
) -> Result<Pool, String> {
    config(database, purpose.name())?;
    let (timeline, replication) = (timeline.clone(), replication.clone());
    Pool::builder(Manager { database: database.clone(), purpose, timeline, replication })
        .max_size(purpose.size(database))
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(database.statement))
        .build()
        .map_err(|error| format!("database: {error}"))
}
