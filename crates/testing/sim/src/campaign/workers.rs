//! Runs several workers over one journal with Spot outside: some are killed, some pause while others end their
//! work, and later continue as if no time had passed.

use super::clients::{Clients, NextProcess};
use super::env::{Env, Process, unanswered};
use super::fault_plan::{MISREAD, SILENT, skew};
use super::folder::{self, Copy};
use super::network::NetworkLink;
use super::observed_ledger::{observed, show};
use super::operator::OneOperator;
use super::phases::{all_over, prepare};
use super::remote_process::{RemoteFaults, RemoteSpot};
use super::trace::{Reader, Trace};
use super::{Build, Knob, Options, Verdict, operators};
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
/// How long all may take to end once nothing goes wrong, however far a clock was ahead before.
const LIVENESS: Millis = 1_200_000;
/// How long the journal has no standby at most.
const AWAY: Millis = 6_000;
/// How often faults are drawn for the workers.
pub(super) const STEP: Millis = 100;
/// How long money stays stopped before the folder is put right.
const STOPPED: Millis = 20_000;
/// How long it may take until every worker knows that money moves again.
const RESUMED: Millis = 60_000;

/// The caller waits for the end of this run no longer.
const CUT: &str = "cut off";

fn still_patient(patient: &dyn Fn() -> bool) -> Ended {
    if patient() { Ok(()) } else { Err(CUT.to_owned()) }
}

/// What ends a run before its time.
pub(super) type Ended = Result<(), String>;

/// Whether an event happens in this step; its knob says how often it happens on average.
pub(super) fn is_due(env: &mut Env, knob: Knob) -> bool {
    let every = env.options.get(knob);
    every > 0 && env.draws.once_in(STEP, every)
}

struct Member {
    sim: Sim,
    process: Process,
    links: Vec<Arc<NetworkLink>>,
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
    links: Vec<Arc<NetworkLink>>,
    came: Arc<Mutex<Option<Started>>>,
}

/// What a start came to.
type Started = Result<Arc<Engine>, Cause>;

impl Member {
    /// Nothing is in reach any more.
    fn calm(&mut self) {
        self.links.iter().for_each(|link| link.calm());
        self.sim.skew(0);
        self.sim.resume();
        (self.still, self.silent, self.misread) = (None, None, None);
    }

    /// It is killed, stands still, goes on; its clock jumps; it does not reach a ledger.
    fn faults(&mut self, env: &mut Env) {
        let now = env.sim.time();
        if self.silent.is_some_and(|until| until <= now) {
            self.links.iter().for_each(|link| link.route.silence(false));
            self.silent = None;
        } else if self.silent.is_none() && is_due(env, Knob::Silence) {
            let spot = env.draws.once_in(1, 2);
            let link = if spot { self.links.last() } else { self.links.first() };
            link.into_iter().for_each(|link| link.route.silence(true));
            self.silent = Some(now + 1 + env.draws.next() % SILENT);
            env.stats.fault("a ledger out of reach");
        }
        if self.misread.is_some_and(|until| until <= now) {
            self.links.iter().for_each(|link| link.misread(false));
            self.misread = None;
        } else if self.misread.is_none() && is_due(env, Knob::Misread) {
            env.oracles.misreads();
            self.links.iter().for_each(|link| link.misread(true));
            self.misread = Some(now + 1 + env.draws.next() % MISREAD);
        }
        if is_due(env, Knob::Jump) {
            let options = env.options.clone();
            self.sim.skew(skew(&mut env.draws, &options));
            env.stats.fault("a worker's clock jumps");
        }
        match self.still {
            Some(until) if until <= now => {
                self.still = None;
                self.sim.resume();
            }
            Some(_) => {}
            None if is_due(env, Knob::Kill) => self.sim.kill("crashed: killed"),
            None if is_due(env, Knob::Pause) => {
                self.still = Some(now + 1 + env.draws.next() % STILL);
                self.sim.pause();
                env.stats.fault("stands still");
            }
            None => {}
        }
    }
}

struct Fleet {
    env: Env,
    spot: RemoteSpot,
    faults: RemoteFaults,
    funding: Arc<SimFunding>,
    members: Arc<Mutex<Vec<Member>>>,
    beginners: Vec<Beginner>,
    /// How many there are while none is dead.
    workers: usize,
    /// The operators, as a process that ends when others come.
    operator: Option<Sim>,
    copy: Option<Copy>,
    copy_at: Millis,
    /// The folder was spoilt, once.
    spoilt: bool,
    /// Until then the journal has no standby.
    away: Option<Millis>,
}

/// Plays a run with several workers to its end.
pub(super) fn play_workers(
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
    let Some(env) = Env::new(options, build, trace.clone()) else {
        return nothing("there is no such flow".to_owned());
    };
    let mut play_workers = match Fleet::new(env) {
        Ok(play_workers) => play_workers,
        Err(why) => return nothing(why),
    };
    let ended = play_workers.play(patient);
    let cut = ended == Err(CUT.to_owned());
    let env = &play_workers.env;
    let broken = env.oracles.broken().or_else(|| ended.err().filter(|_| !cut));
    let (transfers, _) = env.oracles.transfers();
    env.stats.change(|counts| {
        counts.runs = 1;
        counts.transfers = transfers;
        counts.calls = trace.calls();
        counts.steps = env.sim.steps();
        counts.virtual_ms = env.sim.time().saturating_sub(DAWN);
        counts.ends = env.oracles.ends();
        // what breaks a disk, or dies in it, is a death
        if let Some(n) = env.disk.met().get(&DiskFault::Full) {
            *counts.faults.entry(DiskFault::Full.name()).or_insert(0) += n;
        }
    });
    let verdict = Verdict { hash: trace.hash(), counts: env.stats.read(), broken, cut };
    held(&play_workers.members).clear();
    play_workers.env.sim.revive();
    verdict
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fleet {
    fn new(mut env: Env) -> Result<Self, String> {
        env.oracles.several();
        let spot = RemoteSpot::default();
        spot.begin(&mut env)?;
        let (clock, crash) = (Arc::new(env.sim.clone()), env.sim.crash());
        let funding = env.place.join(clock, crash, WorkerId(0)).funding();
        let workers = usize::try_from(env.options.get(Knob::Workers)).unwrap_or(1);
        let copy_at = env.sim.time() + 1 + env.draws.next() % 4_000;
        Ok(Self {
            env,
            spot,
            faults: RemoteFaults::default(),
            funding,
            members: Arc::default(),
            beginners: Vec::new(),
            workers,
            operator: None,
            copy: None,
            copy_at,
            spoilt: false,
            away: None,
        })
    }

    /// One more worker begins.
    fn join(&mut self) {
        self.env.lives += 1;
        let sim = self.env.sim.process(self.env.lives);
        let worker = WorkerId(self.env.lives);
        // the journal's time is its own database's
        let clock = Arc::new(self.env.sim.clone());
        let journal = self.env.place.join(clock, sim.crash(), worker);
        let (build, oracles) = (self.env.build.clone(), self.env.oracles.clone());
        let funding = observed(build.far(self.funding.clone()), oracles);
        let link_parts = self.env.link_parts(sim.crash());
        let mut links = Vec::new();
        let spot: Arc<dyn Ledger> = Arc::new(self.spot.clone());
        for ledger in [funding, spot.clone()] {
            let link = Arc::new(NetworkLink::new(ledger.id(), link_parts.clone()));
            link.route.lead(Some(ledger));
            links.push(link);
        }
        let settings = Settings { lease_ms: LEASE, ..self.env.settings.clone() };
        let parts = self.env.parts(&sim, &links, &journal.opened(), settings);
        let came = Arc::new(Mutex::default());
        let reply = came.clone();
        sim.start(async move { *held(&reply) = Some(Engine::start(parts).await) });
        self.beginners.push(Beginner { sim, links, came });
    }

    /// Each process whose engine has started is one of the workers.
    fn begun(&mut self) -> Ended {
        for beginner in std::mem::take(&mut self.beginners) {
            let came = held(&beginner.came).take();
            match (came, beginner.sim.fallen()) {
                (_, Some(why)) if why.starts_with("crashed") => self.env.stats.crash(&why),
                (_, Some(why)) => return Err(why.to_string()),
                (Some(Ok(engine)), None) => {
                    let Beginner { sim, links, .. } = beginner;
                    let world = self.funding.clone();
                    let spot: Arc<dyn Ledger> = Arc::new(self.spot.clone());
                    let process = Process { engine, world, spot, among: Some(sim.clone()) };
                    let member =
                        Member { sim, process, links, still: None, silent: None, misread: None };
                    held(&self.members).push(member);
                }
                // it got no answer: the next one tries again
                (Some(Err(cause)), None) if unanswered(&cause) => {
                    beginner.sim.kill("crashed at its start");
                }
                (Some(Err(cause)), None) => return Err(format!("refused to start: {cause}")),
                (None, None) => self.beginners.push(beginner),
            }
        }
        Ok(())
    }

    /// The first worker that lives through its start, without faults.
    fn first(&mut self) -> Result<Process, String> {
        let end = self.env.sim.time().saturating_add(LIVENESS);
        while self.env.sim.time() < end {
            let first = held(&self.members).first().map(|member| member.process.clone());
            if let Some(first) = first {
                return Ok(first);
            }
            self.rests(STEP)?;
        }
        Err("no worker lives".to_owned())
    }

    /// A client asks whichever worker is nearest, one that stands still among them.
    fn next_process(&self, first: &Process) -> NextProcess {
        let (members, first, turn) = (self.members.clone(), first.clone(), Mutex::new(0_usize));
        Arc::new(move || {
            let members = held(&members);
            let mut turn = held(&turn);
            *turn = turn.wrapping_add(1);
            let at = turn.checked_rem(members.len()).unwrap_or(0);
            members.get(at).map_or_else(|| first.clone(), |member| member.process.clone())
        })
    }

    /// New operators begin: to act at random, or to clear up.
    fn start_operators(&mut self, next_process: &NextProcess, clear_up: bool) {
        if let Some(before) = self.operator.take() {
            before.kill("crashed: they leave");
        }
        self.env.lives += 1;
        let sim = self.env.sim.process(self.env.lives);
        let operator = OneOperator::new(&self.env, self.env.lives);
        if clear_up {
            sim.start(operator.clear_up(next_process.clone()));
        } else {
            sim.start(operator.work(next_process.clone()));
            operators::work(&self.env, (&sim, self.env.lives), next_process);
        }
        self.operator = Some(sim);
    }

    fn play(&mut self, patient: &dyn Fn() -> bool) -> Ended {
        let first = self.first()?;
        let first = prepare(&self.env, first)?;
        let (clients, next_process) = (Clients::new(&self.env), self.next_process(&first));
        self.env.calm(false);
        self.start_operators(&next_process, false);
        clients.start(&next_process);
        let mut end = self.env.sim.time().saturating_add(SAFETY);
        while !clients.over() && self.env.sim.time() < end {
            still_patient(patient)?;
            end = end.saturating_add(self.env.night());
            self.goes_on(STEP)?;
            self.faults(&next_process)?;
        }
        self.calm();
        if self.env.options.get(Knob::Folder) > 0 && !self.spoilt {
            self.spot.end(&mut self.env);
            self.spoil(&next_process)?;
        }
        self.stands_again()?;
        self.start_operators(&next_process, true);
        let end = self.env.sim.time().saturating_add(LIVENESS);
        while !all_over(&self.env, &clients) {
            still_patient(patient)?;
            if self.env.sim.time() >= end {
                let open: Vec<_> = self.env.oracles.open().into_iter().take(5).collect();
                return Err(format!(
                    "it does not end: {open:?} stay open, clients wait: {}",
                    !clients.over()
                ));
            }
            self.goes_on(STEP)?;
            self.replace()?;
        }
        let first = self.first()?;
        let again = clients.all_again(first);
        self.env.sim.block_on(again).map_err(|stop| format!("{stop:?}"))?;
        self.goes_on(5_000)?;
        self.proven()?;
        self.resumed()
    }

    /// Nothing goes wrong any more.
    fn calm(&mut self) {
        self.env.calm(true);
        self.env.place.catch_up();
        self.away = None;
        self.spot.resume();
        held(&self.members).iter_mut().for_each(Member::calm);
    }

    /// Spot begins again, if it is down.
    fn stands_again(&mut self) -> Ended {
        self.faults = RemoteFaults::default();
        if self.spot.is_gone(&mut self.env)? {
            self.spot.begin(&mut self.env)?;
        }
        Ok(())
    }

    /// Spot's folder is spoilt while it is down, where the run wants it and it can be by now: money
    /// stops, nothing is executed, and persons put it right.
    fn spoil(&mut self, next_process: &NextProcess) -> Ended {
        let Some(wrong) = folder::spoil(&mut self.env, self.copy.as_ref()) else {
            return Ok(());
        };
        self.spoilt = true;
        self.calm();
        if let Some(operator) = self.operator.take() {
            operator.kill("crashed: they leave");
        }
        self.spot.begin(&mut self.env)?;
        self.rests(STOPPED)?;
        // a worker that was idle all the while heard nothing of it; one that begins now asks
        self.join();
        self.rests(STOPPED)?;
        let (spot, oracles) = (self.spot.clone(), self.env.oracles.clone());
        let looks = async move { show(&spot, &oracles).await };
        self.env.sim.block_on(looks).map_err(|stop| format!("{stop:?}"))?;
        let moves = |member: &Member| member.process.engine.halted().is_none();
        if held(&self.members).iter().any(moves) {
            return Err("another Spot folder is there, and not every worker halts".to_owned());
        }
        self.spot.end(&mut self.env);
        folder::put_right(&mut self.env, &wrong);
        // it is another disk than the one that was calmed
        self.calm();
        self.spot.begin(&mut self.env)?;
        self.start_operators(next_process, true);
        self.resumed().map_err(|why| format!("{why}: HALT stays after the folder was put right"))
    }

    /// This time passes, and no fault strikes in it.
    fn rests(&mut self, ms: Millis) -> Ended {
        self.goes_on(ms)?;
        self.replace()
    }

    fn goes_on(&self, ms: Millis) -> Ended {
        match self.env.sim.run_for(ms) {
            Stop::Time => Ok(()),
            Stop::Idle => {
                // all workers are paused: time goes on all the same
                self.env.sim.stall(ms);
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
                self.env.stats.crash(&why);
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
        let now = self.env.sim.time();
        match self.away {
            Some(until) if until <= now => {
                self.away = None;
                if self.env.draws.once_in(1, 2) {
                    self.env.place.fail_over();
                    self.env.stats.fault("the standby takes over");
                } else {
                    self.env.place.catch_up();
                }
            }
            Some(_) => {}
            None if is_due(&mut self.env, Knob::Standby) => {
                self.env.place.lose_standby();
                self.away = Some(now + 1 + self.env.draws.next() % AWAY);
                self.env.stats.fault("the standby is away");
            }
            None => {}
        }
    }

    /// What becomes of the workers, of Spot and of the clocks in this step.
    fn faults(&mut self, next_process: &NextProcess) -> Ended {
        self.replace()?;
        self.standby();
        for member in held(&self.members).iter_mut() {
            member.faults(&mut self.env);
        }
        if is_due(&mut self.env, Knob::Jump) {
            let options = self.env.options.clone();
            let jump = skew(&mut self.env.draws, &options);
            self.env.sim.skew(jump);
            self.env.stats.fault("the database's clock jumps");
        }
        // one of a folder whose process died in the middle of a write is torn, and does not open
        let lives = !self.spot.is_gone(&mut self.env)?;
        if lives && self.copy.is_none() && self.env.sim.time() >= self.copy_at {
            self.copy = folder::copied(&self.env);
            self.copy_at = Millis::MAX;
        }
        if !self.faults.is_due(&self.spot, &mut self.env)? {
            return Ok(());
        }
        if self.env.options.get(Knob::Folder) > 0 && !self.spoilt {
            self.spoil(next_process)?;
            if self.spoilt {
                self.env.calm(false);
                self.start_operators(next_process, false);
                return Ok(());
            }
        }
        self.spot.begin(&mut self.env)
    }

    /// Why one of the workers is halted.
    fn halted(&self) -> Option<Arc<str>> {
        held(&self.members).iter().find_map(|member| member.process.engine.halted())
    }

    /// Every worker hears that money moves again. The answer to its last look at the flags may be one of
    /// before the resume, given late.
    fn resumed(&mut self) -> Ended {
        let end = self.env.sim.time().saturating_add(RESUMED);
        while let Some(why) = self.halted() {
            if self.env.sim.time() >= end {
                return Err(format!("it rests halted: {why}"));
            }
            self.rests(STEP)?;
        }
        Ok(())
    }

    /// Every worker's own proof finds nothing.
    fn proven(&self) -> Ended {
        let engines: Vec<_> =
            held(&self.members).iter().map(|member| member.process.engine.clone()).collect();
        for engine in engines {
            let asked = engine.clone();
            let proof = async move {
                asked.reconciler.check_now().await?;
                asked.reconciler.check_now().await
            };
            let report = self.env.sim.block_on(proof).map_err(|stop| format!("{stop:?}"))?;
            let report = report.map_err(|cause| cause.to_string())?;
            if !report.breaks.is_empty() {
                return Err(format!("conservation is broken at rest: {:?}", report.breaks));
            }
        }
        Ok(())
    }
}
