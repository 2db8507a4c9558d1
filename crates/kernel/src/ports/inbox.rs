//! The inbox of a journal: which messages consumers have had, and which wait off the bus.
//!
//! The unit that consumes a message also writes its row ([`crate::unit::Guard::Inbox`]). A message that
//! failed too often is parked under its key, with every later message of the key: they are tried again in
//! their order, and the bus goes on with the others.

use super::Fut;
use super::bus::BusDelivery;
use crate::answer::Cause;
use crate::ids::Millis;
use std::sync::Arc;

/// A key of a topic that waits for a group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParkedName {
    /// The group for which it waits.
    pub group: Arc<str>,
    /// The topic of its messages.
    pub topic: Arc<str>,
    /// The key of its messages.
    pub key: Arc<str>,
}

/// When a key is tried again, and why it was not consumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextTry {
    /// How often its first message failed.
    pub failures: u32,
    /// Why it failed the last time.
    pub cause: Arc<str>,
    /// Not before this time of the journal.
    pub due: Millis,
}

/// A key that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedKey {
    /// Its group, topic and key.
    pub name: ParkedName,
    /// The partition from which its first message came.
    pub partition: u32,
    /// The number of messages that wait under it.
    pub messages: u64,
    /// The place of the last one that was parked, whether it still waits or not.
    pub last: u64,
    /// When it was parked.
    pub since: Millis,
    /// When it is tried again, and why it was not consumed.
    pub next: NextTry,
}

/// A message that waits, in the order of its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedMessage {
    /// Its place under its key; later ones have higher ones.
    pub n: u64,
    /// The message, as the bus delivered it.
    pub delivery: BusDelivery,
}

/// The inbox of a journal, as consumers and operators use it.
pub trait Inbox: Send + Sync {
    /// Those of these numbers that the group had.
    fn consumed(
        &self,
        group: &'static str,
        numbers: Vec<u128>,
    ) -> Fut<'_, Result<Vec<u128>, Cause>>;
    /// Parks messages in one transaction, each behind those of its key; one that waits already is not
    /// added. A key that did not wait yet begins with this next try, another one keeps its own.
    fn park(
        &self,
        group: Arc<str>,
        messages: Vec<BusDelivery>,
        next: NextTry,
    ) -> Fut<'_, Result<(), Cause>>;
    /// The keys that wait, of one group or of all, in the order of their names, at most `limit`.
    fn parked_keys(
        &self,
        group: Option<Arc<str>>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<ParkedKey>, Cause>>;
    /// The first messages of a key, in their order, at most `limit`.
    fn parked(&self, name: ParkedName, limit: usize) -> Fut<'_, Result<Vec<ParkedMessage>, Cause>>;
    /// A key is tried again later, or sooner. Nothing where it does not wait.
    fn try_again(&self, name: ParkedName, next: NextTry) -> Fut<'_, Result<(), Cause>>;
    /// The messages of a key with these numbers were consumed. The key waits no more where none of its messages does, and
    /// none was given a place above `upto`. Places begin anew with a key that waits anew, so a place names no message.
    fn unpark(
        &self,
        name: ParkedName,
        consumed: Vec<u128>,
        upto: u64,
    ) -> Fut<'_, Result<(), Cause>>;
}
