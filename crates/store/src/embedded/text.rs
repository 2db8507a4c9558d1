//! How values of ours stand in columns.

use kernel::ids::{Id, Millis, UserId};
use kernel::money::Amount;
use kernel::people::{About, Stand};
use kernel::ports::ledger::AccountStatus;
use kernel::record::Account;
use kernel::unit::{Outcome, Severity};
use rusqlite::types::Type;

/// A column that holds what we never wrote.
pub(super) fn damaged(column: usize, what: &'static str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, what.into())
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

/// The amount of such a text.
pub(super) fn read_amount(column: usize, text: &str) -> rusqlite::Result<Amount> {
    text.parse().map(Amount).map_err(|_| damaged(column, "not an amount"))
}

/// A signed sum.
pub(super) fn read_signed(column: usize, text: &str) -> rusqlite::Result<i128> {
    text.parse().map_err(|_| damaged(column, "not a sum"))
}

pub(super) fn read_id(column: usize, text: &str) -> rusqlite::Result<Id> {
    text.parse().map_err(|_| damaged(column, "not a transfer's id"))
}

pub(super) fn read_status(column: usize, text: &str) -> rusqlite::Result<AccountStatus> {
    AccountStatus::parse(text).ok_or_else(|| damaged(column, "not an account's status"))
}

pub(super) fn read_stand(column: usize, text: &str) -> rusqlite::Result<Stand> {
    Stand::parse(text).ok_or_else(|| damaged(column, "not how an approval stands"))
}

pub(super) fn read_about(column: usize, text: &str) -> rusqlite::Result<About> {
    About::parse(text).ok_or_else(|| damaged(column, "not a subject"))
}

pub(super) fn read_severity(column: usize, text: &str) -> rusqlite::Result<Severity> {
    let known = [Severity::Warning, Severity::Critical].into_iter().find(|s| s.name() == text);
    known.ok_or_else(|| damaged(column, "not a severity"))
}

/// A user's account is its number; what a system names itself begins with `@`.
pub(super) fn account(account: &Account) -> String {
    match account {
        Account::User(user) => user.to_string(),
        Account::Named(name) => format!("@{name}"),
    }
}

pub(super) fn read_account(column: usize, text: &str) -> rusqlite::Result<Account> {
    match text.strip_prefix('@') {
        Some(name) => Ok(Account::Named(name.into())),
        None => {
            let user = text.parse().map_err(|_| damaged(column, "not an account"))?;
            Ok(Account::User(UserId(user)))
        }
    }
}

/// Result and code of what a ledger stored.
pub(super) fn outcome(outcome: &Outcome) -> (&'static str, Option<&str>) {
    match outcome {
        Outcome::Done => ("DONE", None),
        Outcome::Rejected(why) => ("REJECTED", Some(&why.code)),
        Outcome::Fenced => ("FENCED", None),
    }
}

pub(super) fn read_outcome(
    column: usize,
    result: &str,
    code: Option<String>,
) -> rusqlite::Result<Outcome> {
    Ok(match result {
        "DONE" => Outcome::Done,
        "REJECTED" => Outcome::Rejected(kernel::answer::Evidence::code(code.unwrap_or_default())),
        "FENCED" => Outcome::Fenced,
        _ => return Err(damaged(column, "not a result")),
    })
}

/// SQLite's integers are signed; ours stay below 2^63.
pub(super) fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The way back.
pub(super) fn uint(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// A moment that nothing reasonable is due after: a clock was wrong when it was written.
pub(super) const ABSURD: Millis = 3_600_000;
