//! A transaction on the simulated chain, and its outcome there.

use kernel::attempt::{Lock, Purpose};
use kernel::ids::{AssetId, Id};
use kernel::money::Amount;
use std::sync::Arc;

/// The account of ours where the simulated chains keep what is quarantined.
pub const QUARANTINE: &str = "quarantine";

/// What sort of thing a transaction does for each of its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    /// It pays each of them.
    Pays,
    /// It registers an account, and makes no payment.
    Registers,
    /// It calls back what was paid and not taken.
    Voids,
    /// It takes in what each of them sent us; each once.
    Credits,
}

/// What a transaction does for one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paid {
    /// The transfer, as the memo names it.
    pub id: Id,
    /// The account that is paid, is registered, or did not take what it was paid.
    pub account: Arc<str>,
    /// The asset that is paid.
    pub asset: AssetId,
    /// How much of it, in base units.
    pub amount: Amount,
}

/// A signed transaction, as its bytes say.
#[derive(Debug, Clone)]
pub(super) struct Transaction {
    pub name: Arc<[u8]>,
    pub lane: Arc<str>,
    pub lock: Lock,
    pub purpose: Purpose,
    pub effect: Effect,
    pub actions: Vec<Paid>,
    /// The height after which no block takes it.
    pub expires: Option<u64>,
    /// The node's session that makes it, where the node signs.
    pub session: u64,
}

/// How a transaction in a block was executed: whole, or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every one of its actions was made.
    Success,
    /// This action failed, so that none was made; the lock is spent.
    Failed(usize),
}

/// Where a transaction stands that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inclusion {
    /// It waits for a block of this height or above.
    Waits(u64),
    /// The block of this height has it.
    Included(u64, Outcome),
    /// No block takes it any more.
    Gone,
}
