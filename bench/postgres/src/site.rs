//! The server that everybody runs on, and what a run cost there.

use crate::Outcome;
use crate::probe::own_cpu;
use std::path::Path;
use std::time::Duration;
use testbed::{Database, Options, Server};

/// A server of our own, with room for every pool.
pub(crate) struct Site {
    server: Server,
}

/// What the server has counted so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    /// The time of all its processes.
    pub cpu: Duration,
    /// This process's own.
    pub own: Duration,
    /// Bytes of its log.
    pub wal: u64,
    /// How often its log was synced; right only while no session has something to report still.
    pub syncs: u64,
    /// The time of everybody on this machine.
    pub machine: Duration,
}

impl Counters {
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(before.cpu),
            own: self.own.saturating_sub(before.own),
            wal: self.wal.saturating_sub(before.wal),
            syncs: self.syncs.saturating_sub(before.syncs),
            machine: self.machine.saturating_sub(before.machine),
        }
    }
}

impl Site {
    pub(crate) fn start(below: &Path) -> Outcome<Self> {
        let wish = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let settings = vec![
            wish("shared_buffers", "1GB"),
            wish("max_wal_size", "8GB"),
            wish("shared_preload_libraries", "pg_stat_statements"),
            wish("wal_compression", "off"),
        ];
        let below = Some(below.to_owned());
        let server = Server::with(&Options { max_connections: 200, settings, below })?;
        Ok(Self { server })
    }

    /// A database with these tables in it.
    pub(crate) fn database(&self, schema: &str) -> Outcome<Database> {
        let database = self.server.database()?;
        database.sql(schema)?;
        Ok(database)
    }

    /// What was counted so far.
    pub(crate) fn counters(&self, database: &Database) -> Outcome<Counters> {
        // asked of the server last, so that asking costs the run nothing
        let (cpu, own, machine) = (self.server.used()?, own_cpu(), crate::probe::machine_cpu());
        let said = database
            .sql("SELECT pg_current_wal_lsn() - '0/0', (SELECT wal_sync FROM pg_stat_wal)")?;
        let (wal, syncs) = said.split_once('|').ok_or("no counters")?;
        let number = |text: &str| text.parse::<u64>().map_err(|why| format!("{text}: {why}"));
        Ok(Counters { cpu, own, wal: number(wal)?, syncs: number(syncs)?, machine })
    }

    /// Which release it is, and how it is set.
    pub(crate) fn says(&self, database: &Database) -> Outcome<String> {
        database.sql(
            "SELECT version() || ', fsync ' || current_setting('fsync') || ', synchronous_commit '
             || current_setting('synchronous_commit') || ', wal_sync_method '
             || current_setting('wal_sync_method')",
        )
    }
}
