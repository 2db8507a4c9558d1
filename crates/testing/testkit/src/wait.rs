//! Waits for the work of other tasks, up to a limit.

use std::time::Duration;

/// The longest that most tests wait.
pub const MINUTE: Duration = Duration::from_secs(60);

/// The pause after the first question.
const FIRST: Duration = Duration::from_millis(2);
/// No pause between two questions is longer.
const LONGEST: Duration = Duration::from_millis(50);

/// Asks again and again, with pauses that grow, until there is an answer. `None` once the pauses add up to the limit: what
/// a question takes on a slow machine does not count.
pub async fn wait_for<T>(limit: Duration, mut ask: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let (mut pause, mut waited) = (FIRST, Duration::ZERO);
    loop {
        if let Some(answer) = ask().await {
            return Some(answer);
        }
        if waited >= limit {
            return None;
        }
        tokio::time::sleep(pause).await;
        waited = waited.saturating_add(pause);
        // a quarter longer each time: an answer is late by a quarter of what it took, and not by more
        let longer = pause.saturating_add(pause / 4);
        pause = if longer < LONGEST { longer } else { LONGEST };
    }
}

/// Waits until something is so; false where it was not until the pauses added up to the limit.
pub async fn wait_until(limit: Duration, mut is_so: impl AsyncFnMut() -> bool) -> bool {
    wait_for(limit, async || is_so().await.then_some(())).await.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_asks_until_there_is_an_answer() {
        let mut asked = 0;
        let answer = wait_for(MINUTE, async || {
            asked += 1;
            (asked == 4).then_some(asked)
        });
        assert_eq!(answer.await, Some(4));
    }

    #[tokio::test]
    async fn it_ends_at_the_limit() {
        let mut asked = 0;
        let never = async || {
            asked += 1;
            false
        };
        assert!(!wait_until(Duration::from_millis(10), never).await);
        // pauses of 2, 2.5, 3.1 and 3.9 ms
        assert_eq!(asked, 5);
        assert!(wait_until(Duration::ZERO, async || true).await, "it asks once at least");
    }
}
