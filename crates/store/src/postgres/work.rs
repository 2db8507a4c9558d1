//! What the lanes are asked to do, item by item: each may wait, or be run again, without the others
//! of its call.

use super::fault::Fault;
use super::needs::Bound;
use kernel::answer::{Answer, Cause};
use kernel::audit::seal::Seal;
use kernel::ids::{Id, Millis};
use kernel::people::Count;
use kernel::ports::journal::Writing;
use kernel::ports::ledger::{External, Moved, StatusChange, Stored};
use kernel::ports::office::Tells;
use kernel::record::Record;
use kernel::unit::{Guard, Key, Op, Operation, Put, Unit, Wrote};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// A call whose answers come one by one.
struct Call<T> {
    slots: Mutex<Vec<Option<T>>>,
    left: AtomicUsize,
    told: Mutex<Option<oneshot::Sender<Vec<Option<T>>>>>,
}

/// The place of one item's answer. Dropped without one: nobody knows.
pub(crate) struct Reply<T> {
    call: Arc<Call<T>>,
    n: usize,
}

impl<T> Reply<T> {
    pub(crate) fn give(self, answer: T) {
        let mut slots = self.call.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get_mut(self.n) {
            *slot = Some(answer);
        }
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        if self.call.left.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let all =
            std::mem::take(&mut *self.call.slots.lock().unwrap_or_else(PoisonError::into_inner));
        let told = self.call.told.lock().unwrap_or_else(PoisonError::into_inner).take();
        // whoever asked went away
        let _gone = told.map(|told| told.send(all));
    }
}

/// As many replies as there are items, and where their answers arrive together.
pub(crate) fn replies<T>(items: usize) -> (Vec<Reply<T>>, oneshot::Receiver<Vec<Option<T>>>) {
    let (told, answers) = oneshot::channel();
    let call = Arc::new(Call {
        slots: Mutex::new((0..items).map(|_| None).collect()),
        left: AtomicUsize::new(items),
        told: Mutex::new(Some(told)),
    });
    ((0..items).map(|n| Reply { call: call.clone(), n }).collect(), answers)
}

/// Where what became of a unit is told.
pub(crate) enum Teller {
    /// In its place among the others of its call.
    Together(Reply<Writing>),
    /// By itself: the others of its call did not wait for it.
    Apart(oneshot::Sender<Wrote>),
}

impl Teller {
    pub(crate) fn give(self, wrote: Wrote) {
        match self {
            Self::Together(reply) => reply.give(Writing::Over(wrote)),
            // whoever asked went away
            Self::Apart(told) => drop(told.send(wrote)),
        }
    }

    /// It waits for somebody else, which the others of its call do not.
    fn waits(self) -> Self {
        let Self::Together(reply) = self else { return self };
        let (told, wrote) = oneshot::channel();
        reply.give(Writing::Waits(Box::pin(async { wrote.await.unwrap_or_else(|_| closed()) })));
        Self::Apart(told)
    }
}

/// Nobody is left to write it: nobody knows.
pub(crate) const fn closed() -> Wrote {
    Wrote::Unknown(Cause::of("STORE_CLOSED"))
}

/// What many of are decided together.
pub(crate) enum Item {
    /// A unit of nothing but transfers, their operations, receipts and counts.
    Unit(Box<Unit>, Teller),
    /// A leg at Funding by itself.
    Leg(Op, Reply<Answer>),
}

impl Item {
    /// The client's key that it binds.
    pub(crate) fn key(&self) -> Option<Bound> {
        let Self::Unit(unit, _) = self else { return None };
        unit.guards.iter().find_map(|guard| {
            let Guard::Unbound { flow, scope, key } = guard else { return None };
            Some((*flow, scope.clone(), key.clone()))
        })
    }

    /// It waits for somebody else.
    pub(crate) fn waits(self) -> Self {
        match self {
            Self::Unit(unit, teller) => Self::Unit(unit, teller.waits()),
            Self::Leg(..) => self,
        }
    }

    /// Nobody knows; or there was no room, and nothing is written.
    pub(crate) fn unknown(self, fault: &Fault) {
        match self {
            Self::Unit(_, reply) if matches!(fault, Fault::Full) => reply.give(Wrote::Full),
            Self::Unit(_, reply) => reply.give(Wrote::Unknown(fault.cause())),
            Self::Leg(_, reply) => reply.give(Answer::Unknown(fault.cause())),
        }
    }
}

/// What became of a try to deliver a webhook.
#[derive(Debug)]
pub(crate) struct Try {
    pub(crate) case: u64,
    pub(crate) tells: Tells,
    /// When it is tried next; `None`: it was delivered.
    pub(crate) due_at: Option<Millis>,
    pub(crate) error: Option<Arc<str>>,
}

/// A webhook that is taken up for a try.
#[derive(Debug)]
pub(crate) struct Taking {
    pub(crate) case: u64,
    pub(crate) tells: Tells,
    /// When it was due, so that one of several who saw it has it.
    pub(crate) due_at: Option<Millis>,
    /// Nobody else tries it before.
    pub(crate) until: Millis,
}

/// Who asked, and waits for one answer.
pub(crate) type Told<T> = oneshot::Sender<Result<T, Cause>>;

/// What is a transaction of its own.
pub(crate) enum Solo {
    /// A unit with something rare in it.
    Unit(Box<Unit>, Reply<Wrote>),
    /// A tombstone.
    Fence(Key, Told<Stored>),
    /// An account's status.
    Status(StatusChange, Told<bool>),
    /// External money.
    External(External, Told<Moved>),
    /// A seal of the audit.
    Seal(Seal, Told<()>),
    /// A webhook is about to be tried.
    TakenUp(Taking, Told<bool>),
    /// What a try to deliver a webhook came to.
    Delivered(Try, Told<()>),
    /// From now on webhooks are posted.
    Telling(Told<()>),
}

/// Something by itself, and how often it was tried with this time.
pub(crate) type Trial = (Solo, u32);

impl Solo {
    /// True where it needs rows of balances, which anybody may hold.
    pub(crate) const fn meets_balances(&self) -> bool {
        match self {
            Self::Status(..) | Self::External(..) => true,
            Self::Unit(..) | Self::Fence(..) | Self::Seal(..) => false,
            Self::TakenUp(..) | Self::Delivered(..) | Self::Telling(_) => false,
        }
    }
}

/// True for a unit that may be decided together with others.
pub(crate) fn common(unit: &Unit) -> bool {
    let guards = unit.guards.iter().all(|guard| match guard {
        Guard::Fresh(_)
        | Guard::Unbound { .. }
        | Guard::Transfer { .. }
        | Guard::NotHalted
        | Guard::Halt(_)
        | Guard::Incarnation { .. }
        | Guard::Owner { .. }
        | Guard::DayCount { .. }
        | Guard::DayAmount { .. } => true,
        Guard::Attempt { .. }
        | Guard::Resource { .. }
        | Guard::Inbox { .. }
        | Guard::AtMost { .. }
        | Guard::Unacted { .. }
        | Guard::Pending(_) => false,
    });
    guards && unit.thens().flat_map(|then| &then.puts).all(|put| Common::of(put).is_some())
}

/// The puts of which units that are decided together are made.
#[derive(Debug)]
pub(crate) enum Common<'u> {
    Open(&'u Record),
    Head(Id),
    Receipt(&'u Operation),
    Count(&'u Count),
}

impl<'u> Common<'u> {
    /// `None` for what is rare: a transaction of its own.
    pub(crate) const fn of(put: &'u Put) -> Option<Self> {
        match put {
            Put::Open(record) => Some(Self::Open(record)),
            Put::Head { id, .. } => Some(Self::Head(*id)),
            Put::Receipt { operation, .. } => Some(Self::Receipt(operation)),
            Put::Count(count) | Put::Uncount(count) => Some(Self::Count(count)),
            Put::Attempt(_)
            | Put::Form(..)
            | Put::Resource { .. }
            | Put::Raise { .. }
            | Put::Adopt { .. }
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
            | Put::ForgetDays(_) => None,
        }
    }
}
