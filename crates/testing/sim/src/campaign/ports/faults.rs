//! Draws the faults of the journal's writes and reads.

use super::super::Knob;
use super::super::fault_rates::FaultRates;
use super::super::oracles::Oracles;
use super::super::stats::Stats;
use crate::world::{Crash, Sim, die};
use kernel::answer::Cause;
use kernel::ids::{AssetId, Day, FlowId, Id, Millis, UserId, WorkerId};
use kernel::limits::DailyUsage;
use kernel::operators::{Approval, OpenCase, PastAction};
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::ports::journal::{
    Count, Due, DueQuery, Journal, Lease, Linked, OtherLease, ServiceStatus, Snapshot,
};
use kernel::record::Record;
use kernel::unit::{Event, Guard, Unit, Wrote};
use std::sync::Arc;
use testkit::wrapper::JournalWrapper;

/// What goes wrong with one write of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Spoilt {
    LostBefore,
    LostAfter,
    Full,
    CrashBefore,
    CrashAfter,
    LostAndLate,
    AnsweredLate,
}

impl Spoilt {
    /// Everything that a write may meet.
    pub(in super::super) const ALL: [Self; 7] = [
        Self::LostBefore,
        Self::LostAfter,
        Self::Full,
        Self::CrashBefore,
        Self::CrashAfter,
        Self::LostAndLate,
        Self::AnsweredLate,
    ];

    /// How often it happens.
    pub(in super::super) const fn knob(self) -> Knob {
        match self {
            Self::LostBefore => Knob::WriteLostBefore,
            Self::LostAfter => Knob::WriteLostAfter,
            Self::Full => Knob::WriteFull,
            Self::CrashBefore => Knob::WriteCrashBefore,
            Self::CrashAfter => Knob::WriteCrashAfter,
            Self::LostAndLate => Knob::WriteLostAndLate,
            Self::AnsweredLate => Knob::WriteAnsweredLate,
        }
    }

    /// Its name in the counts.
    pub(in super::super) const fn name(self) -> &'static str {
        match self {
            Self::LostBefore => "write lost before",
            Self::LostAfter => "write lost after",
            Self::Full => "disk full",
            Self::CrashBefore => "crash before write",
            Self::CrashAfter => "crash after write",
            Self::LostAndLate => "write lost, made late",
            Self::AnsweredLate => "write answered late",
        }
    }
}

/// What goes wrong with one read of the journal, or with a lease that is taken or renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum ReadFault {
    /// It is not answered, at once or after a while.
    Fails,
    /// It is made late.
    Slow,
    /// It is made at once and answered late: what is answered is older than what is stored.
    Stale,
}

impl ReadFault {
    /// Everything that a read may meet.
    pub(in super::super) const ALL: [Self; 3] = [Self::Fails, Self::Slow, Self::Stale];

    /// How often it happens.
    pub(in super::super) const fn knob(self) -> Knob {
        match self {
            Self::Fails => Knob::ReadFails,
            Self::Slow => Knob::ReadSlow,
            Self::Stale => Knob::ReadStale,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Fails => "read fails",
            Self::Slow => "read made late",
            Self::Stale => "read answered late",
        }
    }
}

/// What goes wrong with the journal.
pub(in super::super) struct Spoiling {
    pub inner: Arc<dyn Journal>,
    pub rates: FaultRates<Spoilt>,
    pub reads: FaultRates<ReadFault>,
    /// The longest delay of a read or a write.
    pub delay: Millis,
    /// The world around the process: what is on the wire goes on where the process dies.
    pub world: Sim,
    pub stats: Stats,
    pub oracles: Oracles,
    pub crash: Crash,
}

impl Spoiling {
    fn unheard(&self, ids: Vec<Id>) {
        if !ids.is_empty() {
            self.oracles.unheard(Some(&ids));
        }
    }

    async fn waits(&self) {
        self.world.sleep(self.reads.below(self.delay)).await;
    }

    /// A read, with what goes wrong with it.
    async fn reads<T>(&self, read: impl Future<Output = Result<T, Cause>>) -> Result<T, Cause> {
        let Some(fault) = self.reads.draw() else { return read.await };
        self.stats.fault(fault.name());
        match fault {
            ReadFault::Fails => {
                if self.reads.below(2) == 0 {
                    self.waits().await;
                }
                Err(Cause::of("TIMEOUT"))
            }
            ReadFault::Slow => {
                self.waits().await;
                read.await
            }
            ReadFault::Stale => {
                let answer = read.await;
                self.waits().await;
                answer
            }
        }
    }

    /// The edges that the write was about.
    fn met(&self, spoilt: Spoilt, events: &[(&'static str, Id)]) {
        for (event, id) in events {
            let state = self.oracles.state(*id);
            self.stats.cell(format!("{} | {state} | {event}", spoilt.name()));
        }
    }
}

/// The transfer that a unit moves.
fn subject(unit: &Unit) -> Option<Id> {
    unit.guards.iter().find_map(|guard| {
        let Guard::Transfer { id, .. } = guard else { return None };
        Some(*id)
    })
}

/// Whether a write failed for a reason that an answer may be lost for. HALT is none.
const fn failed(wrote: &Wrote) -> bool {
    !matches!(wrote, Wrote::Written(_) | Wrote::Lost(Guard::NotHalted))
}

/// A read of the journal below, with what goes wrong with it.
macro_rules! read {
    ($self:ident, $call:ident($($arg:expr),*)) => {
        Box::pin($self.reads(async move { $self.inner.$call($($arg),*).await }))
    };
}

impl JournalWrapper for Spoiling {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            let subject: Vec<Option<Id>> = units.iter().map(subject).collect();
            let Some(spoilt) = self.rates.draw() else {
                let wrote = self.inner.write(units).await;
                let lost = subject.iter().zip(&wrote).filter(|(_, wrote)| failed(wrote));
                self.unheard(lost.filter_map(|(id, _)| *id).collect());
                return wrote;
            };
            self.unheard(subject.into_iter().flatten().collect());
            let asked = units.len();
            let event = |event: &Event| (event.what, event.id);
            let events: Vec<_> =
                units.iter().flat_map(|unit| unit.then.events.iter().map(event)).collect();
            self.met(spoilt, &events);
            let unknown = || vec![Wrote::Unknown(Cause::of("COMMIT")); asked];
            match spoilt {
                Spoilt::LostBefore => {
                    self.stats.fault(spoilt.name());
                    unknown()
                }
                Spoilt::Full => {
                    self.stats.fault(spoilt.name());
                    vec![Wrote::Full; asked]
                }
                Spoilt::LostAfter => {
                    self.inner.write(units).await;
                    self.stats.fault(spoilt.name());
                    unknown()
                }
                Spoilt::CrashBefore => {
                    die(&self.crash, "crashed before a write").await;
                    unknown()
                }
                Spoilt::CrashAfter => {
                    let wrote = self.inner.write(units).await;
                    die(&self.crash, "crashed after a write").await;
                    wrote
                }
                Spoilt::LostAndLate => {
                    self.stats.fault(spoilt.name());
                    let (inner, world) = (self.inner.clone(), self.world.clone());
                    let wait = self.reads.below(self.delay);
                    self.world.start(async move {
                        world.sleep(wait).await;
                        inner.write(units).await;
                    });
                    self.waits().await;
                    unknown()
                }
                Spoilt::AnsweredLate => {
                    self.stats.fault(spoilt.name());
                    let wrote = self.inner.write(units).await;
                    self.waits().await;
                    wrote
                }
            }
        })
    }
    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>> {
        read!(self, get(ids))
    }
    fn find_by_idempotency_key(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>> {
        read!(self, find_by_idempotency_key(flow, scope, key))
    }
    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>> {
        read!(self, history(id))
    }
    fn due(&self, worker: WorkerId, query: DueQuery) -> Fut<'_, Result<Vec<Due>, Cause>> {
        read!(self, due(worker, query))
    }
    fn renew_lease(
        &self,
        worker: WorkerId,
        length: Millis,
        stopped: Option<u64>,
    ) -> Fut<'_, Result<Lease, Cause>> {
        read!(self, renew_lease(worker, length, stopped))
    }
    fn other_leases(&self, worker: WorkerId) -> Fut<'_, Result<Vec<OtherLease>, Cause>> {
        read!(self, other_leases(worker))
    }
    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>> {
        read!(self, open_below(id))
    }
    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>> {
        read!(self, open_of(user))
    }
    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>> {
        read!(self, counts())
    }
    fn open_older_than(&self, opened: Millis, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>> {
        read!(self, open_older_than(opened, limit))
    }
    fn open_cases(&self) -> Fut<'_, Result<Vec<OpenCase>, Cause>> {
        read!(self, open_cases())
    }
    fn past_action(
        &self,
        caller: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<PastAction>, Cause>> {
        read!(self, past_action(caller, key))
    }
    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>> {
        read!(self, approval(id))
    }
    fn pending_approvals(&self) -> Fut<'_, Result<Vec<Approval>, Cause>> {
        read!(self, pending_approvals())
    }
    fn daily_usage(
        &self,
        user: UserId,
        day: Day,
        asset: AssetId,
    ) -> Fut<'_, Result<DailyUsage, Cause>> {
        read!(self, daily_usage(user, day, asset))
    }
    fn service_status(&self) -> Fut<'_, Result<ServiceStatus, Cause>> {
        read!(self, service_status())
    }
    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>> {
        read!(self, snapshot())
    }
}
