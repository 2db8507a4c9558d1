//! The unit is the journal's atomic write: guards, the rows that it writes, and at most one fork at its
//! end.

use crate::accounts::NumberedStatus;
use crate::agreed::Agreed;
use crate::answer::{Answer, Cause, Evidence};
use crate::attempt::{Attempt, AttemptId, Form, Lock};
use crate::flow::table::S;
use crate::ids::{AssetId, ChainId, Day, FlowId, Id, LedgerId, Millis, Serial, UserId, WorkerId};
use crate::limits::DailyCount;
use crate::message::Outgoing;
use crate::money::{Amount, Asset};
use crate::operation::{Identity, Known, Op, Operation};
use crate::operators::{Accepted, Action, ApprovalStatus, Case, Note, Proposal, Scope, Subject};
use crate::record::{Head, Record};
use std::sync::Arc;

/// A compare-and-swap. [`Wrote::Lost`] names the one that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// No such transfer yet, and its id lies above the stored horizon.
    Fresh(Id),
    /// (flow, scope, key) is unbound.
    Unbound {
        /// The flow that the key is used in.
        flow: FlowId,
        /// The scope of the key.
        scope: Arc<str>,
        /// The idempotency key that the client gave.
        key: Arc<str>,
    },
    /// The transfer has exactly this version and state.
    Transfer {
        /// The id of the row.
        id: Id,
        /// The state that the row must have.
        state: S,
        /// The version that the row must have.
        version: u32,
    },
    /// The attempt has exactly this version.
    Attempt {
        /// The id of the row.
        id: AttemptId,
        /// The version that the row must have.
        version: u32,
    },
    /// No attempt was ever made under this lock, open or closed. Each [`Put::Attempt`] is held to it
    /// whether a unit says so or not.
    LockFree {
        /// The chain that spends it.
        chain: ChainId,
        /// The lane that it is taken from.
        lane: Arc<str>,
        /// The lock that must be free.
        lock: Lock,
    },
    /// A resource (a key, a cursor, a lane) has this version; 0 where it does not exist.
    Resource {
        /// The name of the row.
        name: Arc<str>,
        /// The version that the row must have.
        version: u32,
    },
    /// (consumer, event) was not seen before; writes its inbox row.
    Inbox {
        /// The consumer whose inbox it is.
        consumer: &'static str,
        /// The number of the message.
        event: u128,
    },
    /// No HALT stands: money may move.
    NotHalted,
    /// HALT stands, and its last halt has this number: none was raised since.
    Halt(u64),
    /// The journal holds this incarnation of the ledger as current; `None`: it never met it.
    Incarnation {
        /// The ledger outside the journal's database whose incarnation is compared.
        ledger: LedgerId,
        /// The incarnation that this worker believes in.
        known: Option<Known>,
    },
    /// The in-process core of this ledger was taken over `epoch` times, and not since; 0: never.
    Owner {
        /// The ledger whose core runs inside a worker's process.
        ledger: LedgerId,
        /// The epoch that this worker believes in.
        epoch: u64,
    },
    /// The numbered account's row has this version; 0: there is none.
    Account {
        /// The number of the account that is looked at.
        number: Arc<str>,
        /// The version that its row must have.
        version: u64,
    },
    /// A bounded addition: the counter stays at or below its limit after `n` more, which are added.
    AtMost {
        /// The name of the counter; one that does not exist counts as 0.
        name: Arc<str>,
        /// What the unit adds to the counter.
        n: u128,
        /// The highest value that the counter may reach with `n` added.
        limit: u128,
    },
    /// The counter is at `n` or above.
    AtLeast {
        /// The counter that has to have enough.
        name: Arc<str>,
        /// What must be there.
        n: u128,
    },
    /// With the one that is opened the user has made at most `most` transfers on that day.
    DayCount {
        /// The user whose transfers are counted.
        user: UserId,
        /// The day in UTC that is counted.
        day: Day,
        /// The most transfers that the user may make on that day.
        most: u64,
    },
    /// With the one that is opened the user has moved at most `most` of the asset on that day.
    DayAmount {
        /// What is about to be counted.
        count: DailyCount,
        /// The most that the user may move of the asset on that day, in base units.
        most: Amount,
    },
    /// (principal, key) has done nothing yet.
    NoPastAction {
        /// The principal who asked: `issuer|sub`.
        caller: Arc<str>,
        /// The idempotency key that the person gave.
        key: Arc<str>,
    },
    /// The approval waits for a decision, and its time has not passed.
    Pending(Id),
}

/// The worker that looks after a transfer whose time has not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// The writing worker: it works on it, or keeps it in its own heap until its time comes.
    Mine,
    /// No worker: the scanner of any worker may take it.
    Free,
}

/// Something that is written.
#[derive(Debug, Clone)]
pub enum Put {
    /// A new transfer, with its binding.
    Open(Record),
    /// A transfer gets a new head. With [`Head::due_at`] it becomes a row for the scanner.
    Head {
        /// The id of the row.
        id: Id,
        /// The new head. `head.version` is the new version.
        head: Head,
        /// The last refusal or cause; `None` keeps what is there.
        error: Option<Evidence>,
        /// The worker that looks after it.
        hold: Hold,
    },
    /// The answer of a ledger outside the journal's database. Raises the journal's highest.
    Receipt {
        /// The ledger that answered, outside the journal's database.
        ledger: LedgerId,
        /// The operation with the outcome that the ledger stored.
        operation: Operation,
    },
    /// A new attempt, with its forms, of transfers that are stored; the writing worker looks after it.
    /// The unit is lost to [`Guard::LockFree`] where its lock was ever used, and to
    /// [`Guard::Attempt`] where its id was.
    Attempt(Attempt),
    /// An open attempt stands elsewhere. The unit is lost to [`Guard::Attempt`] where it is not there,
    /// is closed, or has not the version before.
    AttemptHead {
        /// The id of the row.
        id: AttemptId,
        /// The new version: one more than it has.
        version: u32,
        /// A form may be on the wire.
        sent: bool,
        /// When to look again; `None` while the worker looks after it.
        due_at: Option<Millis>,
        /// When it was closed: with it its members decide for themselves again.
        closed: Option<Millis>,
        /// The worker that looks after it.
        hold: Hold,
    },
    /// One more form of an open attempt, whose version goes up by one.
    Form(AttemptId, Form),
    /// A resource's new value; its version goes up by one.
    Resource {
        /// The name of the row.
        name: Arc<str>,
        /// The whole new value: it replaces what was there.
        value: Arc<str>,
    },
    /// The highest of what is there and this.
    Raise {
        /// The name of the counter that only rises.
        name: Arc<str>,
        /// The lowest value that the counter has afterwards.
        to: u128,
    },
    /// Increments a counter, without a limit of its own. The unit contradicts the journal where the sum is above what a
    /// counter holds.
    Add {
        /// The name of the counter; one that does not exist counts as 0.
        counter: Arc<str>,
        /// What is added to the counter.
        n: u128,
    },
    /// Decrements a counter, which releases a reservation. The unit is lost to [`Guard::AtLeast`] where less is
    /// there.
    Take {
        /// The name of the counter.
        counter: Arc<str>,
        /// What is given back.
        n: u128,
    },
    /// The journal takes this incarnation of a ledger as current.
    Adopt {
        /// The ledger that this process talks to.
        ledger: LedgerId,
        /// Its identity and incarnation, and the highest operation that was matched.
        known: Known,
    },
    /// The journal takes this incarnation of a ledger as current although its highest operation is below
    /// the journal's: persons accepted that what lies above is lost. From then on that highest counts.
    AdoptAfterLoss {
        /// The ledger that lost operations.
        ledger: LedgerId,
        /// Its identity and incarnation, and the highest operation that it still knows.
        known: Known,
    },
    /// A worker takes over the core that runs inside its process: the epoch goes up by one, so every
    /// unit of a former owner is lost. Guarded by the epoch before ([`Guard::Owner`]).
    Own {
        /// The ledger whose core the worker runs.
        ledger: LedgerId,
        /// The worker that takes it.
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
        /// The listed word of the case that ends, as in [`Case::kind`].
        kind: Arc<str>,
        /// What the case that ends is about.
        subject: Subject,
        /// The fact that ended it, as it is shown with the case.
        fact: Arc<str>,
    },
    /// Something that a person added to a case.
    Note {
        /// The journal's number of the case that it is added to.
        case: u64,
        /// The principal who asked: `issuer|sub`.
        caller: Arc<str>,
        /// The note, as it was given.
        note: Note,
    },
    /// No claim is written and no effect begun from now on. The first reason stays; each halt gets the
    /// next number and is listed with its own ([`crate::operators::Halt`]). Pending proposals of a resume
    /// are superseded.
    Halt {
        /// The reason that was given, for the audit.
        reason: Arc<str>,
    },
    /// Money may move again; these breaks of conservation are accepted beside those that were. Every
    /// halt that stands is lifted, and pending proposals of a resume are superseded, but for what its
    /// unit decides.
    Resume {
        /// The breaks that the two persons accepted.
        accepted: Vec<Accepted>,
    },
    /// Nothing in this scope takes a further step until a person resumes it. One for each (scope,
    /// caller): the first reason stays.
    Pause {
        /// What takes no further step.
        scope: Scope,
        /// The reason that was given, for the audit.
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
    /// A pending proposal is approved or rejected.
    Decide {
        /// The id of the proposal that is decided.
        id: Id,
        /// How it was decided: `Approved` or `Rejected`.
        stand: ApprovalStatus,
        /// The principal who decided: `issuer|sub`.
        caller: Arc<str>,
    },
    /// A numbered account that is opened, or whose status changes; its balance stays, and its owner and
    /// asset never change.
    Account {
        /// The number of the account that is written.
        number: Arc<str>,
        /// The user who may move its money.
        owner: UserId,
        /// The asset that it holds.
        asset: AssetId,
        /// The status from now on.
        status: NumberedStatus,
    },
    /// An asset as it is from now on; a new one where its number is new. Raises the version of the
    /// resource `assets`.
    Asset(Asset),
    /// Adds one transfer, and the amount of its asset, to a user's day.
    Count(DailyCount),
    /// Gives back what [`Put::Count`] took.
    Uncount(DailyCount),
    /// What users moved before this day is forgotten, as far as one write may: some thousands of
    /// rows. A refund for a day that was forgotten is ignored. What operators deposited a week before it is
    /// forgotten too.
    ForgetDays(Day),
    /// Cases that were closed before this time are forgotten, with their notes and their webhooks, as far as one
    /// write may: some of the oldest. The newest one stays: no number is given twice.
    ForgetCases(Millis),
}

impl Put {
    /// The transfer whose rows it writes.
    pub const fn transfer(&self) -> Option<Id> {
        match self {
            Self::Open(record) => Some(record.id),
            Self::Head { id, .. } => Some(*id),
            Self::Receipt { operation, .. } => Some(operation.op.key.id),
            Self::Attempt(_)
            | Self::AttemptHead { .. }
            | Self::Form(..)
            | Self::Resource { .. }
            | Self::Raise { .. }
            | Self::Add { .. }
            | Self::Take { .. }
            | Self::Adopt { .. }
            | Self::AdoptAfterLoss { .. }
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
            | Self::Account { .. }
            | Self::Count(_)
            | Self::Uncount(_)
            | Self::ForgetDays(_)
            | Self::ForgetCases(_) => None,
        }
    }
}

/// A step in a transfer's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The transfer whose history it belongs to.
    pub id: Id,
    /// The state before; `None` where it begins.
    pub from: Option<S>,
    /// The state after; the same as before where the event moved nothing.
    pub to: S,
    /// The word of the flow's table for this step, as histories show it.
    pub what: &'static str,
    /// The person who caused it, where one did.
    pub caller: Option<Arc<str>>,
    /// Evidence, cause or reason.
    pub detail: Option<Arc<str>>,
    /// What was agreed with this event: it is stored with the transfer, and the event's hash covers it.
    /// The unit must move the transfer; it is unknown with `CONTRADICTION`, and nothing of it is written,
    /// where something was agreed before, or where it says two different things.
    pub agreed: Option<Arc<Agreed>>,
}

/// An atomic write batch: all of it is written, or nothing.
#[derive(Debug, Clone, Default)]
pub struct Unit {
    /// What must hold; where one does not, nothing is written.
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

    /// True where it may put a message into the outbox.
    pub fn emits(&self) -> bool {
        self.thens().any(|then| !then.outbox.is_empty())
    }

    /// What it agrees for a transfer before its fork.
    pub fn agrees(&self, id: Id) -> Option<&Arc<Agreed>> {
        let own = |event: &&Event| event.id == id;
        self.then.events.iter().filter(own).find_map(|event| event.agreed.as_ref())
    }

    /// Everything that it may write: its own part, then both ways of its fork.
    pub fn thens(&self) -> impl Iterator<Item = &Then> {
        std::iter::once(&self.then).chain(self.then.fork.iter().flat_map(|fork| fork.ways()))
    }
}

/// What is written; ends in at most one operation whose stored answer chooses how it goes on.
#[derive(Debug, Clone, Default)]
pub struct Then {
    /// The rows that the unit writes.
    pub puts: Vec<Put>,
    /// The lines that the unit adds to histories.
    pub events: Vec<Event>,
    /// The messages that the unit puts into the outbox.
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
    /// The enlisted ledger, whose rows are in the journal's database.
    pub ledger: LedgerId,
    /// The operation whose stored answer chooses the continuation.
    pub op: Op,
    /// Written when it is done.
    pub done: Then,
    /// Written when it is refused; `None` for a push, which cannot be. The journal completes it with
    /// what only the answer knows: each [`Put::Head`] without an error gets the refusal's evidence,
    /// and the first event without a detail gets its code.
    pub rejected: Option<Then>,
}

impl Fork {
    /// The continuations that the unit may write: one or two.
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

/// Why a store refuses a unit alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnitRefusal {
    /// A right or a table that it needs is missing: it goes through once a person has mended that.
    ForNow(Cause),
    /// It has a value that the store cannot hold: it never goes through.
    ForGood(Cause),
}

impl UnitRefusal {
    /// What the store said of it.
    pub fn into_cause(self) -> Cause {
        match self {
            Self::ForNow(cause) | Self::ForGood(cause) => cause,
        }
    }
}

/// The outcome of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrote {
    /// Everything of it is durable.
    Written(Written),
    /// This guard failed; nothing was written.
    Lost(Guard),
    /// The store takes no more for now (a full disk); nothing was written.
    Full,
    /// The store refuses this unit, and takes others; nothing was written.
    Refused(UnitRefusal),
    /// A failed COMMIT, or an enlisted operation that is hindered: re-read by key.
    Unknown(Cause),
}
