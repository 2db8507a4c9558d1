//! Waiting for another process, with an end.

use std::time::{Duration, Instant};

/// Asks again and again until there is an answer or the time is over.
#[expect(clippy::disallowed_methods, reason = "it waits for other processes")]
pub(crate) fn until<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if begun.elapsed() > limit {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
