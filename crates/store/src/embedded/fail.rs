//! What an error of SQLite means for a write.

use rusqlite::ErrorCode;

/// Why a transaction did not happen.
#[derive(Debug, Clone)]
pub(super) enum Failure {
    /// No room; later there may be.
    Full,
    /// A constraint or a trigger of an operator, or a statement that such a trigger keeps from
    /// running.
    Refused(String),
    /// A row that we never wrote like this: somebody's SQL spoilt it.
    Damaged(String),
    /// Somebody else holds the lock.
    Busy,
    /// The store can no longer be trusted.
    Broken(String),
}

/// The bits of a plain I/O error, whose higher bits say where it happened.
const PRIMARY: i32 = 0xff;
/// `SQLITE_IOERR`.
const IOERR: i32 = 10;
/// `SQLITE_ERROR`.
const ERROR: i32 = 1;
/// `SQLITE_IOERR_FSYNC` and `SQLITE_IOERR_DIR_FSYNC`. Whatever the system's reason, nobody knows what
/// is in the file then: the commit that was refused may stand there after a crash.
const SYNCS: [i32; 2] = [IOERR | (4 << 8), IOERR | (5 << 8)];

/// Sorts an error. What is not listed breaks the store.
pub(super) fn failure(error: rusqlite::Error) -> Failure {
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
    } else if matches!(code.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) {
        Failure::Busy
    } else {
        Failure::Broken(text)
    }
}

/// A constraint, or a statement that does not run. Ours all run: an operator's trigger names what
/// is not there.
fn refused(code: rusqlite::ffi::Error) -> bool {
    let constraint = matches!(
        code.code,
        ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch
    );
    constraint || code.extended_code == ERROR
}

/// True where the system's last error on this thread says that the disk is full: SQLite reports a
/// short write as a plain I/O error on some file systems.
fn no_room() -> bool {
    matches!(
        std::io::Error::last_os_error().kind(),
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
    )
}
