//! Converts values to columns of PostgreSQL and back: ids as `uuid`, amounts as `numeric`, which travel
//! as text.

use super::error::StoreError;
use kernel::ids::{Id, WorkerId};
use uuid::Uuid;

pub(crate) use crate::columns::{
    WrongValue, agreed, direction, int, most, outcome, owner, read_about, read_account,
    read_agreed, read_amount, read_direction, read_outcome, read_owner, read_severity, read_signed,
    read_stand, read_status, read_terms_version, refund_fee, scope, subject, target_amount,
    target_asset, terms_version, uint,
};

impl From<WrongValue> for StoreError {
    fn from(WrongValue(what): WrongValue) -> Self {
        Self::Damaged(what)
    }
}

/// A number that fits 31 bits by what it counts.
pub(crate) fn small(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

pub(crate) fn count(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

/// A worker's number, which has 64 bits, by the same bits.
pub(crate) const fn worker(number: u64) -> i64 {
    i64::from_be_bytes(number.to_be_bytes())
}

pub(crate) const fn read_worker(number: i64) -> WorkerId {
    WorkerId(u64::from_be_bytes(number.to_be_bytes()))
}

/// A transfer's id as a column takes it.
pub(crate) const fn uuid(id: Id) -> Uuid {
    Uuid::from_u128(id.0)
}

pub(crate) const fn id(uuid: Uuid) -> Id {
    Id(uuid.as_u128())
}
