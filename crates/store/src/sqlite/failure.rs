//! Classifies the errors of SQLite for the writer: says what each means for the transaction that
//! failed.

use rusqlite::ErrorCode;

/// Why a transaction did not happen.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// No room; later there may be.
    Full,
    /// A constraint, or a trigger that raises.
    Refused(String),
    /// A statement that did not run, for a reason without a code: an operator's trigger names what
    /// is not there, say. Nothing is known of the item that it was for, and it refuses nothing.
    Failed(String),
    /// A row that we never wrote like this: an operator's SQL changed it.
    Damaged(String),
    /// Another process holds the lock.
    Busy,
    /// The store can no longer be trusted.
    Broken(String),
}

/// The bits of a plain I/O error, whose higher bits say where it happened.
const PRIMARY: i32 = 0xff;
const IOERR: i32 = 10;
const ERROR: i32 = 1;
/// `SQLITE_CONSTRAINT`, whose higher bits say which.
const CONSTRAINT: i32 = 19;
/// The constraints that may stand in an operator's way, and ours: CHECK, FOREIGNKEY, NOTNULL,
/// PRIMARYKEY, TRIGGER (`raise`), UNIQUE, DATATYPE.
const REFUSALS: [i32; 7] = [
    CONSTRAINT | (1 << 8),
    CONSTRAINT | (3 << 8),
    CONSTRAINT | (5 << 8),
    CONSTRAINT | (6 << 8),
    CONSTRAINT | (7 << 8),
    CONSTRAINT | (8 << 8),
    CONSTRAINT | (12 << 8),
];
/// `SQLITE_IOERR_FSYNC` and `SQLITE_IOERR_DIR_FSYNC`. Whatever the system's reason, it is unknown
/// what is in the file then: the commit that was refused may stand there after a crash.
const SYNCS: [i32; 2] = [IOERR | (4 << 8), IOERR | (5 << 8)];

/// Classifies an error. One that is not listed breaks the store.
pub(crate) fn failure(error: rusqlite::Error) -> Failure {
    use rusqlite::Error;
    let text = error.to_string();
    let spoilt = matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..)
            | Error::QueryReturnedNoRows
    );
    if spoilt {
        return Failure::Damaged(text);
    }
    let Some(code) = error.sqlite_error() else { return Failure::Broken(text) };
    let written = code.extended_code & PRIMARY == IOERR && !SYNCS.contains(&code.extended_code);
    let full = written && no_room();
    if full || code.code == ErrorCode::DiskFull {
        Failure::Full
    } else if refused(*code) {
        Failure::Refused(text)
    } else if code.extended_code == ERROR
        || matches!(code.code, ErrorCode::TooBig | ErrorCode::TypeMismatch)
    {
        Failure::Failed(text)
    } else if matches!(code.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) {
        Failure::Busy
    } else {
        Failure::Broken(text)
    }
}

/// A refusal by a constraint or a trigger, by its own code. Nothing else is one: an error without a
/// code of its own (`SQLITE_ERROR`) says only that a statement did not run.
fn refused(code: rusqlite::ffi::Error) -> bool {
    REFUSALS.contains(&code.extended_code)
}

/// True where the system's last error on this thread says that the disk is full: SQLite reports a
/// short write as a plain I/O error on some file systems.
fn no_room() -> bool {
    matches!(
        std::io::Error::last_os_error().kind(),
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
    )
}

#[cfg(test)]
mod tests {
    use super::{Failure, failure};
    use rusqlite::Connection;

    fn of(db: &Connection, sql: &str) -> Failure {
        failure(db.execute_batch(sql).expect_err("an error"))
    }

    /// Red where `SQLITE_ERROR` is a refusal: whatever does not run was called one (run).
    #[test]
    fn only_a_constraint_refuses() {
        let db = Connection::open_in_memory().expect("a database");
        db.execute_batch(
            "CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE CHECK (text <> 'x'));
             CREATE TRIGGER looked BEFORE INSERT ON t WHEN new.text = 'y'
             BEGIN SELECT raise(ABORT, 'no such table: said by a trigger'); END;
             INSERT INTO t VALUES (1, 'a');",
        )
        .expect("a table");
        for refused in ["(2, 'x')", "(2, 'y')", "(2, 'a')", "(1, 'b')", "(2, NULL)"] {
            let said = of(&db, &format!("INSERT INTO t VALUES {refused}"));
            assert!(matches!(said, Failure::Refused(_)), "{refused}: {said:?}");
        }
        for failed in ["INSERT INTO missing VALUES (1)", "COMMIT", "ROLLBACK"] {
            let said = of(&db, failed);
            assert!(matches!(said, Failure::Failed(_)), "{failed}: {said:?}");
        }
    }
}
