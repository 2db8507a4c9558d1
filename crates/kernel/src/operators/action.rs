//! The table of what operators can do: for the engine that executes it, the server and the command line
//! that ask for it, and the audit that keeps it.
//!
//! A new action is a variant with the fields of its value, and a row in [`AdminAction::row`].

use super::proposal::ProposedMovement;
use super::webhook::WebhookAction;
use super::{
    ACCEPT_WITHDRAWAL, ACCOUNT_STATUS, Accepted, DEPOSIT, PAUSE, RELEASE_REFUND, RESOLVE, RESUME,
    STATUS, Scope, UNPAUSE, WITHDRAWAL, in_order,
};
use crate::accounts::NumberedStatus;
use crate::flow::table::Flows;
use crate::ids::{AssetId, ChainId, Id, LedgerId, Millis, UserId, user_text};
use crate::money::{Amount, Asset, AssetStatus};
use crate::ports::ledger::{AccountStatus, Direction};
use icu_normalizer::ComposingNormalizerBorrowed;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};
use std::sync::Arc;

/// An operator's answer to the open call of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The effect exists. Only the ledger's own stored DONE bears it out.
    Done,
    /// The effect does not exist and never will. Only a fence, or the stored refusal, bears it out.
    Rejected,
    /// The attempt can never land. No ledger has such an answer.
    Dead,
}

impl Verdict {
    /// The stored and wire spelling.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Rejected => "rejected",
            Self::Dead => "dead",
        }
    }

    /// The verdict of that spelling.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Done, Self::Rejected, Self::Dead].into_iter().find(|v| v.name() == text)
    }
}

/// An asset that is added. It begins ACTIVE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewAsset {
    /// Its number; `None`: the highest and one.
    pub id: Option<AssetId>,
    /// Its name at the edge: 1 to 16 upper-case letters and digits, not in use.
    #[serde(skip)]
    pub symbol: String,
    /// Its decimals, at most 38. They never change.
    pub precision: u8,
    /// Whether users may move it between their own accounts.
    pub transferable: bool,
    /// The least that one transfer may move, in base units; above zero.
    pub min: Amount,
    /// The most, where there is a limit.
    pub max: Option<Amount>,
    /// The most that one user may move on one day in UTC, where there is a limit.
    pub daily: Option<Amount>,
}

/// An account at the accounts ledger that is opened. It begins ACTIVE and empty; its owner and its
/// currency never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewNumberedAccount {
    /// Its number, not in use.
    #[serde(skip)]
    pub number: Arc<str>,
    /// The user who may move its money.
    #[serde(with = "user_text")]
    pub owner: UserId,
    /// The symbol of the one asset that it holds.
    pub currency: String,
}

/// How dead letters go back to their topics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Redrive {
    /// The topic of dead letters.
    #[serde(skip)]
    pub topic: Arc<str>,
    /// The most messages that are looked at, the oldest of each partition first.
    pub most: u64,
    /// The most messages that are sent in a second.
    pub per_second: u32,
    /// A message that went back this often is passed over.
    pub replays: u32,
}

/// Published messages that are sent again, by when they were published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Reemission {
    /// At or after this time of the journal.
    pub from: Millis,
    /// Before this time, which must lie in the past.
    pub to: Millis,
}

/// What changes of an asset; `None` leaves it as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AssetChange {
    /// Its name at the edge, which never changes.
    #[serde(skip)]
    pub symbol: String,
    /// Whether it may be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<AssetStatus>,
    /// Whether users may move it between their own accounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transferable: Option<bool>,
    /// The least that one transfer may move, in base units; above zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Amount>,
    /// The most; `Some(None)` lifts the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Option<Amount>>,
    /// The most on one day; `Some(None)` lifts the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily: Option<Option<Amount>>,
}

/// Words of an operator about a transfer: 1 to [`NoteText::MOST`] characters in Unicode's NFC, no space
/// around them and no control but the end of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteText(Arc<str>);

impl NoteText {
    /// The most characters of a note.
    pub const MOST: usize = 1000;

    /// What was typed, trimmed and in NFC; `None` where nothing is left, or it is too long or has a
    /// control character.
    pub fn parse(typed: &str) -> Option<Self> {
        let text = ComposingNormalizerBorrowed::new_nfc().normalize(typed.trim());
        let fits = (1..=Self::MOST).contains(&text.chars().count());
        let plain = !text.chars().any(|one| one.is_control() && one != '\n');
        (fits && plain).then(|| Self(text.into()))
    }
}

impl std::fmt::Display for NoteText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// An action of an operator. It serializes as its value in the audit, without the fields of the subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum AdminAction {
    /// Makes the transfer's next attempt due now, wherever it waits.
    Retry(#[serde(serialize_with = "no_value")] Id),
    /// Asks the ledger of the transfer's open call what it stored. Works under HALT.
    Ask(#[serde(serialize_with = "no_value")] Id),
    /// The transfer takes no further step.
    PauseTransfer(#[serde(serialize_with = "no_value")] Id),
    /// It goes on: every pause of this transfer is lifted.
    ResumeTransfer(#[serde(serialize_with = "no_value")] Id),
    /// Words about a transfer in any state. They move no money, so they are written under HALT too.
    NoteTransfer {
        /// The transfer that the words are about.
        #[serde(skip)]
        id: Id,
        /// The words, as they are kept.
        text: NoteText,
    },
    /// Proposes, or with four eyes off gives, an answer to the transfer's open call.
    Resolve {
        /// The transfer whose open call the verdict answers.
        #[serde(skip)]
        id: Id,
        /// The operator's answer to the call.
        #[serde(rename = "answer")]
        verdict: Verdict,
        /// The operator's evidence, for the person who approves and for the audit.
        evidence: Value,
    },
    /// No claim is written and no effect begun, until persons resume.
    Halt,
    /// Proposes, or with four eyes off orders, that money moves again.
    Resume {
        /// The breaks of conservation that are accepted, by key and amount.
        #[serde(serialize_with = "in_order")]
        accept: Vec<Accepted>,
    },
    /// Nothing in the scope takes a further step.
    Pause(#[serde(serialize_with = "no_value")] Scope),
    /// Lifts the pause of that number. Where four eyes are on it is proposed for a chain that the engine itself
    /// stopped, and for an account that the same person paused: the engine looks up who set it.
    Unpause(#[serde(serialize_with = "no_value")] u64),
    /// Retires a lane: no attempt of any worker takes a lock of it any more, for ever.
    RetireLane(#[serde(serialize_with = "no_value")] LaneName),
    /// Asks the chain whether it still has a lane that was retired, and stores that it has not.
    ProveLaneGone(#[serde(serialize_with = "no_value")] LaneName),
    /// Proposes, or with four eyes off does: money that left a vault without an attempt is taken from the inventory. The
    /// row of the withdrawal, by its name.
    AcceptWithdrawal(#[serde(serialize_with = "no_value")] Arc<str>),
    /// Proposes, or with four eyes off allows, one more refund of a transfer whose money is held.
    ReleaseRefund(#[serde(serialize_with = "no_value")] Id),
    /// Sets an account's status at its ledger. Where four eyes are on, a person who barred the account only
    /// proposes to free it: the engine looks up who set it.
    Status {
        /// The ledger that has the account.
        #[serde(skip)]
        ledger: LedgerId,
        /// The user who owns the account.
        #[serde(skip)]
        user: UserId,
        /// The status from now on.
        status: AccountStatus,
    },
    /// Opens an account at the accounts ledger.
    OpenAccount(NewNumberedAccount),
    /// Sets the status of an account at the accounts ledger. Only an empty account is closed, and a closed
    /// one stays closed. A person who froze it only proposes to free it, as with [`Self::Status`].
    AccountStatus {
        /// The number of the account.
        #[serde(skip)]
        number: Arc<str>,
        /// The status from now on.
        status: NumberedStatus,
    },
    /// Adds an asset, which begins ACTIVE.
    AddAsset(NewAsset),
    /// Changes an asset's status or limits.
    ChangeAsset(AssetChange),
    /// A key that is parked is tried again now.
    Unpark {
        /// The group for which it waits.
        #[serde(skip)]
        group: Arc<str>,
        /// The topic of its messages.
        topic: Arc<str>,
        /// The key of its messages.
        key: Arc<str>,
    },
    /// Dead letters go back to their topics, under the numbers that they have.
    Redrive(Redrive),
    /// Published messages are sent again, under the numbers that they have.
    Reemit(Reemission),
    /// A group goes on at the first message that was published at or after a time.
    Seek {
        /// The name of the group of consumers.
        #[serde(skip)]
        group: Arc<str>,
        /// The time, by the bus's clock.
        to: Millis,
    },
    /// Proposes a deposit or a withdrawal that its caller alone may not book.
    Movement(ProposedMovement),
    /// Approves what another person proposed; it takes effect now.
    Approve(#[serde(serialize_with = "no_value")] Id),
    /// Refuses a proposal; nothing takes effect.
    Reject(#[serde(serialize_with = "no_value")] Id),
    /// Assigns a case to an operator.
    Assign {
        /// The number of the case.
        #[serde(skip)]
        case: u64,
        /// The operator who looks after it from now on.
        to: Arc<str>,
    },
    /// Words about a case.
    Comment {
        /// The number of the case.
        #[serde(skip)]
        case: u64,
        /// The words, as they were given.
        text: Arc<str>,
    },
    /// Something about an endpoint of webhooks.
    Webhook(WebhookAction),
}

/// A lane of a chain: a key or account whose locks are spent one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneName {
    /// The chain whose account has it.
    pub chain: ChainId,
    /// The key or account, as the chain's adapter spells it.
    pub lane: Arc<str>,
}

/// What an action is done to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionSubject {
    /// The service as a whole.
    Service,
    /// One transfer, by its id.
    Transfer(Id),
    /// What a pause stops.
    Scope(Scope),
    /// A pause, by its number.
    Pause(u64),
    /// A user's account at a ledger.
    Account(UserId, LedgerId),
    /// An account at the accounts ledger, by its number.
    NumberedAccount(Arc<str>),
    /// An asset, by its symbol.
    Asset(String),
    /// A deposit, by its reference.
    Deposit(Arc<str>),
    /// A withdrawal, by its reference.
    Withdrawal(Arc<str>),
    /// A proposal, by its id.
    Approval(Id),
    /// A case, by its number.
    Case(u64),
    /// A lane of a chain.
    Lane(LaneName),
    /// Money that left a vault, by the name of its row.
    VaultWithdrawal(Arc<str>),
    /// An endpoint of webhooks that is added.
    Webhooks,
    /// An endpoint of webhooks, by its id.
    Webhook(Id),
    /// A group of consumers, by its name.
    Group(Arc<str>),
    /// A topic of the bus.
    Topic(Arc<str>),
    /// The outbox of the journal.
    Outbox,
}

impl ActionSubject {
    /// The stored and wire spelling, with the names that the flows and the assets have.
    pub fn spelled(&self, flows: &Flows, assets: &[Asset]) -> String {
        match self {
            Self::Service => "service".to_owned(),
            Self::Transfer(id) => id.to_string(),
            Self::Scope(scope) => spelled_scope(*scope, flows, assets),
            Self::Pause(number) => format!("pause/{number}"),
            Self::Account(user, ledger) => format!("account/{user}/{}", ledger.name()),
            Self::NumberedAccount(number) => format!("account/{number}"),
            Self::Asset(symbol) => symbol.clone(),
            Self::Deposit(reference) => format!("deposit/{reference}"),
            Self::Withdrawal(reference) => format!("withdrawal/{reference}"),
            Self::Approval(id) => format!("approval/{id}"),
            Self::Case(number) => format!("case/{number}"),
            Self::Lane(of) => format!("lane/{}/{}", of.chain.name(), of.lane),
            Self::VaultWithdrawal(name) => format!("vault/{name}"),
            Self::Webhooks => "webhooks".to_owned(),
            Self::Webhook(id) => format!("webhook/{id}"),
            Self::Group(name) => format!("group/{name}"),
            Self::Topic(name) => format!("topic/{name}"),
            Self::Outbox => "outbox".to_owned(),
        }
    }
}

/// A scope as the audit names it: a transfer by its id alone, an asset by its symbol.
fn spelled_scope(scope: Scope, flows: &Flows, assets: &[Asset]) -> String {
    match scope {
        Scope::Flow(flow) => {
            let table = flows.0.get(usize::from(flow.0));
            format!("flow/{}", table.map_or("unknown", |table| table.flow))
        }
        Scope::Ledger(ledger) => format!("ledger/{}", ledger.name()),
        Scope::Chain(chain) => format!("chain/{chain}"),
        Scope::Asset(asset) => {
            let known = assets.iter().find(|known| known.id == asset);
            known.map_or_else(|| format!("asset/{asset}"), |known| known.symbol.clone())
        }
        Scope::Account(user, ledger) => format!("account/{user}/{}", ledger.name()),
        Scope::Transfer(id) => id.to_string(),
        Scope::Group(name) => format!("group/{name}"),
    }
}

/// What a caller needs for an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// To act as an operator: `ops:act`.
    Act,
    /// To decide what another person proposed: `ops:approve`.
    Approve,
}

/// Whether an action waits for the approval of a second person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondPerson {
    /// It takes effect at once.
    Never,
    /// It waits where four eyes are on.
    FourEyes,
    /// It waits under every setting.
    Always,
}

/// The row of an action in the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionRow {
    /// The word in the audit and on the wire.
    pub kind: &'static str,
    /// What it is done to.
    pub subject: ActionSubject,
    /// What its caller needs.
    pub permission: Permission,
    /// Whether it waits for another person.
    pub second_person: SecondPerson,
}

impl AdminAction {
    /// The stored word of [`Self::NoteTransfer`], by which the notes of a transfer are found.
    pub const NOTE: &'static str = "NOTE";

    /// The table of actions.
    pub fn row(&self) -> ActionRow {
        use ActionSubject as On;
        use Permission::{Act, Approve};
        use SecondPerson::{Always, FourEyes, Never};
        let row = |kind, subject, permission, second_person| ActionRow {
            kind,
            subject,
            permission,
            second_person,
        };
        match self {
            Self::Retry(id) => row("RETRY", On::Transfer(*id), Act, Never),
            Self::Ask(id) => row("ASK", On::Transfer(*id), Act, Never),
            Self::PauseTransfer(id) => row(PAUSE, On::Scope(Scope::Transfer(*id)), Act, Never),
            Self::ResumeTransfer(id) => row("RESUME_TRANSFER", On::Transfer(*id), Act, Never),
            Self::NoteTransfer { id, .. } => row(Self::NOTE, On::Transfer(*id), Act, Never),
            Self::Resolve { id, .. } => row(RESOLVE, On::Transfer(*id), Act, FourEyes),
            Self::Halt => row("HALT", On::Service, Act, Never),
            Self::Resume { .. } => row(RESUME, On::Service, Act, FourEyes),
            Self::Pause(scope) => row(PAUSE, On::Scope(*scope), Act, Never),
            Self::Unpause(number) => row(UNPAUSE, On::Pause(*number), Act, Never),
            Self::RetireLane(of) => row("RETIRE_LANE", On::Lane(of.clone()), Act, Never),
            Self::ProveLaneGone(of) => row("PROVE_LANE_GONE", On::Lane(of.clone()), Act, Never),
            Self::AcceptWithdrawal(name) => {
                row(ACCEPT_WITHDRAWAL, On::VaultWithdrawal(name.clone()), Act, FourEyes)
            }
            Self::ReleaseRefund(id) => row(RELEASE_REFUND, On::Transfer(*id), Act, FourEyes),
            Self::Status { ledger, user, .. } => {
                row(STATUS, On::Account(*user, *ledger), Act, Never)
            }
            Self::OpenAccount(new) => {
                row("OPEN_ACCOUNT", On::NumberedAccount(new.number.clone()), Act, Never)
            }
            Self::AccountStatus { number, .. } => {
                row(ACCOUNT_STATUS, On::NumberedAccount(number.clone()), Act, Never)
            }
            Self::AddAsset(new) => row("ADD_ASSET", On::Asset(new.symbol.clone()), Act, Never),
            Self::ChangeAsset(new) => {
                row("CHANGE_ASSET", On::Asset(new.symbol.clone()), Act, Never)
            }
            Self::Unpark { group, .. } => row("UNPARK", On::Group(group.clone()), Act, Never),
            Self::Redrive(of) => row("REDRIVE", On::Topic(of.topic.clone()), Act, Never),
            Self::Reemit(_) => row("REEMIT", On::Outbox, Act, Never),
            Self::Seek { group, .. } => row("SEEK", On::Group(group.clone()), Act, Never),
            Self::Movement(new) => match new.direction {
                Direction::In => row(DEPOSIT, On::Deposit(new.reference.clone()), Act, Always),
                Direction::Out => {
                    row(WITHDRAWAL, On::Withdrawal(new.reference.clone()), Act, Always)
                }
            },
            Self::Approve(id) => row("APPROVE", On::Approval(*id), Approve, Never),
            Self::Reject(id) => row("REJECT", On::Approval(*id), Approve, Never),
            Self::Assign { case, .. } => row("ASSIGN", On::Case(*case), Act, Never),
            Self::Comment { case, .. } => row("COMMENT", On::Case(*case), Act, Never),
            Self::Webhook(action) => {
                let (kind, endpoint) = action.row();
                row(kind, endpoint.map_or(On::Webhooks, On::Webhook), Act, Never)
            }
        }
    }

    /// The value of the action in the audit: everything but the subject.
    pub fn value(&self) -> Value {
        // texts, numbers and what was JSON before: it can be written
        let value = serde_json::to_value(self).unwrap_or_default();
        if value.is_null() { json!({}) } else { value }
    }
}

/// An action that its kind and subject say whole has an empty value.
pub(super) fn no_value<T, S: Serializer>(_subject: &T, to: S) -> Result<S::Ok, S::Error> {
    serde::ser::SerializeMap::end(to.serialize_map(Some(0))?)
}
