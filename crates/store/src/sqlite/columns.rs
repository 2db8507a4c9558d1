//! Converts values to columns of SQLite and back: amounts as text that compares like a number, ids as
//! plain letters.

use crate::columns::{self as shared, WrongValue};
use kernel::ids::Id;
use kernel::money::Amount;
use kernel::operation::StoredOutcome;
use kernel::operators::{ApprovalStatus, Severity, Subject};
use kernel::ports::ledger::{AccountStatus, Direction};
use kernel::record::Account;
use rusqlite::types::Type;

pub(crate) use crate::columns::{
    direction, int, most, outcome, owner, scope, subject, target_amount, target_asset,
    terms_version, uint,
};

/// The error of a column whose value this store never writes.
pub(crate) fn damaged(column: usize, what: &'static str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, what.into())
}

/// What was read of a column, with the column's place where it is wrong.
pub(crate) fn at<T>(column: usize, read: Result<T, WrongValue>) -> rusqlite::Result<T> {
    read.map_err(|WrongValue(what)| damaged(column, what))
}

/// An amount as text that compares like a number.
pub(crate) fn amount(amount: Amount) -> String {
    // the formatter's own padding goes digit by digit
    const ZEROS: &str = "000000000000000000000000000000000000000";
    let digits = amount.0.to_string();
    let mut text = String::with_capacity(ZEROS.len());
    text.push_str(ZEROS.get(digits.len()..).unwrap_or_default());
    text.push_str(&digits);
    text
}

pub(crate) fn read_amount(column: usize, text: &str) -> rusqlite::Result<Amount> {
    at(column, shared::read_amount(text))
}

pub(crate) fn read_signed(column: usize, text: &str) -> rusqlite::Result<i128> {
    at(column, shared::read_signed(text))
}

pub(crate) fn read_id(column: usize, text: &str) -> rusqlite::Result<Id> {
    at(column, shared::read_id(text))
}

pub(crate) fn read_status(column: usize, text: &str) -> rusqlite::Result<AccountStatus> {
    at(column, shared::read_status(text))
}

pub(crate) fn read_stand(column: usize, text: &str) -> rusqlite::Result<ApprovalStatus> {
    at(column, shared::read_stand(text))
}

pub(crate) fn read_about(column: usize, text: &str) -> rusqlite::Result<Subject> {
    at(column, shared::read_about(text))
}

pub(crate) fn read_direction(column: usize, text: &str) -> rusqlite::Result<Direction> {
    at(column, shared::read_direction(text))
}

pub(crate) fn read_severity(column: usize, text: &str) -> rusqlite::Result<Severity> {
    at(column, shared::read_severity(text))
}

pub(crate) fn read_account(column: usize, text: &str) -> rusqlite::Result<Account> {
    at(column, shared::read_account(text))
}

pub(crate) fn read_outcome(
    column: usize,
    result: &str,
    code: Option<String>,
) -> rusqlite::Result<StoredOutcome> {
    at(column, shared::read_outcome(result, code))
}
