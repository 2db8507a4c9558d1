//! What has begun and has not ended: calls that may have an effect, and writes.
//!
//! A worker takes a ticket *before* it asks the controls. So a task that stops money finds here
//! everything that began before.

use kernel::ids::LedgerId;
use kernel::operation::{Key, Op};
use kernel::operators::OutstandingCall;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Something that has begun.
#[derive(Debug, Clone)]
pub(crate) enum CallStart {
    /// A batch of calls at a ledger.
    Calls(LedgerId, Arc<[Op]>),
    Fence(LedgerId, Key),
    Write,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    begun: BTreeMap<u64, CallStart>,
}

/// Everything that has begun.
#[derive(Debug, Default)]
pub(crate) struct OutstandingCalls {
    inner: Mutex<Inner>,
    ended: Notify,
}

/// Says that something goes on, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Ticket {
    calls: Arc<OutstandingCalls>,
    number: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.calls.inner().begun.remove(&self.number);
        self.calls.ended.notify_waiters();
    }
}

impl OutstandingCalls {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn begin(self: &Arc<Self>, begun: CallStart) -> Ticket {
        let mut inner = self.inner();
        let number = inner.next;
        inner.next = inner.next.wrapping_add(1);
        inner.begun.insert(number, begun);
        Ticket { calls: self.clone(), number }
    }

    /// The next ticket's number: everything below it has begun.
    pub(crate) fn mark(&self) -> u64 {
        self.inner().next
    }

    /// The calls that go on.
    pub(crate) fn calls(&self) -> Vec<OutstandingCall> {
        let mut calls = Vec::new();
        for begun in self.inner().begun.values() {
            match begun {
                CallStart::Calls(ledger, ops) => calls
                    .extend(ops.iter().map(|op| OutstandingCall { ledger: *ledger, key: op.key })),
                CallStart::Fence(ledger, key) => {
                    calls.push(OutstandingCall { ledger: *ledger, key: *key });
                }
                CallStart::Write => {}
            }
        }
        calls
    }

    /// Waits until nothing goes on that had begun before the mark.
    pub(crate) async fn quiet(&self, mark: u64) {
        loop {
            let ended = self.ended.notified();
            if self.inner().begun.range(..mark).next().is_none() {
                return;
            }
            ended.await;
        }
    }
}
