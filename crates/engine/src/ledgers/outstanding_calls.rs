//! Counts what has begun and has not ended: writes, and calls that may have an effect.
//!
//! A worker takes a ticket *before* it asks the controls. So a task that stops money finds here everything
//! that began before the stop.

use kernel::flow::life::Leg;
use kernel::ids::{ChainId, Id, LedgerId};
use kernel::operation::{Key, Op};
use kernel::operators::OutstandingCall;
use kernel::record::System;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// A write or a call that has begun.
#[derive(Debug, Clone)]
pub(crate) enum CallStart {
    /// A batch of calls at a ledger.
    Calls(LedgerId, Arc<[Op]>),
    Fence(LedgerId, Key),
    /// A form for these transfers is signed or sent.
    Form(ChainId, Arc<[(Id, Leg)]>),
    Write,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    begun: BTreeMap<u64, CallStart>,
}

/// Every write and every call that has begun and has not ended.
#[derive(Debug, Default)]
pub(crate) struct OutstandingCalls {
    inner: Mutex<Inner>,
    ended: Notify,
}

/// Says that a write or a call goes on, for as long as the ticket lives.
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

    /// The number of the next ticket: everything below it has begun.
    pub(crate) fn mark(&self) -> u64 {
        self.inner().next
    }

    /// The calls that go on.
    pub(crate) fn calls(&self) -> Vec<OutstandingCall> {
        let mut calls = Vec::new();
        for begun in self.inner().begun.values() {
            match begun {
                CallStart::Calls(ledger, ops) => {
                    let system = System::Ledger(*ledger);
                    calls.extend(ops.iter().map(|op| OutstandingCall { system, key: op.key }));
                }
                CallStart::Fence(ledger, key) => {
                    calls.push(OutstandingCall { system: System::Ledger(*ledger), key: *key });
                }
                CallStart::Form(chain, members) => {
                    let system = System::Chain(*chain);
                    let call = |(id, leg): &(Id, Leg)| OutstandingCall {
                        system,
                        key: Key { id: *id, leg: *leg },
                    };
                    calls.extend(members.iter().map(call));
                }
                CallStart::Write => {}
            }
        }
        calls
    }

    /// Waits until everything has ended that had begun before the mark.
    pub(crate) async fn quiet(&self, mark: u64) {
        self.until_none(mark, |_| true).await;
    }

    /// Waits until no form is signed or sent on this chain for which that began before the mark.
    pub(crate) async fn quiet_at(&self, chain: ChainId, mark: u64) {
        self.until_none(mark, |begun| matches!(begun, CallStart::Form(at, _) if *at == chain))
            .await;
    }

    async fn until_none(&self, mark: u64, which: impl Fn(&CallStart) -> bool) {
        loop {
            let ended = self.ended.notified();
            if !self.inner().begun.range(..mark).any(|(_, begun)| which(begun)) {
                return;
            }
            ended.await;
        }
    }
}
