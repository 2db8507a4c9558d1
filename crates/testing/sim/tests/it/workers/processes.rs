//! Several processes over one journal: what each is made of, for tests.

use engine::operators::{Actor, AdminAction, Objection, PerformedAction};
use engine::{Accepted, Parts, Refused};
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::money::Amount;
use kernel::operation::{Known, Op};
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::{Ledger, Reply};
use kernel::ports::sending::{NOT_SENT, SendCheck, SendPermission};
use kernel::record::{Binding, Record, System, Terms};
use sim::journal::Place;
use sim::service::{SimService, SimWorker, simulated};
use sim::world::{Sim, Stop};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use testkit::wrapper::{LedgerWrapper, Wrapper};
use testkit::{book, deposit};

/// How long a lease is.
pub(crate) const LEASE: u64 = 3_000;
pub(crate) const COIN: AssetId = AssetId(3);
/// What each of the users 1 to 4 has at Funding.
pub(crate) const GIVEN: u128 = 10_000;

/// Time, tables and one journal.
pub(crate) struct Cluster {
    pub(crate) sim: Sim,
    pub(crate) service: SimService,
    place: Place,
}

/// Requests whose answers are yet to be looked at.
pub(crate) type Answers = Arc<Mutex<Vec<Result<Accepted, Refused>>>>;

impl Cluster {
    pub(crate) fn new(seed: u64) -> Self {
        let (sim, flows) = (Sim::new(seed), Arc::new(flows::registry()));
        let place = Place::new(flows.clone());
        // never opened: each worker joins
        let site = simulated(&sim, &place);
        let mut service = SimService::new(sim.clone(), flows, site, "internal");
        service.settings.lease_ms = LEASE;
        Self { sim, service, place }
    }

    /// A process that carries transfers between Funding and this Spot, whose core it owns where that
    /// is said.
    pub(crate) fn join(
        &self,
        number: u64,
        (spot, cores): (Arc<dyn Ledger>, Vec<LedgerId>),
    ) -> Result<SimWorker, String> {
        let joined = self.service.join(&self.place, number, |base| Parts {
            ledgers: vec![base.store.funding.clone(), spot],
            cores,
            ..base.parts
        });
        joined.map_err(|stop| format!("{stop:?}"))
    }

    /// A process whose calls of this Spot, outside of it, a test holds or loses.
    pub(crate) fn join_gated(
        &self,
        number: u64,
        spot: &Arc<dyn Ledger>,
        calls: &CallControl,
    ) -> SimWorker {
        let (inner, calls, sim) = (spot.clone(), calls.clone(), self.sim.process(number));
        let gated = Arc::new(Wrapper(GatedLedger { inner, calls, sim }));
        self.join(number, (gated, Vec::new())).expect("it starts")
    }

    /// Has a process execute an operator's action.
    pub(crate) fn act(
        &self,
        member: &SimWorker,
        key: &str,
        action: AdminAction,
    ) -> Result<PerformedAction, Objection> {
        self.act_by(member, "ops|ann", key, action)
    }

    /// The same by this person.
    pub(crate) fn act_by(
        &self,
        member: &SimWorker,
        caller: &str,
        key: &str,
        action: AdminAction,
    ) -> Result<PerformedAction, Objection> {
        let engine = member.process.engine.clone();
        let (caller, key, reason) = (caller.into(), key.into(), "a test".into());
        let act =
            async move { engine.operators.execute(Actor { caller, key, reason }, action).await };
        self.sim.block_on(act).expect("it lives")
    }

    /// Runs for this virtual time.
    pub(crate) fn passes(&self, ms: u64) {
        let end = self.sim.time() + ms;
        match self.sim.run_until(end) {
            Stop::Dead(why) => panic!("{why}"),
            // no task is left that sleeps
            Stop::Idle => self.sim.stall(end - self.sim.time()),
            Stop::Time => {}
        }
    }

    /// Gives users money at Funding.
    pub(crate) fn fund(&self, member: &SimWorker) {
        for user in 1..5 {
            let world = member.process.opened.world.clone();
            let movement = deposit(&format!("fund {user}"), user, COIN, GIVEN);
            self.sim.block_on(async move { book(&*world, movement).await }).expect("it lives");
        }
    }

    /// Asks a process for these transfers, all at once, and does not wait.
    pub(crate) fn ask(&self, member: &SimWorker, keys: std::ops::Range<u64>) -> Answers {
        let asked = Answers::default();
        for key in keys {
            let (engine, asked) = (member.process.engine.clone(), asked.clone());
            let flow = self.service.flows.named("internal").expect("the flow");
            self.sim.start(async move {
                let came = engine.intake.create(flow, terms(key)).await;
                asked.lock().expect("no panic").push(came);
            });
        }
        asked
    }

    /// Transfers that have not ended, with the names of their states.
    pub(crate) fn open(&self, member: &SimWorker) -> Vec<(Id, &'static str)> {
        let engine = member.process.engine.clone();
        let listed = async move { engine.journal().open_older_than(u64::MAX >> 1, 1_000).await };
        let open: Vec<Record> = self.sim.block_on(listed).expect("it lives").expect("it answers");
        let name =
            |record: &Record| self.service.flows.table(record.flow).state(record.head.state).name;
        open.iter().map(|record| (record.id, name(record))).collect()
    }

    /// What the process's own proof finds, and why it is halted.
    pub(crate) fn faults(&self, member: &SimWorker) -> Vec<String> {
        let engine = member.process.engine.clone();
        let proof = async move {
            engine.reconciler.check_now().await?;
            engine.reconciler.check_now().await
        };
        let report = self.sim.block_on(proof).expect("it lives").expect("it answers");
        let breaks = report.breaks.iter().map(|b| format!("conservation: {b:?}"));
        let halted = member.process.engine.halted().map(|why| format!("halted: {why}"));
        breaks.chain(halted).collect()
    }
}

/// What a test does to the calls of one process.
#[derive(Clone, Default)]
pub(crate) struct CallControl {
    /// Calls wait for their connections until this is false.
    pub(crate) connects: Arc<AtomicBool>,
    /// Asked when a connection stands.
    pub(crate) check: SendCheck,
    /// What was allowed to be sent stands still before its first byte until this is false.
    pub(crate) stands_still: Arc<AtomicBool>,
    /// The highest number of a HALT that the ledger was told of by any process, where it keeps numbers.
    pub(crate) told: Option<Arc<AtomicU64>>,
    /// What the ledger was asked for with a lower number, and did not do.
    pub(crate) stale: Arc<AtomicU64>,
    /// Calls wait until this is false.
    pub(crate) held: Arc<AtomicBool>,
    /// Calls are lost on their way.
    pub(crate) lost: Arc<AtomicBool>,
    /// How many calls arrived so far.
    pub(crate) came: Arc<AtomicU64>,
}

/// A ledger whose calls from one process a test holds or loses.
struct GatedLedger {
    inner: Arc<dyn Ledger>,
    calls: CallControl,
    sim: Sim,
}

impl LedgerWrapper for GatedLedger {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }
    fn ask_before_sending(&self, permission: &Arc<dyn SendPermission>) {
        self.calls.check.ask(permission);
    }
    fn note_halt(&self, known: Known, number: u64) -> Fut<'_, Reply<Option<u64>>> {
        let note = |told: &Arc<AtomicU64>| {
            told.fetch_max(number, Ordering::SeqCst);
            told.load(Ordering::SeqCst)
        };
        let reply = Reply::Answered(known, self.calls.told.as_ref().map(note));
        Box::pin(std::future::ready(reply))
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(async move {
            while self.calls.connects.load(Ordering::SeqCst) {
                self.sim.sleep(10).await;
            }
            let transfers: Vec<Id> = ops.iter().map(|op| op.key.id).collect();
            let halt = self.calls.check.last_halt();
            if self.calls.check.passes(System::Ledger(self.inner.id()), &transfers).is_err() {
                return Reply::NoAnswer(Cause::of(NOT_SENT));
            }
            while self.calls.stands_still.load(Ordering::SeqCst) {
                self.sim.sleep(10).await;
            }
            if self.calls.told.as_ref().is_some_and(|told| halt < told.load(Ordering::SeqCst)) {
                self.calls.stale.fetch_add(1, Ordering::SeqCst);
                return Reply::NoAnswer(Cause::of(Cause::HALTED));
            }
            if self.calls.lost.load(Ordering::SeqCst) {
                return Reply::NoAnswer(Cause::of("TIMEOUT"));
            }
            self.calls.came.fetch_add(1, Ordering::SeqCst);
            while self.calls.held.load(Ordering::SeqCst) {
                self.sim.sleep(10).await;
            }
            self.inner.execute(known, ops).await
        })
    }
}

/// The transfer of a key, from Funding to Spot.
pub(crate) fn terms(key: u64) -> Terms {
    let user = UserId(1 + key % 4);
    let key = format!("key {key}").into();
    Terms {
        binding: Some(Binding { scope: "clients|1".into(), key, fingerprint: [0; 32] }),
        ..Terms::between_ledgers(
            "clients|1".into(),
            user,
            [LedgerId::FUNDING, LedgerId::SPOT],
            COIN,
            Amount(7),
        )
    }
}
