//! What an error of SQLite means for a write.

use rusqlite::ErrorCode;

/// Why a transaction did not happen.
#[derive(Debug, Clone)]
pub(super) enum Failure {
    /// No room; later there may be.
    Full,
    /// A constraint or a trigger of an operator.
    Refused(String),
    /// Somebody else holds the lock.
    Busy,
    /// The store can no longer be trusted.
    Broken(String),
}

/// The bits of a plain I/O error, whose higher bits say where it happened.
const PRIMARY: i32 = 0xff;
/// `SQLITE_IOERR`.
const IOERR: i32 = 10;

/// Sorts an error. What is not listed breaks the store.
pub(super) fn failure(error: rusqlite::Error) -> Failure {
    let text = error.to_string();
    let rusqlite::Error::SqliteFailure(code, _) = error else { return Failure::Broken(text) };
    let full = code.extended_code & PRIMARY == IOERR && no_room();
    if full || code.code == ErrorCode::DiskFull {
        Failure::Full
    } else if code.code == ErrorCode::ConstraintViolation {
        Failure::Refused(text)
    } else if matches!(code.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) {
        Failure::Busy
    } else {
        Failure::Broken(text)
    }
}

/// True where the system's last error on this thread says that the disk is full: SQLite reports a
/// short write as a plain I/O error on some file systems.
fn no_room() -> bool {
    matches!(
        std::io::Error::last_os_error().kind(),
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
    )
}
