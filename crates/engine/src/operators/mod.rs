//! What people do to the service, through one entry: [`crate::Engine::execute`].
//!
//! Each action is a row of the audit in the same unit as its effect, once for each (caller, key), and
//! an `OPERATOR` event in the history of the transfer that it is about.

mod action_context;
mod approval;
mod asset;
mod deposit;
mod execute;
mod json;
mod pause;
mod transfer;
pub(crate) mod verdict;

pub(crate) use action_context::{ActionContext, Stop, Turns};

use kernel::answer::{Cause, Evidence};
use kernel::code::Code;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, LedgerId, Millis, UserId};
use kernel::money::{Amount, Asset, AssetStatus};
use kernel::operation::Key;
use kernel::operators::{Accepted, ApprovalStatus, Scope};
use kernel::ports::ledger::{AccountStatus, External};
use kernel::reconcile::Break;
use serde_json::Value;
use std::sync::Arc;

/// Who does something, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    pub caller: Arc<str>,
    /// The person's idempotency key. The same action under it is done once; another one is refused.
    pub key: Arc<str>,
    /// Why, for the audit.
    pub reason: Arc<str>,
}

/// What a person says that the open call of a transfer came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAsset {
    /// Its number; `None`: the highest and one.
    pub id: Option<AssetId>,
    /// Its name at the edge: 1 to 16 upper-case letters and digits, not in use.
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

/// What changes of an asset; `None` leaves it as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AssetChange {
    pub symbol: String,
    /// Whether it may be used.
    pub status: Option<AssetStatus>,
    /// Whether users may move it between their own accounts.
    pub transferable: Option<bool>,
    /// The least that one transfer may move, in base units; above zero.
    pub min: Option<Amount>,
    /// The most; `Some(None)` lifts the limit.
    pub max: Option<Option<Amount>>,
    /// The most on one day; `Some(None)` lifts the limit.
    pub daily: Option<Option<Amount>>,
}

/// Something that a person does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminAction {
    /// Makes the transfer's next attempt due now, wherever it waits.
    Retry(Id),
    /// Asks the ledger of the transfer's open call what it stored. Works under HALT.
    Ask(Id),
    /// The transfer takes no further step.
    PauseTransfer(Id),
    /// It goes on: every pause of this transfer is lifted.
    ResumeTransfer(Id),
    /// Proposes, or with four eyes off gives, an answer to the transfer's open call.
    Resolve {
        id: Id,
        verdict: Verdict,
        /// What bears it out, for the one who approves and for the audit.
        evidence: Value,
    },
    /// No claim is written and no effect begun, until persons resume.
    Halt,
    /// Proposes, or with four eyes off orders, that money moves again.
    Resume {
        /// The breaks of conservation that are accepted, by key and amount.
        accept: Vec<Accepted>,
    },
    /// Nothing in the scope takes a further step.
    Pause(Scope),
    /// Lifts the pause of that number.
    Unpause(u64),
    /// Sets an account's status at its ledger.
    Status {
        ledger: LedgerId,
        user: UserId,
        status: AccountStatus,
    },
    AddAsset(NewAsset),
    ChangeAsset(AssetChange),
    /// Proposes a deposit that its caller alone may not book.
    Deposit(External),
    /// Approves what another person proposed; it takes effect now.
    Approve(Id),
    /// Refuses a proposal; nothing takes effect.
    Reject(Id),
    /// Assigns a case to an operator.
    Assign {
        case: u64,
        to: Arc<str>,
    },
    /// Words about a case.
    Comment {
        case: u64,
        text: Arc<str>,
    },
}

/// What a ledger holds under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredAnswer {
    /// The effect exists, under the ledger's number.
    Done(u64),
    /// It was refused, for ever.
    Rejected(Evidence),
    /// It was fenced: it never happened and never will.
    Fenced,
    /// Nothing. That is no evidence: the call may still be on its way.
    Nothing,
    /// It did not answer, or not clearly: why.
    Unknown(Arc<str>),
}

/// What an action came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionResult {
    /// The next attempt is due.
    Retried,
    /// What the ledger holds for the open call. Where it is an answer its next attempt is due.
    Asked {
        ledger: LedgerId,
        /// The leg that was asked after.
        leg: Leg,
        said: StoredAnswer,
    },
    /// It stands. The pause's number, as long as it stands.
    Paused(Option<u64>),
    Unpaused,
    /// No money moves, as long as a HALT stands.
    Halted {
        /// The number of the last halt that stands now, which a resume names; `None`: persons resumed
        /// since, or the journal does not say.
        halt: Option<u64>,
        /// Calls that had begun before, and may still have an effect: the first hundred.
        on_wire: Vec<(LedgerId, Key)>,
        /// So many calls there were.
        calls: usize,
        /// A HALT stands, and every one of them, and every unit begun before it, has ended since, at
        /// every live worker.
        quiet: bool,
    },
    /// Another person has to approve.
    Proposed {
        approval: Id,
    },
    /// The proof for a resume is being made; nothing took effect yet. The same action under the same key
    /// asks again.
    Proving {
        /// The number of the transfer that it has come to.
        at: u64,
        /// The number of the last one.
        of: u64,
    },
    Resumed {
        /// The breaks that were accepted.
        accepted: Vec<Accepted>,
    },
    /// The deposit that was proposed is booked.
    Deposited {
        reference: Arc<str>,
    },
    /// The open call has its answer.
    Resolved {
        /// As the ledger bore it out, which may be `done` where `rejected` was proposed.
        verdict: Verdict,
        /// What the ledger said.
        said: StoredAnswer,
        /// The name of the state that it led to.
        state: Arc<str>,
    },
    /// The transfer had moved on before the approval, maybe back to the same state, or the deposit's
    /// reference was booked (`BOOKED`): nothing was done.
    Superseded {
        /// The name of the state that it stands in.
        state: Arc<str>,
    },
    /// The proposal was refused: nothing was done.
    Refused,
    /// The account has that status.
    StatusSet,
    /// The asset as it is now.
    Asset(Asset),
    /// The case has the note.
    Noted,
}

/// An action that was done, now or before under the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerformedAction {
    /// What it came to.
    pub outcome: ActionResult,
    /// When, by the journal's time.
    pub at: Millis,
    /// It had been done before; nothing was done now.
    pub replayed: bool,
}

/// Why an action was not done. But for [`Objection::Unknown`] nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    /// The key did something else: these of `kind`, `subject`, `value` differ.
    Mismatch(Vec<&'static str>),
    /// There is no such `transfer`, `approval`, `case`, `pause`, `ledger`, `chain`, `account`,
    /// `asset`.
    NotFound(&'static str),
    /// What was asked can never be done like that: a sentence.
    Invalid(String),
    /// What was asked cannot be done as things stand: a sentence.
    NotPossible(String),
    /// Who proposed cannot approve, under no issuer and in no other spelling.
    SamePerson,
    /// The proposal was decided before.
    Decided(ApprovalStatus),
    /// These breaks of conservation were not accepted with the same key and amount.
    Breaks(Vec<Break>),
    /// A code of the contract says it: `HALTED`, `OVERLOADED`.
    Code(Code),
    /// The outcome is not known; repeat it with the same key.
    Unknown(Cause),
}
