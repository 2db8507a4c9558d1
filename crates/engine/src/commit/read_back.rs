//! Reads back whether a unit was written whose outcome is not known. A unit names a row that shows it: an operator's
//! action, a transfer in the state to which the unit brings it, a resource with its next value, a case. One that writes
//! an attempt is not read back: what is read may not be durable yet, and money is sent on it. Its driver writes again.

use crate::commit::outcome::{NotWritten, WriteOutcome};
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::flow::table::S;
use kernel::ids::Id;
use kernel::operators::{Case, Subject};
use kernel::ports::journal::{Journal, Resource};
use kernel::record::{Head, Record};
use kernel::unit::{Guard, Hold, Put, Then, Unit, Written};
use std::sync::Arc;

/// What shows that a unit was written, and what it may have given to this process.
#[derive(Debug)]
pub(super) struct UnitTrace {
    shown_by: ShownBy,
    /// The first transfer that it is about.
    pub transfer: Option<Id>,
    /// The transfers that it gives to the process that writes it, or binds into an attempt.
    pub claimed: Vec<ClaimedTransfer>,
    /// It may put a message into the outbox.
    pub emits: bool,
}

/// A transfer that a unit gives to the process that writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClaimedTransfer {
    pub id: Id,
    /// The version that it has then.
    pub version: u32,
}

/// The row that shows whether a unit was written.
#[derive(Debug)]
enum ShownBy {
    Nothing,
    Transfer(MovedTransfer),
    Action {
        caller: Arc<str>,
        key: Arc<str>,
    },
    /// A resource with the next version and this value.
    Resource {
        name: Arc<str>,
        version: u32,
        value: Arc<str>,
    },
    Case {
        kind: Arc<str>,
        subject: Subject,
        open: bool,
    },
}

/// A transfer, and the heads to which a unit may bring it.
#[derive(Debug)]
pub(super) struct MovedTransfer {
    pub id: Id,
    /// The transfer, where the unit opens it.
    pub opened: Option<Box<Record>>,
    /// The state and the version that the unit is guarded by.
    before: Option<GuardedState>,
    otherwise: Option<Head>,
    done: Option<Head>,
    rejected: Option<Head>,
}

#[derive(Debug, Clone, Copy)]
struct GuardedState {
    state: S,
    version: u32,
}

impl UnitTrace {
    pub(super) fn of(unit: &Unit) -> Self {
        let guarded = unit.guards.iter().find_map(|guard| {
            let (Guard::Transfer { id, .. } | Guard::Fresh(id)) = guard else { return None };
            Some(*id)
        });
        let put = || unit.then.puts.iter().find_map(Put::transfer);
        let called = || unit.then.fork.as_ref().map(|fork| fork.op.key.id);
        let in_attempt = writes_attempt(&unit.then);
        Self {
            shown_by: if in_attempt { ShownBy::Nothing } else { ShownBy::of(unit) },
            transfer: guarded.or_else(put).or_else(called),
            claimed: claimed(unit, in_attempt),
            emits: unit.emits(),
        }
    }

    /// The transfer that shows whether the unit was written.
    pub(super) const fn moved(&self) -> Option<&MovedTransfer> {
        match &self.shown_by {
            ShownBy::Transfer(moved) => Some(moved),
            ShownBy::Nothing
            | ShownBy::Action { .. }
            | ShownBy::Resource { .. }
            | ShownBy::Case { .. } => None,
        }
    }

    /// The outcome by what the journal shows. A row that is none of a transfer is asked for once, since a person or a
    /// task that tries again waits for it.
    pub(super) async fn outcome(
        &self,
        journal: &dyn Journal,
        stored: &[Record],
        cause: Cause,
    ) -> WriteOutcome {
        let shown = match &self.shown_by {
            ShownBy::Nothing => return WriteOutcome::NotWritten(NotWritten::unknown(cause)),
            ShownBy::Transfer(moved) => {
                let stored = stored.iter().find(|record| record.id == moved.id);
                return moved.outcome(stored, cause);
            }
            ShownBy::Action { caller, key } => {
                let past = journal.past_action(caller.clone(), key.clone()).await;
                past.map(|past| past.map(|past| past.at))
            }
            ShownBy::Resource { name, version, value } => {
                let row = journal.resource(name.clone()).await;
                let is = |row: &Resource| row.version == *version && row.value == *value;
                row.map(|row| row.filter(is).map(|_| journal.now()))
            }
            ShownBy::Case { kind, subject, open } => {
                let cases = journal.open_cases().await;
                let is_open = cases.map(|cases| {
                    cases.iter().any(|case| case.kind == *kind && case.subject == *subject)
                });
                is_open.map(|is_open| (is_open == *open).then(|| journal.now()))
            }
        };
        match shown {
            Ok(Some(at)) => WriteOutcome::Done(Written { at, serial: None, fork: None }),
            Ok(None) | Err(_) => WriteOutcome::NotWritten(NotWritten::unknown(cause)),
        }
    }
}

impl ShownBy {
    /// The row of a unit that writes no attempt. What no other unit writes comes first.
    fn of(unit: &Unit) -> Self {
        let puts = &unit.then.puts;
        let action = puts.iter().find_map(|put| {
            let Put::Action(action) = put else { return None };
            Some(Self::Action { caller: action.caller.clone(), key: action.key.clone() })
        });
        let transfer = || MovedTransfer::of(unit).map(Self::Transfer);
        let resource = || unit.guards.iter().find_map(|guard| next_value(guard, puts));
        // what else the unit writes is not shown by a case that another process may have opened
        let case = || puts.iter().map(case_of).collect::<Option<Vec<_>>>()?.pop();
        action.or_else(transfer).or_else(resource).or_else(case).unwrap_or(Self::Nothing)
    }
}

/// The guarded resource to which the unit gives its next value.
fn next_value(guard: &Guard, puts: &[Put]) -> Option<ShownBy> {
    let Guard::Resource { name, version } = guard else { return None };
    let value = puts.iter().find_map(|put| {
        let Put::Resource { name: of, value } = put else { return None };
        (of == name).then(|| value.clone())
    })?;
    Some(ShownBy::Resource { name: name.clone(), version: version.saturating_add(1), value })
}

fn case_of(put: &Put) -> Option<ShownBy> {
    if let Put::Case(Case { kind, subject, .. }) = put {
        return Some(ShownBy::Case { kind: (*kind).into(), subject: *subject, open: true });
    }
    let Put::Close { kind, subject, .. } = put else { return None };
    Some(ShownBy::Case { kind: kind.clone(), subject: *subject, open: false })
}

impl MovedTransfer {
    /// The first transfer that the unit opens or moves.
    fn of(unit: &Unit) -> Option<Self> {
        let opened = unit.then.puts.iter().find_map(|put| {
            let Put::Open(record) = put else { return None };
            Some(record)
        });
        let moved = || unit.thens().flat_map(|then| &then.puts).find_map(head_of);
        let id = opened.map(|record| record.id).or_else(|| moved().map(|(id, _)| id))?;
        let before = unit.guards.iter().find_map(|guard| {
            let Guard::Transfer { id: of, state, version } = guard else { return None };
            (*of == id).then_some(GuardedState { state: *state, version: *version })
        });
        let fork = unit.then.fork.as_deref();
        Some(Self {
            id,
            opened: opened.cloned().map(Box::new),
            before,
            otherwise: last_head(&unit.then, id),
            done: fork.and_then(|fork| last_head(&fork.done, id)),
            rejected: fork.and_then(|fork| last_head(fork.rejected.as_ref()?, id)),
        })
    }

    /// The outcome by the transfer as the journal has it.
    fn outcome(&self, stored: Option<&Record>, cause: Cause) -> WriteOutcome {
        let Some(stored) = stored else {
            return WriteOutcome::NotWritten(NotWritten::unknown(cause));
        };
        let is = |head: Option<Head>| head == Some(stored.head);
        let fork = if is(self.done) {
            Some(Answer::Done(Receipt::default()))
        } else if is(self.rejected) {
            let evidence = stored.error.clone().unwrap_or_else(|| Evidence::code("REJECTED"));
            Some(Answer::Rejected(evidence, Receipt::default()))
        } else {
            None
        };
        let written =
            |at| WriteOutcome::Done(Written { at, serial: stored.serial, fork: fork.clone() });
        if let Some(opened) = &self.opened {
            // whatever became of it since: this opening was written
            let same = stored.terms == opened.terms;
            return if same {
                written(stored.created_at)
            } else {
                WriteOutcome::Lost(Guard::Fresh(self.id))
            };
        }
        match self.before {
            _ if fork.is_some() || is(self.otherwise) => written(stored.updated_at),
            Some(GuardedState { state, version }) if version != stored.head.version => {
                WriteOutcome::Lost(Guard::Transfer { id: self.id, state, version })
            }
            Some(_) | None => WriteOutcome::NotWritten(NotWritten::unknown(cause)),
        }
    }
}

fn head_of(put: &Put) -> Option<(Id, Head)> {
    if let Put::Head { id, head, .. } = put { Some((*id, *head)) } else { None }
}

/// The last head that is written for a transfer.
fn last_head(then: &Then, id: Id) -> Option<Head> {
    let mut heads = then.puts.iter().filter_map(head_of);
    heads.rfind(|(of, _)| *of == id).map(|(_, head)| head)
}

fn writes_attempt(then: &Then) -> bool {
    let attempt =
        |put: &Put| matches!(put, Put::Attempt(_) | Put::AttemptHead { .. } | Put::Form(..));
    then.puts.iter().any(attempt)
}

/// The transfers that a unit gives to the process that writes it; of an attempt all of them, since who carries the
/// attempt carries its members.
fn claimed(unit: &Unit, in_attempt: bool) -> Vec<ClaimedTransfer> {
    let mut claimed: Vec<ClaimedTransfer> = Vec::new();
    for put in unit.thens().flat_map(|then| &then.puts) {
        let (id, version, mine) = if let Put::Open(record) = put {
            (record.id, record.head.version, true)
        } else if let Put::Head { id, head, hold, .. } = put {
            (*id, head.version, in_attempt || *hold == Hold::Mine)
        } else {
            continue;
        };
        claimed.retain(|one| one.id != id);
        if mine {
            claimed.push(ClaimedTransfer { id, version });
        }
    }
    claimed
}
