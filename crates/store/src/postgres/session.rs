//! Connections: how each is made, and what it promises before it is used.

use super::OpenError;
use super::fault::whole;
use super::origin::Past;
use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use rustls::ClientConfig;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How the database is reached and how long anything may take there.
#[derive(Debug, Clone)]
pub struct Database {
    /// A URL or a list of `key=value`, as libpq takes them; the password with it or in `password`.
    pub url: String,
    /// The password, where the URL has none.
    pub password: Option<String>,
    /// Whom to believe when the server names itself; TLS is used where the URL's `sslmode` asks.
    pub tls: ClientConfig,
    /// Connections for questions.
    pub readers: usize,
    /// Connections that write, beside one that waits for what others lock.
    pub writers: usize,
    /// The longest that a connection may take to be made.
    pub connect: Duration,
    /// The longest wait for a row that somebody else holds.
    pub lock: Duration,
    /// The longest statement.
    pub statement: Duration,
    /// How long a worker's lease lasts without being renewed.
    pub lease: Duration,
}

/// The longest that a transaction of ours may stand idle: after it the database ends the session, and
/// whoever waits for its rows goes on.
const IDLE: Duration = Duration::from_secs(5);

/// What `url` says, with what every session of ours has.
pub(crate) fn config(database: &Database, name: &str) -> Result<Config, String> {
    let mut config: Config =
        database.url.parse().map_err(|fault| format!("database.url: {fault}"))?;
    if let (None, Some(password)) = (config.get_password(), &database.password) {
        config.password(password);
    }
    config.application_name(name).connect_timeout(database.connect);
    config.keepalives_idle(Duration::from_secs(10));
    Ok(config)
}

/// The settings of a session, whatever the database's own are.
fn settings(database: &Database, lock: Duration) -> String {
    format!(
        "SET synchronous_commit = on; SET lock_timeout = {}; SET statement_timeout = {}; \
         SET idle_in_transaction_session_timeout = {}; SET default_transaction_isolation = \
         'read committed'; SET jit = off; \
         SET client_min_messages = warning; SET timezone = 'UTC'",
        lock.as_millis(),
        database.statement.as_millis(),
        IDLE.as_millis()
    )
}

/// What a writer's statements look for has a key and an index, and the rows are few beside the table:
/// a plan that was made when the table was empty must not read all of it ever after.
const PLANS: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
    SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off";

/// True where TLS is not even tried: nobody asks for it, or a socket has no name to believe.
fn plain(config: &Config) -> bool {
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
pub(crate) fn beside(work: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(work);
}

/// Carries what a connection says until it ends.
async fn carried(connection: impl Future<Output = Result<(), tokio_postgres::Error>>) {
    if let Err(fault) = connection.await {
        tracing::warn!(%fault, "a connection to the database ended");
    }
}

/// One connection of its own, with its settings; it ends when the client is dropped.
///
/// # Errors
/// Why there is none.
pub(crate) async fn connect(
    database: &Database,
    name: &str,
    lock: Duration,
) -> Result<Client, OpenError> {
    let unreachable = |fault| OpenError::Unreachable(whole(&fault).to_string());
    let config = config(database, name).map_err(OpenError::Settings)?;
    let client = if plain(&config) {
        let (client, connection) = config.connect(NoTls).await.map_err(unreachable)?;
        beside(carried(connection));
        client
    } else {
        let tls = MakeRustlsConnect::new(database.tls.clone());
        let (client, connection) = config.connect(tls).await.map_err(unreachable)?;
        beside(carried(connection));
        client
    };
    let set = format!("{}; {PLANS}", settings(database, lock));
    client.batch_execute(&set).await.map_err(unreachable)?;
    Ok(client)
}

/// What the connections of a pool are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// What an index answers.
    Questions,
    /// What people look for, which may read many rows.
    Searches,
    /// What reads everything as of one instant.
    Instants,
    /// Who holds what. These write.
    Leases,
}

/// The longest statement of one that reads everything: sums over all operations.
const WHOLE: Duration = Duration::from_secs(600);

impl Use {
    const fn name(self) -> &'static str {
        match self {
            Self::Questions => "portage: questions",
            Self::Searches => "portage: searches",
            Self::Instants => "portage: instants",
            Self::Leases => "portage: leases",
        }
    }

    /// So many connections at most.
    const fn size(self, database: &Database) -> usize {
        match self {
            Self::Questions => database.readers,
            Self::Searches | Self::Leases => 2,
            Self::Instants => 4,
        }
    }

    /// What its sessions have beside what all have. A statement is planned once, maybe while its
    /// tables are empty, and then an index looks dearer than it will be: only what reads everything
    /// anyway may read a table from end to end.
    fn settings(self) -> String {
        match self {
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

/// Connections that are shared.
///
/// # Errors
/// The URL, or a limit, is none.
pub(crate) fn pool(database: &Database, what: Use, past: &Arc<Past>) -> Result<Pool, String> {
    let config = config(database, what.name())?;
    let kept = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let set = format!("{}; {}", settings(database, database.lock), what.settings());
    let past = past.clone();
    let ready = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
        let (set, past) = (set.clone(), past.clone());
        Box::pin(async move {
            client.batch_execute(&set).await.map_err(HookError::Backend)?;
            past.look(client).await.map_err(HookError::message)
        })
    });
    let manager = if plain(&config) {
        Manager::from_config(config, NoTls, kept)
    } else {
        let tls = MakeRustlsConnect::new(database.tls.clone());
        Manager::from_config(config, tls, kept)
    };
    Pool::builder(manager)
        .max_size(what.size(database))
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(database.statement))
        .create_timeout(Some(database.connect))
        .post_create(ready)
        .build()
        .map_err(|fault| format!("database: {fault}"))
}
