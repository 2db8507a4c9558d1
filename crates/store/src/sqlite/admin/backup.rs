//! Copies the database for a backup, as of one instant, while the writer goes on.
//!
//! SQLite's own backup copies what a read transaction sees, page by page; later writes do not touch it.
//! The copy is then marked: it is under HALT, with a case that names the instant, so that an operator
//! who opens it sees that it is a copy.

use crate::sqlite::columns::uint;
use crate::sqlite::failure::{Failure, failure};
use crate::sqlite::read::snapshot;
use crate::sqlite::write::batch::WriteBatch;
use crate::sqlite::write::writer_state::WriterState;
use crate::sqlite::{Embedded, reader};
use kernel::audit::seal::Seal;
use kernel::flow::table::Flows;
use kernel::ids::Millis;
use kernel::operation::Identity;
use kernel::ports::clock::Clock;
use kernel::unit::{Put, Unit, Wrote};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OptionalExtension};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

/// The number of pages that are copied at once.
const PAGES: i32 = 1_024;

/// A connection that is about to copy.
pub struct DatabaseCopy {
    db: Connection,
    flows: Arc<Flows>,
    clock: Arc<dyn Clock>,
    identity: Identity,
}

impl std::fmt::Debug for DatabaseCopy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatabaseCopy").finish_non_exhaustive()
    }
}

/// What the database held at the instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyPosition {
    pub identity: Identity,
    /// The highest number of a transfer.
    pub transfers: u64,
    /// The time of the last write.
    pub at: Millis,
    /// The last seal of the audit.
    pub seal: Option<Seal>,
}

impl Embedded {
    /// Opens a connection for a copy; the instant is chosen by [`DatabaseCopy::begin`].
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn database_copy(&self) -> io::Result<DatabaseCopy> {
        let db = reader(&self.file).map_err(io_error)?;
        let (flows, clock) = (self.flows.clone(), self.clock.clone());
        Ok(DatabaseCopy { db, flows, clock, identity: self.funding.identity })
    }

    /// Moves what is in the write-ahead log into the database, so that the file alone is all of it:
    /// for a planned stop.
    ///
    /// # Errors
    /// A connection still reads or writes, or the disk fails; nothing is lost then.
    pub async fn rest(&self) -> io::Result<()> {
        let file = self.file.clone();
        let moved = self.readers.ask(move |_| {
            let db = Connection::open(&file)?;
            let busy: bool =
                db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
            Ok(busy)
        });
        match moved.await {
            Ok(false) => Ok(()),
            Ok(true) => Err(io::Error::other("another connection still reads the database")),
            Err(cause) => Err(io::Error::other(cause.to_string())),
        }
    }
}

impl DatabaseCopy {
    /// The copy will be of this instant. Waits for no other work.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn begin(&self) -> io::Result<()> {
        snapshot::begin(&self.db).map_err(io_error)
    }

    /// What the database holds at the instant.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn position(&self) -> io::Result<CopyPosition> {
        let sql = "SELECT coalesce(max(transfer_id), 0), \
                   (SELECT at FROM service_state WHERE name = 'writer') FROM transfers";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get::<_, Option<i64>>(1)?));
        let (transfers, at): (i64, _) = self.db.query_row(sql, [], read).map_err(io_error)?;
        let sql = format!("{} ORDER BY seal DESC LIMIT 1", crate::sqlite::read::audit::SEALS);
        let seal = self
            .db
            .query_row(&sql, [], crate::sqlite::read::audit::seal)
            .optional()
            .map_err(io_error)?;
        let at = uint(at.unwrap_or_default());
        Ok(CopyPosition { identity: self.identity, transfers: uint(transfers), at, seal })
    }

    /// Copies into a new file, writes the marks into it and makes it durable. Takes as long as the
    /// disk does; not above `max_bytes`, where that is given.
    ///
    /// # Errors
    /// The disk's; `StorageFull` where there is no room. The file may be left behind.
    pub fn write(&self, to: &Path, marks: Vec<Put>, max_bytes: Option<u64>) -> io::Result<()> {
        // SQLite would make it readable for all users
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
        let mut copy = Connection::open(to).map_err(io_error)?;
        // a half written copy is thrown away
        copy.pragma_update(None, "synchronous", "OFF").map_err(io_error)?;
        if let Some(most) = max_bytes {
            let page: i64 =
                copy.query_row("PRAGMA page_size", [], |row| row.get(0)).map_err(io_error)?;
            let pages = i64::try_from(most).unwrap_or(i64::MAX).checked_div(page);
            copy.pragma_update(None, "max_page_count", pages).map_err(io_error)?;
        }
        let pages = Backup::new(&self.db, &mut copy).map_err(io_error)?;
        loop {
            let step = pages.step(PAGES).map_err(io_error)?;
            if step == StepResult::Done {
                break;
            }
            if step != StepResult::More {
                return Err(io::Error::other("another process holds the copy"));
            }
        }
        drop(pages);
        // out of the write-ahead log: the one file is all there is
        copy.pragma_update(None, "journal_mode", "DELETE").map_err(io_error)?;
        self.mark(&copy, marks)?;
        copy.close().map_err(|(_, error)| io_error(error))?;
        File::open(to)?.sync_all()
    }

    fn mark(&self, copy: &Connection, marks: Vec<Put>) -> io::Result<()> {
        let transaction = copy.unchecked_transaction().map_err(io_error)?;
        let state = WriterState::read(copy).map_err(io_error)?;
        let mut batch = WriteBatch::new(copy, &self.flows, state, self.clock.now());
        let wrote = batch.apply(&Unit::puts(marks)).map_err(io_error)?;
        batch.finish().map_err(io_error)?;
        match wrote {
            Wrote::Written(_) => transaction.commit().map_err(io_error),
            Wrote::Lost(_) | Wrote::Full | Wrote::Refused(_) | Wrote::Unknown(_) => {
                Err(io::Error::other(format!("the copy cannot be marked: {wrote:?}")))
            }
        }
    }
}

/// An error of SQLite as one of files.
fn io_error(error: rusqlite::Error) -> io::Error {
    let text = error.to_string();
    match failure(error) {
        Failure::Full => io::Error::new(io::ErrorKind::StorageFull, text),
        Failure::Refused(_)
        | Failure::Failed(_)
        | Failure::Damaged(_)
        | Failure::Busy
        | Failure::Broken(_) => io::Error::other(text),
    }
}
