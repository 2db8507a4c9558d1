//! An operation is one effect at a ledger: its key, what the ledger stores of it, and which ledger that is.

use crate::answer::Evidence;
use crate::flow::life::Leg;
use crate::ids::{AssetId, Id};
use crate::money::Amount;
use crate::record::Account;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The identity of a ledger: drawn once, in its first record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Identity(pub u128);

impl fmt::Display for Identity {
    /// 32 hexadecimal digits, as ledgers say it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The number of one start of a ledger: drawn and logged at each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u128);

impl fmt::Display for Incarnation {
    /// 32 hexadecimal digits, as ledgers say it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The identity of a ledger as one side knows it. Every request names it, every reply carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The number that the ledger drew once.
    pub identity: Identity,
    /// The number that the ledger drew at its last start.
    pub incarnation: Incarnation,
    /// The highest operation that is known.
    pub highest: u64,
}

/// The name of one effect at one ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The transfer that the effect belongs to.
    pub id: Id,
    /// The effect of the transfer that it is.
    pub leg: Leg,
}

/// An operation at a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// Its name; the ledger answers a repeat with what it stored.
    pub key: Key,
    /// The account that the leg touches.
    pub account: Account,
    /// The other account of a [`Leg::Move`]; `None` for every other leg.
    pub other: Option<Account>,
    /// The asset that moves.
    pub asset: AssetId,
    /// How much, in base units.
    pub amount: Amount,
}

/// The outcome that a ledger stored under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredOutcome {
    /// It was executed: the effect exists.
    Done,
    /// It was refused, for ever.
    Rejected(Evidence),
    /// It was fenced: it never happened and never will.
    Fenced,
}

impl fmt::Display for Operation {
    /// As an operator reads it: its number, what became of it, whose it is, and how much.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seq, op, outcome } = self;
        let outcome = match outcome {
            StoredOutcome::Done => "done",
            StoredOutcome::Rejected(why) => &why.code,
            StoredOutcome::Fenced => "fenced",
        };
        let (leg, account) = (op.key.leg.name(), op.account.key());
        write!(f, "operation {seq}, {leg} {outcome}: account {account}")?;
        if let Some(other) = &op.other {
            write!(f, ", to account {}", other.key())?;
        }
        write!(f, ", asset {}, {} units", op.asset, op.amount)
    }
}

/// An operation as a ledger lists it, or as the journal keeps it as a receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The ledger's number of it.
    pub seq: u64,
    /// The operation that was asked for. A fence knows only the key: its amount is zero.
    pub op: Op,
    /// The outcome of the operation.
    pub outcome: StoredOutcome,
}
