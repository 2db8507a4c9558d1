//! Defines the work items of the lanes and the places for their answers. Each item may wait, or run
//! again, without the other items of its call.

use super::row_set::ClientKey;
use crate::postgres::error::StoreError;
use kernel::answer::{Answer, Cause};
use kernel::attempt::{Attempt, AttemptId};
use kernel::audit::seal::Seal;
use kernel::ids::{Id, LedgerId, Millis};
use kernel::limits::DailyCount;
use kernel::operation::{Key, Op, Operation};
use kernel::ports::admin_queries::Tells;
use kernel::ports::journal::Writing;
use kernel::ports::ledger::{Moved, StatusChange, Stored};
use kernel::record::Record;
use kernel::rules::Request;
use kernel::unit::{Guard, Put, Unit, Wrote};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// A call whose answers come one by one.
struct Call<T> {
    slots: Mutex<Vec<Option<T>>>,
    left: AtomicUsize,
    sender: Mutex<Option<oneshot::Sender<Vec<Option<T>>>>>,
}

/// The place of one item's answer. Dropped without one: the outcome is unknown.
pub(crate) struct ReplySlot<T> {
    call: Arc<Call<T>>,
    n: usize,
}

impl<T> ReplySlot<T> {
    pub(crate) fn give(self, answer: T) {
        let mut slots = self.call.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get_mut(self.n) {
            *slot = Some(answer);
        }
    }
}

impl<T> Drop for ReplySlot<T> {
    fn drop(&mut self) {
        if self.call.left.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let all =
            std::mem::take(&mut *self.call.slots.lock().unwrap_or_else(PoisonError::into_inner));
        let sender = self.call.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        // the caller went away
        let _gone = sender.map(|sender| sender.send(all));
    }
}

/// Makes one reply slot for each item, and the receiver of all their answers.
pub(crate) fn replies<T>(items: usize) -> (Vec<ReplySlot<T>>, oneshot::Receiver<Vec<Option<T>>>) {
    let (sender, answers) = oneshot::channel();
    let call = Arc::new(Call {
        slots: Mutex::new((0..items).map(|_| None).collect()),
        left: AtomicUsize::new(items),
        sender: Mutex::new(Some(sender)),
    });
    ((0..items).map(|n| ReplySlot { call: call.clone(), n }).collect(), answers)
}

/// The place for the result of an item: of a unit, or of a leg.
pub(crate) enum ItemReply<T> {
    /// In its place among the others of its call.
    Grouped(ReplySlot<Writing<T>>),
    /// By itself: the others of its call did not wait for it.
    Alone(oneshot::Sender<T>),
}

impl<T: Send + 'static> ItemReply<T> {
    pub(crate) fn give(self, result: T) {
        match self {
            Self::Grouped(reply) => reply.give(Writing::Over(result)),
            // the caller went away
            Self::Alone(sender) => drop(sender.send(result)),
        }
    }

    /// It waits for another transaction, for which the others of its call do not wait.
    fn waits(self, closed: fn() -> T) -> Self {
        let Self::Grouped(reply) = self else { return self };
        let (sender, result) = oneshot::channel();
        let result = async move { result.await.unwrap_or_else(|_| closed()) };
        reply.give(Writing::Waits(Box::pin(result)));
        Self::Alone(sender)
    }
}

/// No writer is left.
const CLOSED: Cause = Cause::of("STORE_CLOSED");

/// No writer is left: the outcome of a unit is unknown.
pub(crate) const fn closed() -> Wrote {
    Wrote::Unknown(CLOSED)
}

/// No writer is left: the outcome of a leg is unknown.
pub(crate) const fn closed_leg() -> Answer {
    Answer::Unknown(CLOSED)
}

/// An operation and the enlisted ledger that it is for.
#[derive(Debug, Clone)]
pub(crate) struct EnlistedOp {
    pub(crate) ledger: LedgerId,
    pub(crate) op: Op,
}

/// A key that is to be fenced at an enlisted ledger.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FenceRequest {
    pub(crate) ledger: LedgerId,
    pub(crate) key: Key,
}

/// An item of a batch: one transaction decides many of them together.
pub(crate) enum WorkItem {
    /// A unit of nothing but transfers, their operations, receipts and counts, attempts, resources
    /// and counters.
    Unit(Box<Unit>, ItemReply<Wrote>),
    /// A leg at an enlisted ledger by itself.
    Leg(EnlistedOp, ItemReply<Answer>),
}

impl WorkItem {
    /// The client's key that it binds.
    pub(crate) fn key(&self) -> Option<ClientKey> {
        let Self::Unit(unit, _) = self else { return None };
        unit.guards.iter().find_map(|guard| {
            let Guard::Unbound { flow, scope, key } = guard else { return None };
            Some((*flow, scope.clone(), key.clone()))
        })
    }

    /// It waits for another transaction.
    pub(crate) fn waits(self) -> Self {
        match self {
            Self::Unit(unit, reply) => Self::Unit(unit, reply.waits(closed)),
            Self::Leg(asked, reply) => Self::Leg(asked, reply.waits(closed_leg)),
        }
    }

    /// The outcome is unknown; or the store does not take it, and nothing is written.
    pub(crate) fn unknown(self, error: &StoreError) {
        match self {
            Self::Unit(_, reply) => reply.give(error.outcome()),
            Self::Leg(_, reply) => reply.give(Answer::Unknown(error.cause())),
        }
    }
}

/// The result of a try to deliver a webhook.
#[derive(Debug)]
pub(crate) struct DeliveryAttempt {
    pub(crate) case: u64,
    pub(crate) tells: Tells,
    /// When it is tried next; `None`: it was delivered.
    pub(crate) due_at: Option<Millis>,
    pub(crate) error: Option<Arc<str>>,
}

/// A webhook that is taken up for a try.
#[derive(Debug)]
pub(crate) struct DeliveryClaim {
    pub(crate) case: u64,
    pub(crate) tells: Tells,
    /// When it was due, so that one of several who saw it has it.
    pub(crate) due_at: Option<Millis>,
    /// No other process tries it before.
    pub(crate) until: Millis,
}

/// The sender of one answer to a caller that waits for it.
pub(crate) type AnswerSender<T> = oneshot::Sender<Result<T, Cause>>;

/// A change that needs a transaction of its own.
pub(crate) enum SingleWrite {
    /// A unit with something rare in it.
    Unit(Box<Unit>, ReplySlot<Wrote>),
    Fence(FenceRequest, AnswerSender<Stored>),
    Status(StatusChange, AnswerSender<bool>),
    External(Box<Request>, AnswerSender<Moved>),
    /// A seal of the audit.
    Seal(Seal, AnswerSender<()>),
    /// A webhook is about to be tried.
    ClaimDelivery(DeliveryClaim, AnswerSender<bool>),
    /// The result of a try to deliver a webhook.
    Delivered(DeliveryAttempt, AnswerSender<()>),
    /// From now on webhooks are posted.
    StartWebhooks(AnswerSender<()>),
}

/// A single write, and the number of its tries, this one included.
pub(crate) type QueuedWrite = (SingleWrite, u32);

impl SingleWrite {
    /// True where it needs rows of balances, which any other transaction may hold.
    pub(crate) const fn locks_balances(&self) -> bool {
        match self {
            Self::Status(..) | Self::External(..) => true,
            Self::Unit(..) | Self::Fence(..) | Self::Seal(..) => false,
            Self::ClaimDelivery(..) | Self::Delivered(..) | Self::StartWebhooks(_) => false,
        }
    }
}

/// True for a unit that may be decided together with others.
pub(crate) fn batchable(unit: &Unit) -> bool {
    let guards = unit.guards.iter().all(|guard| match guard {
        Guard::Fresh(_)
        | Guard::Unbound { .. }
        | Guard::Transfer { .. }
        | Guard::NotHalted
        | Guard::Halt(_)
        | Guard::Incarnation { .. }
        | Guard::Owner { .. }
        | Guard::DayCount { .. }
        | Guard::DayAmount { .. }
        | Guard::Inbox { .. }
        | Guard::Attempt { .. }
        | Guard::LockFree { .. }
        | Guard::Resource { .. }
        | Guard::AtMost { .. }
        | Guard::AtLeast { .. } => true,
        Guard::Account { .. } | Guard::NoPastAction { .. } | Guard::Pending(_) => false,
    });
    guards && unit.thens().flat_map(|then| &then.puts).all(|put| BatchablePut::of(put).is_some())
}

/// The puts of which units that are decided together are made.
#[derive(Debug)]
pub(crate) enum BatchablePut<'u> {
    Open(&'u Record),
    Head(Id),
    Receipt(&'u Operation),
    Count(&'u DailyCount),
    NewAttempt(&'u Attempt),
    /// A head or a form of it.
    Attempt(AttemptId),
    Resource(&'u Arc<str>),
    Counter(&'u Arc<str>),
}

impl<'u> BatchablePut<'u> {
    /// `None` for what is rare: a transaction of its own.
    pub(crate) const fn of(put: &'u Put) -> Option<Self> {
        match put {
            Put::Open(record) => Some(Self::Open(record)),
            Put::Head { id, .. } => Some(Self::Head(*id)),
            Put::Receipt { operation, .. } => Some(Self::Receipt(operation)),
            Put::Count(count) | Put::Uncount(count) => Some(Self::Count(count)),
            Put::Attempt(attempt) => Some(Self::NewAttempt(attempt)),
            Put::AttemptHead { id, .. } | Put::Form(id, _) => Some(Self::Attempt(*id)),
            Put::Resource { name, .. } => Some(Self::Resource(name)),
            Put::Raise { name, .. }
            | Put::Add { counter: name, .. }
            | Put::Take { counter: name, .. } => Some(Self::Counter(name)),
            Put::Adopt { .. }
            | Put::AdoptAfterLoss { .. }
            | Put::Own { .. }
            | Put::Horizon(_)
            | Put::Case(_)
            | Put::Close { .. }
            | Put::Note { .. }
            | Put::Halt { .. }
            | Put::Resume { .. }
            | Put::Pause { .. }
            | Put::Unpause(_)
            | Put::Action(_)
            | Put::Propose(_)
            | Put::Decide { .. }
            | Put::Asset(_)
            | Put::Account { .. }
            | Put::ForgetDays(_)
            | Put::ForgetCases(_) => None,
        }
    }
}
