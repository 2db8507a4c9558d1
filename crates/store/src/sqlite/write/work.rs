//! Defines the work items of the writer, and runs each inside a transaction. Each item can run again:
//! where one item breaks a group, the writer splits the group.

use super::batch::WriteBatch;
use crate::sqlite::admin::DeliveryAttempt;
use crate::sqlite::inbox::InboxWrite;
use crate::sqlite::outbox::OutboxWrite;
use crate::sqlite::webhooks::{WebhookWrite, WebhookWritten};
use kernel::answer::{Answer, Cause};
use kernel::audit::seal::Seal;
use kernel::ids::LedgerId;
use kernel::operation::{Key, Op};
use kernel::ports::ledger::{Moved, StatusChange, Stored};
use kernel::rules::Request;
use kernel::unit::{Unit, Wrote};
use std::sync::Arc;
use tokio::sync::oneshot::Sender;

/// A key that is to be fenced at an enlisted ledger.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FenceRequest {
    pub(crate) ledger: LedgerId,
    pub(crate) key: Key,
}

/// A question, and the sender of its one answer.
pub(crate) struct PendingAnswer<Q, A> {
    question: Q,
    answer: Option<Result<A, Cause>>,
    sender: Sender<Result<A, Cause>>,
}

impl<Q, A> PendingAnswer<Q, A> {
    pub(crate) fn new(question: Q, sender: Sender<Result<A, Cause>>) -> Self {
        Self { question, answer: None, sender }
    }

    fn tell(self) {
        let answer = self.answer.unwrap_or(Err(Cause::of("NOT_WRITTEN")));
        // the caller went away
        let _gone = self.sender.send(answer);
    }
}

pub(crate) enum Work {
    Units {
        units: Vec<Unit>,
        wrote: Vec<Wrote>,
        sender: Sender<Vec<Wrote>>,
    },
    /// Single legs at an enlisted ledger, each by itself.
    Legs {
        ledger: LedgerId,
        ops: Arc<[Op]>,
        answers: Vec<Answer>,
        sender: Sender<Vec<Answer>>,
    },
    Fence(PendingAnswer<FenceRequest, Stored>),
    Status(PendingAnswer<StatusChange, bool>),
    External(PendingAnswer<Request, Moved>),
    /// A seal of the audit.
    Seal(PendingAnswer<Seal, ()>),
    /// What a try to deliver a webhook came to.
    Delivered(PendingAnswer<DeliveryAttempt, ()>),
    /// From now on webhooks are posted.
    StartWebhooks(PendingAnswer<(), ()>),
    /// Rows of the outbox are marked, sent again or forgotten.
    Outbox(PendingAnswer<OutboxWrite, u64>),
    /// Messages of webhooks are queued, claimed, tried or forgotten.
    Webhook(PendingAnswer<WebhookWrite, WebhookWritten>),
    /// Messages are parked, put off or consumed.
    Inbox(PendingAnswer<InboxWrite, ()>),
}

impl Work {
    /// How many items of their own it has.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Units { units, .. } => units.len(),
            Self::Legs { ops, .. } => ops.len(),
            Self::Fence(_)
            | Self::Status(_)
            | Self::External(_)
            | Self::Seal(_)
            | Self::Delivered(_)
            | Self::StartWebhooks(_)
            | Self::Outbox(_)
            | Self::Webhook(_)
            | Self::Inbox(_) => 1,
        }
    }

    /// Runs one item inside a transaction.
    pub(crate) fn run(&mut self, n: usize, batch: &mut WriteBatch<'_>) -> rusqlite::Result<()> {
        match self {
            Self::Units { units, wrote, .. } => {
                let Some(unit) = units.get(n) else { return Ok(()) };
                put(wrote, n, batch.apply(unit)?, Wrote::Full);
            }
            Self::Legs { ledger, ops, answers, .. } => {
                let Some(op) = ops.get(n) else { return Ok(()) };
                put(answers, n, batch.leg(*ledger, op)?, Answer::Unknown(Cause::of("NOT_WRITTEN")));
            }
            Self::Fence(pending) => pending.answer = Some(batch.fence(pending.question)?),
            Self::Status(pending) => pending.answer = Some(batch.status(&pending.question)?),
            Self::External(pending) => {
                pending.answer = Some(Ok(batch.external(&pending.question)?))
            }
            Self::Seal(pending) => pending.answer = Some(batch.seal(&pending.question)?),
            Self::Delivered(pending) => {
                pending.answer = Some(Ok(batch.attempt(&pending.question)?))
            }
            Self::StartWebhooks(pending) => pending.answer = Some(Ok(batch.start_webhooks()?)),
            Self::Outbox(pending) => pending.answer = Some(Ok(batch.outbox(&pending.question)?)),
            Self::Webhook(pending) => pending.answer = Some(Ok(batch.webhooks(&pending.question)?)),
            Self::Inbox(pending) => pending.answer = Some(Ok(batch.inbox(&pending.question)?)),
        }
        Ok(())
    }

    /// There was no room for one item.
    pub(crate) fn full(&mut self, n: usize) {
        match self {
            Self::Units { wrote, .. } => put(wrote, n, Wrote::Full, Wrote::Full),
            Self::Legs { .. }
            | Self::Fence(_)
            | Self::Status(_)
            | Self::External(_)
            | Self::Seal(_)
            | Self::Delivered(_)
            | Self::StartWebhooks(_)
            | Self::Outbox(_)
            | Self::Webhook(_)
            | Self::Inbox(_) => {
                self.unknown(n, &Cause::of("DISK_FULL"));
            }
        }
    }

    /// The outcome of one item is unknown, or something hindered it.
    pub(crate) fn unknown(&mut self, n: usize, cause: &Cause) {
        match self {
            Self::Units { wrote, .. } => put(wrote, n, Wrote::Unknown(cause.clone()), Wrote::Full),
            Self::Legs { answers, .. } => {
                let unknown = Answer::Unknown(cause.clone());
                put(answers, n, unknown.clone(), unknown);
            }
            Self::Fence(pending) => pending.answer = Some(Err(cause.clone())),
            Self::Status(pending) => pending.answer = Some(Err(cause.clone())),
            Self::External(pending) => pending.answer = Some(Err(cause.clone())),
            Self::Seal(pending) => pending.answer = Some(Err(cause.clone())),
            Self::Delivered(pending) => pending.answer = Some(Err(cause.clone())),
            Self::StartWebhooks(pending) => pending.answer = Some(Err(cause.clone())),
            Self::Outbox(pending) => pending.answer = Some(Err(cause.clone())),
            Self::Webhook(pending) => pending.answer = Some(Err(cause.clone())),
            Self::Inbox(pending) => pending.answer = Some(Err(cause.clone())),
        }
    }

    /// Gives the answers, now that they are durable.
    pub(crate) fn answer(self) {
        match self {
            // the caller went away
            Self::Units { wrote, sender, .. } => drop(sender.send(wrote)),
            Self::Legs { answers, sender, .. } => drop(sender.send(answers)),
            Self::Fence(pending) => pending.tell(),
            Self::Status(pending) => pending.tell(),
            Self::External(pending) => pending.tell(),
            Self::Seal(pending) => pending.tell(),
            Self::Delivered(pending) => pending.tell(),
            Self::StartWebhooks(pending) => pending.tell(),
            Self::Outbox(pending) => pending.tell(),
            Self::Webhook(pending) => pending.tell(),
            Self::Inbox(pending) => pending.tell(),
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
