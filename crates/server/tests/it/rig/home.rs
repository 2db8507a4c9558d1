//! What outlives a process of the rig: its folder, and where the setup says so a database beside it.

use super::image;
use kernel::ids::Id;
use rusqlite::Connection;
use server::config::Config;
use server::config::secret::Secret;
use std::path::Path;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use testbed::Database;

/// The journal's file, where it is in the folder.
const JOURNAL: &str = "portage.db";
/// Whoever is still connected.
const OTHERS: &str = "SELECT count(*) FROM pg_stat_activity \
    WHERE datname = current_database() AND pid <> pg_backend_pid()";

/// Where a rig's journal and its Funding ledger are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// In the folder, beside Spot.
    Folder,
    /// In a PostgreSQL database of its own.
    Postgres,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Home {
    folder: TempDir,
    database: Option<Database>,
}

impl Home {
    pub(super) fn fresh(kept: Kept) -> Self {
        let folder = tempfile::tempdir().expect("a folder for a test");
        let database = (kept == Kept::Postgres).then(|| Database::given().expect("a database"));
        Self { folder, database }
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Whether a write of the journal is there as a whole or not at all, whenever its process dies:
    /// a database takes care of that, and a folder shows what was written of it.
    pub(super) const fn is_whole(&self) -> bool {
        self.database.is_some()
    }

    /// The settings that lead here.
    pub(super) fn config(&self) -> Config {
        let mut config = Config::default();
        config.data.dir = self.folder().to_owned();
        if let Some(database) = &self.database {
            config.database.url = Secret::new(database.url().to_owned());
        }
        config
    }

    /// A process died and left this folder. Its connections are closed by now, and its lease has run
    /// out: a test has no time to wait for that.
    pub(super) fn left_with(&mut self, folder: TempDir) {
        self.folder = folder;
        let Some(database) = &self.database else { return };
        let mut open = String::new();
        for _ in 0..200 {
            open = database.sql(OTHERS).expect("a count");
            if open == "0" {
                database.sql("UPDATE workers SET leased_until = 0").expect("a change");
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("{open} connections of a dead process")
    }

    /// The state's number in a transfer's row, as a crash left it.
    pub(super) fn stored_state(&self, id: Id) -> Option<i16> {
        let read = format!("SELECT state FROM transfers_tb WHERE req_id = '{id}'");
        let found = if self.database.is_some() {
            self.read(&read)
        } else {
            // looking would complete what a crash left undone
            let scratch = tempfile::tempdir().expect("a folder for a test");
            image::copy(self.folder(), scratch.path());
            column(scratch.path(), &read)
        };
        found.first().map(|state| state.parse().expect("a number"))
    }

    /// One column of what is stored, as text.
    pub(super) fn read(&self, sql: &str) -> Vec<String> {
        match &self.database {
            Some(database) => {
                let text = database.sql(sql).expect("an answer");
                text.lines().map(str::to_owned).collect()
            }
            None => column(self.folder(), sql),
        }
    }

    /// Puts so many units into a user's USDT at Funding, behind everybody's back.
    pub(super) fn slip(&self, user: u64, units: u64) {
        let whose = format!("WHERE user_id = {user} AND account_type = 'FUNDING' AND asset_id = 3");
        let Some(database) = &self.database else {
            let sum = format!("printf('%039d', CAST(available AS INTEGER) + {units})");
            let journal = Connection::open(self.folder().join(JOURNAL)).expect("it opens");
            journal.busy_timeout(Duration::from_secs(5)).expect("a timeout");
            let sql = format!("UPDATE balances_tb SET available = {sum} {whose}");
            assert_eq!(journal.execute(&sql, []).expect("a change"), 1, "one row: {sql}");
            return;
        };
        let sql =
            format!("UPDATE balances_tb SET available = available + {units} {whose} RETURNING 1");
        assert_eq!(database.sql(&sql).expect("a change"), "1", "one row: {sql}");
    }
}

/// One column out of a folder's journal.
fn column(folder: &Path, sql: &str) -> Vec<String> {
    let journal = Connection::open(folder.join(JOURNAL)).expect("the journal is readable");
    journal.pragma_update(None, "query_only", true).expect("a setting");
    let mut rows = journal.prepare(sql).expect("it is readable");
    let text = |row: &rusqlite::Row<'_>| {
        row.get_ref(0).map(|value| {
            let number = value.as_i64().map(|number| number.to_string());
            number.unwrap_or_else(|_| value.as_str().unwrap_or_default().to_owned())
        })
    };
    let rows = rows.query_map([], text).expect("it is readable");
    rows.map(|row| row.expect("a row is readable")).collect()
}
