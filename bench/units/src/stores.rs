//! Both stores, each fresh.

use crate::Outcome;
use kernel::ids::WorkerId;
use kernel::ports::clock::Clock;
use kernel::ports::journal::Journal;
use kernel::ports::meter::NoMeter;
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::{postgres, sqlite};
use testbed::{Options, Server};
use testkit::ShiftedClock;

fn clock() -> Arc<dyn Clock> {
    Arc::new(ShiftedClock::new())
}

/// A store that fails ends the process.
fn fatal() -> Arc<dyn Fn(String) + Send + Sync> {
    Arc::new(|what| {
        println!("the store gave up: {what}");
        std::process::exit(1)
    })
}

/// The embedded store in a folder.
pub(crate) fn sqlite(dir: &Path) -> Outcome<Arc<dyn Journal>> {
    let options = sqlite::Options {
        dir: dir.to_owned(),
        flows: Arc::new(flows::registry()),
        clock: clock(),
        meter: Arc::new(NoMeter),
        fatal: fatal(),
        max_bytes: None,
    };
    Ok(sqlite::Embedded::open(options).map_err(|error| error.to_string())?)
}

/// A server of our own, with a database.
pub(crate) struct Site {
    _server: Server,
    database: testbed::Database,
}

impl Site {
    pub(crate) fn start(below: &Path) -> Outcome<Self> {
        let wish = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let settings = vec![wish("shared_buffers", "1GB"), wish("max_wal_size", "4GB")];
        let below = Some(below.to_owned());
        let server = Server::with(&Options { max_connections: 100, settings, below })?;
        let database = server.database()?;
        Ok(Self { _server: server, database })
    }

    /// The store in it.
    pub(crate) async fn journal(&self) -> Outcome<Arc<dyn Journal>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        let database = postgres::Database {
            url: self.database.url().to_owned(),
            password: None,
            tls,
            readers: 4,
            writers: 2,
            connect: Duration::from_secs(10),
            lock: Duration::from_secs(3),
            statement: Duration::from_secs(60),
            answer: Duration::from_secs(60),
            lease: Duration::from_secs(10),
        };
        let options = postgres::Options {
            database,
            flows: Arc::new(flows::registry()),
            worker: WorkerId(1),
            time: postgres::Time::Database,
            clock: clock(),
            meter: Arc::new(NoMeter),
            fatal: fatal(),
        };
        Ok(postgres::Postgres::open(options).await.map_err(|error| error.to_string())?)
    }
}
