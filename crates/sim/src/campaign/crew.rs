//! Several workers over one journal, with Spot outside of them all: some are killed, some stand still
//! while others end their work and go on later as if nothing had been.

use super::crowd::{Crowd, Doors};
use super::desk::Desk;
use super::door::{door, show};
use super::fate::{MISREAD, SILENT, skew};
use super::folder::{self, Copy};
use super::operators;
use super::outside::{Fate, Outside};
use super::phases::{all_over, prepare};
use super::stage::{Process, Stage, unanswered};
use super::trace::{Reader, Trace};
use super::way::Way;
use super::{Build, Knob, Options, Verdict};
use crate::disk::DiskFault;
use crate::journal::SimFunding;
use crate::world::{DAWN, Sim, Stop};
use engine::{Engine, Settings};
use kernel::answer::Cause;
use kernel::ids::{Millis, WorkerId};
use kernel::ports::ledger::Ledger;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How long a lease is; a worker that stands still for longer is taken for dead.
const LEASE: Millis = 3_000;
/// How long one stands still at most.
pub(super) const STILL: Millis = 4 * LEASE;
/// How long things may go wrong, in virtual time.
const SAFETY: Millis = 300_000;
/// How long all may take to end once nothing goes wrong: an hour by which a clock may have run ahead,
/// and twenty minutes.
const LIVENESS: Millis = 4_800_000;
/// How long the journal has no standby at most.
const AWAY: Millis = 6_000;
/// How often fate looks at the workers.
pub(super) const STEP: Millis = 100;
/// How long money stays stopped before the folder is put right.
const STOPPED: Millis = 20_000;

/// Nobody waits for the end of this run any more.
const CUT: &str = "cut off";

fn still_patient(patient: &dyn Fn() -> bool) -> Ended {
    if patient() { Ok(()) } else { Err(CUT.to_owned()) }
}

/// What ends a run before its time.
pub(super) type Ended = Result<(), String>;

/// Whether what happens so often on average, by its knob, happens in this step.
pub(super) fn strikes(stage: &mut Stage, knob: Knob) -> bool {
    let every = stage.options.get(knob);
    every > 0 && stage.draws.once_in(STEP, every)
}

/// One worker.
struct Member {
    sim: Sim,
    process: Process,
    ways: Vec<Arc<Way>>,
    /// Until then it stands still.
    still: Option<Millis>,
    /// Until then it does not reach one of the ledgers.
    silent: Option<Millis>,
    /// Until then it reads a ledger's sums wrong.
    misread: Option<Millis>,
}

/// One that begins: its engine is there, or was refused, some time later.
struct Beginner {
    sim: Sim,
    ways: Vec<Arc<Way>>,
    came: Arc<Mutex<Option<Started>>>,
}

/// What a start came to.
type Started = Result<Arc<Engine>, Cause>;

impl Member {
    /// Nothing is in its way any more.
    fn calm(&mut self) {
        self.ways.iter().for_each(|way| way.calm());
        self.sim.skew(0);
        self.sim.resume();
        (self.still, self.silent, self.misread) = (None, None, None);
    }

    /// It is killed, stands still, goes on; its clock jumps; it does not reach a ledger.
    fn fate(&mut self, stage: &mut Stage) {
        let now = stage.sim.time();
        if self.silent.is_some_and(|until| until <= now) {
            self.ways.iter().for_each(|way| way.silence(false));
            self.silent = None;
        } else if self.silent.is_none() && strikes(stage, Knob::Silence) {
            let spot = stage.draws.once_in(1, 2);
            let way = if spot { self.ways.last() } else { self.ways.first() };
            way.into_iter().for_each(|way| way.silence(true));
            self.silent = Some(now + 1 + stage.draws.next() % SILENT);
            stage.tally.fault("a ledger out of reach");
        }
        if self.misread.is_some_and(|until| until <= now) {
            self.ways.iter().for_each(|way| way.misread(false));
            self.misread = None;
        } else if self.misread.is_none() && strikes(stage, Knob::Misread) {
            stage.witness.misreads();
            self.ways.iter().for_each(|way| way.misread(true));
            self.misread = Some(now + 1 + stage.draws.next() % MISREAD);
        }
        if strikes(stage, Knob::Jump) {
            self.sim.skew(skew(&mut stage.draws));
            stage.tally.fault("a worker's clock jumps");
        }
        match self.still {
            Some(until) if until <= now => {
                self.still = None;
                self.sim.resume();
            }
            Some(_) => {}
            None if strikes(stage, Knob::Kill) => self.sim.kill("crashed: killed"),
            None if strikes(stage, Knob::Pause) => {
                self.still = Some(now + 1 + stage.draws.next() % STILL);
                self.sim.pause();
                stage.tally.fault("stands still");
            }
            None => {}
        }
    }
}

struct Crew {
    stage: Stage,
    spot: Outside,
    fate: Fate,
    funding: Arc<SimFunding>,
    members: Arc<Mutex<Vec<Member>>>,
    beginners: Vec<Beginner>,
    /// How many there are while none is dead.
    workers: usize,
    /// Who is at the desk, as a process that goes when others come.
    desk: Option<Sim>,
    copy: Option<Copy>,
    copy_at: Millis,
    /// The folder was spoilt, once.
    spoilt: bool,
    /// Until then the journal has no standby.
    away: Option<Millis>,
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
        // what breaks a disk, or dies in it, is a death
        if let Some(n) = stage.disk.met().get(&DiskFault::Full) {
            *counts.faults.entry(DiskFault::Full.name()).or_insert(0) += n;
        }
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
    fn new(mut stage: Stage) -> Result<Self, String> {
        stage.witness.several();
        let spot = Outside::default();
        spot.begin(&mut stage)?;
        let (clock, crash) = (Arc::new(stage.sim.clone()), stage.sim.crash());
        let funding = stage.place.join(clock, crash, WorkerId(0)).funding();
        let workers = usize::try_from(stage.options.get(Knob::Workers)).unwrap_or(1);
        let copy_at = stage.sim.time() + 1 + stage.draws.next() % 4_000;
        Ok(Self {
            stage,
            spot,
            fate: Fate::default(),
            funding,
            members: Arc::default(),
            beginners: Vec::new(),
            workers,
            desk: None,
            copy: None,
            copy_at,
            spoilt: false,
            away: None,
        })
    }

    /// One more worker begins.
    fn join(&mut self) {
        self.stage.lives += 1;
        let sim = self.stage.sim.process(self.stage.lives);
        let worker = WorkerId(self.stage.lives);
        // the journal's time is its own database's
        let clock = Arc::new(self.stage.sim.clone());
        let journal = self.stage.place.join(clock, sim.crash(), worker);
        let (build, witness) = (self.stage.build.clone(), self.stage.witness.clone());
        let funding = door(build.far(self.funding.clone()), witness);
        let kit = self.stage.kit(sim.crash());
        let mut ways = Vec::new();
        let spot: Arc<dyn Ledger> = Arc::new(self.spot.clone());
        for ledger in [funding, spot.clone()] {
            let way = Arc::new(Way::new(&*ledger, kit.clone()));
            way.lead(Some(ledger));
            ways.push(way);
        }
        let settings = Settings { lease_ms: LEASE, ..self.stage.settings.clone() };
        let parts = self.stage.parts((&sim, &ways), journal, settings);
        let came = Arc::new(Mutex::default());
        let heard = came.clone();
        sim.start(async move { *held(&heard) = Some(Engine::start(parts).await) });
        self.beginners.push(Beginner { sim, ways, came });
    }

    /// Whoever has begun is one of the workers.
    fn begun(&mut self) -> Ended {
        for beginner in std::mem::take(&mut self.beginners) {
            let came = held(&beginner.came).take();
            match (came, beginner.sim.fallen()) {
                (_, Some(why)) if why.starts_with("crashed") => self.stage.tally.crash(&why),
                (_, Some(why)) => return Err(why.to_string()),
                (Some(Ok(engine)), None) => {
                    let Beginner { sim, ways, .. } = beginner;
                    let world = self.funding.clone();
                    let spot: Arc<dyn Ledger> = Arc::new(self.spot.clone());
                    let process = Process { engine, world, spot, among: Some(sim.clone()) };
                    let member =
                        Member { sim, process, ways, still: None, silent: None, misread: None };
                    held(&self.members).push(member);
                }
                // nobody answered it: the next one tries again
                (Some(Err(cause)), None) if unanswered(&cause) => {
                    beginner.sim.kill("crashed at its start");
                }
                (Some(Err(cause)), None) => return Err(format!("refused to start: {cause}")),
                (None, None) => self.beginners.push(beginner),
            }
        }
        Ok(())
    }

    /// The first worker that lives through its start, in calm weather.
    fn first(&mut self) -> Result<Process, String> {
        let end = self.stage.sim.time().saturating_add(LIVENESS);
        while self.stage.sim.time() < end {
            let first = held(&self.members).first().map(|member| member.process.clone());
            if let Some(first) = first {
                return Ok(first);
            }
            self.rests(STEP)?;
        }
        Err("nobody works".to_owned())
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

    /// Others come to the desk: to do what they like, or to clear up.
    fn people(&mut self, doors: &Doors, clear_up: bool) {
        if let Some(before) = self.desk.take() {
            before.kill("crashed: they leave the desk");
        }
        self.stage.lives += 1;
        let sim = self.stage.sim.process(self.stage.lives);
        let desk = Desk::new(&self.stage, self.stage.lives);
        if clear_up {
            sim.start(desk.clear_up(doors.clone()));
        } else {
            sim.start(desk.work(doors.clone()));
            operators::work(&self.stage, (&sim, self.stage.lives), doors);
        }
        self.desk = Some(sim);
    }

    fn play(&mut self, patient: &dyn Fn() -> bool) -> Ended {
        let first = self.first()?;
        let first = prepare(&self.stage, first)?;
        let (crowd, doors) = (Crowd::new(&self.stage), self.doors(&first));
        self.stage.calm(false);
        self.people(&doors, false);
        crowd.ask(&doors);
        let mut end = self.stage.sim.time().saturating_add(SAFETY);
        while !crowd.over() && self.stage.sim.time() < end {
            still_patient(patient)?;
            end = end.saturating_add(self.stage.night());
            self.goes_on(STEP)?;
            self.fate(&doors)?;
        }
        self.calm();
        if self.stage.options.get(Knob::Folder) > 0 && !self.spoilt {
            self.spot.end(&mut self.stage);
            self.spoil(&doors)?;
        }
        self.stands_again()?;
        self.people(&doors, true);
        let end = self.stage.sim.time().saturating_add(LIVENESS);
        while !all_over(&self.stage, &crowd) {
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
        let first = self.first()?;
        let again = crowd.all_again(first);
        self.stage.sim.block_on(again).map_err(|stop| format!("{stop:?}"))?;
        self.goes_on(5_000)?;
        self.proven()
    }

    /// Nothing goes wrong any more.
    fn calm(&mut self) {
        self.stage.calm(true);
        self.stage.place.catch_up();
        self.away = None;
        self.spot.resume();
        held(&self.members).iter_mut().for_each(Member::calm);
    }

    /// Spot begins again, if it is down.
    fn stands_again(&mut self) -> Ended {
        self.fate = Fate::default();
        if self.spot.is_gone(&mut self.stage)? {
            self.spot.begin(&mut self.stage)?;
        }
        Ok(())
    }

    /// Spot's folder is spoilt while it is down, where the run wants it and it can be by now: money
    /// stops, nothing is executed, and persons put it right.
    fn spoil(&mut self, doors: &Doors) -> Ended {
        let Some(wrong) = folder::spoil(&mut self.stage, self.copy.as_ref()) else {
            return Ok(());
        };
        self.spoilt = true;
        self.calm();
        if let Some(desk) = self.desk.take() {
            desk.kill("crashed: they leave the desk");
        }
        self.spot.begin(&mut self.stage)?;
        self.rests(STOPPED)?;
        // whoever was idle all the while heard nothing of it; one that begins now asks
        self.join();
        self.rests(STOPPED)?;
        let (spot, witness) = (self.spot.clone(), self.stage.witness.clone());
        let looks = async move { show(&spot, &witness).await };
        self.stage.sim.block_on(looks).map_err(|stop| format!("{stop:?}"))?;
        let moves = |member: &Member| member.process.engine.halted().is_none();
        if held(&self.members).iter().any(moves) {
            return Err("another Spot folder is there, and not everybody halts".to_owned());
        }
        self.spot.end(&mut self.stage);
        folder::put_right(&mut self.stage, &wrong);
        // it is another disk than the one that was calmed
        self.calm();
        self.spot.begin(&mut self.stage)?;
        self.people(doors, true);
        let end = self.stage.sim.time().saturating_add(60_000);
        while held(&self.members).iter().any(|member| !moves(member)) {
            if self.stage.sim.time() >= end {
                return Err("HALT stays after the folder was put right".to_owned());
            }
            self.rests(STEP)?;
        }
        Ok(())
    }

    /// So much time passes in which nobody does any harm.
    fn rests(&mut self, ms: Millis) -> Ended {
        self.goes_on(ms)?;
        self.replace()
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
        self.begun()?;
        while held(&self.members).len() + self.beginners.len() < self.workers {
            self.join();
        }
        Ok(())
    }

    /// The journal's standby goes away; then it comes back, or takes the primary's place.
    fn standby(&mut self) {
        let now = self.stage.sim.time();
        match self.away {
            Some(until) if until <= now => {
                self.away = None;
                if self.stage.draws.once_in(1, 2) {
                    self.stage.place.fail_over();
                    self.stage.tally.fault("the standby takes over");
                } else {
                    self.stage.place.catch_up();
                }
            }
            Some(_) => {}
            None if strikes(&mut self.stage, Knob::Standby) => {
                self.stage.place.lose_standby();
                self.away = Some(now + 1 + self.stage.draws.next() % AWAY);
                self.stage.tally.fault("the standby is away");
            }
            None => {}
        }
    }

    /// What becomes of the workers, of Spot and of the clocks in this step.
    fn fate(&mut self, doors: &Doors) -> Ended {
        self.replace()?;
        self.standby();
        for member in held(&self.members).iter_mut() {
            member.fate(&mut self.stage);
        }
        if strikes(&mut self.stage, Knob::Jump) {
            let jump = skew(&mut self.stage.draws);
            self.stage.sim.skew(jump);
            self.stage.tally.fault("the database's clock jumps");
        }
        // one of a folder whose process died in the middle of a write is torn, and does not open
        let lives = !self.spot.is_gone(&mut self.stage)?;
        if lives && self.copy.is_none() && self.stage.sim.time() >= self.copy_at {
            self.copy = folder::copied(&self.stage);
            self.copy_at = Millis::MAX;
        }
        if !self.fate.strikes(&self.spot, &mut self.stage)? {
            return Ok(());
        }
        if self.stage.options.get(Knob::Folder) > 0 && !self.spoilt {
            self.spoil(doors)?;
            if self.spoilt {
                self.stage.calm(false);
                self.people(doors, false);
                return Ok(());
            }
        }
        self.spot.begin(&mut self.stage)
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
