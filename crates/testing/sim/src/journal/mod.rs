//! The simulated journal with its enlisted Funding ledger: in memory, on a simulated clock.
//!
//! A [`Place`] holds what a crash leaves: everything that was written. A [`SimJournal`] is one process over it. It
//! passes the same contract suite as the real stores, so the simulation may rely on it.

mod accounts;
mod faults;
mod faulty_writes;
mod funding;
mod inbox;
mod leases;
mod locked_accounts;
mod observe;
mod outbox;
mod queries;
mod standby;
mod state;
mod view;

pub use accounts::SimAccounts;
pub use faults::{Fault, Faults};
pub use faulty_writes::FaultyWrites;
pub use funding::SimFunding;
pub use locked_accounts::LockedAccounts;
pub use observe::{Durable, Observer};
pub use standby::Backup;

use crate::event_log::{EventLog, LoggedEvent, subject};
use crate::world::{Crash, breath, die};
use kernel::answer::Cause;
use kernel::flow::table::Flows;
use kernel::ids::{Id, Millis, WorkerId};
use kernel::operators::Subject;
use kernel::ports::Fut;
use kernel::ports::clock::{Clock, JournalTime};
use kernel::ports::journal::{
    Due, DueQuery, Lease, Linked, OtherLease, ServiceStatus, UnitWriter, WorkerLeases, Writing,
};
use kernel::record::{Record, System};
use kernel::unit::{Unit, Wrote};
use standby::Away;
use state::State;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use testkit::OpenedStore;

/// The data of one journal and the plan of its faults. A handle: clones are the same one.
#[derive(Clone)]
pub struct Place {
    state: Arc<Mutex<Arc<State>>>,
    observer: Option<Arc<dyn Observer>>,
    /// Some while its standby is away.
    standby: Arc<Mutex<Option<Away>>>,
    /// What goes wrong with its writes.
    pub faults: Faults,
    /// The rows that another session has locked.
    pub locked: LockedAccounts,
    /// What became of the writes.
    pub event_log: EventLog,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("faults", &self.faults).finish_non_exhaustive()
    }
}

impl Place {
    /// An empty one that knows the assets of a fresh store.
    pub fn new(flows: Arc<Flows>) -> Self {
        let state = Arc::new(Mutex::new(Arc::new(State::new(flows))));
        let event_log = EventLog::default();
        let (standby, faults) = (Arc::default(), Faults::default());
        let locked = LockedAccounts::default();
        Self { state, observer: None, standby, faults, locked, event_log }
    }

    /// The same place, of whose every write this one is told as it becomes durable.
    #[must_use]
    pub fn observed(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// One process over the data. The one before must be gone.
    pub fn open(&self, clock: Arc<dyn Clock>, crash: Crash) -> Arc<SimJournal> {
        let worker = {
            let mut state = self.lock();
            let state = Arc::make_mut(&mut *state);
            state.lives += 1;
            let worker = WorkerId(u64::MAX - state.lives);
            state.leases.owned(worker);
            state.outbox.forget_leases();
            worker
        };
        self.process(clock, crash, worker, true)
    }

    /// One of several processes over the data.
    pub fn join(&self, clock: Arc<dyn Clock>, crash: Crash, worker: WorkerId) -> Arc<SimJournal> {
        self.process(clock, crash, worker, false)
    }

    fn process(
        &self,
        clock: Arc<dyn Clock>,
        crash: Crash,
        worker: WorkerId,
        sole: bool,
    ) -> Arc<SimJournal> {
        let time = Arc::new(JournalTime::new(clock.clone(), self.now().last));
        Arc::new(SimJournal { place: self.clone(), clock, time, crash, worker, sole })
    }

    fn lock(&self) -> MutexGuard<'_, Arc<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state at this instant; later writes do not change it.
    fn now(&self) -> Arc<State> {
        self.lock().clone()
    }

    /// What stands: flags, assets, what is known of the ledgers.
    pub fn status(&self) -> ServiceStatus {
        self.now().status(0)
    }

    /// The comments of every case of a kind, oldest first.
    pub fn case_comments(&self, kind: &str) -> Vec<Arc<str>> {
        self.now().operators.comments(kind)
    }

    /// Every transfer's history as words, for comparing runs: id, then each entry's word.
    pub fn traces(&self) -> Vec<(Id, Vec<String>)> {
        let state = self.now();
        let words = |history: &Vec<Linked>| {
            history.iter().map(|linked| linked.entry.event.clone()).collect()
        };
        state.history.iter().map(|(id, history)| (*id, words(history))).collect()
    }

    /// The kinds of the cases that were opened, in order.
    pub fn cases(&self) -> Vec<&'static str> {
        self.now().cases()
    }

    /// What is paused, and the rows of the lanes, as text for a run that does not end.
    pub(crate) fn stands(&self) -> String {
        let state = self.now();
        let lanes = state.resources.iter().filter(|(name, _)| name.starts_with("lane:"));
        format!("paused: {:?}, {:?}", self.status().paused, lanes.collect::<Vec<_>>())
    }

    /// The transfers that are open and that no open case is about: neither one of their own, nor one of the attempt
    /// that they are members of, nor one of the chain that they are paid from. An attempt that was made after `since`
    /// needs none: its members go on.
    pub(crate) fn waiting_without_case(&self, since: Millis) -> Vec<Record> {
        let state = self.now();
        let subjects: BTreeSet<Subject> =
            state.open_cases().into_iter().map(|case| case.subject).collect();
        let is_asked = |record: &&Record| match record.source().system {
            System::Ledger(_) => subjects.contains(&Subject::Transfer(record.id)),
            System::Chain(chain) => {
                let attempts = state.open_attempts(chain);
                let mut own = attempts
                    .iter()
                    .filter(|attempt| attempt.members.iter().any(|member| member.id == record.id));
                subjects.contains(&Subject::Chain(chain))
                    || subjects.contains(&Subject::Transfer(record.id))
                    || own.any(|attempt| {
                        Id(attempt.id.0).at() > since
                            || subjects.contains(&Subject::Attempt(attempt.id))
                    })
            }
        };
        let open = state.open.iter().filter_map(|id| state.transfers.get(id));
        open.filter(|record| !is_asked(record)).cloned().collect()
    }

    /// The same with what each is about.
    pub fn episodes(&self) -> Vec<(&'static str, Subject)> {
        self.now().episodes()
    }
}

/// Why a write was not made, or it is unknown whether.
enum Refusal {
    Full,
    Unknown,
}

/// A write that was made.
struct Committed<T> {
    value: T,
    /// It survives its primary.
    durable: bool,
}

/// Why a write that only the primary has is not answered as written.
const NOT_REPLICATED: &str = "NOT_REPLICATED";

#[derive(Clone)]
pub struct SimJournal {
    place: Place,
    clock: Arc<dyn Clock>,
    time: Arc<JournalTime>,
    crash: Crash,
    /// Whose process it is.
    worker: WorkerId,
    /// The data has no other process.
    sole: bool,
}

impl fmt::Debug for SimJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimJournal").field("place", &self.place).finish_non_exhaustive()
    }
}

impl SimJournal {
    /// The ledger of numbered accounts that lives in it.
    pub fn accounts(self: &Arc<Self>) -> Arc<SimAccounts> {
        Arc::new(SimAccounts::new(self.clone()))
    }

    /// The ledger that lives in it.
    pub fn funding(self: &Arc<Self>) -> Arc<SimFunding> {
        Arc::new(SimFunding::new(self.clone()))
    }

    /// It and its ledgers, by each port.
    pub fn opened(self: &Arc<Self>) -> OpenedStore {
        OpenedStore::of(self.clone(), self.funding(), self.accounts())
    }

    /// The journal's time after a last write at `written`, by whatever process.
    fn time_after(&self, written: Millis) -> Millis {
        self.time.advance_to(written);
        self.time.now()
    }

    /// Changes who holds what, beside every write.
    fn change<T>(&self, change: impl FnOnce(&mut State, Millis) -> T) -> T {
        let mut state = self.place.lock();
        let now = self.time_after(state.last);
        change(Arc::make_mut(&mut *state), now)
    }

    /// In a journal of one owner there is one worker, whatever it is called.
    const fn who(&self, worker: WorkerId) -> WorkerId {
        if self.sole { self.worker } else { worker }
    }

    /// What is read is answered only while it would survive its primary.
    fn readable(&self) -> Result<(), Cause> {
        if self.place.is_unreplicated() { Err(Cause::of(NOT_REPLICATED)) } else { Ok(()) }
    }

    /// One write beside transfers, at the mercy of the plan as every write is.
    async fn noted<T>(&self, act: impl FnOnce(&mut State, Millis) -> T) -> Result<T, Cause> {
        match self.commit(Vec::new(), |state, _, at| act(state, at)).await {
            Ok(Committed { value, durable: true }) => Ok(value),
            Ok(Committed { durable: false, .. }) => Err(Cause::of(NOT_REPLICATED)),
            Err(Refusal::Full) => Err(Cause::of("FULL")),
            Err(Refusal::Unknown) => Err(Cause::of("COMMIT")),
        }
    }

    /// One write about these transfers, at the mercy of the plan. Other tasks run before it and before
    /// its answer.
    async fn commit<T>(
        &self,
        subject: Vec<Id>,
        act: impl FnOnce(&mut State, WorkerId, Millis) -> T,
    ) -> Result<Committed<T>, Refusal> {
        breath().await;
        let (n, fault) = self.place.faults.begin();
        self.place.event_log.add(LoggedEvent::Write { n, subject, edges: Vec::new() });
        match fault {
            Some(Fault::Full) => return Err(Refusal::Full),
            Some(Fault::LostBefore) => return Err(Refusal::Unknown),
            Some(Fault::CrashBefore) => die(&self.crash, "crashed before a write").await,
            Some(Fault::LostAfter | Fault::CrashAfter) | None => {}
        }
        let made = {
            let mut shared = self.place.lock();
            let at = self.time_after(shared.last);
            let state = Arc::make_mut(&mut *shared);
            state.last = at;
            let value = act(state, self.worker, at);
            let touched = std::mem::take(&mut state.touched);
            Committed { value, durable: self.place.made(&shared, touched) }
        };
        match fault {
            Some(Fault::LostAfter) => return Err(Refusal::Unknown),
            Some(Fault::CrashAfter) => die(&self.crash, "crashed after a write").await,
            Some(Fault::Full | Fault::LostBefore | Fault::CrashBefore) | None => {}
        }
        breath().await;
        Ok(made)
    }
}

/// A write that may be gone with its primary. What was not written is known all the same.
fn unproven(wrote: Wrote) -> Wrote {
    match wrote {
        Wrote::Written(_) => Wrote::Unknown(Cause::of(NOT_REPLICATED)),
        wrote @ (Wrote::Lost(_) | Wrote::Full | Wrote::Refused(_) | Wrote::Unknown(_)) => wrote,
    }
}

impl UnitWriter for SimJournal {
    fn now(&self) -> Millis {
        self.time_after(self.place.now().last)
    }

    fn ahead(&self) -> Millis {
        self.time.ahead()
    }

    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            self.place.locked.wait(&*self.clock, &units).await;
            let barred: Vec<bool> = units.iter().map(|unit| self.place.locked.bars(unit)).collect();
            if !barred.contains(&true) {
                return self.write_now(units).await;
            }
            let free = units.into_iter().zip(&barred).filter(|(_, barred)| !**barred);
            let mut wrote = self.write_now(free.map(|(unit, _)| unit).collect()).await.into_iter();
            let mut outcome = |barred: &bool| {
                let wrote = if *barred { None } else { wrote.next() };
                wrote.unwrap_or(Wrote::Unknown(locked_accounts::TIMED_OUT))
            };
            barred.iter().map(&mut outcome).collect()
        })
    }

    fn begin(&self, units: Vec<Unit>) -> Fut<'_, Vec<Writing>> {
        Box::pin(async move {
            let barred: Vec<bool> = units.iter().map(|unit| self.place.locked.bars(unit)).collect();
            if !barred.contains(&true) {
                return self.write_now(units).await.into_iter().map(Writing::Over).collect();
            }
            let mut begun = Vec::with_capacity(units.len());
            for (unit, barred) in units.into_iter().zip(barred) {
                let journal = self.clone();
                let write = async move {
                    let wrote = journal.write(vec![unit]).await.pop();
                    wrote.unwrap_or(Wrote::Unknown(locked_accounts::TIMED_OUT))
                };
                begun.push(if barred {
                    Writing::Waits(Box::pin(write))
                } else {
                    Writing::Over(write.await)
                });
            }
            begun
        })
    }
}

impl SimJournal {
    /// Writes units whatever is locked.
    fn write_now(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            let (asked, event_log) = (units.len(), &self.place.event_log);
            let told = if event_log.is_on() { subject(&units) } else { Vec::new() };
            let wrote = self.commit(told.clone(), |state, worker, at| {
                let lengths: Vec<_> = told.iter().map(|id| state.entries(*id).len()).collect();
                let wrote = state.group(worker, units, at);
                for (id, length) in told.iter().zip(lengths) {
                    event_log.took(*id, state.entries(*id).get(length..).unwrap_or_default());
                }
                wrote
            });
            let wrote = wrote.await;
            match wrote {
                Ok(Committed { value, durable: true }) => value,
                Ok(Committed { value, durable: false }) => {
                    value.into_iter().map(unproven).collect()
                }
                Err(Refusal::Full) => vec![Wrote::Full; asked],
                Err(Refusal::Unknown) => vec![Wrote::Unknown(Cause::of("COMMIT")); asked],
            }
        })
    }
}

impl WorkerLeases for SimJournal {
    fn due(&self, worker: WorkerId, query: DueQuery) -> Fut<'_, Result<Vec<Due>, Cause>> {
        Box::pin(async move {
            breath().await;
            self.readable()?;
            let worker = self.who(worker);
            Ok(self.change(|state, now| state.due(worker, now, &query)))
        })
    }

    fn renew_lease(
        &self,
        worker: WorkerId,
        length: Millis,
        stopped: Option<u64>,
    ) -> Fut<'_, Result<Lease, Cause>> {
        Box::pin(async move {
            if !self.sole {
                breath().await;
            }
            self.readable()?;
            Ok(self.change(|state, now| state.leases.renewed(worker, (length, stopped), now)))
        })
    }

    fn end_lease(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>> {
        let left = self.readable();
        if left.is_ok() {
            self.change(|state, _| state.leases.leaves(worker));
        }
        Box::pin(std::future::ready(left))
    }

    fn other_leases(&self, worker: WorkerId) -> Fut<'_, Result<Vec<OtherLease>, Cause>> {
        let leases = self.readable().map(|()| self.place.now().other_leases(worker));
        Box::pin(std::future::ready(leases))
    }
}
