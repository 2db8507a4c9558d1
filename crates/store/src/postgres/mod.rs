//! The journal and the Funding ledger in PostgreSQL (15 and later): any number of processes share it.
//!
//! Each process writes through a few connections, its *lanes*, each taking everything that waits as
//! one transaction; readers have connections of their own.

mod accounts;
mod archive;
mod ask;
mod attempts;
mod audit;
mod batches;
mod blocks;
mod board;
mod client;
mod decide;
mod deeds;
mod due;
mod fault;
mod fetch;
mod flush;
mod funding;
mod group;
mod health;
mod journal;
mod keys;
mod lane;
mod migrate;
mod needs;
mod office;
mod origin;
mod people;
mod point;
mod purses;
mod queue;
mod read;
mod recall;
mod replication;
mod rows;
mod running;
mod safe;
mod session;
mod sight;
mod snapshot;
mod solo;
mod standing;
mod statement;
mod sums;
mod text;
mod transfers;
mod waiting;
mod watch;
mod work;
mod workers;
mod writer;

pub use funding::Funding;
pub use journal::Postgres;
pub use migrate::{Migration, State, migrate, state};
pub use point::{Lsn, Point, Pointing};
pub use safe::check;
pub use session::Database;

use kernel::ids::WorkerId;
use kernel::ports::clock::Clock;
use kernel::ports::meter::Meter;
use kernel::table::Flows;
use std::sync::Arc;

/// Whose time is written.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "ports have none")]
pub enum Time {
    /// The database's: the same for every process.
    Database,
    /// A clock that a check moves by hand.
    Hand(Arc<dyn Clock>),
}

/// What a store is opened with.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Options {
    /// Where it is.
    pub database: Database,
    /// Every flow.
    pub flows: Arc<Flows>,
    /// This process among those that share it.
    pub worker: WorkerId,
    /// The time.
    pub time: Time,
    /// The machine's clock, for what is measured.
    pub clock: Arc<dyn Clock>,
    /// Measurements.
    pub meter: Arc<dyn Meter>,
    /// Ends the process: what it knows was never in the database that it is connected to now.
    pub fatal: Arc<dyn Fn(String) + Send + Sync>,
}

/// Why a database cannot be used.
#[derive(Debug)]
pub enum OpenError {
    /// The settings name nothing that could be one.
    Settings(String),
    /// It does not answer, or turns us away.
    Unreachable(String),
    /// It keeps no promise: `fsync`, `full_page_writes` or its version.
    Unsafe(String),
    /// It is not what this release reads: what is to be done about it.
    Shape(String),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Settings(what) => write!(f, "{what}"),
            Self::Unreachable(what) => write!(f, "the database does not answer: {what}"),
            Self::Unsafe(what) => write!(f, "the database would lose what it acknowledged: {what}"),
            Self::Shape(what) => write!(f, "the database's tables: {what}"),
        }
    }
}

impl std::error::Error for OpenError {}
