//! The time of day, for the timestamps of blocks that are produced by the clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds since the beginning of 1970.
#[expect(clippy::disallowed_methods, reason = "the chain's own clock")]
pub(crate) fn nanoseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
