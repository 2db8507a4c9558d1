//! What people do to the service, through one entry: [`crate::Engine::act`].
//!
//! Each deed is a row of the audit in the same unit as its effect, once for each (caller, key), and
//! an `OPERATOR` event in the history of the transfer that it is about.

mod act;
mod approval;
mod asset;
mod doing;
mod json;
mod pause;
mod transfer;

pub(crate) use doing::{Doing, Stop, Turns};

use kernel::answer::{Cause, Evidence};
use kernel::code::Code;
use kernel::conserve::Break;
use kernel::ids::{AssetId, Id, LedgerId, Millis, UserId};
use kernel::life::Leg;
use kernel::money::{Amount, Asset, AssetStatus};
use kernel::people::{Accepted, Scope, Stand};
use kernel::ports::ledger::AccountStatus;
use kernel::unit::Key;
use serde_json::Value;
use std::sync::Arc;

/// Who does something, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The principal: `issuer|sub`.
    pub caller: Arc<str>,
    /// The person's idempotency key. The same deed under it is done once; another one is refused.
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
    /// Which one.
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
pub enum Deed {
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
        /// The transfer.
        id: Id,
        /// The answer.
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
        /// The ledger.
        ledger: LedgerId,
        /// Whose account.
        user: UserId,
        /// What it becomes.
        status: AccountStatus,
    },
    /// Adds an asset.
    AddAsset(NewAsset),
    /// Changes an asset.
    ChangeAsset(AssetChange),
    /// Approves what another person proposed; it takes effect now.
    Approve(Id),
    /// Refuses what somebody proposed; nothing takes effect.
    Reject(Id),
    /// Somebody looks after a case.
    Assign {
        /// The case's number.
        case: u64,
        /// Who.
        to: Arc<str>,
    },
    /// Words about a case.
    Comment {
        /// The case's number.
        case: u64,
        /// The words.
        text: Arc<str>,
    },
}

/// What a ledger holds under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// The effect exists, under the ledger's number.
    Done(u64),
    /// It was refused, for ever.
    Rejected(Evidence),
    /// It was fenced: it never happened and never will.
    Fenced,
    /// Nothing. That is no evidence: the call may still be on its way.
    Nothing,
    /// It did not answer, or not clearly: why.
    Unclear(Arc<str>),
}

/// What a deed came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The next attempt is due.
    Hastened,
    /// What the ledger holds for the open call. Where it is an answer the transfer was hastened.
    Asked {
        /// The ledger.
        ledger: LedgerId,
        /// The leg that was asked after.
        leg: Leg,
        /// What it holds.
        said: Said,
    },
    /// It stands. The pause's number, as long as it stands.
    Paused(Option<u64>),
    /// It goes on.
    Lifted,
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
        /// The approval.
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
    /// Money moves again.
    Resumed {
        /// The breaks that were accepted.
        accepted: Vec<Accepted>,
    },
    /// The open call has its answer.
    Resolved {
        /// As the ledger bore it out, which may be `done` where `rejected` was proposed.
        verdict: Verdict,
        /// What the ledger said.
        said: Said,
        /// The name of the state that it led to.
        state: Arc<str>,
    },
    /// The transfer had moved on before the approval, maybe back to the same state: nothing was done.
    Overtaken {
        /// The name of the state that it stands in.
        state: Arc<str>,
    },
    /// The proposal was refused: nothing was done.
    Declined,
    /// The account has that status.
    StatusSet,
    /// The asset as it is now.
    Asset(Asset),
    /// The case has the note.
    Noted,
}

/// A deed that was done, now or before under the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Performed {
    /// What it came to.
    pub outcome: Outcome,
    /// When, by the journal's time.
    pub at: Millis,
    /// It had been done before; nothing was done now.
    pub replayed: bool,
}

/// Why a deed was not done. But for [`Objection::Unknown`] nothing was changed.
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
    /// Somebody decided before.
    Decided(Stand),
    /// These breaks of conservation were not accepted with the same key and amount.
    Breaks(Vec<Break>),
    /// A code of the contract says it: `HALTED`, `OVERLOADED`.
    Code(Code),
    /// Nobody knows; repeat it with the same key.
    Unknown(Cause),
}
