//! The driver's clock, for waits and measurements; no decision depends on it.

use std::time::{Duration, Instant};

#[expect(clippy::disallowed_methods, reason = "the one place here that reads a clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Asks again and again until something is there, but not for ever.
pub(crate) fn until<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = now();
    loop {
        if let Some(found) = ask() {
            return Some(found);
        }
        if begun.elapsed() > limit {
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
