//! What is signed for the simulated chain, and what became of it there.

use kernel::attempt::{Lock, Purpose};
use kernel::ids::{AssetId, Id};
use kernel::money::Amount;
use std::sync::Arc;

/// What a transaction does for one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paid {
    /// The transfer, as the memo names it.
    pub id: Id,
    /// The account that is paid, or registered.
    pub account: Arc<str>,
    /// The asset that is paid.
    pub asset: AssetId,
    /// How much of it.
    pub amount: Amount,
}

/// A signed transaction.
#[derive(Debug, Clone)]
pub(super) struct Transaction {
    pub name: Arc<[u8]>,
    pub lane: Arc<str>,
    pub lock: Lock,
    pub purpose: Purpose,
    /// It registers accounts, and pays nobody.
    pub registers: bool,
    pub actions: Vec<Paid>,
    /// The height after which no block takes it.
    pub expires: Option<u64>,
    /// The node's session that makes it, where the node signs.
    pub session: u64,
}

/// How a transaction in a block was executed: whole, or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every action was made.
    Success,
    /// This action failed, so that none was made; the lock is spent.
    Failed(usize),
}

/// Where a transaction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It waits for a block of this height or above.
    Waits(u64),
    /// A block has it.
    Included(u64, Outcome),
    /// No block takes it any more.
    Gone,
}
