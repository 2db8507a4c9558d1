//! Waits for another process, up to a limit.

use std::time::{Duration, Instant};

/// How long is waited after the first question.
const FIRST: Duration = Duration::from_millis(5);
/// No pause between two questions is longer.
const LONGEST: Duration = Duration::from_millis(80);

/// Asks again and again until there is an answer or the time is over. A question is often a process of its own, so the
/// pauses between them grow.
#[expect(clippy::disallowed_methods, reason = "it waits for other processes")]
pub fn until<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    let mut pause = FIRST;
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if begun.elapsed() > limit {
            return None;
        }
        std::thread::sleep(pause);
        pause = pause.saturating_mul(2).min(LONGEST);
    }
}
