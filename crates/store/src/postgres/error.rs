//! Classifies the errors of PostgreSQL for the writers, and makes the cause that a caller gets.

use super::session::client::ConnectionError;
use kernel::answer::Cause;
use kernel::unit::{UnitRefusal, Wrote};
use std::sync::Arc;
use tokio_postgres::error::SqlState;

/// Our own code: a statement of ours changed other rows than were asked for.
const OTHER_ROWS: &str = "PT001";

/// The class of errors of a value.
const DATA: &str = "22";

/// The class of the cause where the database takes no writes of this process.
pub(crate) const NOT_WRITABLE: &str = "NOT_WRITABLE";

/// The symbol is taken: to look again changes nothing.
const SYMBOL: &str = "assets_tb_symbol_key";

/// Why a transaction did not happen, or why its outcome is unknown.
#[derive(Debug, Clone)]
pub(crate) enum StoreError {
    /// What was assumed without looking does not hold: look, and decide again.
    AssumptionFailed,
    /// A check constraint, or a trigger that raises its code. Counts only for one leg alone.
    Refused(Arc<str>),
    /// Another transaction holds a row.
    Locked,
    /// A row that we never wrote like this: an operator's SQL changed it.
    Damaged(&'static str),
    /// No room; later there may be.
    Full,
    /// The database takes no write of this process now: it is read-only, its disk fails, or a right or a table is missing
    /// that every transfer needs. It says that nothing was written, or no connection that writes could be had, so that
    /// nothing was sent.
    Unwritable {
        reason: Arc<str>,
        /// The session stays so, whatever the database allows later; or there is none.
        session: bool,
    },
    /// A right or a table is missing: what needs it cannot be written. Nothing was.
    NoRight(Arc<str>),
    /// A value that the database cannot hold: nothing was written, nor ever will be.
    BadValue(Arc<str>),
    /// Any other error: the database says that nothing was written.
    Failed(Arc<str>),
    /// The connection ended or went silent, or COMMIT failed or came with a notice: the outcome is
    /// unknown.
    Cut(Arc<str>),
}

impl StoreError {
    /// An error at COMMIT: the outcome is unknown.
    pub(crate) fn commit_unknown(error: ConnectionError) -> Self {
        Self::Cut(error.to_string().into())
    }

    /// True where the next write needs another session.
    pub(crate) const fn ends_session(&self) -> bool {
        matches!(self, Self::Cut(_) | Self::Unwritable { session: true, .. })
    }

    /// The outcome of a unit that met it alone.
    pub(crate) fn outcome(&self) -> Wrote {
        match self {
            Self::Full | Self::Unwritable { .. } => Wrote::Full,
            Self::NoRight(_) => Wrote::Refused(UnitRefusal::ForNow(self.cause())),
            Self::BadValue(_) => Wrote::Refused(UnitRefusal::ForGood(self.cause())),
            Self::AssumptionFailed
            | Self::Refused(_)
            | Self::Locked
            | Self::Damaged(_)
            | Self::Failed(_)
            | Self::Cut(_) => Wrote::Unknown(self.cause()),
        }
    }

    /// The cause for an answer that says that nothing is known.
    pub(crate) fn cause(&self) -> Cause {
        match self {
            Self::AssumptionFailed => Cause::because("STORE_BUSY", "others changed the same rows"),
            Self::Refused(what) => Cause::because("STORE_REFUSED", what.clone()),
            Self::Locked => {
                Cause::because("LOCKED", "another transaction holds a row that it needs")
            }
            Self::Damaged(what) => Cause::because("STORE_DAMAGED", *what),
            Self::Full => Cause::of("DISK_FULL"),
            Self::Unwritable { reason, .. } | Self::NoRight(reason) => {
                Cause::because(NOT_WRITABLE, reason.clone())
            }
            Self::BadValue(what) => Cause::because(Cause::BAD_VALUE, what.clone()),
            Self::Failed(what) => Cause::because("STORE_FAILED", what.clone()),
            Self::Cut(what) => Cause::because("STORE_CUT", what.clone()),
        }
    }
}

impl From<StoreError> for Cause {
    fn from(error: StoreError) -> Self {
        error.cause()
    }
}

/// The error with its SQLSTATE and what the database says beside it, on one line.
pub(crate) fn full_text(error: &tokio_postgres::Error) -> Arc<str> {
    let text = match error.as_db_error() {
        Some(db) => format!("{} ({})", db.message(), db.code().code()),
        None => match std::error::Error::source(error) {
            Some(below) => format!("{error}: {below}"),
            None => error.to_string(),
        },
    };
    text.into()
}

/// Classifies an error: an answer that did not come, or that does not count, is a cut.
impl From<ConnectionError> for StoreError {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::Postgres(error) => error.into(),
            error @ (ConnectionError::Silent(_)
            | ConnectionError::Noticed(_)
            | ConnectionError::Waits(_)
            | ConnectionError::Settings(_)) => Self::commit_unknown(error),
        }
    }
}

/// Classifies an error. One that the database did not send itself is a cut.
impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        let text = full_text(&error);
        let Some(code) = error.code() else { return Self::Cut(text) };
        let constraint = error.as_db_error().and_then(|db| db.constraint());
        if *code == SqlState::CHECK_VIOLATION || constraint == Some(SYMBOL) {
            Self::Refused(text)
        } else if *code == SqlState::LOCK_NOT_AVAILABLE || *code == SqlState::T_R_DEADLOCK_DETECTED
        {
            Self::Locked
        } else if *code == SqlState::UNIQUE_VIOLATION || code.code() == OTHER_ROWS {
            Self::AssumptionFailed
        } else if *code == SqlState::DISK_FULL {
            Self::Full
        } else if takes_no_write(code) {
            Self::Unwritable { reason: text, session: *code == SqlState::READ_ONLY_SQL_TRANSACTION }
        } else if [SqlState::INSUFFICIENT_PRIVILEGE, SqlState::UNDEFINED_TABLE].contains(code) {
            Self::NoRight(text)
        } else if code.code().starts_with(DATA) {
            Self::BadValue(text)
        } else if ends_session(code) {
            Self::Cut(text)
        } else {
            Self::Failed(text)
        }
    }
}

/// The session may only read, which managed databases do when their disk is nearly full, and what a demoted primary looks
/// like; or the disk of the database fails.
fn takes_no_write(code: &SqlState) -> bool {
    [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::IO_ERROR].contains(code)
}

/// After these the session is gone (class 57P and 08).
fn ends_session(code: &SqlState) -> bool {
    code.code().starts_with("57P") || code.code().starts_with("08")
}
