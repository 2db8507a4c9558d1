//! The queries about transfers, by id, by key, and of those that are open.

use crate::answer::Cause;
use crate::audit::{Entry, Hash};
use crate::flow::table::S;
use crate::ids::{FlowId, Id, Millis, Serial, UserId};
use crate::ports::Fut;
use crate::record::Record;
use std::sync::Arc;

/// One entry of a history, with its place in the hash chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linked {
    /// The entry of the history.
    pub entry: Entry,
    /// The hash of the entry before.
    pub prev: Hash,
    /// The hash of this one.
    pub hash: Hash,
}

/// How many transfers are in each state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// The flow that the transfers belong to, which this binary knows.
    pub flow: FlowId,
    /// The state in which they stand.
    pub state: S,
    /// The number of open transfers in it.
    pub transfers: u64,
    /// When the oldest of them was opened.
    pub oldest: Millis,
}

/// Transfers behind a number.
#[derive(Debug, Clone)]
pub struct TransferPage {
    /// In the order of their numbers. All that ever will have a number up to the last of them are
    /// among them.
    pub records: Vec<Record>,
    /// The highest number up to which nothing is missing.
    pub complete: Serial,
}

/// Reads transfers and their histories; it writes nothing.
pub trait TransferQueries: Send + Sync {
    /// Transfers by id, in no order; unknown ids are left out.
    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>>;
    /// The transfer that a client's key is bound to.
    fn find_by_idempotency_key(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>>;
    /// A transfer's history, oldest first; that of `Id(0)` is what operators did.
    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>>;
    /// Open transfers at or below an id: those whose results a ledger must keep.
    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>>;
    /// A user's open transfers, for what is in flight.
    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>>;
    /// Open transfers that were opened at or before a time, the oldest first, at most `limit`.
    fn open_older_than(&self, opened: Millis, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>>;
    /// The number before the first transfer that was opened at or after a time.
    fn before_time(&self, at: Millis) -> Fut<'_, Result<Serial, Cause>>;
    /// Transfers above a number, of one flow or of all, at most `limit`.
    fn transfers_after(
        &self,
        after: Serial,
        flow: Option<FlowId>,
        limit: usize,
    ) -> Fut<'_, Result<TransferPage, Cause>>;
    /// Open transfers by flow and state.
    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>>;
}
