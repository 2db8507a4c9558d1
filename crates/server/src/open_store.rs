//! Opens the store that the settings choose, the data folder or PostgreSQL, for the engine and the commands.

use crate::cli::exit::{Exit, Fault};
use crate::config::Config;
use crate::runtime::{Fatal, SystemClock};
use kernel::flow::table::Flows;
use kernel::ids::WorkerId;
use kernel::ports::admin_queries::AdminQueries;
use kernel::ports::audit::Audit;
use kernel::ports::clock::Clock;
use kernel::ports::inbox::Inbox;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::{Ledger, World};
use kernel::ports::meter::Meter;
use kernel::ports::outbox::Outbox;
use kernel::ports::webhooks::WebhookOutbox;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::postgres::{self, Database, DatabaseOpenError, Postgres, Time};
use store::sqlite::Embedded;

/// All ports of a store.
pub trait Store: Journal + AdminQueries + Audit + Outbox + Inbox + WebhookOutbox {
    /// The Funding ledger, which lives in it.
    fn funding(&self) -> Arc<dyn FundingLedger>;
    /// The accounts ledger, which lives in it too.
    fn accounts(&self) -> Arc<dyn Ledger>;
}

/// A ledger that also books external movements.
pub trait FundingLedger: Ledger + World {}

impl<T: Ledger + World> FundingLedger for T {}

impl Store for Embedded {
    fn funding(&self) -> Arc<dyn FundingLedger> {
        Self::funding(self)
    }

    fn accounts(&self) -> Arc<dyn Ledger> {
        Self::accounts(self)
    }
}

impl Store for Postgres {
    fn funding(&self) -> Arc<dyn FundingLedger> {
        Self::funding(self)
    }

    fn accounts(&self) -> Arc<dyn Ledger> {
        Self::accounts(self)
    }
}

/// The parts that opening a store needs.
pub(crate) struct StoreContext {
    pub(crate) flows: Arc<Flows>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) meter: Arc<dyn Meter>,
    pub(crate) worker: WorkerId,
    pub(crate) fatal: Fatal,
}

/// Opens the store on PostgreSQL.
///
/// # Errors
/// 78: it keeps no promise of ours, or the settings name none; 69: it does not answer; 65: its tables
/// are not this release's.
pub(crate) async fn postgres(
    config: &Config,
    context: StoreContext,
) -> Result<Arc<Postgres>, Fault> {
    let StoreContext { flows, clock, meter, worker, fatal } = context;
    let options = postgres::Options {
        database: database(config)?,
        flows,
        worker,
        time: Time::Database,
        clock,
        meter,
        fatal,
    };
    Postgres::open(options).await.map_err(|error| fault(&error))
}

/// Whether the database has been Portage's before: a name that was mistyped must not be given tables,
/// and a proof that nothing is wrong in them.
///
/// # Errors
/// 66: it has no table of ours. As [`postgres()`].
pub(crate) async fn there(config: &Config) -> Result<(), Fault> {
    let state = postgres::state(&database(config)?).await.map_err(|error| fault(&error))?;
    if let postgres::SchemaState::Empty = state {
        let what = "the database has no tables of Portage: is it the one that is meant? `portage \
            migrate` makes them";
        return Err(Fault::new(Exit::NoInput, what));
    }
    Ok(())
}

/// Opens it to read the journal alone.
///
/// # Errors
/// As [`there`] and [`postgres()`].
pub(crate) async fn journal(config: &Config) -> Result<Arc<Postgres>, Fault> {
    there(config).await?;
    let context = StoreContext {
        flows: Arc::new(flows::registry()),
        clock: Arc::new(SystemClock::default()),
        meter: Arc::new(kernel::ports::meter::NoMeter),
        worker: WorkerId(0),
        fatal: Arc::new(|_| ()),
    };
    postgres(config, context).await
}

/// The connection settings of the database.
///
/// # Errors
/// 78: `database.ca_file` holds no certificate.
pub(crate) fn database(config: &Config) -> Result<Database, Fault> {
    let settings = &config.database;
    let password = settings.password.reveal();
    Ok(Database {
        url: settings.url.reveal().to_owned(),
        password: (!password.is_empty()).then(|| password.to_owned()),
        tls: tls(&settings.ca_file)?,
        readers: settings.readers,
        writers: settings.writers,
        connect: Duration::from_millis(settings.connect_timeout_ms),
        lock: Duration::from_millis(settings.lock_timeout_ms),
        statement: Duration::from_millis(settings.statement_timeout_ms),
        answer: Duration::from_millis(settings.answer_timeout_ms),
        lease: Duration::from_secs(config.engine.lease_seconds),
    })
}

/// The authorities that the database is checked against: those of the file, or of the machine. Without any, no connection is made.
fn tls(ca_file: &Path) -> Result<ClientConfig, Fault> {
    let unfit = |why: String| {
        Fault::new(Exit::Config, format!("database.ca_file: {}: {why}", ca_file.display()))
    };
    let mut roots = RootCertStore::empty();
    if ca_file.as_os_str().is_empty() {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    } else {
        let found = CertificateDer::pem_file_iter(ca_file).map_err(|why| unfit(why.to_string()))?;
        for certificate in found {
            let certificate = certificate.map_err(|why| unfit(why.to_string()))?;
            roots.add(certificate).map_err(|why| unfit(why.to_string()))?;
        }
        if roots.is_empty() {
            return Err(unfit("no certificate in it".to_owned()));
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|why| Fault::new(Exit::Software, why.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// The error with which the process ends when there is no store.
pub(crate) fn fault(error: &DatabaseOpenError) -> Fault {
    let exit = match error {
        DatabaseOpenError::Settings(_) | DatabaseOpenError::Unsafe(_) => Exit::Config,
        DatabaseOpenError::Unreachable(_) => Exit::Unavailable,
        DatabaseOpenError::Schema(_) => Exit::Data,
    };
    Fault::new(exit, error.to_string())
}
