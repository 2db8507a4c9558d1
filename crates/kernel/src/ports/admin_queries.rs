//! The port behind the operators' searches and lists. No transfer waits for it.

use super::Fut;
use crate::answer::Cause;
use crate::flow::table::S;
use crate::ids::{AssetId, FlowId, Id, LedgerId, Millis, Serial, UserId};
use crate::operation::Operation;
use crate::operators::{Approval, ApprovalStatus, Halt, Note, OpenCase, PastAction, Subject};
use crate::ports::ledger::BookedMovement;
use crate::record::Record;
use std::sync::Arc;

/// A client's key, and where it may be bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchKey {
    /// The key as the client sent it.
    pub key: Arc<str>,
    /// The scopes in which it may be bound; empty: any.
    pub scopes: Vec<Arc<str>>,
}

/// Which transfers are looked for; what is `None` does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    /// Transfers of this flow only.
    pub flow: Option<FlowId>,
    /// In this state (with [`Self::flow`]).
    pub state: Option<S>,
    /// Not ended, or ended.
    pub open: Option<bool>,
    /// Transfers of this user only.
    pub user: Option<UserId>,
    /// Made by this principal.
    pub principal: Option<Arc<str>>,
    /// Transfers of this asset only.
    pub asset: Option<AssetId>,
    /// Transfers from this ledger only.
    pub source: Option<LedgerId>,
    /// Transfers to this ledger only.
    pub target: Option<LedgerId>,
    /// Transfers to the account that a system itself names so: a receiver of the relay, a numbered account.
    pub receiver: Option<Arc<str>>,
    /// Made under this key of their client.
    pub key: Option<SearchKey>,
    /// With this reference of their client.
    pub reference: Option<Arc<str>>,
    /// Opened at or after this time.
    pub since: Option<Millis>,
    /// Opened before this time.
    pub until: Option<Millis>,
    /// Only transfers with at least this many unknown answers.
    pub min_attempts: Option<u32>,
    /// With an error of this class (the code of the last refusal or cause).
    pub error_class: Option<Arc<str>>,
    /// Below this number: where the page before ended.
    pub before: Option<Serial>,
    /// The maximum number of transfers.
    pub limit: usize,
}

impl Search {
    /// Whether an index of a user or of a principal narrows it. That of flows must not be read in its place: what a planner
    /// takes for as good may have no transfer of theirs.
    pub const fn is_of_one(&self) -> bool {
        self.user.is_some() || self.principal.is_some()
    }
}

/// Which external movements are looked for; what is `None` does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MovementSearch {
    /// Movements of this user's accounts only.
    pub user: Option<UserId>,
    /// With this id of the outside world.
    pub reference: Option<Arc<str>>,
    /// Below this number of the ledger: where the page before ended.
    pub before: Option<u64>,
    /// The maximum number of movements.
    pub limit: usize,
}

/// A case with how it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseRow {
    /// The case as it was opened.
    pub opened: OpenCase,
    /// The fact that ended it, and when.
    pub closed: Option<(Arc<str>, Millis)>,
    /// The operator who looks after it, by the last note that says so.
    pub assigned: Option<Arc<str>>,
}

/// A note of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteRow {
    /// When the note was written, by the journal's time.
    pub at: Millis,
    /// The principal who wrote it: `issuer|sub`.
    pub caller: Arc<str>,
    /// The note, as it was given.
    pub note: Note,
}

/// A case with its notes, oldest first.
pub type CaseFile = (CaseRow, Vec<NoteRow>);

/// The half of an episode that a delivery reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tells {
    /// That the case was opened.
    Opened,
    /// That it was closed.
    Closed,
}

impl Tells {
    /// The stored and wire spelling.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opened => "case.opened",
            Self::Closed => "case.closed",
        }
    }
}

/// A webhook that is to be sent, or was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The case that the delivery reports.
    pub case: CaseRow,
    /// Whether the delivery reports the case's opening or its end.
    pub tells: Tells,
    /// How often it was tried.
    pub attempts: u32,
    /// When it is tried next; `None`: it was delivered.
    pub due_at: Option<Millis>,
    /// The result of the last try.
    pub error: Option<Arc<str>>,
}

/// Transfers of one flow in one state, ended ones too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// The flow that the transfers belong to.
    pub flow: FlowId,
    /// The state in which they stand.
    pub state: S,
    /// The number of transfers that are in it.
    pub transfers: u64,
    /// When the oldest open one was opened; `None` for ended ones.
    pub oldest: Option<Millis>,
}

/// Lists for operators, newest first. Every list takes the end of the page before, and a limit.
pub trait AdminQueries: Send + Sync {
    /// Transfers that fit, newest first by their number. A page never repeats a row.
    fn transfers(&self, search: Search) -> Fut<'_, Result<Vec<Record>, Cause>>;
    /// The transfer of a journal's number.
    fn numbered(&self, serial: Serial) -> Fut<'_, Result<Option<Record>, Cause>>;
    /// What each ledger answered for a transfer, as far as it is stored.
    fn legs(&self, id: Id) -> Fut<'_, Result<Vec<(LedgerId, Operation)>, Cause>>;
    /// Cases, open or closed or both, newest first.
    fn cases(
        &self,
        open: Option<bool>,
        subject: Option<Subject>,
        before: Option<u64>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<CaseRow>, Cause>>;
    /// A case with its notes, oldest first.
    fn case(&self, number: u64) -> Fut<'_, Result<Option<CaseFile>, Cause>>;
    /// Approvals of one status or of all, newest first, below the id `before`.
    fn approvals(
        &self,
        stand: Option<ApprovalStatus>,
        before: Option<Id>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Approval>, Cause>>;
    /// HALTs as they were raised, newest first, below the number `before`.
    fn halts(&self, before: Option<u64>, limit: usize) -> Fut<'_, Result<Vec<Halt>, Cause>>;
    /// Operators' actions, newest first.
    fn actions(
        &self,
        subject: Option<Arc<str>>,
        before: Option<u64>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<PastAction>, Cause>>;
    /// External movements that fit, newest first.
    fn movements(&self, search: MovementSearch) -> Fut<'_, Result<Vec<BookedMovement>, Cause>>;
    /// How many transfers are in each state.
    fn stats(&self) -> Fut<'_, Result<Vec<Stat>, Cause>>;
    /// Webhooks are posted from now on. When this is said for the first time, episodes that had
    /// ended by then are not sent: they would be read as news.
    fn tell(&self) -> Fut<'_, Result<(), Cause>>;
    /// Webhooks whose time has come, the oldest first; one whose time is further away than
    /// `longest` counts as come. Each episode has one for each half, and its end waits until its
    /// beginning was delivered.
    fn deliveries(&self, longest: Millis, limit: usize) -> Fut<'_, Result<Vec<Delivery>, Cause>>;
    /// How many webhooks are still to be delivered, and when the oldest of them came up.
    fn undelivered(&self) -> Fut<'_, Result<(u64, Option<Millis>), Cause>>;
    /// Takes one up for a try, as it stood when it was due: until then no other process that shares the
    /// journal tries it. False where one has taken it up, or it was delivered.
    fn take_up(&self, due: &Delivery, until: Millis) -> Fut<'_, Result<bool, Cause>>;
    /// Stores the result of a try; `due_at` is `None` where it was delivered.
    fn delivered(
        &self,
        case: u64,
        tells: Tells,
        due_at: Option<Millis>,
        error: Option<Arc<str>>,
    ) -> Fut<'_, Result<(), Cause>>;
}
