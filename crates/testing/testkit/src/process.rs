//! The parts of one engine under test: a store, ledgers, a clock, and the faults around them.

use crate::{KillableTasks, OpenedStore, UniqueRng};
use engine::{Parts, Settings};
use kernel::audit::seal::SealKey;
use kernel::flow::table::Flows;
use kernel::ids::WorkerId;
use kernel::ports::clock::{Clock, Rng};
use kernel::ports::meter::NoMeter;
use kernel::ports::spawn::Spawn;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The runtime of one process under test.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Process {
    /// Its number among the workers of its store.
    pub worker: WorkerId,
    /// The clock that it reads and waits by.
    pub clock: Arc<dyn Clock>,
    /// Where its random numbers come from.
    pub rng: Arc<dyn Rng>,
    /// What runs its tasks, and ends them with it.
    pub spawn: Arc<dyn Spawn>,
    /// How it ends where another process took over a core of its own.
    pub retire: Arc<dyn Fn(String) + Send + Sync>,
}

impl Process {
    /// A process on the runtime of the test, which panics where it should retire.
    pub fn real(clock: Arc<dyn Clock>, tasks: Arc<KillableTasks>) -> Self {
        Self {
            worker: WorkerId(UniqueRng.next()),
            clock,
            rng: Arc::new(UniqueRng),
            spawn: tasks,
            retire: Arc::new(|why| panic!("it retires: {why}")),
        }
    }

    /// What its engine is made of over a store: the store's own ledgers, and no flow, fact, bus, chain or fault.
    /// A test says by struct update what is otherwise:
    /// `Parts { offered, ledgers, ..process.parts(&store, &flows, settings) }`.
    pub fn parts(self, store: &OpenedStore, flows: &Arc<Flows>, settings: Settings) -> Parts {
        let Self { worker, clock, rng, spawn, retire } = self;
        Parts {
            flows: flows.clone(),
            offered: Vec::new(),
            facts: BTreeMap::new(),
            bus: None,
            journal: store.journal.clone(),
            ledgers: vec![store.funding.clone(), store.accounts.clone()],
            chains: Vec::new(),
            deposits: Vec::new(),
            world: store.world.clone(),
            clock,
            rng,
            spawn,
            meter: Arc::new(NoMeter),
            settings,
            worker,
            cores: Vec::new(),
            seal_key: seal_key(),
            retire,
        }
    }
}

/// The key of the audit's seals, the same in every process of a test.
pub fn seal_key() -> SealKey {
    SealKey::new(b"the key of a test")
}
