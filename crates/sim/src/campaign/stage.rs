//! What outlives the processes of a run, and how the next one begins.

use super::door::{door, show};
use super::ports::{ReadFault, Spoiling, Spoilt, TracedClock, TracedJournal, TracedLedger};
use super::tally::Tally;
use super::trace::Trace;
use super::way::{End, Kit, Trouble, Way};
use super::weather::Weather;
use super::witness::Witness;
use super::{Build, Knob, Options};
use crate::disk::{DiskFault, SimDisk};
use crate::journal::{Place, SimFunding};
use crate::shell::Shell;
use crate::world::{Crash, DAWN, Sim, SplitMix, Stop};
use engine::{Alerts, Engine, Limits, Parts, Settings};
use kernel::answer::Cause;
use kernel::ids::{FlowId, LedgerId, Millis, WorkerId};
use kernel::ports::clock::Rng;
use kernel::ports::journal::{Journal, Standing};
use kernel::ports::ledger::{Heard, Ledger};
use kernel::ports::meter::NoMeter;
use kernel::retry::Backoff;
use kernel::table::Flows;
use std::sync::Arc;

/// More steps than any run takes that comes to its end: most take less than half a million, and one
/// whose database's clock stood still for an hour, since it had been ahead by that, seven.
const STEPS: u64 = 12_000_000;

/// An hour, in milliseconds.
const HOUR: Millis = 3_600_000;
/// A night begins so long after the run at the earliest, and within as long again.
const EVENING: Millis = 5_000;

/// One process.
#[derive(Clone)]
pub(super) struct Process {
    pub engine: Arc<Engine>,
    pub world: Arc<SimFunding>,
    /// Spot at its door.
    pub spot: Arc<dyn Ledger>,
    /// Which it is among others; none where it is the only one, with which all that waits for it
    /// ends.
    pub among: Option<Sim>,
}

/// Everything of a run that no process takes with it.
pub(super) struct Stage {
    pub options: Options,
    pub build: Arc<dyn Build>,
    pub sim: Sim,
    pub flows: Arc<Flows>,
    pub flow: FlowId,
    pub place: Place,
    pub disk: SimDisk,
    pub witness: Witness,
    pub tally: Tally,
    pub trace: Trace,
    pub draws: SplitMix,
    pub ways: Vec<Arc<Way>>,
    writes: Weather<Spoilt>,
    reads: Weather<ReadFault>,
    troubles: Weather<Trouble>,
    questions: Weather<()>,
    pub settings: Settings,
    pub lives: u64,
    /// When a night begins, as long as none has been.
    night_at: Option<Millis>,
}

/// Spot over its folder in this process, at its door.
///
/// # Errors
/// Why the process died, or was refused.
pub(super) async fn opened(
    (build, witness): (Arc<dyn Build>, Witness),
    (sim, disk): (Sim, SimDisk),
    standing: Standing,
) -> Result<Arc<dyn Ledger>, String> {
    let highest = standing.ledger(LedgerId::SPOT).map_or(0, |known| known.highest);
    let spot = build.far(build.core(&sim, disk, highest).await?);
    if witness.barred()
        && let Heard::Said(is, ()) = spot.hello().await
    {
        witness.bar(Some(is.highest));
    }
    // what it stored and nobody heard of any more
    show(&*spot, &witness).await;
    Ok(door(spot, witness))
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

impl Stage {
    /// An empty one, in calm weather.
    pub(super) fn new(options: &Options, build: Arc<dyn Build>, trace: Trace) -> Option<Self> {
        let seed = options.seed;
        let (sim, flows) = (Sim::new(seed), Arc::new(flows::registry()));
        let flow = flows.named("internal")?;
        sim.bound(STEPS);
        let witness = Witness::new(sim.clone(), flows.clone());
        let place = Place::new(flows.clone()).observed(Arc::new(witness.clone()));
        let disk = build.disk(SimDisk::new(Rng::next(&sim), sim.crash()));
        let rate = |knob| options.get(knob);
        let troubles = Trouble::ALL.map(|trouble| (trouble, rate(trouble.knob())));
        let several = rate(Knob::Workers) > 1;
        let may = |spoilt| several || spoilt != Spoilt::LostAndLate;
        let writes = Spoilt::ALL.map(|s| (s, if may(s) { rate(s.knob()) } else { 0 }));
        let reads = ReadFault::ALL.map(|fault| (fault, rate(fault.knob())));
        Some(Self {
            troubles: Weather::new(troubles.to_vec(), seed ^ 1),
            writes: Weather::new(writes.to_vec(), seed ^ 2),
            reads: Weather::new(reads.to_vec(), seed ^ 7),
            questions: Weather::new(vec![((), rate(Knob::Unanswered))], seed ^ 3),
            settings: build.settings(settings(options)),
            options: options.clone(),
            build,
            sim,
            flows,
            flow,
            place,
            disk,
            witness,
            tally: Tally::default(),
            trace,
            draws: SplitMix(seed ^ 4),
            ways: Vec::new(),
            lives: 0,
            night_at: Some(DAWN + EVENING + SplitMix(seed ^ 9).next() % EVENING),
        })
    }

    /// The weather is calm from now on, or is what the options say.
    pub(super) fn calm(&self, calm: bool) {
        self.calm_ways(calm);
        let rate = |knob| if calm { 0 } else { self.options.get(knob) };
        let crash = rate(Knob::DiskCrash);
        self.disk.weather(vec![
            (DiskFault::Full, rate(Knob::DiskFull)),
            (DiskFault::Broken, rate(Knob::DiskBroken)),
            (DiskFault::CrashBefore, crash),
            (DiskFault::CrashWithin, crash),
            (DiskFault::CrashAfter, crash),
        ]);
        if calm {
            self.sim.skew(0);
            self.ways.iter().for_each(|way| way.calm());
        }
    }

    /// The same for what goes wrong on the ways and with writes alone.
    pub(super) fn calm_ways(&self, calm: bool) {
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
        self.tally.fault("hours pass");
        night
    }

    /// Whatever a process leaves when it ends.
    pub(super) fn bury(&mut self) {
        self.sim.revive();
        self.ways.iter().for_each(|way| way.lead(None));
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
        self.witness.unheard(None);
        let journal = self.place.open(Arc::new(self.sim.clone()), self.sim.crash());
        let funding = journal.funding();
        let (standing, build) = (journal.clone(), self.build.clone());
        let (sim, disk, witness) = (self.sim.clone(), self.disk.clone(), self.witness.clone());
        let begin = async move {
            let standing = standing.standing().await.map_err(|cause| cause.to_string())?;
            opened((build, witness), (sim, disk), standing).await
        };
        let spot = self.sim.block_on(begin)?.map_err(|why| Self::refused(&why))?;
        let world = funding.clone();
        let funding = door(self.build.far(funding), self.witness.clone());
        self.lead(&[funding, spot.clone()]);
        let parts = self.parts((&self.sim, &self.ways), journal, self.settings.clone());
        let engine = self.sim.block_on(Engine::start(parts))?;
        let engine = engine.map_err(|cause: Cause| match unanswered(&cause) {
            true => Stop::Dead("crashed at its start: the journal does not answer".into()),
            false => Self::refused(&cause.to_string()),
        })?;
        self.ways.iter().for_each(Way::deliver);
        Ok(Process { engine, world, spot, among: None })
    }

    /// A start that was refused reads like a death, which in the simulation it is.
    fn refused(why: &str) -> Stop {
        if why.starts_with("crashed") {
            return Stop::Dead(why.into());
        }
        Stop::Dead(format!("refused to start: {why}").into())
    }

    /// What the ways of a process are made of that dies like this.
    pub(super) fn kit(&self, crash: Crash) -> Kit {
        Kit {
            sim: self.sim.clone(),
            crash,
            tally: self.tally.clone(),
            witness: self.witness.clone(),
            delay: self.options.get(Knob::Delay),
            troubles: self.troubles.clone(),
            questions: self.questions.clone(),
        }
    }

    /// The ways lead to these ledgers from now on.
    fn lead(&mut self, ledgers: &[Arc<dyn Ledger>]) {
        if self.ways.is_empty() {
            let kit = self.kit(self.sim.crash());
            let way = |ledger: &Arc<dyn Ledger>| Arc::new(Way::new(&**ledger, kit.clone()));
            self.ways = ledgers.iter().map(way).collect();
        }
        for (way, ledger) in self.ways.iter().zip(ledgers) {
            way.lead(Some(ledger.clone()));
        }
    }

    /// What a process is made of.
    pub(super) fn parts(
        &self,
        (sim, ways): (&Sim, &[Arc<Way>]),
        journal: Arc<dyn Journal>,
        settings: Settings,
    ) -> Parts {
        let trace = self.trace.clone();
        let crash = sim.crash();
        let spoiling = Spoiling {
            inner: journal,
            weather: self.writes.clone(),
            reads: self.reads.clone(),
            delay: self.options.get(Knob::JournalDelay),
            world: self.sim.clone(),
            tally: self.tally.clone(),
            witness: self.witness.clone(),
            crash: sim.crash(),
        };
        let inner = self.build.journal(Arc::new(Shell(spoiling)));
        let journal = TracedJournal { inner, sim: sim.clone(), trace: trace.clone() };
        let ledger = |way: &Arc<Way>| -> Arc<dyn Ledger> {
            let inner = self.build.near(Arc::new(End(way.clone())));
            let (sim, trace, witness) = (sim.clone(), trace.clone(), self.witness.clone());
            Arc::new(Shell(TracedLedger { inner, sim, trace, witness }))
        };
        Parts {
            flows: self.flows.clone(),
            journal: Arc::new(Shell(journal)),
            ledgers: ways.iter().map(ledger).collect(),
            clock: Arc::new(TracedClock { sim: sim.clone(), trace: trace.clone() }),
            rng: Arc::new(TracedClock { sim: sim.clone(), trace }),
            spawn: Arc::new(sim.clone()),
            meter: Arc::new(NoMeter),
            settings,
            worker: WorkerId(self.lives),
            cores: Vec::new(),
            retire: Arc::new(move |what| crash(&what)),
        }
    }
}
