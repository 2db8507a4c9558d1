//! Stores the journal and the enlisted ledgers in PostgreSQL (15 and later), for any number of
//! processes that share the database.
//!
//! Each process writes through a few connections (`write`). Each of them takes all waiting items as one
//! transaction, and owns a *lane*, its own sequence of writes. Changes that need a transaction of their
//! own have other connections (`single`), and so have queries (`read`). `session` makes the connections
//! and checks what the database must guarantee.

mod attempts;
mod columns;
mod error;
mod funding;
mod inbox;
mod journal;
mod migrate;
mod named_values;
mod number_blocks;
mod numbered_accounts;
mod read;
mod rows;
mod session;
mod single;
mod write;

pub use funding::EnlistedLedger;
pub use journal::Postgres;
pub use migrate::{Migration, SchemaState, migrate, state};
pub use read::wal_position::{Lsn, WalPosition, WalPositionReader};
pub use session::connect::Database;
pub use session::preflight::check;

use kernel::flow::table::Flows;
use kernel::ids::WorkerId;
use kernel::ports::clock::Clock;
use kernel::ports::meter::Meter;
use std::sync::Arc;

/// Whose time is written.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "ports have none")]
pub enum Time {
    /// The database's: the same for every process.
    Database,
    /// A clock that a check moves by hand.
    Manual(Arc<dyn Clock>),
}

/// The options of a store.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Options {
    pub database: Database,
    pub flows: Arc<Flows>,
    /// This process among those that share it.
    pub worker: WorkerId,
    pub time: Time,
    /// The machine's clock, for what is measured.
    pub clock: Arc<dyn Clock>,
    pub meter: Arc<dyn Meter>,
    /// Ends the process: what it knows was never in the database that it is connected to now.
    pub fatal: Arc<dyn Fn(String) + Send + Sync>,
}

/// Why a database cannot be used.
#[derive(Debug)]
pub enum DatabaseOpenError {
    /// The settings name nothing that could be one.
    Settings(String),
    /// It does not answer, or turns us away.
    Unreachable(String),
    /// It keeps no promise: `fsync`, `full_page_writes` or its version.
    Unsafe(String),
    /// It is not what this release reads: what is to be done about it.
    Schema(String),
}

impl std::fmt::Display for DatabaseOpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Settings(what) => write!(f, "{what}"),
            Self::Unreachable(what) => write!(f, "the database does not answer: {what}"),
            Self::Unsafe(what) => write!(f, "the database would lose what it acknowledged: {what}"),
            Self::Schema(what) => write!(f, "the database's tables: {what}"),
        }
    }
}

impl std::error::Error for DatabaseOpenError {}
