//! The whole service in the simulation: engine, journal and ledgers, with one process after another or several at
//! once.
//!
//! A [`SimService`] outlives its processes: it holds the data, the settings, the wrappers around ports, and time.
//! [`SimService::start`] begins the next process over it, [`SimService::join`] one worker more. Both make the parts
//! that every process has; the ports of a flow add the others: [`LedgerPorts`], [`crate::chain::ChainPorts`] and
//! the ports of `account`.

mod client;
mod ledgers;
mod oracle;
mod wraps;

pub use client::{Ended, ask_until_ended, settle_down};
pub use ledgers::{LedgerPorts, Restart};
pub use oracle::{Expected, Truth};
pub use wraps::{PortWraps, Wrap, around};

use crate::journal::Place;
use crate::world::{Sim, Stop};
use conformance::journal::Site;
use engine::{Alerts, Engine, Limits, Parts, Settings};
use kernel::answer::Cause;
use kernel::flow::table::Flows;
use kernel::ids::WorkerId;
use kernel::retry::Backoff;
use std::fmt;
use std::sync::Arc;
use testkit::OpenedStore;

/// More processes than any disturbance needs.
const LIVES: usize = 30;

/// What outlives a process.
pub struct SimService {
    pub sim: Sim,
    pub flows: Arc<Flows>,
    /// The name of the flow that is offered.
    pub flow: &'static str,
    /// The settings of the next process.
    pub settings: Settings,
    /// What stands around the ports of each process.
    pub wraps: PortWraps,
    site: Site,
    lives: u64,
}

impl fmt::Debug for SimService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimService").field("sim", &self.sim).finish_non_exhaustive()
    }
}

/// One process over a service, until it dies.
#[derive(Clone)]
pub struct SimProcess {
    /// The engine, which offers the flow alone.
    pub engine: Arc<Engine>,
    /// Its journal with its ledgers, past what stands around them.
    pub opened: OpenedStore,
}

impl fmt::Debug for SimProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimProcess").finish_non_exhaustive()
    }
}

/// A worker among others, which dies and stands still alone.
#[derive(Debug, Clone)]
pub struct SimWorker {
    /// Its own handle on the time of all.
    pub sim: Sim,
    pub process: SimProcess,
}

/// A process that is about to begin, as its flow finds it.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct ProcessBase<'a> {
    /// The process in the simulation.
    pub sim: &'a Sim,
    /// Its store as the engine reaches it.
    pub store: &'a OpenedStore,
    /// The parts that every process has.
    pub parts: Parts,
}

/// A simulated journal, opened once for each process.
pub fn simulated(sim: &Sim, place: &Place) -> Site {
    let (sim, place) = (sim.clone(), place.clone());
    Box::new(move || {
        let journal = place.open(Arc::new(sim.clone()), sim.crash());
        Box::pin(std::future::ready(journal.opened()))
    })
}

impl SimService {
    /// A service of this flow without a process.
    pub fn new(sim: Sim, flows: Arc<Flows>, site: Site, flow: &'static str) -> Self {
        // a client of the simulation is hasty by its nature
        let limits = Limits { warn_per_minute: 0, ..Limits::default() };
        let settings = Settings { limits, ..Settings::default() };
        Self { sim, flows, flow, settings, wraps: PortWraps::default(), site, lives: 0 }
    }

    /// Ends what is left of the last process and begins the next. The caller has dropped what it
    /// had of the last one.
    ///
    /// # Errors
    /// Why the process died, or what its start was refused with.
    pub fn start(
        &mut self,
        parts: impl FnOnce(ProcessBase<'_>) -> Parts,
    ) -> Result<SimProcess, Stop> {
        self.sim.revive();
        self.lives += 1;
        let opening = (self.site)();
        let opened = self.sim.block_on(opening)?;
        let engine = self.engine(&self.sim, &opened, self.lives, parts)?;
        Ok(SimProcess { engine, opened })
    }

    /// The next process that lives: one that dies by plan at its start is followed by another.
    ///
    /// # Panics
    /// Where one dies of anything else, or each does, with the line that repeats the run.
    pub fn start_alive(
        &mut self,
        line: &str,
        parts: impl Fn(ProcessBase<'_>) -> Parts,
    ) -> SimProcess {
        for _ in 0..LIVES {
            match self.start(&parts) {
                Ok(process) => return process,
                Err(Stop::Dead(why)) if why.starts_with("crashed") => {}
                Err(stop) => panic!("{line}: a start: {stop:?}"),
            }
        }
        panic!("{line}: it dies at every start")
    }

    /// Runs this at the process, and where it dies by plan at the ones after it, until one lives to its end.
    ///
    /// # Errors
    /// Why a process stopped that was not to die, or that all of them died.
    ///
    /// # Panics
    /// As [`SimService::start_alive`].
    pub fn outlive<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        &mut self,
        line: &str,
        mut process: SimProcess,
        parts: impl Fn(ProcessBase<'_>) -> Parts,
        run: impl Fn(&SimProcess) -> F,
    ) -> Result<(SimProcess, T), Stop> {
        for _ in 0..LIVES {
            match self.sim.block_on(run(&process)) {
                Ok(value) => return Ok((process, value)),
                Err(Stop::Dead(why)) if why.starts_with("crashed") => {}
                Err(stop) => return Err(stop),
            }
            drop(process);
            process = self.start_alive(line, &parts);
        }
        Err(Stop::Dead("it dies for ever".into()))
    }

    /// A worker joins the others over the journal of this place.
    ///
    /// # Errors
    /// Why its process died, or what its start was refused with.
    pub fn join(
        &self,
        place: &Place,
        number: u64,
        parts: impl FnOnce(ProcessBase<'_>) -> Parts,
    ) -> Result<SimWorker, Stop> {
        let sim = self.sim.process(number);
        let opened = place.join(Arc::new(sim.clone()), sim.crash(), WorkerId(number)).opened();
        let engine = self.engine(&sim, &opened, number, parts)?;
        Ok(SimWorker { sim, process: SimProcess { engine, opened } })
    }

    fn engine(
        &self,
        sim: &Sim,
        opened: &OpenedStore,
        worker: u64,
        parts: impl FnOnce(ProcessBase<'_>) -> Parts,
    ) -> Result<Arc<Engine>, Stop> {
        let store = self.wraps.around_store(opened.clone());
        let quiet = process(sim, worker).parts(&store, &self.flows, self.settings.clone());
        let quiet = Parts { offered: self.flows.ids(&[self.flow]), ..quiet };
        let parts = parts(ProcessBase { sim, store: &store, parts: quiet });
        sim.block_on(Engine::start(self.wraps.around_links(parts)))?.map_err(refused)
    }
}

impl Drop for SimService {
    fn drop(&mut self) {
        // the tasks hold the clock that holds them
        self.sim.revive();
    }
}

/// The runtime of a simulated process. Where it is to retire it crashes.
pub fn process(sim: &Sim, worker: u64) -> testkit::Process {
    let crash = sim.crash();
    testkit::Process {
        worker: WorkerId(worker),
        clock: Arc::new(sim.clone()),
        rng: Arc::new(sim.clone()),
        spawn: Arc::new(sim.clone()),
        retire: Arc::new(move |what| crash(&what)),
    }
}

/// Settings under which what goes wrong on purpose is no question for a person.
pub(crate) fn quiet_settings(backoff: Backoff) -> Settings {
    let limits = Limits { warn_per_minute: 0, ..Limits::default() };
    let alerts = Alerts { after_retries: u32::MAX, after_seconds: 36_000, ..Alerts::default() };
    Settings { limits, alerts, backoff, ..Settings::default() }
}

/// A start that was refused reads like a death, which in the simulation it is.
fn refused(cause: Cause) -> Stop {
    Stop::Dead(format!("refused to start: {cause}").into())
}
