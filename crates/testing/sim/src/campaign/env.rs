//! The environment of a run, which outlives its processes, and the start of the next process in it.

use super::fault_rates::FaultRates;
use super::network::{LinkEnd, LinkParts, NetworkLink, Trouble};
use super::observed_ledger::{observed, show};
use super::oracles::Oracles;
use super::ports::{ReadFault, Spoiling, Spoilt, TracedClock, TracedJournal, TracedLedger};
use super::stats::Stats;
use super::trace::Trace;
use super::{Build, Knob, Options};
use crate::disk::{DiskFault, SimDisk};
use crate::journal::{Place, SimFunding};
use crate::service::process;
use crate::world::{Crash, DAWN, Sim, SplitMix, Stop};
use engine::{Alerts, Engine, Limits, Parts, Settings};
use kernel::answer::Cause;
use kernel::flow::table::Flows;
use kernel::ids::{FlowId, LedgerId, Millis};
use kernel::ports::clock::Rng;
use kernel::ports::journal::{ServiceQueries as _, ServiceStatus};
use kernel::ports::ledger::{Ledger, Reply};
use kernel::retry::Backoff;
use std::sync::Arc;
use testkit::OpenedStore;
use testkit::wrapper::Wrapper;

/// More steps than any run takes that comes to its end: most take less than half a million, and one
/// whose database's clock stood still for an hour, since it had been ahead by that, seven.
const STEPS: u64 = 12_000_000;

/// An hour, in milliseconds.
const HOUR: Millis = 3_600_000;
/// How long after the start of the run a night begins at the earliest; it begins within as long again.
const EVENING: Millis = 5_000;

#[derive(Clone)]
pub(super) struct Process {
    pub engine: Arc<Engine>,
    pub world: Arc<SimFunding>,
    /// Spot behind its oracles.
    pub spot: Arc<dyn Ledger>,
    /// Which it is among others; none where it is the only one, with which all that waits for it
    /// ends.
    pub among: Option<Sim>,
}

/// Everything of a run that no process takes with it.
pub(super) struct Env {
    pub options: Options,
    pub build: Arc<dyn Build>,
    pub sim: Sim,
    pub flows: Arc<Flows>,
    pub flow: FlowId,
    pub place: Place,
    pub disk: SimDisk,
    pub oracles: Oracles,
    pub stats: Stats,
    pub trace: Trace,
    pub draws: SplitMix,
    pub links: Vec<Arc<NetworkLink>>,
    writes: FaultRates<Spoilt>,
    reads: FaultRates<ReadFault>,
    troubles: FaultRates<Trouble>,
    questions: FaultRates<()>,
    pub settings: Settings,
    pub lives: u64,
    /// When a night begins, as long as none has been.
    night_at: Option<Millis>,
}

/// Spot over its folder in this process, behind its oracles.
///
/// # Errors
/// Why the process died, or was refused.
pub(super) async fn opened(
    (build, oracles): (Arc<dyn Build>, Oracles),
    (sim, disk): (Sim, SimDisk),
    status: ServiceStatus,
) -> Result<Arc<dyn Ledger>, String> {
    let highest = status.ledger(LedgerId::SPOT).map_or(0, |known| known.highest);
    let spot = build.far(build.core(&sim, disk, highest).await?);
    if oracles.barred()
        && let Reply::Answered(is, ()) = spot.hello().await
    {
        oracles.bar(Some(is.highest));
    }
    // what it stored and answered to no process
    show(&*spot, &oracles).await;
    Ok(observed(spot, oracles))
}

/// The engine's settings of a run.
fn settings(options: &Options) -> Settings {
    let size = |knob| usize::try_from(options.get(knob)).unwrap_or(1);
    let irreversible = options.get(Knob::Irreversible) > 0;
    Settings {
        ring: size(Knob::Ring),
        batch_max: size(Knob::Batch),
        fuse: options.get(Knob::Fuse) > 0,
        backoff: Backoff { base: 50, cap: 10_000 },
        irreversible: if irreversible { vec![LedgerId::SPOT] } else { Vec::new() },
        // a client of the simulation is hasty by its nature
        limits: Limits {
            warn_per_minute: 0,
            transfers_per_day: options.get(Knob::Daily),
            ..Limits::default()
        },
        approval_ms: options.get(Knob::Lapse),
        alerts: Alerts { after_retries: 20, ..Alerts::default() },
        ..Settings::default()
    }
}

/// Whether a start failed only since the journal did not answer it.
pub(super) fn unanswered(cause: &Cause) -> bool {
    ["TIMEOUT", "NOT_REPLICATED"].contains(&cause.class)
}

impl Env {
    /// An empty one, without faults.
    pub(super) fn new(options: &Options, build: Arc<dyn Build>, trace: Trace) -> Option<Self> {
        let seed = options.seed;
        let (sim, flows) = (Sim::new(seed), Arc::new(flows::registry()));
        let flow = flows.named("internal")?;
        sim.bound(STEPS);
        let oracles = Oracles::new(sim.clone(), flows.clone());
        let place = Place::new(flows.clone()).observed(Arc::new(oracles.clone()));
        let disk = build.disk(SimDisk::new(Rng::next(&sim), sim.crash()));
        let rate = |knob| options.get(knob);
        let troubles = Trouble::ALL.map(|trouble| (trouble, rate(trouble.knob())));
        let several = rate(Knob::Workers) > 1;
        let may = |spoilt| several || spoilt != Spoilt::LostAndLate;
        let writes = Spoilt::ALL.map(|s| (s, if may(s) { rate(s.knob()) } else { 0 }));
        let reads = ReadFault::ALL.map(|fault| (fault, rate(fault.knob())));
        Some(Self {
            troubles: FaultRates::new(troubles.to_vec(), seed ^ 1),
            writes: FaultRates::new(writes.to_vec(), seed ^ 2),
            reads: FaultRates::new(reads.to_vec(), seed ^ 7),
            questions: FaultRates::new(vec![((), rate(Knob::Unanswered))], seed ^ 3),
            settings: build.settings(settings(options)),
            options: options.clone(),
            build,
            sim,
            flows,
            flow,
            place,
            disk,
            oracles,
            stats: Stats::default(),
            trace,
            draws: SplitMix(seed ^ 4),
            links: Vec::new(),
            lives: 0,
            night_at: Some(DAWN + EVENING + SplitMix(seed ^ 9).next() % EVENING),
        })
    }

    /// Nothing goes wrong from now on, or what the options say.
    pub(super) fn calm(&self, calm: bool) {
        self.calm_links(calm);
        let rate = |knob| if calm { 0 } else { self.options.get(knob) };
        let crash = rate(Knob::DiskCrash);
        self.disk.rates(vec![
            (DiskFault::Full, rate(Knob::DiskFull)),
            (DiskFault::Broken, rate(Knob::DiskBroken)),
            (DiskFault::CrashBefore, crash),
            (DiskFault::CrashWithin, crash),
            (DiskFault::CrashAfter, crash),
        ]);
        if calm {
            self.sim.skew(0);
            self.links.iter().for_each(|link| link.calm());
        }
    }

    /// The same for what goes wrong on the links and with writes alone.
    pub(super) fn calm_links(&self, calm: bool) {
        self.troubles.calm(calm);
        self.writes.calm(calm);
        self.reads.calm(calm);
        self.questions.calm(calm);
    }

    /// The hours that pass at once, in milliseconds, where their time has come; once in a run.
    pub(super) fn night(&mut self) -> Millis {
        let hours = self.options.get(Knob::Night);
        if hours == 0 || self.night_at.is_none_or(|at| at > self.sim.time()) {
            return 0;
        }
        self.night_at = None;
        let night = hours * HOUR;
        self.sim.stall(night);
        self.stats.fault("hours pass");
        night
    }

    /// Whatever a process leaves when it ends.
    pub(super) fn bury(&mut self) {
        self.sim.revive();
        self.links.iter().for_each(|link| link.route.lead(None));
        if self.options.get(Knob::Power) > 0 && self.draws.once_in(1, 2) {
            self.disk.power_cut();
        }
    }

    /// Begins the next process.
    ///
    /// # Errors
    /// Why it died, or what its start was refused with.
    pub(super) fn start(&mut self) -> Result<Process, Stop> {
        self.lives += 1;
        self.oracles.unheard(None);
        let journal = self.place.open(Arc::new(self.sim.clone()), self.sim.crash());
        let funding = journal.funding();
        let (store, build) = (journal.clone(), self.build.clone());
        let (sim, disk, oracles) = (self.sim.clone(), self.disk.clone(), self.oracles.clone());
        let begin = async move {
            let status = store.service_status().await.map_err(|cause| cause.to_string())?;
            opened((build, oracles), (sim, disk), status).await
        };
        let spot = self.sim.block_on(begin)?.map_err(|why| Self::refused(&why))?;
        let world = funding.clone();
        let funding = observed(self.build.far(funding), self.oracles.clone());
        self.lead(&[funding, spot.clone()]);
        let parts = self.parts(&self.sim, &self.links, &journal.opened(), self.settings.clone());
        let engine = self.sim.block_on(Engine::start(parts))?;
        let engine = engine.map_err(|cause: Cause| match unanswered(&cause) {
            true => Stop::Dead("crashed at its start: the journal does not answer".into()),
            false => Self::refused(&cause.to_string()),
        })?;
        self.links.iter().for_each(NetworkLink::deliver);
        Ok(Process { engine, world, spot, among: None })
    }

    /// A start that was refused reads like a death, which in the simulation it is.
    fn refused(why: &str) -> Stop {
        if why.starts_with("crashed") {
            return Stop::Dead(why.into());
        }
        Stop::Dead(format!("refused to start: {why}").into())
    }

    /// The parts of the links of a process that dies like this.
    pub(super) fn link_parts(&self, crash: Crash) -> LinkParts {
        LinkParts {
            sim: self.sim.clone(),
            crash,
            stats: self.stats.clone(),
            oracles: self.oracles.clone(),
            delay: self.options.get(Knob::Delay),
            troubles: self.troubles.clone(),
            questions: self.questions.clone(),
        }
    }

    /// The links lead to these ledgers from now on.
    fn lead(&mut self, ledgers: &[Arc<dyn Ledger>]) {
        if self.links.is_empty() {
            let link_parts = self.link_parts(self.sim.crash());
            let link = |ledger: &Arc<dyn Ledger>| {
                Arc::new(NetworkLink::new(ledger.id(), link_parts.clone()))
            };
            self.links = ledgers.iter().map(link).collect();
        }
        for (link, ledger) in self.links.iter().zip(ledgers) {
            link.route.lead(Some(ledger.clone()));
        }
    }

    /// What a process is made of.
    pub(super) fn parts(
        &self,
        sim: &Sim,
        links: &[Arc<NetworkLink>],
        opened: &OpenedStore,
        settings: Settings,
    ) -> Parts {
        let trace = self.trace.clone();
        let spoiling = Spoiling {
            inner: opened.journal.clone(),
            rates: self.writes.clone(),
            reads: self.reads.clone(),
            delay: self.options.get(Knob::JournalDelay),
            world: self.sim.clone(),
            stats: self.stats.clone(),
            oracles: self.oracles.clone(),
            crash: sim.crash(),
        };
        let inner = self.build.journal(Arc::new(Wrapper(spoiling)));
        let traced = TracedJournal { inner, sim: sim.clone(), trace: trace.clone() };
        let ledger = |link: &Arc<NetworkLink>| -> Arc<dyn Ledger> {
            let inner = self.build.near(Arc::new(Wrapper(LinkEnd(link.clone()))));
            let (sim, trace, oracles) = (sim.clone(), trace.clone(), self.oracles.clone());
            Arc::new(Wrapper(TracedLedger { inner, sim, trace, oracles }))
        };
        Parts {
            offered: self.flows.ids(&["internal"]),
            journal: Arc::new(Wrapper(traced)),
            ledgers: links.iter().map(ledger).collect(),
            clock: Arc::new(TracedClock { sim: sim.clone(), trace: trace.clone() }),
            rng: Arc::new(TracedClock { sim: sim.clone(), trace }),
            ..process(sim, self.lives).parts(opened, &self.flows, settings)
        }
    }
}
