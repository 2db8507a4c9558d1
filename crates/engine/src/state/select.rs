//! Waits for the first of two futures, and catches the panic of a call, without the macros of a runtime.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// The first of two futures to be ready.
#[derive(Debug)]
pub(crate) enum First<A, B> {
    /// The left one; it is polled first.
    Left(A),
    Right(B),
}

/// Waits for the first of two futures and drops the other.
pub(crate) async fn race<A: Future, B: Future>(left: A, right: B) -> First<A::Output, B::Output> {
    let (mut left, mut right) = (pin!(left), pin!(right));
    poll_fn(|cx| {
        if let Poll::Ready(out) = left.as_mut().poll(cx) {
            return Poll::Ready(First::Left(out));
        }
        right.as_mut().poll(cx).map(First::Right)
    })
    .await
}

/// Runs a call of a port to its end; `None` where it panicked. What it did before is not known then, and its
/// future is not polled again; the port is shared and guards its own state.
pub(crate) async fn caught<F: Future>(call: F) -> Option<F::Output> {
    let mut call = pin!(call);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Some),
        Err(_) => Poll::Ready(None),
    })
    .await
}
