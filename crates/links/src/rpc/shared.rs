//! Shares one answer among all callers that ask the same at about the same time: the provers of a
//! hundred attempts use one final block and one list of keys.

use kernel::answer::Cause;
use kernel::ports::clock::Clock;
use std::future::Future;
use tokio::sync::Mutex;

/// An answer, and the ticks between which it was asked for.
#[derive(Debug)]
struct LastAnswer<T> {
    begun: u64,
    ended: u64,
    answer: Result<T, Cause>,
}

/// The last answer to one question. One caller asks; the others wait for it.
#[derive(Debug)]
pub(crate) struct SharedAnswer<T> {
    last: Mutex<Option<LastAnswer<T>>>,
}

impl<T> Default for SharedAnswer<T> {
    fn default() -> Self {
        Self { last: Mutex::default() }
    }
}

impl<T: Clone> SharedAnswer<T> {
    /// The last answer, where it was asked for less than `fresh_for` ticks ago or came while this caller waited;
    /// else what `ask` says now. A failure is shared only with those that waited for it.
    ///
    /// # Errors
    /// As `ask`.
    pub(crate) async fn get(
        &self,
        clock: &dyn Clock,
        fresh_for: u64,
        ask: impl Future<Output = Result<T, Cause>> + Send,
    ) -> Result<T, Cause> {
        self.get_while(clock, |_| fresh_for, ask).await
    }

    /// The same, where how long an answer is fresh depends on what it is.
    ///
    /// # Errors
    /// As `ask`.
    pub(crate) async fn get_while(
        &self,
        clock: &dyn Clock,
        fresh_for: impl Fn(&T) -> u64,
        ask: impl Future<Output = Result<T, Cause>> + Send,
    ) -> Result<T, Cause> {
        let arrived = clock.ticks();
        let mut last = self.last.lock().await;
        let begun = clock.ticks();
        if let Some(known) = &*last {
            let age = begun.saturating_sub(known.begun);
            let fresh = known.answer.as_ref().is_ok_and(|answer| age < fresh_for(answer));
            if fresh || known.ended > arrived {
                return known.answer.clone();
            }
        }
        let answer = ask.await;
        *last = Some(LastAnswer { begun, ended: clock.ticks(), answer: answer.clone() });
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use testkit::{ManualClock, SteppingClock};

    async fn asks(
        shared: &SharedAnswer<u64>,
        clock: &SteppingClock,
        answer: Result<u64, Cause>,
    ) -> u64 {
        let asks = AtomicU64::new(0);
        let ask = || {
            shared.get(clock, 100, async {
                asks.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                answer.clone()
            })
        };
        for got in join_all((0..10).map(|_| ask())).await {
            assert_eq!(got, answer);
        }
        asks.into_inner()
    }

    #[tokio::test]
    async fn those_that_wait_share_one_answer_and_a_failure_is_not_kept() {
        let (shared, base) = (SharedAnswer::default(), ManualClock::default());
        let clock = SteppingClock::over(Arc::new(base.clone()));
        assert_eq!(asks(&shared, &clock, Err(Cause::of("TIMEOUT"))).await, 1);
        assert_eq!(asks(&shared, &clock, Ok(4)).await, 1, "the failure was not kept");
        assert_eq!(asks(&shared, &clock, Ok(4)).await, 0, "the answer was kept");
        base.forward(1);
        assert_eq!(asks(&shared, &clock, Ok(5)).await, 1, "it was too old");
    }
}
