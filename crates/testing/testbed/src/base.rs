//! Base backups: copies of a running server's data, and the ways to bring an older copy back.

use crate::Outcome;
use crate::programs::{Programs, append, run};
use std::path::{Path, PathBuf};

/// A copy of a server's data as of one moment. It goes away with its server.
#[derive(Debug)]
pub struct Base(PathBuf);

/// How a copy is brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovery {
    /// Started as it is: the same timeline, which ends with the copy.
    Same,
    /// As after a failover to a standby that lagged: another timeline begins where the copy ends.
    Promoted,
    /// Recovered from all of the log that the server left, then promoted: nothing is missing.
    Whole,
    /// The same up to this point of it.
    Upto(String),
}

impl Base {
    /// Copies the data of the server behind a URL.
    pub(crate) fn taken(programs: &Programs, url: &str, to: PathBuf) -> Outcome<Self> {
        let mut copy = programs.command("pg_basebackup");
        // of a test's folder: its making is not synced
        copy.args(["--checkpoint=fast", "--wal-method=stream", "--no-sync", "--dbname", url]);
        copy.arg("--pgdata").arg(&to);
        run(copy)?;
        Ok(Self(to))
    }

    /// Puts the copy where the data was; what was copied is at `old` now, with its log.
    pub(crate) fn put_back(
        &self,
        programs: &Programs,
        data: &Path,
        old: &Path,
        how: &Recovery,
    ) -> Outcome {
        let mut copy = programs.command("cp");
        copy.arg("-a").arg(&self.0).arg(data);
        run(copy)?;
        let fetch = format!("restore_command = 'cp \"{}/pg_wal/%f\" \"%p\"'\n", old.display());
        let settings = match how {
            Recovery::Same => return Ok(()),
            // there is no more of the log than the copy has
            Recovery::Promoted => "restore_command = 'false'\n".to_owned(),
            Recovery::Whole => fetch,
            Recovery::Upto(point) => format!(
                "{fetch}recovery_target_lsn = '{point}'\nrecovery_target_inclusive = off\n\
                 recovery_target_action = promote\n"
            ),
        };
        // it says that it is ready when it takes writes, not before
        let settings = format!("{settings}hot_standby = off\n");
        append(&data.join("postgresql.conf"), &settings)?;
        let mut signal = programs.command("touch");
        signal.arg(data.join("recovery.signal"));
        run(signal).map(drop)
    }
}
