//! Wraps every port on the engine's side, and records its calls and answers in the trace.

mod faults;

pub(super) use faults::{ReadFault, Spoiling, Spoilt};

use super::oracles::Oracles;
use super::trace::Trace;
use crate::world::Sim;
use kernel::answer::{Answer, Cause, Evidence};
use kernel::ids::{AssetId, Day, FlowId, Id, Millis, UserId, WorkerId};
use kernel::limits::DailyUsage;
use kernel::money::Amount;
use kernel::operation::{Key, Known, Op, Operation};
use kernel::operators::{Approval, OpenCase, PastAction};
use kernel::ports::Fut;
use kernel::ports::clock::{Clock, Rng};
use kernel::ports::journal::{
    Count, Due, DueQuery, Journal, Lease, Linked, OtherLease, ServiceStatus, Snapshot,
};
use kernel::ports::ledger::{Holding, Ledger, Reply, StatusChange, Stored, Totals, Whose};
use kernel::record::{Head, Record};
use kernel::unit::{Unit, Wrote};
use std::fmt::Debug;
use std::sync::Arc;
use testkit::wrapper::{JournalWrapper, LedgerWrapper};

/// Waits for an answer and notes it.
macro_rules! noted {
    ($self:ident, $what:literal, $($arg:expr),* => $call:expr) => {{
        let asked = format!($what, $($arg),*);
        Box::pin(async move {
            let answer = $call.await;
            $self.note(&asked, &answer);
            answer
        })
    }};
}

/// A ledger as the engine sees it.
pub(super) struct TracedLedger {
    pub inner: Arc<dyn Ledger>,
    pub sim: Sim,
    pub trace: Trace,
    pub oracles: Oracles,
}

impl TracedLedger {
    fn note(&self, asked: &str, answer: &impl Debug) {
        let name = self.inner.id().name();
        self.trace.note(self.sim.time(), format_args!("{name} {asked} -> {answer:?}"));
    }
}

impl LedgerWrapper for TracedLedger {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }
    fn hello(&self) -> Fut<'_, Reply<()>> {
        noted!(self, "hello", => self.inner.hello())
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(async move {
            self.oracles.begins(self.inner.id(), &ops);
            let answer = self.inner.execute(known, ops.clone()).await;
            if let Reply::Answered(_, answers) = &answer {
                self.oracles.replied(&ops, answers);
            }
            let name = self.inner.id().name();
            let at = self.sim.time();
            self.trace.note(at, format_args!("{name} execute {ops:?} -> {answer:?}"));
            answer
        })
    }
    fn query(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        noted!(self, "query {:?}", key => self.inner.query(known, key))
    }
    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        let fence = async move {
            self.oracles.begins_fence(self.inner.id(), key);
            self.inner.fence(known, key).await
        };
        noted!(self, "fence {:?}", key => fence)
    }
    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        noted!(self, "totals", => self.inner.totals())
    }
    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        noted!(self, "operations {}", after => self.inner.operations(after, limit))
    }
    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        noted!(self, "horizon {}", id => self.inner.horizon(known, id, open))
    }
    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        noted!(self, "accounts {:?}", whose => self.inner.accounts(whose))
    }
    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Reply<bool>> {
        noted!(self, "status {:?}", change => self.inner.status(known, change))
    }
}

/// What may differ in two answers that name the same transfer.
type Brief<'a> = (Id, Head, Millis, Millis, Option<&'a Evidence>, Amount);

fn brief(record: &Record) -> Brief<'_> {
    let Record { id, head, created_at, updated_at, error, terms, .. } = record;
    (*id, *head, *created_at, *updated_at, error.as_ref(), terms.source.amount)
}

fn due_brief(due: &Due) -> (&'static str, Option<Brief<'_>>) {
    match due {
        Due::Transfer(record) => ("transfer", Some(brief(record))),
        Due::Orphan(record) => ("orphan", Some(brief(record))),
        Due::Attempt(_) => ("attempt", None),
    }
}

/// The journal as the engine sees it.
pub(super) struct TracedJournal {
    pub inner: Arc<dyn Journal>,
    pub sim: Sim,
    pub trace: Trace,
}

impl TracedJournal {
    fn note(&self, asked: &str, answer: &impl Debug) {
        self.trace.note(self.sim.time(), format_args!("journal {asked} -> {answer:?}"));
    }
}

impl JournalWrapper for TracedJournal {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }
    fn now(&self) -> Millis {
        let now = self.inner.now();
        self.trace.number(1, now);
        now
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        let at = self.sim.time();
        if self.trace.is_read() {
            self.trace.remark(at, format_args!("journal write {units:?}"));
        }
        // what is written follows from answers that were noted before; what it is about is enough
        for Unit { guards, then } in &units {
            let (guards, puts, ops) = (guards.len(), then.puts.len(), then.ops.len());
            let fork = then.fork.as_ref().map(|fork| fork.op.key);
            self.trace.hash_only(at, format_args!("{guards} {puts} {ops} {fork:?}"));
            for event in &then.events {
                let (id, to, what) = (event.id.0, event.to, event.what);
                self.trace.hash_only(at, format_args!("{id:x} {to} {what}"));
            }
        }
        Box::pin(async move {
            let wrote = self.inner.write(units).await;
            self.trace.note(self.sim.time(), format_args!("journal wrote {wrote:?}"));
            wrote
        })
    }
    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(async move {
            let answer = self.inner.get(ids).await;
            let brief =
                answer.as_ref().map(|records| records.iter().map(brief).collect::<Vec<_>>());
            self.note("get", &brief);
            answer
        })
    }
    fn find_by_idempotency_key(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>> {
        Box::pin(async move {
            let answer = self.inner.find_by_idempotency_key(flow, scope, key).await;
            let brief = answer.as_ref().map(|record| record.as_ref().map(brief));
            self.note("bound", &brief);
            answer
        })
    }
    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>> {
        noted!(self, "history {}", id => self.inner.history(id))
    }
    fn due(&self, worker: WorkerId, query: DueQuery) -> Fut<'_, Result<Vec<Due>, Cause>> {
        Box::pin(async move {
            let answer = self.inner.due(worker, query).await;
            let brief = answer.as_ref().map(|due| due.iter().map(due_brief).collect::<Vec<_>>());
            self.note("due", &brief);
            answer
        })
    }
    fn renew_lease(
        &self,
        worker: WorkerId,
        length: Millis,
        stopped: Option<u64>,
    ) -> Fut<'_, Result<Lease, Cause>> {
        noted!(self, "alive {} {:?}", worker, stopped => self.inner.renew_lease(worker, length, stopped))
    }
    fn end_lease(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>> {
        noted!(self, "leave {}", worker => self.inner.end_lease(worker))
    }
    fn other_leases(&self, worker: WorkerId) -> Fut<'_, Result<Vec<OtherLease>, Cause>> {
        noted!(self, "leases beside {}", worker => self.inner.other_leases(worker))
    }
    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>> {
        noted!(self, "open below {}", id => self.inner.open_below(id))
    }
    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>> {
        noted!(self, "open of {}", user => self.inner.open_of(user))
    }
    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>> {
        noted!(self, "counts", => self.inner.counts())
    }
    fn open_older_than(&self, opened: Millis, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>> {
        noted!(self, "open_older_than {}", opened => self.inner.open_older_than(opened, limit))
    }
    fn open_cases(&self) -> Fut<'_, Result<Vec<OpenCase>, Cause>> {
        noted!(self, "open cases", => self.inner.open_cases())
    }
    fn past_action(
        &self,
        caller: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<PastAction>, Cause>> {
        noted!(self, "past_action {} {}", caller, key => self.inner.past_action(caller, key))
    }
    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>> {
        noted!(self, "approval {}", id => self.inner.approval(id))
    }
    fn pending_approvals(&self) -> Fut<'_, Result<Vec<Approval>, Cause>> {
        noted!(self, "pending approvals", => self.inner.pending_approvals())
    }
    fn daily_usage(
        &self,
        user: UserId,
        day: Day,
        asset: AssetId,
    ) -> Fut<'_, Result<DailyUsage, Cause>> {
        noted!(self, "spent {}", user => self.inner.daily_usage(user, day, asset))
    }
    fn service_status(&self) -> Fut<'_, Result<ServiceStatus, Cause>> {
        noted!(self, "status", => self.inner.service_status())
    }
    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>> {
        Box::pin(async move {
            let snapshot = self.inner.snapshot().await;
            let answer = snapshot.as_ref().map(|_| ());
            self.note("snapshot", &answer);
            snapshot
        })
    }
}

/// Time and chance as the engine sees them.
pub(super) struct TracedClock {
    pub sim: Sim,
    pub trace: Trace,
}

impl Clock for TracedClock {
    fn now(&self) -> Millis {
        let now = self.sim.now();
        self.trace.number(2, now);
        now
    }
    fn ticks(&self) -> u64 {
        let ticks = self.sim.ticks();
        self.trace.number(3, ticks);
        ticks
    }
    fn sleep(&self, ms: Millis) -> Fut<'static, ()> {
        self.trace.number(4, ms);
        self.sim.sleep(ms)
    }
}

impl Rng for TracedClock {
    fn next(&self) -> u64 {
        let next = Rng::next(&self.sim);
        self.trace.number(5, next);
        next
    }
}
