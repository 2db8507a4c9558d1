//! The row by which two persons allow one more refund of a transfer whose money is held.

use crate::ids::Id;
use crate::ports::journal::Resource;
use std::sync::Arc;

/// The name of a transfer's row: `release/01JG…`.
pub fn release_name(id: Id) -> Arc<str> {
    format!("release/{id}").into()
}

/// The value of the row: how often the refund had been refused when one more was allowed.
pub fn release_value(refusals: u64) -> Arc<str> {
    refusals.to_string().into()
}

/// How often the refund had been refused when the last release was stored; `None` where the row is no release.
pub fn released(row: &Resource) -> Option<u64> {
    row.value.parse().ok()
}
