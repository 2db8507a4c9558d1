//! `[database]`: the PostgreSQL server of the journal, its connections and its timeouts.

use super::secret::Secret;
use super::section::{SettingRules, section};
use std::path::PathBuf;

section! {
    /// PostgreSQL (15 and later) as the journal and the Funding ledger, for any number of processes.
    Database {
        /// Where it is: `postgres://user@host:5432/name`, `sslmode` among what follows a `?`. Empty keeps everything in `data.dir`. Also `DATABASE_URL`.
        url: Secret = Secret::default(),
        /// The password, where the URL has none.
        password: Secret = Secret::default(),
        /// Who may vouch for the server (PEM); empty takes the machine's own roots of trust.
        ca_file: PathBuf = PathBuf::new(),
        /// The most connections for questions.
        readers: usize = 8,
        /// Connections that write, beside three for what waits and what is rare.
        writers: usize = 2,
        /// The longest that a connection may take to be made.
        connect_timeout_ms: u64 = 5_000,
        /// The longest wait for a row that another transaction holds.
        lock_timeout_ms: u64 = 3_000,
        /// The longest statement, but for those that read everything.
        statement_timeout_ms: u64 = 30_000,
        /// The longest wait for the answer to a statement or a COMMIT, by this process's clock: then the connection is given up, and what became of it is unknown.
        answer_timeout_ms: u64 = 35_000,
    }
}

impl Database {
    /// True where the journal is in PostgreSQL.
    pub const fn is_set(&self) -> bool {
        !self.url.is_empty()
    }

    pub(super) fn rules(&self, rules: &mut SettingRules) {
        rules.need("database.readers", (1..=1_000).contains(&self.readers), "from 1 to 1000");
        rules.need("database.writers", (1..=64).contains(&self.writers), "from 1 to 64");
        rules.need("database.connect_timeout_ms", self.connect_timeout_ms > 0, "above 0");
        rules.need("database.lock_timeout_ms", self.lock_timeout_ms > 0, "above 0");
        rules.need(
            "database.statement_timeout_ms",
            self.statement_timeout_ms > self.lock_timeout_ms,
            "above database.lock_timeout_ms: a wait for a row ends first",
        );
        rules.need(
            "database.answer_timeout_ms",
            self.answer_timeout_ms > self.statement_timeout_ms,
            "above database.statement_timeout_ms: a long statement is ended by the database first",
        );
        if self.is_set() {
            return;
        }
        // a setting that is ignored would seem to be in force
        let rule = "empty where database.url is: everything is kept in data.dir";
        rules.need("database.password", self.password.is_empty(), rule);
        rules.need("database.ca_file", self.ca_file.as_os_str().is_empty(), rule);
    }
}
