//! Locks a table of the database, so that a process waits before its write until the driver kills it there.

use crate::Outcome;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use testbed::Database;

/// The session that holds a lock is known by this text, and ends by itself after this many seconds.
const HOLDER: &str = "the campaign holds a lock";
const HELD: u32 = 30;

/// A lock that no insert passes. It ends with the value.
#[derive(Debug)]
pub(crate) struct TableLock {
    database: Arc<Database>,
    table: &'static str,
    holder: Option<JoinHandle<()>>,
}

impl TableLock {
    /// Asks for the lock; it is there soon.
    pub(crate) fn hold(database: &Arc<Database>, table: &'static str) -> Self {
        let own = database.clone();
        let holder = std::thread::spawn(move || {
            let sql = format!(
                "/* {HOLDER} */ BEGIN; LOCK TABLE {table} IN SHARE MODE; SELECT pg_sleep({HELD}); COMMIT"
            );
            let _ended = own.sql(&sql);
        });
        Self { database: database.clone(), table, holder: Some(holder) }
    }

    /// The database's users whose sessions wait for it.
    pub(crate) fn waiting(&self) -> Outcome<BTreeSet<String>> {
        let users = self.database.sql(&format!("SELECT DISTINCT a.usename {}", self.sessions()))?;
        Ok(users
            .lines()
            .map(|user| user.trim().to_owned())
            .filter(|user| !user.is_empty())
            .collect())
    }

    /// Ends the sessions that wait: one of a killed process would go on without it.
    pub(crate) fn end_waiting(&self) -> Outcome {
        let sql = format!("SELECT count(pg_terminate_backend(a.pid)) {}", self.sessions());
        self.database.sql(&sql).map(drop)
    }

    /// Lets everything go on.
    pub(crate) fn release(mut self) -> Outcome {
        self.end()
    }

    fn sessions(&self) -> String {
        format!(
            "FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid AND NOT l.granted \
             AND l.relation = '{}'::regclass WHERE a.usename LIKE 'serve%'",
            self.table
        )
    }

    fn end(&mut self) -> Outcome {
        let Some(holder) = self.holder.take() else { return Ok(()) };
        let sql = format!(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
             WHERE query LIKE '/* {HOLDER}%' AND pid <> pg_backend_pid()"
        );
        let ended = self.database.sql(&sql).map(drop);
        let _ended = holder.join();
        ended
    }
}

impl Drop for TableLock {
    fn drop(&mut self) {
        // an error above ends the campaign, and its databases with it
        let _ended = self.end();
    }
}
