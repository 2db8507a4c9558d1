//! Several processes over one journal: what each is made of, for tests.

use engine::{Accepted, Engine, Limits, Parts, Refused, Settings};
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, Id, LedgerId, UserId, WorkerId};
use kernel::money::Amount;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::{Direction, External, Ledger, World};
use kernel::record::{Binding, Record, Terms};
use sim::journal::{Place, SimFunding};
use sim::service::process;
use sim::world::{Sim, Stop};
use std::sync::{Arc, Mutex};

/// How long a lease is.
pub(crate) const LEASE: u64 = 3_000;
pub(crate) const COIN: AssetId = AssetId(3);
/// What each of the users 1 to 4 has at Funding.
pub(crate) const GIVEN: u128 = 10_000;

/// What a test puts around a process's journal.
pub(crate) type JournalWrap = fn(Arc<dyn Journal>) -> Arc<dyn Journal>;

/// The journal as it is.
pub(crate) fn plain(inner: Arc<dyn Journal>) -> Arc<dyn Journal> {
    inner
}

/// Time, tables and one journal.
pub(crate) struct Cluster {
    pub(crate) sim: Sim,
    pub(crate) flows: Arc<Flows>,
    pub(crate) place: Place,
}

pub(crate) struct Member {
    pub(crate) sim: Sim,
    pub(crate) engine: Arc<Engine>,
    pub(crate) funding: Arc<SimFunding>,
}

/// Requests whose answers are yet to be looked at.
pub(crate) type Answers = Arc<Mutex<Vec<Result<Accepted, Refused>>>>;

impl Cluster {
    pub(crate) fn new(seed: u64) -> Self {
        let flows = Arc::new(flows::registry());
        Self { sim: Sim::new(seed), place: Place::new(flows.clone()), flows }
    }

    /// A process that carries transfers between Funding and this Spot, whose core it owns where that
    /// is said.
    pub(crate) fn join(
        &self,
        number: u64,
        (spot, cores): (Arc<dyn Ledger>, Vec<LedgerId>),
        wrap: JournalWrap,
    ) -> Result<Member, String> {
        let sim = self.sim.process(number);
        let worker = WorkerId(number);
        let journal = self.place.join(Arc::new(sim.clone()), sim.crash(), worker);
        let opened = journal.opened();
        let limits = Limits { warn_per_minute: 0, ..Limits::default() };
        let settings = Settings { lease_ms: LEASE, limits, ..Settings::default() };
        let parts = Parts {
            offered: self.flows.ids(&["internal"]),
            journal: wrap(journal.clone()),
            ledgers: vec![opened.funding.clone(), spot],
            cores,
            ..process(&sim, number).parts(&opened, &self.flows, settings)
        };
        let started = sim.block_on(Engine::start(parts)).map_err(|stop| format!("{stop:?}"))?;
        let engine = started.map_err(|cause| cause.to_string())?;
        Ok(Member { sim, engine, funding: journal.funding() })
    }

    /// Runs for so much virtual time.
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
    pub(crate) fn fund(&self, member: &Member) {
        for user in 1..5 {
            let movement = External {
                direction: Direction::In,
                reference: format!("fund {user}").into(),
                user: UserId(user),
                number: None,
                asset: COIN,
                amount: Amount(GIVEN),
                reason: "a test".into(),
                caller: "a test".into(),
            };
            let funding = member.funding.clone();
            let moved = self.sim.block_on(async move { funding.external(movement).await });
            moved.expect("it lives").expect("it is booked");
        }
    }

    /// Asks a process for these transfers, all at once, and does not wait.
    pub(crate) fn ask(&self, member: &Member, keys: std::ops::Range<u64>) -> Answers {
        let asked = Answers::default();
        for key in keys {
            let (engine, asked) = (member.engine.clone(), asked.clone());
            let flow = self.flows.named("internal").expect("the flow");
            self.sim.start(async move {
                let came = engine.intake.create(flow, terms(key)).await;
                asked.lock().expect("no panic").push(came);
            });
        }
        asked
    }

    /// Transfers that have not ended, with the names of their states.
    pub(crate) fn open(&self, member: &Member) -> Vec<(Id, &'static str)> {
        let engine = member.engine.clone();
        let listed = async move { engine.journal().open_older_than(u64::MAX >> 1, 1_000).await };
        let open: Vec<Record> = self.sim.block_on(listed).expect("it lives").expect("it answers");
        let name = |record: &Record| self.flows.table(record.flow).state(record.head.state).name;
        open.iter().map(|record| (record.id, name(record))).collect()
    }

    /// What the process's own proof finds, and why it is halted.
    pub(crate) fn faults(&self, member: &Member) -> Vec<String> {
        let engine = member.engine.clone();
        let proof = async move {
            engine.reconciler.check_now().await?;
            engine.reconciler.check_now().await
        };
        let report = self.sim.block_on(proof).expect("it lives").expect("it answers");
        let breaks = report.breaks.iter().map(|b| format!("conservation: {b:?}"));
        let halted = member.engine.halted().map(|why| format!("halted: {why}"));
        breaks.chain(halted).collect()
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
