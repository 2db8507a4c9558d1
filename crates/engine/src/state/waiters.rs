//! Keeps the callers that wait for the end of a transfer, and wakes them.

use kernel::ids::Id;
use kernel::record::Record;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot};

/// The channel on which a caller gets the end.
pub(crate) type Waiter = oneshot::Sender<Record>;

/// The callers that wait for one transfer.
#[derive(Debug)]
struct TransferWaiters {
    /// When the first of them came, by the clock's ticks.
    since: u64,
    waiters: Vec<Waiter>,
}

/// The waiting callers, by transfer.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    waiters: Mutex<BTreeMap<Id, TransferWaiters>>,
    /// Woken when a waiter comes.
    bell: Notify,
}

impl Waiters {
    fn waiters(&self) -> MutexGuard<'_, BTreeMap<Id, TransferWaiters>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, id: Id, waiter: Waiter, ticks: u64) {
        {
            let mut waiters = self.waiters();
            let waiting =
                waiters.entry(id).or_insert(TransferWaiters { since: ticks, waiters: Vec::new() });
            waiting.waiters.retain(|waiter| !waiter.is_closed());
            waiting.waiters.push(waiter);
        }
        self.bell.notify_one();
    }

    /// The transfers for which a caller has waited since then or longer, or which are elsewhere, at most `most`;
    /// `None` where no caller waits.
    pub(crate) fn asked(
        &self,
        since: u64,
        elsewhere: impl Fn(Id) -> bool,
        most: usize,
    ) -> Option<Vec<Id>> {
        let waiters = self.waiters();
        if waiters.is_empty() {
            return None;
        }
        let listens =
            |waiting: &TransferWaiters| waiting.waiters.iter().any(|waiter| !waiter.is_closed());
        let due = |id: Id, waiting: &TransferWaiters| waiting.since <= since || elsewhere(id);
        let asked = waiters.iter().filter(|(id, waiting)| due(**id, waiting) && listens(waiting));
        Some(asked.map(|(id, _)| *id).take(most).collect())
    }

    /// Waits until a waiter came since the last time.
    pub(crate) async fn come(&self) {
        self.bell.notified().await;
    }

    pub(crate) fn tell(&self, record: Record) {
        let Some(waiting) = self.waiters().remove(&record.id) else { return };
        for waiter in waiting.waiters {
            // the receiver is gone where the caller went away
            let _gone = waiter.send(record.clone());
        }
    }

    /// Forgets the callers that went away.
    pub(crate) fn sweep(&self) {
        self.waiters().retain(|_, waiting| {
            waiting.waiters.retain(|waiter| !waiter.is_closed());
            !waiting.waiters.is_empty()
        });
    }
}
