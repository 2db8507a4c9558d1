//! Several workers over one journal, with Spot outside of them all: some are killed, some stand still
//! while others end their work and go on later as if nothing had been.

use super::crowd::{Crowd, Doors};
use super::door::{door, show};
use super::phases::prepare;
use super::stage::{Process, Stage};
use super::trace::{Reader, Trace};
use super::way::Way;
use super::{Build, Knob, Options, Verdict};
use crate::journal::SimFunding;
use crate::world::{DAWN, Sim, Stop};
use engine::{Engine, Settings};
use kernel::ids::{Millis, WorkerId};
use kernel::ports::ledger::Ledger;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How long a lease is; a worker that stands still for longer is taken for dead.
const LEASE: Millis = 3_000;
/// How long one stands still at most.
const STILL: Millis = 4 * LEASE;
/// How long things may go wrong, in virtual time.
const SAFETY: Millis = 300_000;
/// How long all may take to end once nothing goes wrong.
const LIVENESS: Millis = 1_200_000;
/// How often fate looks at the workers.
const STEP: Millis = 100;

/// Nobody waits for the end of this run any more.
const CUT: &str = "cut off";

fn still_patient(patient: &dyn Fn() -> bool) -> Ended {
    if patient() { Ok(()) } else { Err(CUT.to_owned()) }
}

/// What ends a run before its time.
type Ended = Result<(), String>;

/// One worker.
struct Member {
    sim: Sim,
    process: Process,
    /// Until then it stands still.
    still: Option<Millis>,
}

struct Crew {
    stage: Stage,
    spot: Arc<dyn Ledger>,
    funding: Arc<SimFunding>,
    members: Arc<Mutex<Vec<Member>>>,
    /// How many there are while none is dead.
    workers: usize,
}

/// Plays a run with several workers to its end.
pub(super) fn crew(
    options: &Options,
    build: Arc<dyn Build>,
    reader: Option<Reader>,
    patient: &dyn Fn() -> bool,
) -> Verdict {
    let trace = Trace::new(reader);
    let nothing = |why: String| {
        let counts = super::Counts::default();
        Verdict { hash: 0, counts, broken: Some(why), cut: false }
    };
    let options = &options.clone().with(Knob::Irreversible, 0).with(Knob::Folder, 0);
    let Some(stage) = Stage::new(options, build, trace.clone()) else {
        return nothing("there is no such flow".to_owned());
    };
    let mut crew = match Crew::new(stage) {
        Ok(crew) => crew,
        Err(why) => return nothing(why),
    };
    let ended = crew.play(patient);
    let cut = ended == Err(CUT.to_owned());
    let stage = &crew.stage;
    let broken = stage.witness.broken().or_else(|| ended.err().filter(|_| !cut));
    let (transfers, _) = stage.witness.transfers();
    stage.tally.change(|counts| {
        counts.runs = 1;
        counts.transfers = transfers;
        counts.calls = trace.calls();
        counts.steps = stage.sim.steps();
        counts.virtual_ms = stage.sim.time().saturating_sub(DAWN);
        counts.ends = stage.witness.ends();
    });
    let verdict = Verdict { hash: trace.hash(), counts: stage.tally.read(), broken, cut };
    held(&crew.members).clear();
    crew.stage.sim.revive();
    verdict
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Crew {
    fn new(stage: Stage) -> Result<Self, String> {
        stage.witness.several();
        let (sim, build, witness) = (stage.sim.clone(), stage.build.clone(), stage.witness.clone());
        let disk = stage.disk.clone();
        let opening = async move {
            let spot = build.far(build.core(&sim, disk, 0).await?);
            show(&*spot, &witness).await;
            Ok::<_, String>(door(spot, witness))
        };
        let spot = stage.sim.block_on(opening).map_err(|stop| format!("{stop:?}"))??;
        let (clock, crash) = (Arc::new(stage.sim.clone()), stage.sim.crash());
        let funding = stage.place.join(clock, crash, WorkerId(0)).funding();
        let workers = usize::try_from(stage.options.get(Knob::Workers)).unwrap_or(1);
        Ok(Self { stage, spot, funding, members: Arc::default(), workers })
    }

    /// One more worker.
    fn join(&mut self) -> Ended {
        self.stage.lives += 1;
        let sim = self.stage.sim.process(self.stage.lives);
        let worker = WorkerId(self.stage.lives);
        let (clock, crash) = (Arc::new(sim.clone()), sim.crash());
        let journal = self.stage.place.join(clock, crash, worker);
        let (build, witness) = (self.stage.build.clone(), self.stage.witness.clone());
        let funding = door(build.far(self.funding.clone()), witness);
        let kit = self.stage.kit(sim.crash());
        let mut ways = Vec::new();
        for ledger in [funding, self.spot.clone()] {
            let way = Arc::new(Way::new(&*ledger, kit.clone()));
            way.lead(Some(ledger));
            ways.push(way);
        }
        let settings = Settings { lease_ms: LEASE, ..self.stage.settings.clone() };
        let parts = self.stage.parts((&sim, &ways), journal, settings);
        match sim.block_on(Engine::start(parts)) {
            Ok(Ok(engine)) => {
                let (world, spot) = (self.funding.clone(), self.spot.clone());
                let process = Process { engine, world, spot, among: Some(sim.clone()) };
                held(&self.members).push(Member { sim, process, still: None });
                Ok(())
            }
            Ok(Err(cause)) => Err(format!("refused to start: {cause}")),
            Err(Stop::Dead(why)) if why.starts_with("crashed") => Ok(()),
            Err(stop) => Err(format!("{stop:?}")),
        }
    }

    /// A client asks whichever worker is nearest, one that stands still among them.
    fn doors(&self, first: &Process) -> Doors {
        let (members, first, turn) = (self.members.clone(), first.clone(), Mutex::new(0_usize));
        Arc::new(move || {
            let members = held(&members);
            let mut turn = held(&turn);
            *turn = turn.wrapping_add(1);
            let at = turn.checked_rem(members.len()).unwrap_or(0);
            members.get(at).map_or_else(|| first.clone(), |member| member.process.clone())
        })
    }

    fn play(&mut self, patient: &dyn Fn() -> bool) -> Ended {
        self.join()?;
        let first = held(&self.members).first().map(|member| member.process.clone());
        let first = prepare(&self.stage, first.ok_or("nobody works")?)?;
        let crowd = Crowd::new(&self.stage);
        self.stage.calm_ways(false);
        crowd.ask(&self.doors(&first));
        let end = self.stage.sim.time().saturating_add(SAFETY);
        while !crowd.over() && self.stage.sim.time() < end {
            still_patient(patient)?;
            self.goes_on(STEP)?;
            self.fate()?;
        }
        self.stage.calm_ways(true);
        held(&self.members).iter().for_each(|member| member.sim.resume());
        let end = self.stage.sim.time().saturating_add(LIVENESS);
        while self.stage.witness.transfers().1 > 0 || !crowd.over() {
            still_patient(patient)?;
            if self.stage.sim.time() >= end {
                let open: Vec<_> = self.stage.witness.open().into_iter().take(5).collect();
                return Err(format!(
                    "it does not end: {open:?} stay open, clients wait: {}",
                    !crowd.over()
                ));
            }
            self.goes_on(STEP)?;
            self.replace()?;
        }
        self.goes_on(5_000)?;
        self.proven()
    }

    fn goes_on(&self, ms: Millis) -> Ended {
        match self.stage.sim.run_for(ms) {
            Stop::Time => Ok(()),
            Stop::Idle => {
                // everybody stands still: time goes on all the same
                self.stage.sim.stall(ms);
                Ok(())
            }
            Stop::Dead(why) => Err(why.to_string()),
        }
    }

    /// The dead are replaced.
    fn replace(&mut self) -> Ended {
        let mut odd = None;
        held(&self.members).retain(|member| match member.sim.fallen() {
            Some(why) if why.starts_with("crashed") => {
                self.stage.tally.crash(&why);
                false
            }
            Some(why) => {
                odd = Some(why.to_string());
                false
            }
            None => true,
        });
        if let Some(why) = odd {
            return Err(why);
        }
        while held(&self.members).len() < self.workers {
            self.join()?;
        }
        Ok(())
    }

    /// One is killed, one stands still, one goes on.
    fn fate(&mut self) -> Ended {
        self.replace()?;
        let now = self.stage.sim.time();
        let draws = &mut self.stage.draws;
        for member in held(&self.members).iter_mut() {
            match member.still {
                Some(until) if until <= now => {
                    member.still = None;
                    member.sim.resume();
                }
                Some(_) => {}
                None if draws.once_in(1, 60) => member.sim.kill("crashed: killed"),
                None if draws.once_in(1, 20) => {
                    member.still = Some(now + 1 + draws.next() % STILL);
                    member.sim.pause();
                    self.stage.tally.fault("stands still");
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Every worker's own proof finds nothing, and none is halted.
    fn proven(&self) -> Ended {
        let engines: Vec<_> =
            held(&self.members).iter().map(|member| member.process.engine.clone()).collect();
        for engine in engines {
            let asked = engine.clone();
            let proof = async move {
                asked.check_now().await?;
                asked.check_now().await
            };
            let report = self.stage.sim.block_on(proof).map_err(|stop| format!("{stop:?}"))?;
            let report = report.map_err(|cause| cause.to_string())?;
            if !report.breaks.is_empty() {
                return Err(format!("conservation is broken at rest: {:?}", report.breaks));
            }
            if let Some(why) = engine.halted() {
                return Err(format!("it rests halted: {why}"));
            }
        }
        Ok(())
    }
}
