//! The server that all contestants run on, and what a run cost there.

use crate::Outcome;
use crate::probe::{cpu_of, machine_cpu};
use std::path::Path;
use std::time::Duration;
use testbed::{Database, Options, Server};

/// A server of our own, with room for every pool.
pub(crate) struct Site {
    server: Server,
    profile: bool,
}

/// What the server has counted so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    /// The time of all its processes.
    pub cpu: Duration,
    /// Of the process that asks it.
    pub own: Duration,
    /// Of this process, where it only makes the load.
    pub load: Duration,
    /// Bytes of its log.
    pub wal: u64,
    /// How often its log was synced; right only while no session has something to report still.
    pub syncs: u64,
    /// The processor time of all processes of this machine.
    pub machine: Duration,
}

impl Counters {
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(before.cpu),
            own: self.own.saturating_sub(before.own),
            load: self.load.saturating_sub(before.load),
            wal: self.wal.saturating_sub(before.wal),
            syncs: self.syncs.saturating_sub(before.syncs),
            machine: self.machine.saturating_sub(before.machine),
        }
    }
}

impl Site {
    /// `profile`: the server also counts what each statement costs, which costs something itself.
    pub(crate) fn start(below: &Path, profile: bool) -> Outcome<Self> {
        let wish = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let counts = if profile { "pg_stat_statements" } else { "" };
        let settings = vec![
            // as its manual advises for a server of its own: a quarter of the memory
            wish("shared_buffers", &format!("{}MB", memory()? / 4)),
            wish("max_wal_size", "8GB"),
            wish("checkpoint_timeout", "15min"),
            wish("shared_preload_libraries", counts),
        ];
        let below = Some(below.to_owned());
        let server = Server::with(&Options { max_connections: 200, settings, below })?;
        Ok(Self { server, profile })
    }

    /// A database of its own.
    pub(crate) fn database(&self) -> Outcome<Database> {
        let database = self.server.database()?;
        if self.profile {
            database.sql("CREATE EXTENSION pg_stat_statements")?;
        }
        Ok(database)
    }

    /// The statements that cost most.
    pub(crate) fn statements(&self, database: &Database) -> Outcome<String> {
        database.sql(
            "SELECT format('%s ms in %s calls, %s rows, %s B of log: %s',
               round(total_exec_time), calls, rows, wal_bytes,
               left(regexp_replace(query, '\\s+', ' ', 'g'), 90))
             FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname =
               current_database()) ORDER BY total_exec_time DESC LIMIT 16",
        )
    }

    /// Forgets which statements cost what.
    pub(crate) fn forget(&self, database: &Database) -> Outcome {
        if self.profile {
            database.sql("SELECT pg_stat_statements_reset()")?;
        }
        Ok(())
    }

    /// What was counted so far; the process beside the database's is the one that does the work.
    pub(crate) fn counters(&self, database: &Database, process: &str) -> Outcome<Counters> {
        // asked of the server last, so that asking costs the run nothing
        let (cpu, own, machine) = (self.server.used()?, cpu_of(process), machine_cpu());
        let load = if process == "self" { Duration::ZERO } else { cpu_of("self") };
        let said = database
            .sql("SELECT pg_current_wal_lsn() - '0/0', (SELECT wal_sync FROM pg_stat_wal)")?;
        let (wal, syncs) = said.split_once('|').ok_or("no counters")?;
        let number = |text: &str| text.parse::<u64>().map_err(|why| format!("{text}: {why}"));
        Ok(Counters { cpu, own, load, wal: number(wal)?, syncs: number(syncs)?, machine })
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

/// The machine's memory, in MB.
fn memory() -> Outcome<u64> {
    let known = std::fs::read_to_string("/proc/meminfo").map_err(|fault| fault.to_string())?;
    let total = known.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = total.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    Ok(kilobytes.ok_or("/proc/meminfo says no MemTotal")? / 1024)
}
