//! Runs the phases of a run: first without faults, then with every kind of fault, then without faults again until
//! all transfers end.

use super::clients::{ASSETS, Clients, GIVEN, one, terms};
use super::env::{Env, Process};
use super::folder::{self, Copy, Wrong};
use super::operator::OneOperator;
use super::trace::{Reader, Trace};
use super::workers::play_workers;
use super::{Build, Knob, Options, Verdict, fault_plan, operators};
use crate::disk::DiskFault;
use crate::world::{DAWN, Stop};
use engine::Engine;
use kernel::ids::{LedgerId, Millis, UserId};
use kernel::ports::clock::Clock;
use kernel::ports::ledger::World;
use std::cell::Cell;
use std::sync::Arc;
use testkit::deposit;

/// How long things may go wrong, in virtual time.
const SAFETY: Millis = 600_000;
/// How long all may take to end once nothing goes wrong, however far the wall clock was ahead before.
const LIVENESS: Millis = 600_000;
/// More deaths than any run has.
const LIVES: u64 = 2_000;
/// How long money stays stopped before the folder is put right.
const STOPPED: Millis = 20_000;

/// What ends a run before its time.
type Ended = Result<(), String>;

/// Plays a run to its end.
pub fn run(options: &Options, build: Arc<dyn Build>, reader: Option<Reader>) -> Verdict {
    within(options, build, reader, &|| true)
}

/// Plays a run for as long as the caller is patient; what is cut off before its end is not judged,
/// but for what was wrong until then.
pub fn within(
    options: &Options,
    build: Arc<dyn Build>,
    reader: Option<Reader>,
    patient: &dyn Fn() -> bool,
) -> Verdict {
    if options.get(Knob::Workers) > 1 {
        return play_workers(options, build, reader, patient);
    }
    let trace = Trace::new(reader);
    let Some(env) = Env::new(options, build, trace.clone()) else {
        let broken = Some("there is no such flow".to_owned());
        return Verdict { hash: 0, counts: super::Counts::default(), broken, cut: false };
    };
    let clients = Clients::new(&env);
    let mut run = Run { clients, env, life: 0, copy: None, patient, cut: Cell::new(false) };
    let ended = run.play();
    let (env, cut) = (&run.env, run.cut.get());
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
    if let Some(broken) = &broken {
        trace.remark(env.sim.time(), format_args!("BROKEN: {broken}"));
    }
    let verdict = Verdict { hash: trace.hash(), counts: env.stats.read(), broken, cut };
    env.sim.revive();
    verdict
}

/// Every user has money at both ends.
pub(super) fn prepare(env: &Env, process: Process) -> Result<Process, String> {
    let (flow, users) = (env.flow, env.options.some(Knob::Users));
    let build = env.build.clone();
    let (engine, world) = (process.engine.clone(), process.world.clone());
    let prepares = async move {
        for user in (1..=users).map(UserId) {
            for asset in ASSETS {
                let movement = deposit(&format!("start {user} {asset}"), user.0, asset, GIVEN);
                world.external(movement).await.map_err(|cause| cause.to_string())?;
                let ends = (LedgerId::FUNDING, LedgerId::SPOT);
                let terms = terms(&format!("start {user} {asset}"), user, ends, (asset, GIVEN / 2));
                build.create(engine.clone(), flow, terms).await.map_err(|r| format!("{r:?}"))?;
            }
        }
        Ok::<_, String>(())
    };
    match env.sim.block_on(prepares) {
        Ok(prepared) => prepared.map(|()| process),
        Err(stop) => Err(format!("it cannot begin: {stop:?}")),
    }
}

/// Every transfer has ended, but for those that can never.
fn all_ended(env: &Env) -> bool {
    let oracles = &env.oracles;
    if oracles.transfers().1 == 0 {
        return true;
    }
    let irreversible = env.options.get(Knob::Irreversible) > 0;
    let stays = |id| irreversible && oracles.for_ever(id, LedgerId::SPOT);
    oracles.open().iter().all(|(id, _)| stays(*id))
}

/// Everything has ended and every client was answered, but for what can never end.
pub(super) fn all_over(env: &Env, clients: &Clients) -> bool {
    let stay = env.oracles.transfers().1 > 0;
    all_ended(env) && (stay || clients.over())
}

struct Run<'a> {
    env: Env,
    clients: Clients,
    life: u64,
    copy: Option<Copy>,
    patient: &'a dyn Fn() -> bool,
    cut: Cell<bool>,
}

impl Run<'_> {
    /// The caller waits for the end of this run no longer.
    fn is_cut(&self) -> bool {
        let cut = self.cut.get() || !(self.patient)();
        self.cut.set(cut);
        cut
    }

    fn play(&mut self) -> Ended {
        let process = self.begin()?;
        let process = prepare(&self.env, process)?;
        let process = self.safety(process)?;
        self.liveness(process)
    }

    /// The next process that lives through its start.
    fn begin(&mut self) -> Result<Process, String> {
        loop {
            self.life += 1;
            if self.life > LIVES {
                return Err("it dies for ever".to_owned());
            }
            self.env.bury();
            match self.env.start() {
                Ok(process) => return Ok(process),
                Err(stop) => self.died(stop)?,
            }
        }
    }

    /// A death that was meant is counted; any other ends the run.
    fn died(&self, stop: Stop) -> Ended {
        match stop {
            Stop::Dead(why) if why.starts_with("crashed") => {
                self.env.stats.crash(&why);
                self.env.trace.remark(self.env.sim.time(), format_args!("{why}"));
                Ok(())
            }
            Stop::Dead(why) => Err(why.to_string()),
            Stop::Idle => Err("nothing happens any more".to_owned()),
            Stop::Time => Err("it does not end".to_owned()),
        }
    }

    /// Everything goes wrong, until every client was answered or the time is over.
    fn safety(&mut self, mut process: Process) -> Result<Process, String> {
        self.env.calm(false);
        let mut end = self.env.sim.time().saturating_add(SAFETY);
        let mut spoilt = None;
        let mut copy_at = self.env.sim.time() + 1 + self.env.draws.next() % 4_000;
        loop {
            self.set_to_work(&process);
            let stop = self.until(&mut end, &mut copy_at);
            drop(process);
            let over = match stop {
                Ok(()) => true,
                Err(stop) => {
                    self.died(stop)?;
                    self.env.sim.time() >= end
                }
            };
            if over {
                self.env.calm(true);
            }
            if spoilt.is_none() && self.env.options.get(Knob::Folder) > 0 {
                self.env.bury();
                spoilt = folder::spoil(&mut self.env, self.copy.as_ref());
                if let Some(wrong) = &spoilt {
                    self.stopped(wrong)?;
                    self.env.calm(over);
                }
            }
            process = self.begin()?;
            if over {
                return Ok(process);
            }
        }
    }

    /// Clients, operators and faults start on a process.
    fn set_to_work(&self, process: &Process) {
        self.clients.start(&one(process));
        let operator = OneOperator::new(&self.env, self.life);
        self.env.sim.start(operator.work(one(process)));
        operators::work(&self.env, (&self.env.sim, self.life), &one(process));
        fault_plan::loose(&self.env, self.life);
    }

    fn until(&mut self, end: &mut Millis, copy_at: &mut Millis) -> Result<(), Stop> {
        loop {
            if self.is_cut() {
                return Err(Stop::Dead("cut off".into()));
            }
            match self.env.sim.run_for(200) {
                Stop::Dead(why) => return Err(Stop::Dead(why)),
                Stop::Time | Stop::Idle => {}
            }
            *end = end.saturating_add(self.env.night());
            let now = self.env.sim.time();
            if self.copy.is_none() && now >= *copy_at {
                self.copy = folder::copied(&self.env);
                *copy_at = Millis::MAX;
            }
            if self.clients.over() || now >= *end {
                return Ok(());
            }
        }
    }

    /// Processes over a folder that is not what the journal knows: each halts, and nothing is
    /// executed.
    fn stopped(&mut self, wrong: &Wrong) -> Ended {
        self.env.calm(true);
        for _ in 0..2 {
            let process = self.begin()?;
            self.clients.start(&one(&process));
            match self.env.sim.run_for(STOPPED) {
                Stop::Dead(why) => return Err(why.to_string()),
                Stop::Time | Stop::Idle => {}
            }
            let spot = process.spot.clone();
            let oracles = self.env.oracles.clone();
            let looks = async move { super::observed_ledger::show(&*spot, &oracles).await };
            self.env.sim.block_on(looks).map_err(|stop| format!("{stop:?}"))?;
            if process.engine.halted().is_none() {
                return Err("another Spot folder is there, and no process halts".to_owned());
            }
        }
        self.env.bury();
        folder::put_right(&mut self.env, wrong);
        // it is another disk than the one that was calmed
        self.env.calm(true);
        let process = self.begin()?;
        let operator = OneOperator::new(&self.env, self.life);
        self.env.sim.start(operator.clear_up(one(&process)));
        self.wait(60_000, |_| process.engine.halted().is_none())
            .map_err(|why| format!("{why}: HALT stays after the folder was put right"))?;
        drop(process);
        Ok(())
    }

    /// Nothing goes wrong any more, and all must end.
    fn liveness(&mut self, process: Process) -> Ended {
        self.clients.start(&one(&process));
        let operator = OneOperator::new(&self.env, self.life);
        self.env.sim.start(operator.clear_up(one(&process)));
        self.wait(LIVENESS, |run| all_over(&run.env, &run.clients))
            .map_err(|why| self.left(&why))?;
        let again = self.clients.clone().all_again(process.clone());
        self.env.sim.block_on(again).map_err(|stop| format!("{stop:?}"))?;
        let rest = self.env.sim.clone();
        self.env
            .sim
            .block_on(async move { rest.sleep(5_000).await })
            .map_err(|s| format!("{s:?}"))?;
        self.proven(process.engine)
    }

    /// Runs without faults until it holds.
    fn wait(&self, most: Millis, holds: impl Fn(&Self) -> bool) -> Ended {
        let end = self.env.sim.time().saturating_add(most);
        while !holds(self) {
            if self.is_cut() {
                return Err("cut off".to_owned());
            }
            if self.env.sim.time() >= end {
                return Err("it does not end".to_owned());
            }
            match self.env.sim.run_for(500) {
                Stop::Dead(why) => return Err(why.to_string()),
                Stop::Time | Stop::Idle => {}
            }
        }
        Ok(())
    }

    fn left(&self, why: &str) -> String {
        let open: Vec<_> = self.env.oracles.open().into_iter().take(5).collect();
        format!("{why}: {open:?} stay open, and clients wait: {}", !self.clients.over())
    }

    /// The product's own proof finds nothing.
    fn proven(&self, engine: Arc<Engine>) -> Ended {
        let asked = engine.clone();
        let proof = async move {
            let first = asked.reconciler.check_now().await?;
            let second = asked.reconciler.check_now().await?;
            Ok::<_, kernel::answer::Cause>([first.breaks.clone(), second.breaks.clone()].concat())
        };
        let breaks = self.env.sim.block_on(proof).map_err(|stop| format!("{stop:?}"))?;
        let breaks = breaks.map_err(|cause| cause.to_string())?;
        if !breaks.is_empty() {
            return Err(format!("conservation is broken at rest: {breaks:?}"));
        }
        match engine.halted() {
            Some(why) => Err(format!("it rests halted: {why}")),
            None => Ok(()),
        }
    }
}
