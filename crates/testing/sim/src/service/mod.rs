//! The whole service in the simulation: engine, journal, ledgers, one process after another.
//!
//! A [`SimService`] is what outlives a process: the data, the links to the ledgers with what goes wrong
//! on them, and time. [`SimService::start`] begins a process over it.

mod client;
mod oracle;

pub use client::{Ended, ask_until_ended, settle_down};
pub use oracle::{Expected, Truth};

use crate::journal::Place;
use crate::ledger::Faulty;
use crate::suite::journal::Site;
use crate::world::{Sim, Stop};
use engine::{Alerts, Engine, Limits, Parts, Settings};
use kernel::answer::Cause;
use kernel::flow::table::Flows;
use kernel::ids::{LedgerId, WorkerId};
use kernel::ports::Fut;
use kernel::ports::ledger::Ledger;
use kernel::retry::Backoff;
use std::fmt;
use std::sync::Arc;
use testkit::OpenedStore;

/// Starts the outside ledger over the data that its last start left; it is told the highest
/// operation that the journal has a receipt of.
pub type Restart = Arc<dyn Fn(u64) -> Fut<'static, Arc<dyn Ledger>> + Send + Sync>;

/// What outlives a process.
pub struct SimService {
    pub sim: Sim,
    pub flows: Arc<Flows>,
    /// The settings of the next process.
    pub settings: Settings,
    site: Site,
    restart: Restart,
    links: Vec<Arc<Faulty>>,
    lives: u64,
}

impl fmt::Debug for SimService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimService").field("sim", &self.sim).finish_non_exhaustive()
    }
}

/// What ends when one process dies.
#[derive(Clone)]
pub struct Process {
    pub engine: Arc<Engine>,
    /// Its journal and Funding.
    pub opened: OpenedStore,
    /// The ledgers themselves, past what goes wrong on the network.
    pub ledgers: Vec<Arc<dyn Ledger>>,
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").finish_non_exhaustive()
    }
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
    /// A service without a process.
    pub fn new(sim: Sim, flows: Arc<Flows>, site: Site, restart: Restart) -> Self {
        // a client of the simulation is hasty by its nature
        let limits = Limits { warn_per_minute: 0, ..Limits::default() };
        let settings = Settings { limits, ..Settings::default() };
        Self { sim, flows, settings, site, restart, links: Vec::new(), lives: 0 }
    }

    /// The link to a ledger; there is one once a process began.
    pub fn link(&self, ledger: LedgerId) -> Option<&Arc<Faulty>> {
        self.links.iter().find(|link| link.id() == ledger)
    }

    /// Ends what is left of the last process and begins the next. The caller has dropped what it
    /// had of the last one.
    ///
    /// # Errors
    /// Why the process died, or what its start was refused with.
    pub fn start(&mut self) -> Result<Process, Stop> {
        self.sim.revive();
        self.links.iter().for_each(|link| link.cut());
        self.lives += 1;
        let opening = (self.site)();
        let restart = self.restart.clone();
        let begin = async move {
            let opened = opening.await;
            let status = opened.journal.service_status().await?;
            let known = status.ledger(LedgerId::SPOT);
            let spot = restart(known.map_or(0, |known| known.highest)).await;
            Ok::<_, Cause>((opened, spot))
        };
        let (opened, spot) = self.sim.block_on(begin)?.map_err(refused)?;
        let ledgers = vec![opened.funding.clone(), spot];
        self.lead(&ledgers);
        let offered = self.flows.ids(&["internal"]);
        let process = process(&self.sim, self.lives);
        let base = process.parts(&opened, &self.flows, self.settings.clone());
        let parts = Parts { offered, ledgers: self.ports(), ..base };
        let engine = self.sim.block_on(Engine::start(parts))?.map_err(refused)?;
        Ok(Process { engine, opened, ledgers })
    }

    /// The ledgers as the engine reaches them.
    fn ports(&self) -> Vec<Arc<dyn Ledger>> {
        let mut ports: Vec<Arc<dyn Ledger>> = Vec::new();
        for link in &self.links {
            ports.push(link.clone());
        }
        ports
    }

    /// The links lead to these ledgers from now on.
    fn lead(&mut self, ledgers: &[Arc<dyn Ledger>]) {
        if self.links.is_empty() {
            let link = |ledger: &Arc<dyn Ledger>| {
                let clock = Arc::new(self.sim.clone());
                Arc::new(Faulty::new(ledger.clone(), clock, self.sim.crash()))
            };
            self.links = ledgers.iter().map(link).collect();
        }
        for (link, ledger) in self.links.iter().zip(ledgers) {
            link.swap(ledger.clone());
        }
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

/// Settings under which what goes wrong on purpose is no question for a person. Backoffs end at `cap`
/// milliseconds.
pub(crate) fn quiet_settings(cap: u64) -> Settings {
    let limits = Limits { warn_per_minute: 0, ..Limits::default() };
    let alerts = Alerts { after_retries: u32::MAX, after_seconds: 36_000, ..Alerts::default() };
    Settings { limits, alerts, backoff: Backoff { base: 100, cap }, ..Settings::default() }
}

/// A start that was refused reads like a death, which in the simulation it is.
pub(crate) fn refused(cause: Cause) -> Stop {
    Stop::Dead(format!("refused to start: {cause}").into())
}
