//! The executor of the simulation: one thread, virtual time and one seed, on which the real parts run.
//!
//! Which ready task goes next is drawn from the seed, so another seed is another interleaving and
//! the same seed is the same run. A crash drops every task at once; what a port keeps outside of
//! them (a disk, a journal's rows, another ledger) is what a real crash would leave.

use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::clock::{Clock, Rng};
use kernel::ports::spawn::{OnEnd, Spawn, Task};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Where virtual time begins: early enough to be no real time, late enough to subtract from.
pub const DAWN: Millis = 1_600_000_000_000;

/// What a port calls when its plan says that the process dies here.
pub type Crash = Arc<dyn Fn(&str) + Send + Sync>;

/// Why a run came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// Nothing is ready and no task sleeps.
    Idle,
    /// The virtual time that was asked for has come.
    Time,
    /// The process died: it was killed, or a task panicked whose death ends it.
    Dead(Arc<str>),
}

struct Inner {
    now: Millis,
    /// What an operator did to the wall clocks of processes.
    skews: BTreeMap<u64, i64>,
    /// Draws the schedule; apart from `chance`, so that a draw of the product moves no task.
    schedule: SplitMix,
    chance: SplitMix,
    next: u64,
    ready: BTreeSet<u64>,
    tasks: BTreeMap<u64, Running>,
    /// Processes that stand still while time goes on for the others.
    paused: BTreeSet<u64>,
    /// Processes that died while others live, and why.
    fallen: BTreeMap<u64, Arc<str>>,
    /// One of them may still have tasks.
    unburied: bool,
    sleepers: BTreeMap<(Millis, u64), Waker>,
    dead: Option<Arc<str>>,
    /// How many times a task was run.
    steps: u64,
    /// The maximum number of steps.
    most: u64,
}

/// A task of one process.
struct Running {
    task: Task,
    future: Fut<'static, ()>,
    process: u64,
}

/// The simulated process and its time. A handle: clones are the same one.
///
/// Several processes may share one time: [`Sim::process`] gives each a handle of its own, through
/// which it starts tasks and dies alone. The process 0 is the world around them.
#[derive(Clone)]
pub struct Sim(Arc<Mutex<Inner>>, u64);

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.inner();
        f.debug_struct("Sim")
            .field("now", &inner.now)
            .field("tasks", &inner.tasks.len())
            .field("dead", &inner.dead)
            .finish_non_exhaustive()
    }
}

impl Inner {
    /// Whether this task may be polled.
    fn runs(&self, id: u64) -> bool {
        self.paused.is_empty()
            || self.tasks.get(&id).is_none_or(|task| !self.paused.contains(&task.process))
    }

    fn runnable(&self) -> usize {
        if self.paused.is_empty() {
            return self.ready.len();
        }
        self.ready.iter().filter(|id| self.runs(**id)).count()
    }
}

impl Sim {
    /// A process that has not begun.
    pub fn new(seed: u64) -> Self {
        Self(
            Arc::new(Mutex::new(Inner {
                now: DAWN,
                skews: BTreeMap::new(),
                schedule: SplitMix(seed),
                chance: SplitMix(seed ^ 0xD1B5_4A32_D192_ED03),
                next: 0,
                ready: BTreeSet::new(),
                tasks: BTreeMap::new(),
                paused: BTreeSet::new(),
                fallen: BTreeMap::new(),
                unburied: false,
                sleepers: BTreeMap::new(),
                dead: None,
                steps: 0,
                most: u64::MAX,
            })),
            0,
        )
    }

    /// A process among others, by a number above 0 that is never used again.
    #[must_use]
    pub fn process(&self, number: u64) -> Self {
        Self(self.0.clone(), number)
    }

    /// This process stands still, and goes on as if nothing had been when it is resumed. Its time
    /// passes.
    pub fn pause(&self) {
        let mut inner = self.inner();
        inner.paused.insert(self.1);
    }

    /// Lets a paused process go on.
    pub fn resume(&self) {
        self.inner().paused.remove(&self.1);
    }

    /// Why this process died while others live.
    pub fn fallen(&self) -> Option<Arc<str>> {
        self.inner().fallen.get(&self.1).cloned()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A task that takes more steps than this is dead: what goes on for ever ends so, and always at the
    /// same step.
    pub fn bound(&self, most: u64) {
        self.inner().most = most;
    }

    /// How many times a task was run, over all processes.
    pub fn steps(&self) -> u64 {
        self.inner().steps
    }

    /// The true virtual time, whatever was done to the wall clock.
    pub fn time(&self) -> Millis {
        self.inner().now
    }

    /// Sets the wall clock of this process wrong by this time; sleeps are not touched.
    pub fn skew(&self, ms: i64) {
        self.inner().skews.insert(self.1, ms);
    }

    /// The whole process stands still for this time and goes on as if nothing had been: whatever was
    /// to happen meanwhile happens afterwards.
    pub fn stall(&self, ms: Millis) {
        let mut inner = self.inner();
        inner.now = inner.now.saturating_add(ms);
    }

    /// Ends the process at the next point where a task waits. Tasks go without a word, as in a
    /// real crash; [`Sim::revive`] begins the next process.
    pub fn kill(&self, why: &str) {
        let mut inner = self.inner();
        if self.1 == 0 {
            inner.dead.get_or_insert_with(|| why.into());
        } else {
            inner.fallen.entry(self.1).or_insert_with(|| why.into());
            inner.unburied = true;
        }
    }

    /// Kills, for ports that die by plan.
    pub fn crash(&self) -> Crash {
        let sim = self.clone();
        Arc::new(move |why| sim.kill(why))
    }

    /// True between a death and the next process.
    pub fn is_dead(&self) -> bool {
        self.inner().dead.is_some()
    }

    /// Begins the next process on the same clock. Returns why the last one died.
    pub fn revive(&self) -> Option<Arc<str>> {
        self.bury();
        self.inner().dead.take()
    }

    /// Adds a task that is not waited for.
    pub fn start(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.spawn(Task { name: "test", on_end: OnEnd::EndsProcess }, Box::pin(future));
    }

    /// Runs until nothing is left to do before `until`, jumping over idle time.
    pub fn run_until(&self, until: Millis) -> Stop {
        self.bury_fallen();
        loop {
            while let Some(id) = self.pick() {
                self.poll(id);
                self.bury_fallen();
            }
            self.bury_fallen();
            let mut inner = self.inner();
            if let Some(why) = inner.dead.clone() {
                drop(inner);
                self.bury();
                return Stop::Dead(why);
            }
            match inner.sleepers.first_key_value().map(|((at, _), _)| *at) {
                Some(at) if at > until => {
                    inner.now = later(inner.now, until);
                    return Stop::Time;
                }
                Some(at) => {
                    inner.now = later(inner.now, at);
                    let first = inner.sleepers.pop_first();
                    drop(inner);
                    if let Some((_, waker)) = first {
                        waker.wake();
                    }
                }
                None => return Stop::Idle,
            }
        }
    }

    /// Runs for this virtual time.
    pub fn run_for(&self, ms: Millis) -> Stop {
        self.run_until(self.time().saturating_add(ms))
    }

    /// Runs one future, and whatever else there is, until it ends or can no longer end.
    ///
    /// # Errors
    /// Why it did not end. Sleepers are waited for without limit, so `Time` is not among them.
    pub fn block_on<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Stop> {
        let slot = Arc::new(Mutex::new(None));
        let filled = slot.clone();
        self.start(async move {
            let value = future.await;
            *filled.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        });
        let take = || slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        loop {
            // in small steps: background tasks may sleep and wake for ever
            let stop = self.step();
            if let Some(value) = take() {
                return Ok(value);
            }
            if let Some(stop) = stop {
                return Err(stop);
            }
            if let Some(why) = self.fallen() {
                return Err(Stop::Dead(why));
            }
        }
    }

    /// Runs what is ready, then lets time pass to the next sleeper. Some where there is no next.
    fn step(&self) -> Option<Stop> {
        let next = self.inner().sleepers.first_key_value().map(|((at, _), _)| *at);
        let ready = self.inner().runnable() > 0;
        let until = match next {
            Some(at) if !ready => at,
            Some(_) | None => self.time(),
        };
        match self.run_until(until) {
            Stop::Time => None,
            Stop::Idle => Some(Stop::Idle),
            Stop::Dead(why) => Some(Stop::Dead(why)),
        }
    }

    /// The next task to poll; none where nothing is ready or the process is dead.
    fn pick(&self) -> Option<u64> {
        let mut inner = self.inner();
        let ready = u64::try_from(inner.runnable()).unwrap_or(u64::MAX);
        if ready == 0 || inner.dead.is_some() {
            return None;
        }
        let at = usize::try_from(inner.schedule.next() % ready).unwrap_or(0);
        let id = inner.ready.iter().filter(|id| inner.runs(**id)).nth(at).copied()?;
        inner.ready.remove(&id);
        inner.steps += 1;
        if inner.steps > inner.most {
            inner.dead = Some(format!("it goes on for more than {} steps", inner.most).into());
            return None;
        }
        Some(id)
    }

    fn poll(&self, id: u64) {
        let Some(running) = self.inner().tasks.remove(&id) else { return };
        let Running { task, mut future, process } = running;
        let waker = Waker::from(Arc::new(Bell { sim: self.clone(), id }));
        let mut cx = Context::from_waker(&waker);
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut cx))) {
            Ok(Poll::Pending) => {
                self.inner().tasks.insert(id, Running { task, future, process });
            }
            Ok(Poll::Ready(())) => {}
            Err(panic) if task.on_end == OnEnd::EndsProcess => {
                let why = format!("{} panicked: {}", task.name, said(&*panic));
                self.process(process).kill(&why);
            }
            Err(_) => {}
        }
    }

    /// Drops what processes had that died while others live.
    pub fn bury_fallen(&self) {
        loop {
            let mut inner = self.inner();
            if !inner.unburied {
                return;
            }
            let Inner { tasks, fallen, unburied, .. } = &mut *inner;
            let theirs = tasks.iter().find(|(_, task)| fallen.contains_key(&task.process));
            let Some(id) = theirs.map(|(id, _)| *id) else {
                // no task of theirs is begun any more
                *unburied = false;
                return;
            };
            let task = inner.tasks.remove(&id);
            inner.ready.remove(&id);
            drop(inner);
            drop(task);
        }
    }

    /// Drops what the dead process had. Dropping may wake others, so nothing is locked meanwhile.
    fn bury(&self) {
        loop {
            let mut inner = self.inner();
            let tasks = std::mem::take(&mut inner.tasks);
            let sleepers = std::mem::take(&mut inner.sleepers);
            inner.ready.clear();
            inner.paused.clear();
            drop(inner);
            if tasks.is_empty() && sleepers.is_empty() {
                return;
            }
        }
    }
}

/// The sentence of a panic.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

const fn later(a: Millis, b: Millis) -> Millis {
    if a > b { a } else { b }
}

impl Spawn for Sim {
    fn spawn(&self, task: Task, future: Fut<'static, ()>) {
        let mut inner = self.inner();
        if inner.dead.is_some() || inner.fallen.contains_key(&self.1) {
            drop(inner);
            return;
        }
        let id = inner.next;
        inner.next += 1;
        inner.tasks.insert(id, Running { task, future, process: self.1 });
        inner.ready.insert(id);
    }
}

impl Rng for Sim {
    fn next(&self) -> u64 {
        self.inner().chance.next()
    }
}

impl Clock for Sim {
    fn now(&self) -> Millis {
        let inner = self.inner();
        inner.now.saturating_add_signed(inner.skews.get(&self.1).copied().unwrap_or_default())
    }

    fn ticks(&self) -> u64 {
        self.inner().now.saturating_mul(1_000_000)
    }

    fn sleep(&self, ms: Millis) -> Fut<'static, ()> {
        let mut inner = self.inner();
        let at = inner.now.saturating_add(ms);
        let id = inner.next;
        inner.next += 1;
        drop(inner);
        Box::pin(Sleep { sim: self.clone(), key: (at, id) })
    }
}

/// Lets others run once.
pub async fn breath() {
    let mut taken = false;
    poll_fn(|cx| {
        if taken {
            return Poll::Ready(());
        }
        taken = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The process dies here: the task that waits for this never hears of it.
pub(crate) async fn die(crash: &Crash, why: &str) {
    crash(why);
    pending::<()>().await;
}

struct Bell {
    sim: Sim,
    id: u64,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.sim.inner().ready.insert(self.id);
    }
}

struct Sleep {
    sim: Sim,
    key: (Millis, u64),
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut inner = self.sim.inner();
        if inner.now >= self.key.0 {
            return Poll::Ready(());
        }
        inner.sleepers.insert(self.key, cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let waker = self.sim.inner().sleepers.remove(&self.key);
        // outside the lock: dropping a waker may drop the process it belongs to
        drop(waker);
    }
}

/// `SplitMix64`: small, seedable, good enough to choose with.
#[derive(Debug, Clone)]
pub struct SplitMix(pub u64);

impl SplitMix {
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// True `n` times in `of`.
    pub const fn once_in(&mut self, n: u64, of: u64) -> bool {
        of != 0 && self.next() % of < n
    }
}

#[cfg(test)]
mod tests {
    use super::{Sim, Stop};
    use kernel::ports::clock::Clock;
    use kernel::ports::spawn::{OnEnd, Spawn, Task};
    use std::sync::{Arc, Mutex};

    /// Turns red where a run that comes to no end hangs, instead of being found.
    #[test]
    fn what_goes_on_for_ever_dies_at_the_same_step() {
        let sim = Sim::new(1);
        sim.bound(1_000);
        sim.start(async {
            loop {
                super::breath().await;
            }
        });
        let stop = sim.run_for(1);
        assert_eq!(stop, Stop::Dead("it goes on for more than 1000 steps".into()));
        assert_eq!(sim.steps(), 1_001);
    }

    /// Ten tasks that each sleep a little and note that they woke.
    fn order(seed: u64) -> Vec<u64> {
        let (sim, seen) = (Sim::new(seed), Arc::new(Mutex::new(Vec::new())));
        for n in 0..10_u64 {
            let (clock, seen) = (sim.clone(), seen.clone());
            sim.start(async move {
                clock.sleep(10 * (n % 2)).await;
                seen.lock().unwrap().push(n);
            });
        }
        assert_eq!(sim.run_for(1_000), Stop::Idle);
        seen.lock().unwrap().clone()
    }

    #[test]
    fn a_seed_is_a_schedule() {
        assert_eq!(order(1), order(1));
        assert!((2..9).any(|seed| order(seed) != order(1)));
        for seed in 0..5 {
            let mut all = order(seed);
            all.sort_unstable();
            assert_eq!(all, (0..10).collect::<Vec<_>>());
        }
    }

    #[test]
    fn time_jumps_to_the_next_sleeper_and_no_further() {
        let sim = Sim::new(7);
        let (clock, from) = (sim.clone(), sim.time());
        sim.start(async move { clock.sleep(86_400_000).await });
        assert_eq!(sim.run_for(1_000), Stop::Time);
        assert_eq!(sim.time(), from + 1_000);
        assert_eq!(sim.run_for(86_400_000), Stop::Idle);
        assert_eq!(sim.time(), from + 86_400_000);
        sim.skew(-3_600_000);
        assert_eq!(sim.now(), from + 82_800_000);
    }

    #[test]
    fn a_crash_drops_every_task_and_the_next_process_begins() {
        let (sim, alive) = (Sim::new(3), Arc::new(()));
        let (clock, held) = (sim.clone(), alive.clone());
        sim.start(async move {
            let _held = held;
            clock.sleep(10).await;
            clock.sleep(10).await;
        });
        let (clock, killer) = (sim.clone(), sim.clone());
        sim.start(async move {
            clock.sleep(15).await;
            killer.kill("kill -9");
        });
        assert_eq!(sim.run_for(100), Stop::Dead("kill -9".into()));
        assert_eq!(Arc::strong_count(&alive), 1);
        assert!(sim.block_on(async {}).is_err());
        assert_eq!(sim.revive().as_deref(), Some("kill -9"));
        assert_eq!(sim.block_on(async { 5 }), Ok(5));
    }

    #[test]
    fn a_panic_ends_the_process_only_where_the_task_says_so() {
        let sim = Sim::new(4);
        let task = |on_end| Task { name: "x", on_end };
        sim.spawn(task(OnEnd::Harmless), Box::pin(async { panic!("no harm") }));
        assert_eq!(sim.run_for(1), Stop::Idle);
        sim.spawn(task(OnEnd::EndsProcess), Box::pin(async { panic!("the end") }));
        assert_eq!(sim.run_for(1), Stop::Dead("x panicked: the end".into()));
    }

    #[test]
    fn what_can_never_end_is_said_to_be_idle() {
        let sim = Sim::new(5);
        assert_eq!(sim.block_on(std::future::pending::<()>()), Err(Stop::Idle));
        let clock = sim.clone();
        let slept = async move {
            clock.sleep(5).await;
            1
        };
        assert_eq!(sim.block_on(slept), Ok(1));
    }
}
