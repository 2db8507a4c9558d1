//! How values of ours stand in columns of SQLite: amounts as text that compares like a number, ids in
//! plain letters.

use crate::text::{self, Wrong};
use kernel::ids::Id;
use kernel::money::Amount;
use kernel::people::{About, Stand};
use kernel::ports::ledger::AccountStatus;
use kernel::record::Account;
use kernel::unit::{Outcome, Severity};
use rusqlite::types::Type;

pub(super) use crate::text::{
    ABSURD, account, direction, int, most, outcome, scope, subject, uint,
};

/// A column that holds what we never wrote.
pub(super) fn damaged(column: usize, what: &'static str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, what.into())
}

/// What was read of a column, with the column's place where it is wrong.
pub(super) fn at<T>(column: usize, read: Result<T, Wrong>) -> rusqlite::Result<T> {
    read.map_err(|Wrong(what)| damaged(column, what))
}

/// An amount as text that compares like a number.
pub(super) fn amount(amount: Amount) -> String {
    // the formatter's own padding goes digit by digit
    const ZEROS: &str = "000000000000000000000000000000000000000";
    let digits = amount.0.to_string();
    let mut text = String::with_capacity(ZEROS.len());
    text.push_str(ZEROS.get(digits.len()..).unwrap_or_default());
    text.push_str(&digits);
    text
}

pub(super) fn read_amount(column: usize, text: &str) -> rusqlite::Result<Amount> {
    at(column, text::read_amount(text))
}

pub(super) fn read_signed(column: usize, text: &str) -> rusqlite::Result<i128> {
    at(column, text::read_signed(text))
}

pub(super) fn read_id(column: usize, text: &str) -> rusqlite::Result<Id> {
    at(column, text::read_id(text))
}

pub(super) fn read_status(column: usize, text: &str) -> rusqlite::Result<AccountStatus> {
    at(column, text::read_status(text))
}

pub(super) fn read_stand(column: usize, text: &str) -> rusqlite::Result<Stand> {
    at(column, text::read_stand(text))
}

pub(super) fn read_about(column: usize, text: &str) -> rusqlite::Result<About> {
    at(column, text::read_about(text))
}

pub(super) fn read_severity(column: usize, text: &str) -> rusqlite::Result<Severity> {
    at(column, text::read_severity(text))
}

pub(super) fn read_account(column: usize, text: &str) -> rusqlite::Result<Account> {
    at(column, text::read_account(text))
}

pub(super) fn read_outcome(
    column: usize,
    result: &str,
    code: Option<String>,
) -> rusqlite::Result<Outcome> {
    at(column, text::read_outcome(result, code))
}
