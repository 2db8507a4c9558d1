//! What the writer is asked to do. Each item can be run again: a group that is broken by one of
//! them is taken apart.

use super::group::Group;
use super::office::Try;
use kernel::answer::{Answer, Cause};
use kernel::audit::seal::Seal;
use kernel::ports::ledger::{External, Moved, StatusChange, Stored};
use kernel::unit::{Key, Op, Unit, Wrote};
use std::sync::Arc;
use tokio::sync::oneshot::Sender;

/// One answer on its way.
pub(crate) struct Ask<Q, A> {
    question: Q,
    answer: Option<Result<A, Cause>>,
    told: Sender<Result<A, Cause>>,
}

impl<Q, A> Ask<Q, A> {
    pub(crate) fn new(question: Q, told: Sender<Result<A, Cause>>) -> Self {
        Self { question, answer: None, told }
    }

    fn tell(self) {
        let answer = self.answer.unwrap_or(Err(Cause::of("NOT_WRITTEN")));
        // whoever asked went away
        let _gone = self.told.send(answer);
    }
}

/// Something to write.
pub(crate) enum Work {
    /// Units.
    Units { units: Vec<Unit>, wrote: Vec<Wrote>, told: Sender<Vec<Wrote>> },
    /// Single legs at Funding, each by itself.
    Legs { ops: Arc<[Op]>, answers: Vec<Answer>, told: Sender<Vec<Answer>> },
    /// A tombstone.
    Fence(Ask<Key, Stored>),
    /// An account's status.
    Status(Ask<StatusChange, bool>),
    /// External money.
    External(Ask<External, Moved>),
    /// A seal of the audit.
    Seal(Ask<Seal, ()>),
    /// What a try to deliver a webhook came to.
    Delivered(Ask<Try, ()>),
    /// From now on webhooks are posted.
    Telling(Ask<(), ()>),
}

impl Work {
    /// How many items of their own it has.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Units { units, .. } => units.len(),
            Self::Legs { ops, .. } => ops.len(),
            Self::Fence(_)
            | Self::Status(_)
            | Self::External(_)
            | Self::Seal(_)
            | Self::Delivered(_)
            | Self::Telling(_) => 1,
        }
    }

    /// Runs one item inside a transaction.
    pub(super) fn run(&mut self, n: usize, group: &mut Group<'_>) -> rusqlite::Result<()> {
        match self {
            Self::Units { units, wrote, .. } => {
                let Some(unit) = units.get(n) else { return Ok(()) };
                put(wrote, n, group.apply(unit)?, Wrote::Full);
            }
            Self::Legs { ops, answers, .. } => {
                let Some(op) = ops.get(n) else { return Ok(()) };
                put(answers, n, group.leg(op)?, Answer::Unknown(Cause::of("NOT_WRITTEN")));
            }
            Self::Fence(ask) => ask.answer = Some(Ok(group.fence(ask.question)?)),
            Self::Status(ask) => ask.answer = Some(group.status(&ask.question)?),
            Self::External(ask) => ask.answer = Some(Ok(group.external(&ask.question)?)),
            Self::Seal(ask) => ask.answer = Some(group.seal(&ask.question)?),
            Self::Delivered(ask) => ask.answer = Some(Ok(group.tried(&ask.question)?)),
            Self::Telling(ask) => ask.answer = Some(Ok(group.telling()?)),
        }
        Ok(())
    }

    /// There was no room for one item.
    pub(super) fn full(&mut self, n: usize) {
        match self {
            Self::Units { wrote, .. } => put(wrote, n, Wrote::Full, Wrote::Full),
            Self::Legs { .. }
            | Self::Fence(_)
            | Self::Status(_)
            | Self::External(_)
            | Self::Seal(_)
            | Self::Delivered(_)
            | Self::Telling(_) => {
                self.unknown(n, &Cause::of("DISK_FULL"));
            }
        }
    }

    /// Nobody knows, or something hindered one item.
    pub(super) fn unknown(&mut self, n: usize, cause: &Cause) {
        match self {
            Self::Units { wrote, .. } => put(wrote, n, Wrote::Unknown(cause.clone()), Wrote::Full),
            Self::Legs { answers, .. } => {
                let unknown = Answer::Unknown(cause.clone());
                put(answers, n, unknown.clone(), unknown);
            }
            Self::Fence(ask) => ask.answer = Some(Err(cause.clone())),
            Self::Status(ask) => ask.answer = Some(Err(cause.clone())),
            Self::External(ask) => ask.answer = Some(Err(cause.clone())),
            Self::Seal(ask) => ask.answer = Some(Err(cause.clone())),
            Self::Delivered(ask) => ask.answer = Some(Err(cause.clone())),
            Self::Telling(ask) => ask.answer = Some(Err(cause.clone())),
        }
    }

    /// Gives the answers, now that they are durable.
    pub(super) fn answer(self) {
        match self {
            // whoever asked went away
            Self::Units { wrote, told, .. } => drop(told.send(wrote)),
            Self::Legs { answers, told, .. } => drop(told.send(answers)),
            Self::Fence(ask) => ask.tell(),
            Self::Status(ask) => ask.tell(),
            Self::External(ask) => ask.tell(),
            Self::Seal(ask) => ask.tell(),
            Self::Delivered(ask) => ask.tell(),
            Self::Telling(ask) => ask.tell(),
        }
    }
}

/// Puts an answer at its place; a second run replaces the first.
fn put<T: Clone>(answers: &mut Vec<T>, n: usize, answer: T, filler: T) {
    if answers.len() <= n {
        answers.resize(n + 1, filler);
    }
    if let Some(slot) = answers.get_mut(n) {
        *slot = answer;
    }
}
