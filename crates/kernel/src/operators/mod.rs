//! The records of operators' work: cases, pauses, actions, approvals (`design.md` §5).
//!
//! [`AdminAction`] is the table of actions, [`ActionResult`] what an action came to, and [`Proposed`] what
//! a second person approves.

mod action;
mod proposal;
pub mod release;
mod result;
mod webhook;

pub use action::{
    ActionRow, ActionSubject, AdminAction, AssetChange, LaneName, NewAsset, NewNumberedAccount,
    NoteText, Permission, Redrive, Reemission, SecondPerson, Verdict,
};
pub use proposal::{
    Proposed, ProposedAcceptance, ProposedAccountStatus, ProposedCancel, ProposedLift,
    ProposedMovement, ProposedRelease, ProposedResume, ProposedStatus, ProposedUnpause,
    ProposedVerdict,
};
pub use result::{ActionResult, OutstandingCall, StoredAnswer};
pub use webhook::{NewWebhook, WebhookAction, WebhookChange};

use crate::attempt::AttemptId;
use crate::audit::{Entry, action_entry};
use crate::flow::table::Flows;
use crate::ids::{AssetId, ChainId, FlowId, Id, LedgerId, Millis, UserId, as_text};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// What a case is about. At most one case of a kind is open about a subject: that is an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The service as a whole.
    Service,
    /// The transfer of this id.
    Transfer(Id),
    /// The user of this number.
    User(UserId),
    /// A ledger that transfers call.
    Ledger(LedgerId),
    /// A chain, by its number in the settings.
    Chain(ChainId),
    /// An attempt on a chain, with all its members.
    Attempt(AttemptId),
    /// An endpoint of webhooks.
    Webhook(Id),
}

impl Subject {
    /// The transfer, where it is about one.
    pub const fn transfer(self) -> Option<Id> {
        match self {
            Self::Transfer(id) => Some(id),
            Self::Service
            | Self::User(_)
            | Self::Ledger(_)
            | Self::Chain(_)
            | Self::Attempt(_)
            | Self::Webhook(_) => None,
        }
    }

    /// The subject of that stored spelling.
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once('/') {
            None if text == "service" => Some(Self::Service),
            Some(("transfer", id)) => id.parse().ok().map(Self::Transfer),
            Some(("user", id)) => id.parse().ok().map(UserId).map(Self::User),
            Some(("ledger", name)) => LedgerId::parse(name).map(Self::Ledger),
            Some(("chain", name)) => ChainId::parse(name).map(Self::Chain),
            Some(("attempt", id)) => id.parse().ok().map(|Id(id)| Self::Attempt(AttemptId(id))),
            Some(("webhook", id)) => id.parse().ok().map(Self::Webhook),
            Some(_) | None => None,
        }
    }
}

/// The stored and wire spelling: `service`, `transfer/<id>`, `user/4001`, `ledger/SPOT`, `chain/NEAR`,
/// `attempt/<id>`, `webhook/<id>`.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service => f.write_str("service"),
            Self::Transfer(id) => write!(f, "transfer/{id}"),
            Self::User(user) => write!(f, "user/{user}"),
            Self::Ledger(ledger) => write!(f, "ledger/{}", ledger.name()),
            Self::Chain(chain) => write!(f, "chain/{}", chain.name()),
            Self::Attempt(AttemptId(id)) => write!(f, "attempt/{}", Id(*id)),
            Self::Webhook(id) => write!(f, "webhook/{id}"),
        }
    }
}

/// How much a case matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Look at it today.
    Warning,
    /// Look at it now.
    Critical,
}

impl Severity {
    /// The spelling in the store and on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warning => "WARNING",
            Self::Critical => "CRITICAL",
        }
    }
}

/// An open question about a transfer or a system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// A listed word, e.g. `CONSERVATION`, `CONTRADICTION`, `WRONG_LEDGER`.
    pub kind: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What it is about.
    pub subject: Subject,
    /// What is known, as a sentence or JSON.
    pub facts: Arc<str>,
}

/// A case that is open, as the journal keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCase {
    /// The journal's number of it.
    pub number: u64,
    /// The listed word of [`Case::kind`].
    pub kind: Arc<str>,
    /// How much it matters.
    pub severity: Severity,
    /// What it is about.
    pub subject: Subject,
    /// What was known when it was opened.
    pub facts: Arc<str>,
    /// When the case was opened, by the journal's time.
    pub opened_at: Millis,
}

/// A note that an operator added to a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// This person looks after it.
    Assigned(Arc<str>),
    /// The words of an operator about the case.
    Comment(Arc<str>),
}

/// What a person may stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// A flow takes no further step.
    Flow(FlowId),
    /// A ledger is not called.
    Ledger(LedgerId),
    /// A chain is not called.
    Chain(ChainId),
    /// No transfer of the asset takes a further step.
    Asset(AssetId),
    /// No transfer from or to this account takes a further step.
    Account(UserId, LedgerId),
    /// This transfer takes no further step.
    Transfer(Id),
    /// The consumers of this group take no message.
    Group(&'static str),
}

impl Scope {
    /// The stored and wire spelling of its kind.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Flow(_) => "flow",
            Self::Ledger(_) => "ledger",
            Self::Chain(_) => "chain",
            Self::Asset(_) => "asset",
            Self::Account(..) => "account",
            Self::Transfer(_) => "transfer",
            Self::Group(_) => "group",
        }
    }
}

/// A pause that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paused {
    /// The journal's number of it.
    pub number: u64,
    /// What takes no further step.
    pub scope: Scope,
    /// The reason that was given, for the audit.
    pub reason: Arc<str>,
    /// The principal that stopped it, or `engine`.
    pub caller: Arc<str>,
    /// When the pause was written.
    pub at: Millis,
}

/// A break of conservation that two persons accepted: reports show it and count with it. Any other break
/// halts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Accepted {
    /// The name of the break, the same in every round.
    pub key: Arc<str>,
    /// Its amount, in base units.
    #[serde(with = "as_text")]
    pub amount: i128,
}

/// Accepted breaks, each once and in one order: the same ones have the same bytes.
fn in_order<S: Serializer>(accept: &[Accepted], to: S) -> Result<S::Ok, S::Error> {
    let mut listed: Vec<&Accepted> = accept.iter().collect();
    listed.sort_unstable();
    listed.dedup();
    listed.serialize(to)
}

/// Something that a person did, once for each (principal, key).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// The principal who did it: `issuer|sub`.
    pub caller: Arc<str>,
    /// The person's idempotency key.
    pub key: Arc<str>,
    /// A listed word: `RETRY`, `HALT`, `RESOLVE`, …
    pub kind: &'static str,
    /// What it was done to: a transfer's id, `ledger/SPOT`, an asset's symbol, …
    pub subject: Arc<str>,
    /// What was asked, as canonical JSON: the same key with another kind, subject or value is a
    /// conflict.
    pub value: Arc<str>,
    /// The reason that was given, for the audit.
    pub reason: Arc<str>,
    /// What was answered, as JSON: a repeat gets the same.
    pub result: Arc<str>,
}

/// The caller of what the engine does by itself. A person's has an issuer, and so a `|`.
pub const ENGINE: &str = "engine";

impl Action {
    /// The row of the HALTs that the engine raises in one unit, under a key of its own.
    pub fn halts_of_engine(key: Arc<str>, reason: Arc<str>, halts: usize) -> Self {
        let (on_wire, calls) = (Vec::new(), 0);
        let result =
            ActionResult::Halted { halt: None, on_wire, calls, quiet: false, stored: true };
        Self {
            caller: ENGINE.into(),
            key,
            kind: "HALT",
            subject: ActionSubject::Service.spelled(&Flows::default(), &[]).into(),
            value: serde_json::json!({ "halts": halts }).to_string().into(),
            reason,
            result: result.stored(),
        }
    }

    /// It as an entry of the operators' chain, which is the history of [`crate::audit::OPERATORS`].
    pub fn entry(&self, seq: u32, at: Millis) -> Entry {
        let Self { caller, key, kind, subject, value, reason, result } = self;
        action_entry(seq, at, kind, caller, &[subject, value, reason, key, result])
    }
}

/// An action as the journal keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastAction {
    /// The journal's number of it.
    pub number: u64,
    /// When it was written, by the journal's time.
    pub at: Millis,
    /// The principal who did it: `issuer|sub`.
    pub caller: Arc<str>,
    /// The person's idempotency key.
    pub key: Arc<str>,
    /// The listed word of [`Action::kind`].
    pub kind: Arc<str>,
    /// What it was done to.
    pub subject: Arc<str>,
    /// What was asked, as JSON.
    pub value: Arc<str>,
    /// The reason that was given, for the audit.
    pub reason: Arc<str>,
    /// What was answered, as JSON.
    pub result: Arc<str>,
}

impl PastAction {
    /// It as the entry of the operators' chain that [`Action::entry`] made of it.
    pub fn entry(&self, seq: u32) -> Entry {
        let Self { number: _, at, caller, key, kind, subject, value, reason, result } = self;
        action_entry(seq, *at, kind, caller, &[subject, value, reason, key, result])
    }
}

/// Something that takes effect when another person approves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Drawn by the worker that writes the proposal.
    pub id: Id,
    /// A listed word: `RESOLVE`, `RESUME`, `DEPOSIT`, `WITHDRAWAL`, `UNPAUSE`, `STATUS`, `ACCOUNT_STATUS`,
    /// `ACCEPT_WITHDRAWAL`, `RELEASE_REFUND`.
    pub kind: &'static str,
    /// What it is about.
    pub subject: Arc<str>,
    /// What exactly, as JSON.
    pub value: Arc<str>,
    /// The reason that was given, for the audit.
    pub reason: Arc<str>,
    /// The principal who proposes it: `issuer|sub`.
    pub caller: Arc<str>,
    /// How long it may be decided, from its writing on, by the journal's time.
    pub lasts: Millis,
}

/// What lets money move again after a HALT: a halt and a resume supersede every pending proposal of it.
pub const RESUME: &str = "RESUME";

/// An answer of a person to a transfer's open call.
pub const RESOLVE: &str = "RESOLVE";

/// External money that its proposer alone may not book.
pub const DEPOSIT: &str = "DEPOSIT";

/// The stored word of a proposal to book a withdrawal.
pub const WITHDRAWAL: &str = "WITHDRAWAL";

/// The end of a pause.
pub const UNPAUSE: &str = "UNPAUSE";
/// The stored kind of a pause, of a transfer too.
pub const PAUSE: &str = "PAUSE";
/// The kind of a transfer's pause as it is shown, beside `RESUME_TRANSFER`.
pub const PAUSE_TRANSFER: &str = "PAUSE_TRANSFER";

/// A change of the status of a user's account at a ledger.
pub const STATUS: &str = "STATUS";

/// A change of the status of an account at the accounts ledger.
pub const ACCOUNT_STATUS: &str = "ACCOUNT_STATUS";
/// The stored word of [`AdminAction::AcceptWithdrawal`].
pub const ACCEPT_WITHDRAWAL: &str = "ACCEPT_WITHDRAWAL";
/// The stored word of [`AdminAction::ReleaseRefund`].
pub const RELEASE_REFUND: &str = "RELEASE_REFUND";

/// The engine's own decision about a proposal whose matter is no longer what it was.
pub const SUPERSEDE: &str = "SUPERSEDE";

/// The longest time that a proposal may be given, in milliseconds: a year.
pub const LONGEST_APPROVAL: Millis = 8_760 * 3_600_000;

/// How an approval stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApprovalStatus {
    /// It waits for a decision.
    Pending,
    /// Another person approved, and it took effect.
    Approved,
    /// Another person, or the proposer, refused it.
    Rejected,
    /// What it was about is no longer so, or is done already: a later halt, a resume, a transfer that moved on, an
    /// account that another person freed.
    Superseded,
    /// It was not decided in time. That is never stored: it is a pending row whose time has passed.
    Lapsed,
}

impl ApprovalStatus {
    /// The stored and wire spelling.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Approved => "APPROVED",
            Self::Rejected => "REJECTED",
            Self::Superseded => "SUPERSEDED",
            Self::Lapsed => "LAPSED",
        }
    }

    /// Every status, in the order of its life.
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::Approved, Self::Rejected, Self::Superseded, Self::Lapsed];

    /// The status with that spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name() == text)
    }

    /// The status at a moment of what is stored like this: a proposal that was not decided in time has lapsed, and so
    /// has one whose end is further away than any, which a clock gave it that was ahead.
    #[must_use]
    pub const fn at(self, now: Millis, expires_at: Millis) -> Self {
        match self {
            Self::Pending
                if expires_at <= now || expires_at.saturating_sub(now) > LONGEST_APPROVAL =>
            {
                Self::Lapsed
            }
            Self::Pending => Self::Pending,
            stand @ (Self::Approved | Self::Rejected | Self::Superseded | Self::Lapsed) => stand,
        }
    }
}

/// A proposal as the journal keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The id that the writing worker drew for the proposal.
    pub id: Id,
    /// The listed word of [`Proposal::kind`].
    pub kind: Arc<str>,
    /// What it is about.
    pub subject: Arc<str>,
    /// What is proposed exactly, as JSON.
    pub value: Arc<str>,
    /// The reason that was given, for the audit.
    pub reason: Arc<str>,
    /// The principal who proposed it: `issuer|sub`.
    pub caller: Arc<str>,
    /// When it was written, by the journal's time.
    pub at: Millis,
    /// Until when it may be decided, by the journal's time.
    pub expires_at: Millis,
    /// Whether it waits, or how it was decided.
    pub stand: ApprovalStatus,
    /// The principal that decided, and when; [`JOURNAL`] where a halt or a resume superseded it,
    /// [`ENGINE`] where anything else that was done meanwhile did.
    pub decided: Option<(Arc<str>, Millis)>,
}

/// The decider of a proposal that a halt or a resume superseded.
pub const JOURNAL: &str = "journal";

/// A HALT as it was raised. Each has a number of its own, also one that was raised during another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halt {
    /// Its number; the next one's is higher by one.
    pub number: u64,
    /// Why it was raised.
    pub reason: Arc<str>,
    /// When it was written, by the journal's time.
    pub at: Millis,
    /// When persons resumed; `None`: it stands.
    pub resumed_at: Option<Millis>,
}

#[cfg(test)]
mod tests {
    use super::{Action, AttemptId, ChainId, Entry, Id, LedgerId, Subject, UserId};

    #[test]
    fn a_subject_reads_what_it_writes() {
        let all = [
            Subject::Service,
            Subject::Transfer(Id(77)),
            Subject::User(UserId(4001)),
            Subject::Ledger(LedgerId::MARGIN),
            Subject::Chain(ChainId(20)),
            Subject::Attempt(AttemptId(78)),
            Subject::Webhook(Id(7)),
        ];
        for subject in all {
            assert_eq!(Subject::parse(&subject.to_string()), Some(subject));
        }
        for text in [
            "",
            "services",
            "transfer/x",
            "user/-1",
            "ledger/MOON",
            "ledger/NEAR",
            "chain/SPOT",
            "attempt/x",
            "flow/internal",
        ] {
            assert_eq!(Subject::parse(text), None, "{text}");
        }
    }

    #[test]
    fn every_word_of_an_action_is_in_its_entry() {
        let action = Action {
            caller: "ops|1".into(),
            key: "k".into(),
            kind: "HALT",
            subject: "service".into(),
            value: r#"{"to":"x"}"#.into(),
            reason: "why".into(),
            result: "{}".into(),
        };
        let detail = r#"["service","{\"to\":\"x\"}","why","k","{}"]"#;
        let should = Entry {
            seq: 3,
            at: 5,
            from: None,
            to: 0,
            event: "HALT".to_owned(),
            caller: Some("ops|1".to_owned()),
            detail: Some(detail.to_owned()),
            agreed: None,
        };
        assert_eq!(action.entry(3, 5), should);
    }
}
