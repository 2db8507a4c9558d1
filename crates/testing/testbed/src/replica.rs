//! Runs a standby beside a server: it follows the primary's log, may be required for every COMMIT, and may be
//! promoted while the primary still runs.

use crate::database::psql;
use crate::programs::{Programs, append, run};
use crate::{Outcome, Server, clock};
use std::path::Path;
use std::time::Duration;

/// How long a standby may take to follow, and a session to come into a wait.
const LIMIT: Duration = Duration::from_secs(60);

/// The sessions of clients whose COMMIT waits for the synchronous standby.
const WAITING: &str = "FROM pg_stat_activity \
    WHERE wait_event_type = 'IPC' AND wait_event = 'SyncRep' AND backend_type = 'client backend'";

/// Makes of a copy a standby that follows the server at this port under this name.
pub(crate) fn follows(programs: &Programs, data: &Path, primary: u16, name: &str) -> Outcome {
    let from = format!("host=127.0.0.1 port={primary} user=postgres application_name={name}");
    // below what `ALTER SYSTEM` says, which detaches it
    let settings = format!("primary_conninfo = '{from}'\nwal_retrieve_retry_interval = '100ms'\n");
    append(&data.join("postgresql.conf"), &settings)?;
    let mut signal = programs.command("touch");
    signal.arg(data.join("standby.signal"));
    run(signal).map(drop)
}

impl Server {
    /// A standby that follows this server, known to it by that name; it is asynchronous until
    /// [`Server::require_standby`]. It answers questions, and takes writes after [`Server::promote`].
    ///
    /// # Errors
    /// This server was given, or the standby does not start.
    pub fn standby(&mut self, name: &str) -> Outcome<Self> {
        let standby = self.follower(name)?;
        self.until(
            &format!(
                "SELECT count(*) > 0 FROM pg_stat_replication \
                 WHERE application_name = '{name}' AND state = 'streaming'"
            ),
            "the standby does not follow",
        )?;
        Ok(standby)
    }

    /// From now on every COMMIT waits until the standby of that name has its log on disk
    /// (`synchronous_standby_names`), also where it is gone.
    ///
    /// # Errors
    /// The server's.
    pub fn require_standby(&self, name: &str) -> Outcome {
        self.sql(&format!("ALTER SYSTEM SET synchronous_standby_names = '{name}'"))?;
        self.sql("SELECT pg_reload_conf()")?;
        self.until(
            &format!(
                "SELECT count(*) > 0 FROM pg_stat_replication \
                 WHERE application_name = '{name}' AND sync_state = 'sync'"
            ),
            "the standby is not synchronous",
        )
    }

    /// Cuts a standby off from the server that it follows: what is written there from now on it does
    /// not have, until [`Server::attach`].
    ///
    /// # Errors
    /// It is no standby, or is not cut off.
    pub fn detach(&self) -> Outcome {
        self.sql("ALTER SYSTEM SET primary_conninfo = ''")?;
        self.sql("SELECT pg_reload_conf()")?;
        self.until("SELECT count(*) = 0 FROM pg_stat_wal_receiver", "the standby still follows")
    }

    /// Lets a standby follow again.
    ///
    /// # Errors
    /// It does not.
    pub fn attach(&self) -> Outcome {
        self.sql("ALTER SYSTEM RESET primary_conninfo")?;
        self.sql("SELECT pg_reload_conf()")?;
        self.until(
            "SELECT count(*) > 0 FROM pg_stat_wal_receiver WHERE status = 'streaming'",
            "the standby does not follow",
        )
    }

    /// From now on no COMMIT waits for a standby; those that wait are acknowledged.
    ///
    /// # Errors
    /// The server's.
    pub fn require_none(&self) -> Outcome {
        self.sql("ALTER SYSTEM RESET synchronous_standby_names")?;
        self.sql("SELECT pg_reload_conf()").map(drop)
    }

    /// Waits until this number of sessions of clients wait with their COMMIT for the standby.
    ///
    /// # Errors
    /// They do not.
    pub fn until_waits(&self, sessions: u32) -> Outcome {
        self.until(
            &format!("SELECT count(*) >= {sessions} {WAITING}"),
            "no COMMIT waits for the standby",
        )
    }

    /// Cancels the wait of every COMMIT, as `pg_cancel_backend` does: it is acknowledged with a
    /// warning, and visible, though no standby has it. How many there were.
    ///
    /// # Errors
    /// The server's.
    pub fn cancel_waits(&self) -> Outcome<u32> {
        self.end_waits("pg_cancel_backend")
    }

    /// Ends every session whose COMMIT waits: it is visible, though no standby has it, and its client
    /// hears no answer to it. How many there were.
    ///
    /// # Errors
    /// The server's.
    pub fn terminate_waits(&self) -> Outcome<u32> {
        self.end_waits("pg_terminate_backend")
    }

    fn end_waits(&self, how: &str) -> Outcome<u32> {
        let ended = self.sql(&format!("SELECT count({how}(pid)) {WAITING}"))?;
        ended.parse().map_err(|_| format!("not a number: {ended}"))
    }

    /// Makes a standby take writes on a timeline of its own. The server that it followed goes on.
    ///
    /// # Errors
    /// It is no standby, or stays one.
    pub fn promote(&self) -> Outcome {
        match &*self.sql("SELECT pg_promote(true, 60)")? {
            "t" => Ok(()),
            other => Err(format!("the standby was not promoted: {other}")),
        }
    }

    /// Runs SQL in the maintenance database, on a connection of its own.
    ///
    /// # Errors
    /// The server's, as `psql` says it.
    pub fn sql(&self, text: &str) -> Outcome<String> {
        psql(self.url(), text)
    }

    fn until(&self, sql: &str, fault: &str) -> Outcome {
        let holds = || (self.sql(sql).as_deref() == Ok("t")).then_some(());
        clock::until(LIMIT, holds).ok_or_else(|| fault.to_owned())
    }
}
