//! The embedded store inside the simulation: its own thread does the work while the one thread of
//! the simulation waits, so virtual time stands still meanwhile.

use conformance::journal::Site;
use kernel::accounts::{AccountsOf, NumberedAccount};
use kernel::answer::{Answer, Cause};
use kernel::attempt::Attempt;
use kernel::ids::{AssetId, ChainId, Day, FlowId, Id, LedgerId, Millis, Serial, UserId, WorkerId};
use kernel::limits::DailyUsage;
use kernel::message::Emitted;
use kernel::operation::{Key, Known, Op, Operation};
use kernel::operators::{Approval, OpenCase, PastAction};
use kernel::ports::Fut;
use kernel::ports::bus::BusDelivery;
use kernel::ports::inbox::{Inbox, NextTry, ParkedKey, ParkedMessage, ParkedName};
use kernel::ports::journal::{
    AccountSums, AttemptQueries, Count, Due, DueQuery, Journal, Lease, Line, Linked,
    OperatorQueries, OtherLease, Recount, Resource, ServiceQueries, ServiceStatus, Snapshot,
    SnapshotSource, Sums, TransferPage, TransferQueries, UnitWriter, UnmatchedKey, WorkerLeases,
};
use kernel::ports::ledger::{
    Authority, Enlist, External, Holding, Ledger, Moved, Reply, StatusChange, Stored, Totals,
    Whose, World,
};
use kernel::ports::meter::NoMeter;
use kernel::ports::outbox::{
    Backlog, BucketLease, Outbox, PublishedRange, Queued, UnpublishedQuery,
};
use kernel::record::Record;
use kernel::unit::{Unit, Wrote};
use sim::world::{Sim, breath};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;
use store::sqlite::{Embedded, OpenError, Options};
use testkit::OpenedStore;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits with the whole thread.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let (mut cx, mut future) = (Context::from_waker(&waker), pin!(future));
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Lets others run where the simulated journal does: once before a write, once before its answer.
async fn written<T>(future: impl Future<Output = T>) -> T {
    breath().await;
    let value = wait(future);
    breath().await;
    value
}

/// A port whose every call is waited for.
struct Waiting<P: ?Sized>(Arc<P>);

impl UnitWriter for Waiting<dyn Journal> {
    fn now(&self) -> Millis {
        self.0.now()
    }
    fn ahead(&self) -> Millis {
        self.0.ahead()
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(written(self.0.write(units)))
    }
}

impl TransferQueries for Waiting<dyn Journal> {
    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(async move {
            breath().await;
            wait(self.0.get(ids))
        })
    }
    fn find_by_idempotency_key(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>> {
        Box::pin(async move { wait(self.0.find_by_idempotency_key(flow, scope, key)) })
    }
    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>> {
        Box::pin(async move { wait(self.0.history(id)) })
    }
    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>> {
        Box::pin(async move { wait(self.0.open_below(id)) })
    }
    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(async move { wait(self.0.open_of(user)) })
    }
    fn open_older_than(&self, opened: Millis, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(async move { wait(self.0.open_older_than(opened, limit)) })
    }
    fn before_time(&self, at: Millis) -> Fut<'_, Result<Serial, Cause>> {
        Box::pin(async move { wait(self.0.before_time(at)) })
    }
    fn transfers_after(
        &self,
        after: Serial,
        flow: Option<FlowId>,
        limit: usize,
    ) -> Fut<'_, Result<TransferPage, Cause>> {
        Box::pin(async move { wait(self.0.transfers_after(after, flow, limit)) })
    }
    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>> {
        Box::pin(async move { wait(self.0.counts()) })
    }
}

impl WorkerLeases for Waiting<dyn Journal> {
    fn due(&self, worker: WorkerId, query: DueQuery) -> Fut<'_, Result<Vec<Due>, Cause>> {
        Box::pin(async move {
            breath().await;
            wait(self.0.due(worker, query))
        })
    }
    fn renew_lease(
        &self,
        worker: WorkerId,
        length: Millis,
        stopped: Option<u64>,
    ) -> Fut<'_, Result<Lease, Cause>> {
        Box::pin(async move { wait(self.0.renew_lease(worker, length, stopped)) })
    }
    fn end_lease(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>> {
        Box::pin(async move { wait(self.0.end_lease(worker)) })
    }
    fn other_leases(&self, worker: WorkerId) -> Fut<'_, Result<Vec<OtherLease>, Cause>> {
        Box::pin(async move { wait(self.0.other_leases(worker)) })
    }
}

impl AttemptQueries for Waiting<dyn Journal> {
    fn attempts_of(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        Box::pin(async move { wait(self.0.attempts_of(ids)) })
    }
    fn open_attempts(&self, chain: ChainId) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        Box::pin(async move { wait(self.0.open_attempts(chain)) })
    }
    fn attempts_of_lane(
        &self,
        chain: ChainId,
        lane: Arc<str>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Attempt>, Cause>> {
        Box::pin(async move { wait(self.0.attempts_of_lane(chain, lane, limit)) })
    }
    fn attempt_of_form(
        &self,
        chain: ChainId,
        name: Arc<[u8]>,
    ) -> Fut<'_, Result<Option<Attempt>, Cause>> {
        Box::pin(async move { wait(self.0.attempt_of_form(chain, name)) })
    }
}

impl OperatorQueries for Waiting<dyn Journal> {
    fn open_cases(&self) -> Fut<'_, Result<Vec<OpenCase>, Cause>> {
        Box::pin(async move { wait(self.0.open_cases()) })
    }
    fn past_action(
        &self,
        caller: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<PastAction>, Cause>> {
        Box::pin(async move { wait(self.0.past_action(caller, key)) })
    }
    fn actions_on(
        &self,
        kind: &'static str,
        subject: Arc<str>,
    ) -> Fut<'_, Result<Vec<PastAction>, Cause>> {
        Box::pin(async move { wait(self.0.actions_on(kind, subject)) })
    }
    fn resumes(&self) -> Fut<'_, Result<Vec<PastAction>, Cause>> {
        Box::pin(async move { wait(self.0.resumes()) })
    }
    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>> {
        Box::pin(async move { wait(self.0.approval(id)) })
    }
    fn pending_approvals(&self) -> Fut<'_, Result<Vec<Approval>, Cause>> {
        Box::pin(async move { wait(self.0.pending_approvals()) })
    }
    fn numbered_accounts(&self, of: AccountsOf) -> Fut<'_, Result<Vec<NumberedAccount>, Cause>> {
        Box::pin(async move { wait(self.0.numbered_accounts(of)) })
    }
}

impl ServiceQueries for Waiting<dyn Journal> {
    fn service_status(&self) -> Fut<'_, Result<ServiceStatus, Cause>> {
        Box::pin(async move { wait(self.0.service_status()) })
    }
    fn resource(&self, name: Arc<str>) -> Fut<'_, Result<Option<Resource>, Cause>> {
        Box::pin(async move { wait(self.0.resource(name)) })
    }
    fn resources(&self, prefix: Arc<str>) -> Fut<'_, Result<Vec<Resource>, Cause>> {
        Box::pin(async move { wait(self.0.resources(prefix)) })
    }
    fn counter(&self, name: Arc<str>) -> Fut<'_, Result<u128, Cause>> {
        Box::pin(async move { wait(self.0.counter(name)) })
    }
    fn daily_usage(
        &self,
        user: UserId,
        day: Day,
        asset: AssetId,
    ) -> Fut<'_, Result<DailyUsage, Cause>> {
        Box::pin(async move { wait(self.0.daily_usage(user, day, asset)) })
    }
}

impl SnapshotSource for Waiting<dyn Journal> {
    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>> {
        Box::pin(async move {
            let snapshot = wait(self.0.snapshot())?;
            let snapshot: Box<dyn Snapshot> = Box::new(WaitingSnapshot(snapshot));
            Ok(snapshot)
        })
    }
}

struct WaitingSnapshot(Box<dyn Snapshot>);

impl Snapshot for WaitingSnapshot {
    fn books(&mut self, ledger: LedgerId) -> Fut<'_, Result<Vec<(AssetId, Totals)>, Cause>> {
        Box::pin(async move { wait(self.0.books(ledger)) })
    }
    fn sums(
        &mut self,
        ledger: LedgerId,
        upto: u64,
    ) -> Fut<'_, Result<Vec<(AssetId, Sums)>, Cause>> {
        Box::pin(async move { wait(self.0.sums(ledger, upto)) })
    }
    fn receipts(
        &mut self,
        ledger: LedgerId,
        after: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Operation>, Cause>> {
        Box::pin(async move { wait(self.0.receipts(ledger, after, limit)) })
    }
    fn recount(&mut self) -> Fut<'_, Result<Recount, Cause>> {
        Box::pin(async move { wait(self.0.recount()) })
    }
    fn unmatched_keys(&mut self, limit: usize) -> Fut<'_, Result<Vec<UnmatchedKey>, Cause>> {
        Box::pin(async move { wait(self.0.unmatched_keys(limit)) })
    }
    fn account_sums(
        &mut self,
        ledger: LedgerId,
        upto: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<AccountSums>, Cause>> {
        Box::pin(async move { wait(self.0.account_sums(ledger, upto, limit)) })
    }
    fn complete(&mut self) -> Fut<'_, Result<Serial, Cause>> {
        Box::pin(async move { wait(self.0.complete()) })
    }
    fn lines(&mut self, after: Serial, limit: usize) -> Fut<'_, Result<Vec<Line>, Cause>> {
        Box::pin(async move { wait(self.0.lines(after, limit)) })
    }
    fn lines_of(&mut self, keys: Vec<Key>) -> Fut<'_, Result<Vec<Line>, Cause>> {
        Box::pin(async move { wait(self.0.lines_of(keys)) })
    }
    fn resources(&mut self, prefix: Arc<str>) -> Fut<'_, Result<Vec<Resource>, Cause>> {
        Box::pin(async move { wait(self.0.resources(prefix)) })
    }
    fn counters(&mut self, prefix: Arc<str>) -> Fut<'_, Result<BTreeMap<Arc<str>, u128>, Cause>> {
        Box::pin(async move { wait(self.0.counters(prefix)) })
    }
}

impl Ledger for Waiting<dyn Ledger> {
    fn id(&self) -> LedgerId {
        self.0.id()
    }
    fn hello(&self) -> Fut<'_, Reply<()>> {
        Box::pin(async move { wait(self.0.hello()) })
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(written(self.0.execute(known, ops)))
    }
    fn query(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        Box::pin(async move { wait(self.0.query(known, key)) })
    }
    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        Box::pin(written(self.0.fence(known, key)))
    }
    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        Box::pin(async move { wait(self.0.totals()) })
    }
    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        Box::pin(async move { wait(self.0.operations(after, limit)) })
    }
    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        Box::pin(async move { wait(self.0.horizon(known, id, open)) })
    }
    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        Box::pin(async move { wait(self.0.accounts(whose)) })
    }
    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Reply<bool>> {
        Box::pin(written(self.0.status(known, change)))
    }
    fn enlist(&self) -> Option<&dyn Enlist> {
        self.0.enlist()
    }
}

impl World for Waiting<dyn World> {
    fn book(&self, movement: External, authority: Authority) -> Fut<'_, Result<Moved, Cause>> {
        Box::pin(written(self.0.book(movement, authority)))
    }
    fn booked(&self, movement: External) -> Fut<'_, Result<Option<Moved>, Cause>> {
        Box::pin(async move { wait(self.0.booked(movement)) })
    }
}

impl Outbox for Waiting<dyn Outbox> {
    fn lease_buckets(
        &self,
        worker: WorkerId,
        length: Millis,
        most: u16,
    ) -> Fut<'_, Result<Vec<BucketLease>, Cause>> {
        Box::pin(written(self.0.lease_buckets(worker, length, most)))
    }
    fn release_buckets(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>> {
        Box::pin(written(self.0.release_buckets(worker)))
    }
    fn unpublished(&self, query: UnpublishedQuery) -> Fut<'_, Result<Vec<Queued>, Cause>> {
        Box::pin(written(self.0.unpublished(query)))
    }
    fn mark_published(
        &self,
        worker: WorkerId,
        leases: Vec<BucketLease>,
        rows: Vec<(u16, u64)>,
    ) -> Fut<'_, Result<Vec<u16>, Cause>> {
        Box::pin(written(self.0.mark_published(worker, leases, rows)))
    }
    fn published(&self, range: PublishedRange) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(written(self.0.published(range)))
    }
    fn emit_again(&self, range: PublishedRange, limit: usize) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(written(self.0.emit_again(range, limit)))
    }
    fn queued(&self, messages: Vec<(u16, u128)>) -> Fut<'_, Result<Vec<u128>, Cause>> {
        Box::pin(written(self.0.queued(messages)))
    }
    fn emit(&self, messages: Vec<Emitted>) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(written(self.0.emit(messages)))
    }
    fn expire_published(&self, before: Millis, limit: usize) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(written(self.0.expire_published(before, limit)))
    }
    fn backlog(&self) -> Fut<'_, Result<Backlog, Cause>> {
        Box::pin(written(self.0.backlog()))
    }
}

impl Inbox for Waiting<dyn Inbox> {
    fn consumed(
        &self,
        group: &'static str,
        numbers: Vec<u128>,
    ) -> Fut<'_, Result<Vec<u128>, Cause>> {
        Box::pin(written(self.0.consumed(group, numbers)))
    }
    fn park(
        &self,
        group: Arc<str>,
        messages: Vec<BusDelivery>,
        next: NextTry,
    ) -> Fut<'_, Result<(), Cause>> {
        Box::pin(written(self.0.park(group, messages, next)))
    }
    fn parked_keys(
        &self,
        group: Option<Arc<str>>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<ParkedKey>, Cause>> {
        Box::pin(written(self.0.parked_keys(group, limit)))
    }
    fn parked(&self, name: ParkedName, limit: usize) -> Fut<'_, Result<Vec<ParkedMessage>, Cause>> {
        Box::pin(written(self.0.parked(name, limit)))
    }
    fn try_again(&self, name: ParkedName, next: NextTry) -> Fut<'_, Result<(), Cause>> {
        Box::pin(written(self.0.try_again(name, next)))
    }
    fn unpark(
        &self,
        name: ParkedName,
        consumed: Vec<u128>,
        upto: u64,
    ) -> Fut<'_, Result<(), Cause>> {
        Box::pin(written(self.0.unpark(name, consumed, upto)))
    }
}

fn open(dir: PathBuf, sim: &Sim) -> Arc<Embedded> {
    for _ in 0..12_000 {
        let options = Options {
            dir: dir.clone(),
            flows: Arc::new(flows::registry()),
            clock: Arc::new(sim.clone()),
            meter: Arc::new(NoMeter),
            fatal: Arc::new(|why| panic!("{why}")),
            max_bytes: None,
        };
        match Embedded::open(options) {
            Ok(store) => return store,
            // the last process's thread may still be on its way out
            Err(OpenError::Locked(_)) => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the folder stays locked")
}

/// The embedded store in a folder, opened once for each process.
pub(crate) fn embedded(sim: &Sim, dir: PathBuf) -> Site {
    let sim = sim.clone();
    Box::new(move || {
        let store = open(dir.clone(), &sim);
        let ledgers: [Arc<dyn Ledger>; 2] = [store.funding(), store.accounts()];
        let [funding, accounts] = ledgers.map(|ledger| Arc::new(Waiting(ledger)));
        let world: Arc<dyn World> = store.funding();
        let outbox: Arc<dyn Outbox> = store.clone();
        let inbox: Arc<dyn Inbox> = store.clone();
        let journal: Arc<dyn Journal> = store;
        let opened = OpenedStore {
            outbox: Arc::new(Waiting(outbox)),
            inbox: Arc::new(Waiting(inbox)),
            journal: Arc::new(Waiting(journal)),
            funding,
            accounts,
            world: Arc::new(Waiting(world)),
        };
        Box::pin(std::future::ready(opened))
    })
}
