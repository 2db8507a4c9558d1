//! Counts what has begun and has not ended: writes, and calls that may have an effect.
//!
//! A worker takes a ticket *before* it asks the controls. So a task that stops money finds here everything
//! that began before the stop.

use kernel::flow::life::Leg;
use kernel::ids::{ChainId, FlowId, Id, LedgerId};
use kernel::operation::{Key, Op};
use kernel::operators::{OutstandingCall, Scope};
use kernel::record::{Account, System};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// A write or a call that has begun.
#[derive(Debug, Clone)]
pub(crate) enum CallStart {
    /// A batch of calls at a ledger, for transfers of one flow.
    Calls(FlowId, LedgerId, Arc<[Op]>),
    Fence(LedgerId, Key),
    /// Forms for these transfers, of these flows, are signed or sent.
    Form(ChainId, Arc<[FlowId]>, Arc<[(Id, Leg)]>),
    Write,
}

/// What may be paused of an operation, besides its ledger and its flow.
fn scopes(ledger: LedgerId, op: &Op) -> impl Iterator<Item = Scope> + use<> {
    let account = match op.account {
        Account::User(user) => Some(Scope::Account(user, ledger)),
        Account::Named(_) | Account::Unnamed => None,
    };
    [Scope::Transfer(op.key.id), Scope::Asset(op.asset)].into_iter().chain(account)
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
                CallStart::Calls(_, ledger, ops) => {
                    let system = System::Ledger(*ledger);
                    calls.extend(ops.iter().map(|op| OutstandingCall { system, key: op.key }));
                }
                CallStart::Fence(ledger, key) => {
                    calls.push(OutstandingCall { system: System::Ledger(*ledger), key: *key });
                }
                CallStart::Form(chain, _, members) => {
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

    /// Whether one of these pauses stops a call that goes on at the system: of one of these transfers, or of any where
    /// none is named.
    pub(crate) fn are_paused(
        &self,
        system: System,
        transfers: &[Id],
        pauses: &BTreeSet<Scope>,
    ) -> bool {
        let named = |id: Id| transfers.is_empty() || transfers.contains(&id);
        self.inner().begun.values().any(|begun| match begun {
            CallStart::Calls(flow, ledger, ops) if system == System::Ledger(*ledger) => {
                let of_flow = pauses.contains(&Scope::Flow(*flow));
                let stops = |op: &Op| of_flow || scopes(*ledger, op).any(|it| pauses.contains(&it));
                ops.iter().any(|op| named(op.key.id) && stops(op))
            }
            // what was claimed together goes together: the pause of one member would hold the others back
            CallStart::Form(chain, flows, members) if system == System::Chain(*chain) => {
                let of_flow = flows.iter().any(|flow| pauses.contains(&Scope::Flow(*flow)));
                of_flow && members.iter().any(|(id, _)| named(*id))
            }
            CallStart::Calls(..)
            | CallStart::Form(..)
            | CallStart::Fence(..)
            | CallStart::Write => false,
        })
    }

    /// Waits until everything has ended that had begun before the mark.
    pub(crate) async fn quiet(&self, mark: u64) {
        self.until_none(mark, |_| true).await;
    }

    /// Waits until no form is signed or sent on this chain for which that began before the mark.
    pub(crate) async fn quiet_at(&self, chain: ChainId, mark: u64) {
        self.until_none(mark, |begun| matches!(begun, CallStart::Form(at, ..) if *at == chain))
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
