//! Runs a few futures at once, for requests that do not depend on each other.

use kernel::ports::Fut;
use std::future::poll_fn;
use std::task::Poll;

/// Returns the results of all futures, in their order. For a few only: each wake polls all.
pub async fn concurrent<T>(mut all: Vec<Fut<'_, T>>) -> Vec<T> {
    let mut done: Vec<Option<T>> = all.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (slot, one) in done.iter_mut().zip(&mut all) {
            if slot.is_none()
                && let Poll::Ready(value) = one.as_mut().poll(context)
            {
                *slot = Some(value);
            }
        }
        if done.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}
