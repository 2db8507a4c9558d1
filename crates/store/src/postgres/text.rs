//! How values of ours stand in columns.

use super::fault::Fault;
use kernel::answer::Evidence;
use kernel::ids::{Id, Millis, UserId, WorkerId};
use kernel::money::Amount;
use kernel::people::{About, Stand};
use kernel::ports::ledger::AccountStatus;
use kernel::record::Account;
use kernel::unit::{Outcome, Severity};
use uuid::Uuid;

/// A moment that nothing reasonable is due after: a clock was wrong when it was written.
pub(crate) const ABSURD: Millis = 3_600_000;

/// PostgreSQL's integers are signed; ours stay below 2^63.
pub(crate) fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The way back.
pub(crate) fn uint(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// A number that fits 31 bits by what it counts.
pub(crate) fn small(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

/// The way back.
pub(crate) fn count(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

/// A limit.
pub(crate) fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A worker's number, which has 64 bits, by the same bits.
pub(crate) const fn worker(number: u64) -> i64 {
    i64::from_be_bytes(number.to_be_bytes())
}

/// The way back.
pub(crate) const fn read_worker(number: i64) -> WorkerId {
    WorkerId(u64::from_be_bytes(number.to_be_bytes()))
}

/// A transfer's id as a column takes it.
pub(crate) const fn uuid(id: Id) -> Uuid {
    Uuid::from_u128(id.0)
}

/// The way back.
pub(crate) const fn id(uuid: Uuid) -> Id {
    Id(uuid.as_u128())
}

/// An amount from the text of a `numeric`.
pub(crate) fn read_amount(text: &str) -> Result<Amount, Fault> {
    text.parse().map(Amount).map_err(|_| Fault::Damaged("not an amount"))
}

/// A signed sum.
pub(crate) fn read_signed(text: &str) -> Result<i128, Fault> {
    text.parse().map_err(|_| Fault::Damaged("not a sum"))
}

pub(crate) fn read_status(text: &str) -> Result<AccountStatus, Fault> {
    AccountStatus::parse(text).ok_or(Fault::Damaged("not an account's status"))
}

pub(crate) fn read_stand(text: &str) -> Result<Stand, Fault> {
    Stand::parse(text).ok_or(Fault::Damaged("not how an approval stands"))
}

pub(crate) fn read_about(text: &str) -> Result<About, Fault> {
    About::parse(text).ok_or(Fault::Damaged("not a subject"))
}

pub(crate) fn read_severity(text: &str) -> Result<Severity, Fault> {
    let known = [Severity::Warning, Severity::Critical].into_iter().find(|s| s.name() == text);
    known.ok_or(Fault::Damaged("not a severity"))
}

/// A user's account is its number; what a system names itself begins with `@`.
pub(crate) fn account(account: &Account) -> String {
    match account {
        Account::User(user) => user.to_string(),
        Account::Named(name) => format!("@{name}"),
    }
}

pub(crate) fn read_account(text: &str) -> Result<Account, Fault> {
    match text.strip_prefix('@') {
        Some(name) => Ok(Account::Named(name.into())),
        None => {
            let user = text.parse().map_err(|_| Fault::Damaged("not an account"))?;
            Ok(Account::User(UserId(user)))
        }
    }
}

/// Result and code of what a ledger stored.
pub(crate) fn outcome(outcome: &Outcome) -> (&'static str, Option<&str>) {
    match outcome {
        Outcome::Done => ("DONE", None),
        Outcome::Rejected(why) => ("REJECTED", Some(&why.code)),
        Outcome::Fenced => ("FENCED", None),
    }
}

pub(crate) fn read_outcome(result: &str, code: Option<String>) -> Result<Outcome, Fault> {
    Ok(match result {
        "DONE" => Outcome::Done,
        "REJECTED" => Outcome::Rejected(Evidence::code(code.unwrap_or_default())),
        "FENCED" => Outcome::Fenced,
        _ => return Err(Fault::Damaged("not a result")),
    })
}
