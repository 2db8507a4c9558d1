//! The journal's unit of writing: guards, what is written, and at most one fork at its end.

use crate::answer::{Answer, Cause, Evidence};
use crate::attempt::{Attempt, AttemptId, Form};
use crate::ids::{AssetId, FlowId, Id, LedgerId, Millis, Serial, UserId, WorkerId};
use crate::life::Leg;
use crate::money::{Amount, Asset};
use crate::people::{About, Accepted, Action, Count, Day, Note, Proposal, Scope, Stand};
use crate::ports::ledger::{Identity, Known};
use crate::record::{Account, Head, Record};
use crate::table::S;
use std::sync::Arc;

/// The name of one effect at one ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The transfer.
    pub id: Id,
    /// Which of its effects.
    pub leg: Leg,
}

/// An operation at a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// Its name; the ledger answers a repeat with what it stored.
    pub key: Key,
    /// Whose account.
    pub account: Account,
    /// The other account of a [`Leg::Move`]; `None` for every other leg.
    pub other: Option<Account>,
    /// What.
    pub asset: AssetId,
    /// How much, in base units.
    pub amount: Amount,
}

/// What a ledger stored under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The effect exists.
    Done,
    /// It was refused, for ever.
    Rejected(Evidence),
    /// It was fenced: it never happened and never will.
    Fenced,
}

/// An operation as a ledger lists it, or as the journal keeps it as a receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The ledger's number of it.
    pub seq: u64,
    /// What was asked. A fence knows only the key: its amount is zero.
    pub op: Op,
    /// What became of it.
    pub outcome: Outcome,
}

/// A compare-and-swap. [`Wrote::Lost`] names the one that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// No such transfer yet, and its id lies above the stored horizon.
    Fresh(Id),
    /// (flow, scope, key) is unbound.
    Unbound {
        /// The flow.
        flow: FlowId,
        /// The scope of the key.
        scope: Arc<str>,
        /// The client's key.
        key: Arc<str>,
    },
    /// The transfer stands exactly there.
    Transfer {
        /// Which.
        id: Id,
        /// In this state.
        state: S,
        /// With this version.
        version: u32,
    },
    /// The attempt stands exactly there.
    Attempt {
        /// Which.
        id: AttemptId,
        /// With this version.
        version: u32,
    },
    /// A resource (a key, a cursor) has this version; 0 where it does not exist.
    Resource {
        /// Which.
        name: Arc<str>,
        /// With this version.
        version: u32,
    },
    /// (consumer, event) was not seen before; writes its inbox row.
    Inbox {
        /// Who consumes.
        consumer: &'static str,
        /// What.
        event: u128,
    },
    /// Money may move.
    NotHalted,
    /// HALT stands, and its last halt has this number: none was raised since.
    Halt(u64),
    /// The journal holds this incarnation of the ledger as current; `None`: it never met it.
    Incarnation {
        /// The ledger.
        ledger: LedgerId,
        /// The incarnation that this worker believes in.
        known: Option<Known>,
    },
    /// The in-process core of this ledger was taken over so often, and not since; 0: never.
    Owner {
        /// The ledger.
        ledger: LedgerId,
        /// The epoch that this worker believes in.
        epoch: u64,
    },
    /// A bounded addition: the counter stays at or below its limit after `n` more, which are added.
    AtMost {
        /// The counter.
        name: Arc<str>,
        /// So many more.
        n: u128,
        /// The limit.
        limit: u128,
    },
    /// With the one that is opened the user has made at most so many transfers on that day.
    DayCount {
        /// Whose.
        user: UserId,
        /// Of which day.
        day: Day,
        /// The limit.
        most: u64,
    },
    /// With the one that is opened the user has moved at most so much of the asset on that day.
    DayAmount {
        /// What is about to be counted.
        count: Count,
        /// The limit.
        most: Amount,
    },
    /// (principal, key) has done nothing yet.
    Unacted {
        /// Who.
        caller: Arc<str>,
        /// The person's key.
        key: Arc<str>,
    },
    /// The approval waits for a decision, and its time has not passed.
    Pending(Id),
}

/// Who looks after a transfer whose time has not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// The writing worker: it has it in its hands, or in its own heap until its time comes.
    Mine,
    /// Nobody: the scanner brings it to whoever asks.
    Free,
}

/// Something that is written.
#[derive(Debug, Clone)]
pub enum Put {
    /// A new transfer, with its binding.
    Open(Record),
    /// A transfer stands elsewhere. With [`Head::due_at`] it becomes a row for the scanner.
    Head {
        /// Which.
        id: Id,
        /// Where it stands now. `head.version` is the new version.
        head: Head,
        /// The last refusal or cause; `None` keeps what is there.
        error: Option<Evidence>,
        /// Who looks after it.
        hold: Hold,
    },
    /// The answer of a ledger outside the journal's database. Raises the journal's highest.
    Receipt {
        /// The ledger.
        ledger: LedgerId,
        /// What it answered.
        operation: Operation,
    },
    /// A new or changed attempt.
    Attempt(Attempt),
    /// One more form of an attempt.
    Form(AttemptId, Form),
    /// A resource's new value; its version goes up by one.
    Resource {
        /// Which.
        name: Arc<str>,
        /// Its value.
        value: Arc<str>,
    },
    /// The highest of what is there and this.
    Raise {
        /// The counter.
        name: Arc<str>,
        /// At least so much.
        to: u128,
    },
    /// The journal takes this incarnation of a ledger as current.
    Adopt {
        /// The ledger.
        ledger: LedgerId,
        /// Its identity and incarnation, and the highest operation that was matched.
        known: Known,
    },
    /// A worker takes over the core that runs inside its process: the epoch goes up by one, so every
    /// unit of a former owner is lost. Guarded by the epoch before ([`Guard::Owner`]).
    Own {
        /// The ledger.
        ledger: LedgerId,
        /// Who.
        worker: WorkerId,
        /// Which core it found.
        identity: Identity,
    },
    /// Results at or below this id are forgotten by ledgers from now on; it only rises.
    Horizon(Id),
    /// A question for a person; nothing where one of its kind is open about its subject.
    Case(Case),
    /// The fact that ends a case; nothing where none of that kind is open about the subject.
    Close {
        /// The kind.
        kind: Arc<str>,
        /// The subject.
        about: About,
        /// What ended it.
        fact: Arc<str>,
    },
    /// Something that a person added to a case.
    Note {
        /// The case's number.
        case: u64,
        /// Who.
        caller: Arc<str>,
        /// What.
        note: Note,
    },
    /// No claim is written and no effect begun from now on. The first reason stays; each halt gets the
    /// next number and is listed with its own ([`crate::people::Halt`]). Pending proposals of a resume
    /// are superseded.
    Halt {
        /// Why.
        reason: Arc<str>,
    },
    /// Money may move again; these breaks of conservation are accepted beside those that were. Every
    /// halt that stands is lifted, and pending proposals of a resume are superseded, but for what its
    /// unit decides.
    Resume {
        /// The breaks.
        accepted: Vec<Accepted>,
    },
    /// Nothing in this scope takes a further step until a person resumes it. One for each (scope,
    /// caller): the first reason stays.
    Pause {
        /// What stands.
        scope: Scope,
        /// Why.
        reason: Arc<str>,
        /// A principal, or `engine`.
        caller: Arc<str>,
    },
    /// Lifts the pause of this number, where there is one.
    Unpause(u64),
    /// A person did something. The unit is `Lost` where (principal, key) did something before.
    Action(Action),
    /// Something that waits for another person's approval.
    Propose(Proposal),
    /// Another person's decision.
    Decide {
        /// The approval.
        id: Id,
        /// Approved or rejected.
        stand: Stand,
        /// Who decided.
        caller: Arc<str>,
    },
    /// An asset as it is from now on; a new one where its number is new. Raises the version of the
    /// resource `assets`.
    Asset(Asset),
    /// One more transfer, and so much more of its asset, on a user's day.
    Count(Count),
    /// Gives back what [`Put::Count`] took.
    Uncount(Count),
    /// What users moved before this day is forgotten, as far as one write may: some thousands of
    /// rows. What is given back to a forgotten day is nothing.
    ForgetDays(Day),
}

impl Put {
    /// The transfer whose rows it writes.
    pub const fn transfer(&self) -> Option<Id> {
        match self {
            Self::Open(record) => Some(record.id),
            Self::Head { id, .. } => Some(*id),
            Self::Receipt { operation, .. } => Some(operation.op.key.id),
            Self::Attempt(_)
            | Self::Form(..)
            | Self::Resource { .. }
            | Self::Raise { .. }
            | Self::Adopt { .. }
            | Self::Own { .. }
            | Self::Horizon(_)
            | Self::Case(_)
            | Self::Close { .. }
            | Self::Note { .. }
            | Self::Halt { .. }
            | Self::Resume { .. }
            | Self::Pause { .. }
            | Self::Unpause(_)
            | Self::Action(_)
            | Self::Propose(_)
            | Self::Decide { .. }
            | Self::Asset(_)
            | Self::Count(_)
            | Self::Uncount(_)
            | Self::ForgetDays(_) => None,
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
    /// The stored spelling.
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
    pub about: About,
    /// What is known, as a sentence or JSON.
    pub facts: Arc<str>,
}

/// A step in a transfer's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The transfer.
    pub id: Id,
    /// The state before; `None` where it begins.
    pub from: Option<S>,
    /// The state after.
    pub to: S,
    /// The history's word.
    pub what: &'static str,
    /// Who caused it, where a person did.
    pub caller: Option<Arc<str>>,
    /// Evidence, cause or reason.
    pub detail: Option<Arc<str>>,
}

/// A row of the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Where it goes.
    pub topic: &'static str,
    /// About which transfer.
    pub id: Id,
    /// The attempt it tells of, or 0.
    pub n: u32,
}

/// All or nothing.
#[derive(Debug, Clone, Default)]
pub struct Unit {
    /// What must hold.
    pub guards: Vec<Guard>,
    /// What is then written.
    pub then: Then,
}

impl Unit {
    /// Rows that nothing guards.
    pub fn puts(puts: Vec<Put>) -> Self {
        Self::guarded(Vec::new(), puts)
    }

    /// Rows that are written where these hold.
    pub fn guarded(guards: Vec<Guard>, puts: Vec<Put>) -> Self {
        Self { guards, then: Then { puts, ..Then::default() } }
    }

    /// Everything that it may write: its own part, then both ways of its fork.
    pub fn thens(&self) -> impl Iterator<Item = &Then> {
        std::iter::once(&self.then).chain(self.then.fork.iter().flat_map(|fork| fork.ways()))
    }
}

/// What is written; ends in at most one operation whose stored answer chooses how it goes on.
#[derive(Debug, Clone, Default)]
pub struct Then {
    /// Rows.
    pub puts: Vec<Put>,
    /// History.
    pub events: Vec<Event>,
    /// Messages.
    pub outbox: Vec<Outgoing>,
    /// Enlisted operations that cannot be refused (settle). An `Unknown` of one keeps the whole
    /// unit from being written.
    pub ops: Vec<(LedgerId, Op)>,
    /// The one enlisted operation that chooses.
    pub fork: Option<Box<Fork>>,
}

/// An enlisted operation with both of its continuations. Where it answers `Unknown` nothing of the
/// unit is written.
#[derive(Debug, Clone)]
pub struct Fork {
    /// The enlisted ledger.
    pub ledger: LedgerId,
    /// The operation.
    pub op: Op,
    /// Written when it is done.
    pub done: Then,
    /// Written when it is refused; `None` for a push, which cannot be. The journal completes it with
    /// what only the answer knows: each [`Put::Head`] without an error gets the refusal's evidence,
    /// and the first event without a detail gets its code.
    pub rejected: Option<Then>,
}

impl Fork {
    /// Both continuations.
    pub fn ways(&self) -> impl Iterator<Item = &Then> {
        std::iter::once(&self.done).chain(&self.rejected)
    }

    /// The continuation that an answer chooses, where the fork spells it.
    pub fn chosen(&self, answer: &Answer) -> Option<&Then> {
        match answer {
            Answer::Done(_) => Some(&self.done),
            Answer::Rejected(..) => self.rejected.as_ref(),
            Answer::Dead(_) | Answer::Unknown(_) => None,
        }
    }
}

/// What is known of a unit that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The journal's time of the write.
    pub at: Millis,
    /// The number of the transfer that it opened.
    pub serial: Option<Serial>,
    /// The answer of its fork: never `Unknown`.
    pub fork: Option<Answer>,
}

/// What became of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrote {
    /// It is durable.
    Written(Written),
    /// This guard failed; nothing was written.
    Lost(Guard),
    /// The store takes no more for now (a full disk); nothing was written.
    Full,
    /// A failed COMMIT, or an enlisted operation that is hindered: re-read by key.
    Unknown(Cause),
}
