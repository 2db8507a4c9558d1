//! What has begun and has not ended: calls that may have an effect, and writes.
//!
//! Whoever begins takes a ticket *before* it asks the gate. So whoever closes the gate finds here
//! everything that passed it.

use kernel::ids::LedgerId;
use kernel::unit::{Key, Op};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Something that has begun.
#[derive(Debug, Clone)]
pub(crate) enum Begun {
    /// A batch of calls at a ledger.
    Calls(LedgerId, Arc<[Op]>),
    /// A tombstone.
    Fence(LedgerId, Key),
    /// A journal write.
    Write,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    begun: BTreeMap<u64, Begun>,
}

/// Everything that has begun.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    inner: Mutex<Inner>,
    ended: Notify,
}

/// Says that something goes on, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Ticket {
    wire: Arc<Wire>,
    number: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.wire.inner().begun.remove(&self.number);
        self.wire.ended.notify_waiters();
    }
}

impl Wire {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something begins.
    pub(crate) fn begin(self: &Arc<Self>, begun: Begun) -> Ticket {
        let mut inner = self.inner();
        let number = inner.next;
        inner.next = inner.next.wrapping_add(1);
        inner.begun.insert(number, begun);
        Ticket { wire: self.clone(), number }
    }

    /// The next ticket's number: everything below it has begun.
    pub(crate) fn mark(&self) -> u64 {
        self.inner().next
    }

    /// The keys of the calls that go on.
    pub(crate) fn calls(&self) -> Vec<(LedgerId, Key)> {
        let mut keys = Vec::new();
        for begun in self.inner().begun.values() {
            match begun {
                Begun::Calls(ledger, ops) => keys.extend(ops.iter().map(|op| (*ledger, op.key))),
                Begun::Fence(ledger, key) => keys.push((*ledger, *key)),
                Begun::Write => {}
            }
        }
        keys
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
