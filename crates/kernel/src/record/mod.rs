//! The record of a transfer: its terms (frozen, shared) and its head, which says where it stands (small,
//! copied).

pub mod party;

pub use party::{Account, Party, System};

use crate::agreed::{Agreed, target_party};
use crate::answer::Evidence;
use crate::flow::share::Share;
use crate::flow::state::S;
use crate::ids::{AssetId, ChainId, Day, FlowId, Id, LedgerId, Millis, Serial, UserId};
use crate::money::Amount;
use crate::owner::TransferOwner;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;

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

/// The event outside that a transfer was opened for: unique within its chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The chain on which a watcher found the event.
    pub chain: ChainId,
    /// What names it there: a transaction's hash, with its place where one holds several.
    pub key: Arc<str>,
}

/// Which fields the hash of a transfer's terms covers, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermsVersion {
    /// Release 0.1.0: one user, one asset, one amount.
    V1,
    /// An owner, two parties with an asset and an amount each, an origin.
    V2,
    /// A refund fee beside the fee.
    V3,
}

/// What was agreed. Never changes after the row is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// How they are hashed; a row keeps the version that it was opened with.
    pub version: TermsVersion,
    /// The principal who asked for it: `issuer|sub`.
    pub principal: Arc<str>,
    /// The owner of the transfer: its limits are counted for this owner.
    pub owner: TransferOwner,
    /// The client's key, where one was given.
    pub binding: Option<Binding>,
    /// Where the money comes from, before the fee.
    pub source: Party,
    /// Where the money goes, after the fee.
    pub target: Party,
    /// What is kept as a fee, in base units of the source's asset.
    pub fee: Amount,
    /// What is kept where the money is given back, in base units of the source's asset: it pays a refund on a chain.
    pub refund_fee: Amount,
    /// What a watcher saw, where one opened the transfer.
    pub origin: Option<Origin>,
    /// By the chain's time.
    pub deadline: Option<Millis>,
    /// As found on a chain.
    pub memo: Option<String>,
    /// The client's own reference.
    pub reference: Option<String>,
    /// The client's own words.
    pub metadata: BTreeMap<String, String>,
    /// The day on which it was counted against its owner's limits, where it was: what it took is
    /// given back to that day's rows.
    pub day: Option<Day>,
}

impl Terms {
    /// The terms of a transfer with nothing but its owner and its parties. Both fees are zero.
    pub fn between(
        principal: Arc<str>,
        owner: TransferOwner,
        source: Party,
        target: Party,
    ) -> Self {
        Self {
            version: TermsVersion::V3,
            principal,
            owner,
            binding: None,
            source,
            target,
            fee: Amount::ZERO,
            refund_fee: Amount::ZERO,
            origin: None,
            deadline: None,
            memo: None,
            reference: None,
            metadata: BTreeMap::new(),
            day: None,
        }
    }

    /// The terms of a transfer of one user between two ledgers: one asset, one amount, no fee.
    pub fn between_ledgers(
        principal: Arc<str>,
        user: UserId,
        [from, to]: [LedgerId; 2],
        asset: AssetId,
        amount: Amount,
    ) -> Self {
        let at = |ledger| {
            let (system, account) = (System::Ledger(ledger), Account::User(user));
            Party { system, account, asset, amount }
        };
        Self::between(principal, TransferOwner::User(user), at(from), at(to))
    }

    /// Both parties of the transfer, the source first.
    pub const fn parties(&self) -> [&Party; 2] {
        [&self.source, &self.target]
    }

    /// Both parties, to be changed before the transfer is opened; the source first.
    pub const fn parties_mut(&mut self) -> [&mut Party; 2] {
        [&mut self.source, &mut self.target]
    }

    /// True where both parties have one asset and one amount, and a user owns it: as every transfer
    /// of release 0.1.0.
    fn one_amount(&self) -> bool {
        let [source, target] = self.parties();
        let one = source.asset == target.asset && source.amount == target.amount;
        one && self.owner.user().is_some() && self.origin.is_none()
    }

    /// The fingerprint of what a client asked for: the same key with another one is a conflict.
    /// Every field is preceded by its length, so that no two requests share their bytes. A request as
    /// 0.1.0 knew it has the fingerprint that 0.1.0 bound its key to.
    pub fn fingerprint(&self) -> [u8; 32] {
        // the first bytes of the former form are a length: no text begins like that
        let mut hash = match self.one_amount() {
            true => Sha256::new(),
            false => Sha256::new_with_prefix(b"portage request 2"),
        };
        let mut field = |bytes: &[u8]| {
            hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(bytes);
        };
        if self.one_amount() {
            field(&self.owner.number().to_be_bytes());
            for party in self.parties() {
                field(&[party.system.code()]);
                field(party.account.to_string().as_bytes());
            }
            field(&self.source.asset.0.to_be_bytes());
            field(&self.source.amount.0.to_be_bytes());
        } else {
            field(self.owner.to_string().as_bytes());
            for Party { system, account, asset, amount } in self.parties() {
                field(&[system.code()]);
                field(account.key().as_bytes());
                field(&asset.0.to_be_bytes());
                field(&amount.0.to_be_bytes());
            }
            let origin = self.origin.as_ref();
            field(&origin.map_or_else(Vec::new, |origin| vec![origin.chain.0]));
            field(origin.map_or("", |origin| &origin.key).as_bytes());
            field(self.memo.as_deref().unwrap_or_default().as_bytes());
        }
        field(self.reference.as_deref().unwrap_or_default().as_bytes());
        for (name, value) in &self.metadata {
            field(name.as_bytes());
            field(value.as_bytes());
        }
        hash.finalize().into()
    }
}

/// What an act moves between these parties: an asset, and how much of it. `None`: nothing of the
/// transfer's money, or a refund fee above the amount.
pub(crate) fn share(
    share: Share,
    [source, target]: [&Party; 2],
    refund_fee: Amount,
) -> Option<(AssetId, Amount)> {
    match share {
        Share::Gross => Some((source.asset, source.amount)),
        Share::LessRefundFee => {
            source.amount.minus(refund_fee).map(|amount| (source.asset, amount))
        }
        Share::Net => Some((target.asset, target.amount)),
        Share::OwnCost => None,
    }
}

/// Where a transfer stands. `Copy`, so that a station carries it by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The index of the state in the flow's table.
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

/// A transfer as the journal keeps it.
#[derive(Debug, Clone)]
pub struct Record {
    /// The id that its client knows; it begins with the time at which it was drawn.
    pub id: Id,
    /// The place of its flow in the binary's list of flows.
    pub flow: FlowId,
    /// The journal's number, once it is open.
    pub serial: Option<Serial>,
    /// When it was opened, by the journal's time; 0 before.
    pub created_at: Millis,
    /// When it was last written, by the journal's time; 0 before.
    pub updated_at: Millis,
    /// Its state and what changes with each write.
    pub head: Head,
    /// The last refusal or cause, as operators and users read it.
    pub error: Option<Evidence>,
    /// What was agreed when it was opened.
    pub terms: Arc<Terms>,
    /// What was agreed later, by the unit that accepted it.
    pub agreed: Option<Arc<Agreed>>,
}

impl Record {
    /// A transfer that is about to be opened: no journal has numbered or timed it yet.
    pub const fn new(id: Id, flow: FlowId, head: Head, terms: Arc<Terms>) -> Self {
        let (serial, error, agreed) = (None, None, None);
        Self { id, flow, serial, created_at: 0, updated_at: 0, head, error, terms, agreed }
    }

    /// The party that gives the money, as it was agreed.
    pub fn source(&self) -> &Party {
        &self.terms.source
    }

    /// The party that gets the money: as it was agreed, or before that as far as the terms name it.
    pub fn target(&self) -> &Party {
        target_party(self.agreed.as_deref(), &self.terms.target)
    }

    /// What is kept as a fee, in base units of the source's asset: as it was agreed, or before that by
    /// the terms.
    pub fn fee(&self) -> Amount {
        self.agreed.as_ref().map_or(self.terms.fee, |agreed| agreed.fee)
    }

    /// The deadline by the source chain's time, where there is one: as it was agreed, or before that by
    /// the terms.
    pub fn deadline(&self) -> Option<Millis> {
        self.agreed.as_ref().map_or(self.terms.deadline, |agreed| agreed.deadline)
    }

    /// What an act moves: an asset, and how much of it. `None`: nothing of the transfer's money, or a
    /// refund fee above the amount.
    pub fn share(&self, part: Share) -> Option<(AssetId, Amount)> {
        share(part, [self.source(), self.target()], self.terms.refund_fee)
    }
}

/// What a question learnt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// A question that is answered by yes or no.
    Flag(bool),
    /// A time, a height, an amount.
    Number(u128),
    /// A name, a key, a document.
    Text(Arc<str>),
}

/// What a rule may look at besides the record; stored with the decision.
pub type Facts = BTreeMap<&'static str, Fact>;

/// The version of [`decision`]'s document.
const DECISION: u8 = 1;

/// The document that a decision stores in its event: the rule and every fact that it was given, in the
/// order of their names. Numbers are decimal strings, so that no reader rounds them.
pub fn decision(rule: &str, facts: &Facts) -> String {
    let value = |fact: &Fact| match fact {
        Fact::Flag(flag) => json!({ "flag": flag }),
        Fact::Number(number) => json!({ "number": number.to_string() }),
        Fact::Text(text) => json!({ "text": &**text }),
    };
    let facts: Map<String, Value> =
        facts.iter().map(|(name, fact)| ((*name).to_owned(), value(fact))).collect();
    json!({ "facts": facts, "rule": rule, "version": DECISION }).to_string()
}
