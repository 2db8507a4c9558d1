//! The ends of a transfer: a system that holds money, an account there, and how much of which asset.

use crate::ids::{AssetId, ChainId, LedgerId, UserId};
use crate::money::Amount;
use crate::systems::SystemRow;
use std::sync::Arc;

/// A system that holds money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum System {
    /// A ledger, inside or outside the journal's database.
    Ledger(LedgerId),
    /// A chain on which attempts are made.
    Chain(ChainId),
}

impl System {
    /// The stored number: `source_type` and `target_type`.
    pub const fn code(self) -> u8 {
        match self {
            Self::Ledger(l) => l.0,
            Self::Chain(c) => c.0,
        }
    }

    /// The system of a stored number; one that is not in the table is taken for a ledger, of which the
    /// engine has none.
    pub fn coded(code: u8) -> Self {
        match SystemRow::coded(code) {
            Some(row) if row.is_chain() => Self::Chain(ChainId(code)),
            Some(_) | None => Self::Ledger(LedgerId(code)),
        }
    }

    /// The system of that name.
    pub fn parse(name: &str) -> Option<Self> {
        let chain = || ChainId::parse(name).map(Self::Chain);
        LedgerId::parse(name).map(Self::Ledger).or_else(chain)
    }

    /// Its stored and shown name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ledger(ledger) => ledger.name(),
            Self::Chain(chain) => chain.name(),
        }
    }
}

/// An account inside a system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Account {
    /// A user's account at a ledger.
    User(UserId),
    /// An account that the system names itself.
    Named(Arc<str>),
    /// An account that is agreed later: nothing is paid there before.
    Unnamed,
}

impl Account {
    /// The stored text: a user's number; `@` before what a system names itself; nothing where it is
    /// agreed later.
    pub fn key(&self) -> String {
        match self {
            Self::User(user) => user.to_string(),
            Self::Named(name) => format!("@{name}"),
            Self::Unnamed => String::new(),
        }
    }

    /// The account that a stored text names; none of any other text.
    pub fn parse(key: &str) -> Option<Self> {
        match key.strip_prefix('@') {
            Some(name) => Some(Self::Named(name.into())),
            None if key.is_empty() => Some(Self::Unnamed),
            None => key.parse().ok().map(|user| Self::User(UserId(user))),
        }
    }
}

impl std::fmt::Display for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User(user) => write!(f, "{user}"),
            Self::Named(name) => f.write_str(name),
            Self::Unnamed => Ok(()),
        }
    }
}

/// One end of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// The ledger or the chain that holds the account.
    pub system: System,
    /// The account at that system.
    pub account: Account,
    /// The asset that it gives or gets.
    pub asset: AssetId,
    /// How much of it, in base units: what the source gives, what the target gets after the fee.
    pub amount: Amount,
}
