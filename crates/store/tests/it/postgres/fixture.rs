//! A database with a store in it, opened as often as a test wants.

use kernel::flow::table::Flows;
use kernel::ids::WorkerId;
use kernel::ports::clock::Clock;
use kernel::ports::meter::NoMeter;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::postgres::{Database, Options, Postgres, Time};
use testkit::{MINUTE, ManualClock, wait_until};

/// A fresh database on the server that the tests were given.
pub(crate) fn database() -> testbed::Database {
    testbed::Database::given().expect("a database")
}

/// Waits until SQL answers this.
pub(crate) async fn wait_for_sql(database: &testbed::Database, sql: &str, wanted: &str) {
    let mut seen = String::new();
    let answered = wait_until(MINUTE, async || {
        seen = database.sql(sql).expect("SQL");
        seen.trim() == wanted
    });
    let answered = answered.await;
    assert!(answered, "{sql}: {seen} instead of {wanted}");
}

/// The longest wait for an answer.
pub(crate) const ANSWER: Duration = Duration::from_secs(4);

/// How it is reached: short waits.
pub(crate) fn reached(url: &str) -> Database {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Database {
        url: url.to_owned(),
        password: None,
        tls,
        readers: 4,
        writers: 2,
        connect: Duration::from_secs(10),
        lock: Duration::from_secs(3),
        statement: Duration::from_secs(20),
        answer: Duration::from_secs(30),
        lease: Duration::from_secs(2),
    }
}

/// Opens a store as a process that never was before.
pub(crate) async fn open(url: &str, clock: ManualClock, flows: Arc<Flows>) -> Arc<Postgres> {
    open_on(reached(url), clock, flows).await
}

/// The same, where an answer that does not come is given up soon ([`ANSWER`]).
pub(crate) async fn open_brief(url: &str, clock: ManualClock, flows: Arc<Flows>) -> Arc<Postgres> {
    let (lock, statement) = (Duration::from_millis(500), Duration::from_secs(3));
    open_on(Database { lock, statement, answer: ANSWER, ..reached(url) }, clock, flows).await
}

async fn open_on(database: Database, clock: ManualClock, flows: Arc<Flows>) -> Arc<Postgres> {
    static WORKERS: AtomicU64 = AtomicU64::new(1);
    let worker = WorkerId(WORKERS.fetch_add(1, Ordering::Relaxed));
    open_as(worker, database, clock, flows).await
}

/// Opens a store as the process of this worker.
pub(crate) async fn open_as(
    worker: WorkerId,
    database: Database,
    clock: ManualClock,
    flows: Arc<Flows>,
) -> Arc<Postgres> {
    let clock: Arc<dyn Clock> = Arc::new(clock);
    let options = Options {
        database,
        flows,
        worker,
        time: Time::Manual(clock.clone()),
        clock,
        meter: Arc::new(NoMeter),
        fatal: Arc::new(|what| panic!("the store gave up: {what}")),
    };
    Postgres::open(options).await.expect("a store")
}
