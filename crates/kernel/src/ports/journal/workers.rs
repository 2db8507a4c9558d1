//! The leases of workers that share a journal: they decide which worker does which due work.

use crate::answer::Cause;
use crate::attempt::Attempt;
use crate::ids::{FlowId, Millis, WorkerId};
use crate::ports::Fut;
use crate::record::Record;
use std::sync::Arc;

/// Work whose time has come.
#[derive(Debug, Clone)]
pub enum Due {
    /// A transfer to be carried on.
    Transfer(Record),
    /// A transfer whose worker died: it runs alone.
    Orphan(Record),
    /// An attempt to be looked at: its time has come, or its owner died holding it. Members of an open
    /// attempt do not come on their own.
    Attempt(Attempt),
}

/// The due work for which a worker asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueQuery {
    /// The flows that the worker carries. Transfers of other flows stay as they are, for a worker that asks
    /// for them.
    pub flows: Arc<[FlowId]>,
    /// The most transfers and attempts that are given at once.
    pub limit: usize,
}

/// A worker's lease, as it was renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The lease had run out: other workers may have taken the transfers of this one. It goes on, since
    /// each write is a compare-and-swap, and is told once.
    pub lost: bool,
    /// It runs out where it is not renewed. False where the store has one owner for as long as the
    /// process lives.
    pub ends: bool,
}

/// The lease of another worker, as the journal has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherLease {
    /// The worker whose lease it is.
    pub worker: WorkerId,
    /// Another number after each renewal, whatever the journal's clock says.
    pub renewal: u64,
    /// How long a renewal lasts.
    pub length: Millis,
    /// The last HALT that the worker said it obeys; 0 before the first.
    pub obeys: u64,
}

/// The leases of workers, and the due work that a worker is given under its own.
pub trait WorkerLeases: Send + Sync {
    /// Open transfers and attempts whose time has come and that no other live worker holds, leased
    /// to `worker` from now on, the fewest deaths first: of the flows that the query names, and no more
    /// than its limit. The rest is neither leased nor written.
    ///
    /// An attempt is held as a transfer is, by the worker that made it, was given it here, or put a head
    /// of it with [`Hold::Mine`]; what a dead worker held comes as [`Due::Attempt`], at its time where
    /// one had been put. A member of an open attempt is not given to any worker: it comes with its
    /// attempt. Where its attempt closes, the heads of the same unit say who has it.
    ///
    /// What a worker opened, was given here, or put a head of with [`Hold::Mine`], it holds from then
    /// on, whichever worker held it before. A worker lives while its lease does
    /// ([`WorkerLeases::renew_lease`]). What a dead one held comes as [`Due::Orphan`], or as
    /// [`Due::Transfer`] where a time had been put for it; what one held that left comes as
    /// [`Due::Transfer`]. What `worker` keeps in its own heap ([`Hold::Mine`]) comes
    /// to it only when it is some seconds too late. A transfer may come that this worker holds
    /// already, since it lost its lease or forgot it: the engine starts none twice. Leases only save
    /// work: a worker that lost its own without noticing goes on safely, since every write is a
    /// compare-and-swap on (id, state, version).
    ///
    /// [`Hold::Mine`]: crate::unit::Hold::Mine
    fn due(&self, worker: WorkerId, query: DueQuery) -> Fut<'_, Result<Vec<Due>, Cause>>;
    /// Renews a worker's lease: it lives for `length` from now, by the journal's time; the first
    /// renewal begins it. A lease that ends later than `length` from now has run out too: a clock
    /// was set back. `stopped` is the number of a HALT ([`ServiceStatus::halts`]) that this worker obeys:
    /// it begins nothing any more, and whatever it had begun has ended.
    ///
    /// A store that is shared is opened with the same worker, which is drawn at the start of each
    /// process and never again.
    ///
    /// [`ServiceStatus::halts`]: super::ServiceStatus::halts
    fn renew_lease(
        &self,
        worker: WorkerId,
        length: Millis,
        stopped: Option<u64>,
    ) -> Fut<'_, Result<Lease, Cause>>;
    /// Ends the lease of a worker that stops cleanly: every worker may take its transfers at once.
    fn end_lease(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>>;
    /// The leases of the other workers that did not leave, also of those that are dead by the journal's
    /// clock: whether all money stands under a HALT must not depend on a clock that may jump.
    fn other_leases(&self, worker: WorkerId) -> Fut<'_, Result<Vec<OtherLease>, Cause>>;
}
