//! The real clock: a benchmark is what it is for.

use std::time::Instant;

#[expect(clippy::disallowed_methods, reason = "a benchmark measures with the real clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
