//! The groups of consumers: the name of each, the topics that it takes, and what it does with a message.

use crate::messaging::Messaging;
use crate::messaging::consume::{Consumption, Received};
use crate::messaging::lanes::Ready;
use kernel::answer::Cause;
use kernel::flow::life::{AuditGroup, ConsumerGroup};
use kernel::flow::table::Table;
use kernel::ids::Id;
use std::sync::Arc;

/// The most bytes of a message's key: an index of the journal holds it.
const KEY_BYTES: usize = 256;

/// A group of consumers, by its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupTask {
    /// Moves the transfers that its messages are about.
    Move(ConsumerGroup),
    /// Compares messages with the history of their transfers.
    Audit(AuditGroup),
}

impl GroupTask {
    pub(crate) fn of(table: &Table) -> impl Iterator<Item = Self> {
        let moves = table.consumers.iter().copied().map(Self::Move);
        moves.chain(table.audit.map(Self::Audit))
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Move(group) => group.name,
            Self::Audit(group) => group.name,
        }
    }

    pub(crate) fn topics(self) -> Vec<Arc<str>> {
        match self {
            Self::Move(group) => vec![group.topic.into()],
            Self::Audit(group) => group.topics.iter().map(|topic| Arc::from(*topic)).collect(),
        }
    }

    /// Whether a message that fails again and again waits parked under its key. An audit parks nothing:
    /// only the journal can hinder it, and then for every key.
    pub(crate) const fn parks(self) -> bool {
        matches!(self, Self::Move(_))
    }
}

/// The transfer of a message; `None` where it cannot be read, or has a key that no journal can park.
fn transfer(ready: &Ready) -> Option<Id> {
    let key = &ready.delivery.message.key;
    ready.transfer.filter(|_| key.len() <= KEY_BYTES && !key.contains('\0'))
}

impl Messaging {
    /// The groups of the flows that are offered.
    pub(crate) fn groups(&self) -> Vec<GroupTask> {
        let tables = self.shared.parts.offered.iter().map(|flow| self.shared.plan.table(*flow));
        tables.flat_map(GroupTask::of).collect()
    }

    /// The group of that name, where a flow that is offered has it.
    pub(crate) fn group(&self, name: &str) -> Option<GroupTask> {
        self.groups().into_iter().find(|group| group.name() == name)
    }

    /// Does what the group does with messages, in their order, and returns one result for each. Those of another
    /// deployment are passed over.
    pub(super) async fn take(
        self: &Arc<Self>,
        group: GroupTask,
        ready: &[Ready],
    ) -> Vec<Consumption> {
        let foreign: Vec<bool> =
            ready.iter().map(|one| self.passes_over(group, &one.delivery)).collect();
        if !foreign.contains(&true) {
            return self.take_own(group, ready).await;
        }
        let own = ready.iter().zip(&foreign).filter(|(_, foreign)| !**foreign);
        let own: Vec<Ready> = own.map(|(one, _)| one.clone()).collect();
        let mut results = self.take_own(group, &own).await.into_iter();
        let mut own = || results.next().unwrap_or(Consumption::Failed(Cause::of("NO_RESULT")));
        foreign.into_iter().map(|one| if one { Consumption::Passed } else { own() }).collect()
    }

    async fn take_own(self: &Arc<Self>, group: GroupTask, ready: &[Ready]) -> Vec<Consumption> {
        match group {
            GroupTask::Audit(group) => self.audit_messages(group, ready).await,
            GroupTask::Move(group) => {
                let (mut received, mut results) = (Vec::with_capacity(ready.len()), Vec::new());
                for one in ready {
                    let number = one.delivery.message.number;
                    received.extend(transfer(one).map(|transfer| Received { number, transfer }));
                }
                let mut consumed = self.consume(group, &received).await.into_iter();
                for one in ready {
                    let readable = transfer(one).and_then(|_| consumed.next());
                    results.push(readable.unwrap_or(Consumption::Poison("UNREADABLE")));
                }
                results
            }
        }
    }
}
