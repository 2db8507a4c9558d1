//! The port to the stored audit: it gives the rows that a seal covers and that the proof reads.

use super::Fut;
use crate::answer::Cause;
use crate::audit::AuditUnit;
use crate::audit::proof::{ChainStart, End, StoredEntry};
use crate::audit::replay::{ActionTable, StoredRow};
use crate::audit::seal::Seal;
use crate::ids::{Id, Serial};

/// A transfer's history with what its row says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum History {
    /// As it is stored.
    Read {
        /// The owner of the chain, and the hash before its first entry, computed from the row's terms as
        /// they are now.
        chain: ChainStart,
        /// The entries of its history, in their order.
        entries: Vec<StoredEntry>,
        /// What the row says of its end.
        end: End,
    },
    /// The row was spoilt.
    Unreadable {
        /// The journal's number of the transfer.
        serial: Serial,
        /// What is wrong with it.
        what: String,
    },
}

impl History {
    /// The journal's number of the transfer.
    pub const fn serial(&self) -> Serial {
        match self {
            Self::Read { chain, .. } => chain.serial,
            Self::Unreadable { serial, .. } => *serial,
        }
    }
}

/// The audit of a journal.
pub trait Audit: Send + Sync {
    /// One instant of it.
    fn trail(&self) -> Fut<'_, Result<Box<dyn Trail>, Cause>>;
    /// Stores the seal that follows the last one.
    fn put_seal(&self, seal: Seal) -> Fut<'_, Result<(), Cause>>;
}

/// One instant of the audit. Dropping it ends the read transaction.
pub trait Trail: Send {
    /// True where transfers are numbered without a gap.
    fn gapless(&self) -> bool;
    /// Entries of [`crate::audit::WORLD`] or [`crate::audit::OPERATORS`], each with the number of
    /// its row: those above a number, at most `limit`.
    fn chain_entries(
        &mut self,
        chain: Id,
        above: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<(u64, StoredEntry)>, Cause>>;
    /// Every row of a table that operators' actions wrote.
    fn action_rows(&mut self, table: ActionTable) -> Fut<'_, Result<Vec<StoredRow>, Cause>>;
    /// Histories of transfers above a number, by number, at most `limit`.
    fn histories(&mut self, above: Serial, limit: usize) -> Fut<'_, Result<Vec<History>, Cause>>;
    /// The rows of these units, by lane and number; those that are not there are left out.
    fn rows(&mut self, units: Vec<(u64, u64)>) -> Fut<'_, Result<Vec<AuditUnit>, Cause>>;
    /// Every lane that has a unit.
    fn lanes(&mut self) -> Fut<'_, Result<Vec<u64>, Cause>>;
    /// A lane's units above a number, by number, at most `limit`.
    fn units(
        &mut self,
        lane: u64,
        above: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<AuditUnit>, Cause>>;
    /// Seals above a number, by number, at most `limit`.
    fn seals(&mut self, above: u64, limit: usize) -> Fut<'_, Result<Vec<Seal>, Cause>>;
    /// Seals below a number, or all, the newest first, at most `limit`.
    fn newest(&mut self, below: Option<u64>, limit: usize) -> Fut<'_, Result<Vec<Seal>, Cause>>;
}
