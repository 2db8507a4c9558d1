//! A transfer: what was agreed (frozen, shared) and where it stands (small, copied).

use crate::answer::Evidence;
use crate::flow::life::Share;
use crate::flow::table::S;
use crate::ids::{AssetId, ChainId, Day, FlowId, Id, LedgerId, Millis, Serial, UserId};
use crate::money::Amount;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A system that holds money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum System {
    /// A ledger.
    Ledger(LedgerId),
    /// A chain.
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

    /// The system of a stored number: chains begin at 20.
    pub const fn coded(code: u8) -> Self {
        if code >= 20 { Self::Chain(ChainId(code)) } else { Self::Ledger(LedgerId(code)) }
    }
}

/// An account inside a system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Account {
    /// A user's account at a ledger.
    User(UserId),
    /// An account that the system names itself.
    Named(Arc<str>),
}

impl std::fmt::Display for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User(user) => write!(f, "{user}"),
            Self::Named(name) => f.write_str(name),
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
}

/// A client's key for a request: unique for ever within (flow, scope).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The maker's principal, the deployment or the chain (`design.md` §5).
    pub scope: Arc<str>,
    /// The client's own key.
    pub key: Arc<str>,
    /// Of the request: the same key with another one is a conflict.
    pub fingerprint: [u8; 32],
}

/// What was agreed. Never changes after the row is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Who asked: `issuer|sub`.
    pub principal: Arc<str>,
    /// Whose transfer it is.
    pub user: UserId,
    /// The client's key, where one was given.
    pub binding: Option<Binding>,
    /// Where the money comes from.
    pub source: Party,
    /// Where the money goes.
    pub target: Party,
    /// The asset that the transfer moves.
    pub asset: AssetId,
    /// How much, in base units.
    pub amount: Amount,
    /// What of it is kept as a fee, in base units.
    pub fee: Amount,
    /// By the chain's time.
    pub deadline: Option<Millis>,
    /// As found on a chain.
    pub memo: Option<String>,
    /// The client's own reference.
    pub reference: Option<String>,
    /// The client's own words.
    pub metadata: BTreeMap<String, String>,
    /// The day on which it was counted against its user's limits, where it was: what it took is
    /// given back to that day's rows.
    pub day: Option<Day>,
}

impl Terms {
    /// What an act moves: an asset, and how much of it. `None`: nothing of the transfer's money, or a
    /// fee above the amount.
    pub fn share(&self, share: Share) -> Option<(AssetId, Amount)> {
        part(share, self.amount, self.fee).map(|amount| (self.asset, amount))
    }

    /// The fingerprint of what a client asked for: the same key with another one is a conflict.
    /// Every field is preceded by its length, so that no two requests share their bytes.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        let mut field = |bytes: &[u8]| {
            hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(bytes);
        };
        field(&self.user.0.to_be_bytes());
        for party in [&self.source, &self.target] {
            field(&[party.system.code()]);
            field(party.account.to_string().as_bytes());
        }
        field(&self.asset.0.to_be_bytes());
        field(&self.amount.0.to_be_bytes());
        field(self.reference.as_deref().unwrap_or_default().as_bytes());
        for (name, value) in &self.metadata {
            field(name.as_bytes());
            field(value.as_bytes());
        }
        hash.finalize().into()
    }
}

/// A part of a transfer's amount. Both parties have one asset in these terms.
pub(crate) fn part(share: Share, amount: Amount, fee: Amount) -> Option<Amount> {
    match share {
        Share::Gross => Some(amount),
        Share::LessFee | Share::Net => amount.minus(fee),
        Share::OwnCost => None,
    }
}

/// Where a transfer stands. `Copy`, so that a station carries it by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The state's index.
    pub state: S,
    /// Raised by every put; the compare-and-swap is on (id, state, version).
    pub version: u32,
    /// Unknown answers so far; those to a refund are counted for themselves.
    pub retries: u32,
    /// Explicit rejections so far.
    pub rejections: u16,
    /// May only be called alone.
    pub alone: bool,
    /// How often its owner died while it ran alone.
    pub deaths: u8,
    /// When it is to be tried again; `None` while a worker carries it.
    pub due_at: Option<Millis>,
}

impl Head {
    /// The head of a transfer that begins.
    pub const fn start(state: S) -> Self {
        Self { state, version: 0, retries: 0, rejections: 0, alone: false, deaths: 0, due_at: None }
    }
}

/// A transfer.
#[derive(Debug, Clone)]
pub struct Record {
    /// Its id.
    pub id: Id,
    /// Its flow.
    pub flow: FlowId,
    /// The journal's number, once it is open.
    pub serial: Option<Serial>,
    /// When it was opened, by the journal's time; 0 before.
    pub created_at: Millis,
    /// When it was last written, by the journal's time; 0 before.
    pub updated_at: Millis,
    /// Its state and what changes with each write.
    pub head: Head,
    /// The last refusal or cause, for people.
    pub error: Option<Evidence>,
    /// What was agreed.
    pub terms: Arc<Terms>,
}

/// What a question learnt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// Yes or no.
    Flag(bool),
    /// A time, a height, an amount.
    Number(u128),
    /// A name, a key, a document.
    Text(Arc<str>),
}

/// What a rule may look at besides the record; stored with the decision.
pub type Facts = BTreeMap<&'static str, Fact>;
