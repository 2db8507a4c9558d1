//! The rules of the journal, of Funding and of the accounts ledger, once for both stores.
//!
//! Pure: a store says what it has read ([`StateReader`]), is told what a unit, a leg, a tombstone
//! or a external movement comes to, and writes exactly that. Nothing here knows a column, a lock or
//! a connection, and nothing in a store judges a guard or an amount.

mod accounts;
mod asserts;
mod attempts;
mod external_movement;
mod guards;
mod legs;
mod state_reader;
mod transfer_change;
mod unit;

pub use asserts::Sums;
pub use attempts::{AttemptChange, AttemptHead, StoredAttempt};
pub use external_movement::{MovementPlan, Request, book, counter};
pub use legs::{Posting, answer, fence, leg};
pub use state_reader::{
    ALL_ASSETS, Book, LockKey, StateReader, StoredBalance, StoredTransfer, SystemBook, UsageKey,
};
pub use transfer_change::{
    Added, AddedHistory, Changed, Opened, Row, Stamp, TransferChange, TransferChanges,
};
pub use unit::{Plan, unit};

/// Why a decision ends before its end.
#[derive(Debug)]
pub enum Stopped<A, T> {
    /// This is the answer, and nothing is written.
    Answer(A),
    /// The store cannot say what was asked of it.
    Error(T),
}

impl<A, T> From<T> for Stopped<A, T> {
    fn from(stop: T) -> Self {
        Self::Error(stop)
    }
}
