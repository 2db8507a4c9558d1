//! The generic tests for a flow that sends: every step twice, every step failed, a crash at every write and at
//! every call of its chains.
//!
//! A [`ChainCase`] is some transfers that are opened together, and how each must end. Whatever disturbs it, each
//! transfer ends so, at most one form of each lock is final, no attempt stays open, and no operator gets a case.
//! The flow's own oracle checks the rest.

mod deaths;
mod drawn;
mod held_lane;
mod matrix;
mod oracle;
mod places;
mod rows;
mod set_back;
mod waits;
mod workers;

pub use deaths::{ChainDeathPoint, ChainDeaths, ChainDyingWrites, NextChainDeath};
pub(crate) use drawn::DrawnCase;
pub use drawn::{ChainPlay, ChainRun};
pub use held_lane::HeldLane;
pub use matrix::ChainMatrix;
pub use oracle::chain_faults;
pub use rows::{UNREACHED, Unreached, cases_of_rows, crash_at_every_row, unplayed_rows};
pub use set_back::ChainSetBack;
pub use workers::{ChainWorker, ChainWorkers, joined, some_lanes};

use self::held_lane::{TransferEnd, ends};
use self::waits::{CaseWatch, RELAY, STUCK_SECONDS};
use super::FreshSite;
use crate::chain::{
    ChainCall, ChainFlow, ChainPorts, ChainRules, ChainTrouble, LinkedChain, Locking, Moment,
    PlayedChain, SimVault,
};
use crate::event_log::LoggedEvent;
use crate::journal::{Fault, Place};
use crate::service::{PortWraps, SimProcess, SimService, simulated};
use crate::world::{DAWN, Sim};
use conformance::journal::Site;
use engine::Engine;
use kernel::flow::table::{Flows, S};
use kernel::ids::Millis;
use kernel::operators::OpenCase;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::ports::journal::Journal;
use kernel::record::Record;
use kernel::retry::Backoff;
use std::collections::BTreeSet;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

/// Where one run is played: what a service is made of, and what its chains draw from.
#[expect(missing_debug_implementations, reason = "a site is a closure")]
pub struct CaseEnv {
    /// Time, and the tasks of every process.
    pub sim: Sim,
    /// The tables of every flow that is known.
    pub flows: Arc<Flows>,
    /// What makes the journal of each process.
    pub site: Site,
    /// What the chains draw from.
    pub seed: u64,
}

/// How much was done to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harm {
    /// At most one step failed or was done twice.
    Step,
    /// One process died, or one of its calls did or never arrived, once: an attempt may be lost with it, which counts.
    Death,
    /// More than that, or a chain on a bad day.
    More,
}

/// A case of a flow that sends.
pub trait ChainCase: Clone + fmt::Debug + Send + Sync + 'static {
    /// What it is played over.
    type Chain: PlayedChain;
    /// Every case of the flow.
    fn all() -> Vec<Self>;
    /// The stored name of its flow.
    fn flow(&self) -> &'static str;
    /// What it shows, in a few words.
    fn words(&self) -> &'static str;
    /// Its flow over chains that are as the case finds them, by this clock.
    fn over(&self, rules: ChainRules, clock: Arc<dyn Clock>, seed: u64) -> ChainFlow<Self::Chain>;
    /// What its clients do at one process, until every transfer ended.
    fn insists(&self, at: ClientOf<Self>) -> Fut<'static, Result<Vec<Record>, String>>;
    /// What is wrong with how its transfers ended on these chains, beside what those say of themselves.
    fn faults(&self, chains: &[Self::Chain], ended: &[Record], harm: Harm) -> Vec<String>;

    /// True where a contract may refuse one of its receivers, which then waits for the payment of another one.
    fn may_be_refused(&self) -> bool {
        false
    }

    /// How long a process waits between its looks at a chain.
    fn backoff(&self) -> Backoff {
        Backoff { base: 100, cap: 5_000 }
    }

    /// The service without a process, and its chains.
    fn service(&self, rules: ChainRules, env: CaseEnv) -> (SimService, ChainPorts<Self::Chain>) {
        let CaseEnv { sim, flows, site, seed } = env;
        let played = self.over(rules, Arc::new(sim.clone()), seed);
        let ports = ChainPorts::new(&sim, &flows, played);
        let mut service = ports.service(sim, flows, site);
        service.settings.backoff = self.backoff();
        if self.flow() == RELAY {
            service.settings.alerts.after_seconds = STUCK_SECONDS;
        }
        (service, ports)
    }
}

/// How long a deposit waits for what does not come: longer than what goes wrong on the simulated way lasts.
const WAIT_MS: Millis = 15_000;

/// One process, as the clients of a case see it whose deposits are paid into such a vault.
#[derive(Clone)]
pub struct ChainClient<V = SimVault> {
    /// Where they open transfers.
    pub engine: Arc<Engine>,
    /// Where they read what became of them.
    pub journal: Arc<dyn Journal>,
    /// What they wait by.
    pub clock: Arc<dyn Clock>,
    /// How many cases were played on the journal before, on other chains of the same names.
    pub series: usize,
    /// Until when a deposit waits for what does not come, by its chain's time.
    pub deadline: Millis,
    /// Where deposits are paid in.
    pub vault: Option<V>,
}

/// One process, as the clients of such a case see it.
pub type ClientOf<C> = ChainClient<<<C as ChainCase>::Chain as PlayedChain>::Vault>;

impl<V> fmt::Debug for ChainClient<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainClient").finish_non_exhaustive()
    }
}

impl<V: Clone> ChainClient<V> {
    /// At this process, on this time.
    pub fn at<C: PlayedChain<Vault = V>>(
        sim: &Sim,
        process: &SimProcess,
        ports: &ChainPorts<C>,
    ) -> Self {
        let (engine, journal) = (process.engine.clone(), process.opened.journal.clone());
        let (clock, vault) = (Arc::new(sim.clone()), ports.vault.clone());
        Self { engine, journal, clock, series: 0, deadline: DAWN + WAIT_MS, vault }
    }
}

/// A flow on one sort of chain, and what it is played with.
#[derive(Clone)]
pub struct ChainTrial<C> {
    /// How its chains behave, and their locks.
    pub rules: ChainRules,
    /// The cases that are played.
    pub cases: Vec<C>,
    /// The schedules that each disturbance is tried with.
    pub seeds: std::ops::Range<u64>,
    /// Whether it is played fused, plain, or both.
    pub fuse: Vec<bool>,
    /// What makes the journal of each run.
    pub site: FreshSite,
    /// What stands around the ports of each process: a wrong build.
    pub wraps: PortWraps,
}

impl<C> fmt::Debug for ChainTrial<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainTrial").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl<C: ChainCase> ChainTrial<C> {
    /// All cases on the simulated journal.
    pub fn new(rules: ChainRules) -> Self {
        Self {
            rules,
            cases: C::all(),
            seeds: 0..1,
            fuse: vec![true, false],
            site: Arc::new(simulated),
            wraps: PortWraps::default(),
        }
    }
}

/// One place to disturb, counted from where the case begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Spot {
    Write(u64, Fault),
    /// A call of the chain at that place among the flow's chains.
    Call(usize, u64, ChainTrouble),
    /// A time at which something is learnt.
    Learn(u64, ChainTrouble),
}

impl Spot {
    const fn harm(self) -> Harm {
        match self {
            Self::Write(_, Fault::CrashBefore | Fault::CrashAfter)
            | Self::Call(
                _,
                _,
                ChainTrouble::CrashBefore
                | ChainTrouble::CrashAfter
                | ChainTrouble::PanicBefore
                | ChainTrouble::PanicAfter
                | ChainTrouble::LoseRequest,
            )
            | Self::Learn(_, ChainTrouble::CrashBefore | ChainTrouble::CrashAfter) => Harm::Death,
            Self::Write(..) | Self::Call(..) | Self::Learn(..) => Harm::Step,
        }
    }
}

/// What the undisturbed case took.
struct Calm {
    writes: u64,
    /// The calls of each chain, with how it locks.
    chains: Vec<(Locking, Vec<ChainCall>)>,
    /// Where those stood of whom something was learnt, each time.
    learns: Vec<Vec<S>>,
    /// The writes, where the journal is the simulated one.
    log: Vec<LoggedEvent>,
    /// The time until all had ended.
    took: Millis,
    /// Each transfer, in the order in which they are asked for.
    ends: Vec<TransferEnd>,
}

/// Plays every case without a disturbance but for what the chain's rules say.
pub fn undisturbed<C: ChainCase>(trial: &ChainTrial<C>) {
    each(trial, |_| Vec::new());
}

/// Each step is done twice: the answer of each write and of each call is lost after its effect, and what is
/// sent arrives twice.
pub fn every_step_twice<C: ChainCase>(trial: &ChainTrial<C>) {
    each(trial, |calm| {
        let mut all = spots(calm, &[Fault::LostAfter], &[ChainTrouble::LoseReply]);
        all.extend(spots(calm, &[], &[ChainTrouble::PanicAfter]));
        all.extend(twice(calm));
        let mut each: Vec<Vec<Spot>> = all.iter().map(|spot| vec![*spot]).collect();
        each.push(spots(calm, &[Fault::LostAfter], &[ChainTrouble::LoseReply]));
        each
    });
}

/// Each step fails once, in every way that leaves the process alive.
pub fn every_step_failed<C: ChainCase>(trial: &ChainTrial<C>) {
    each(trial, |calm| {
        let failed = spots(calm, &[Fault::LostBefore, Fault::Full], &ChainTrouble::HINDRANCES);
        let all = spots(calm, &[Fault::LostBefore], &[ChainTrouble::LoseRequest]);
        failed.iter().map(|spot| vec![*spot]).chain([all]).collect()
    });
}

/// The process dies before and after each write and each call of a chain, and again while it recovers.
pub fn crash_after_every_write<C: ChainCase>(trial: &ChainTrial<C>) {
    each(trial, |calm| {
        let mut all: Vec<Vec<Spot>> = deaths(calm).into_iter().map(|spot| vec![spot]).collect();
        for n in 0..calm.writes {
            let second = Spot::Write(n + 2, Fault::CrashAfter);
            all.push(vec![Spot::Write(n, Fault::CrashAfter), second]);
        }
        all
    });
}

/// The process dies once, before and after each write and each call. Gives back where it died, of one flow.
pub fn crash_matrix<C: ChainCase>(trial: &ChainTrial<C>, flow: &str) -> ChainMatrix {
    let mut matrix = ChainMatrix::of(flow);
    for (case, fuse, seed) in runs(trial).filter(|(case, ..)| case.flow() == flow) {
        let calm = play(trial, case, (fuse, seed), &[]);
        for spot in deaths(&calm) {
            play(trial, case, (fuse, seed), &[spot]);
            matrix.died(fuse, &calm, spot);
        }
    }
    matrix
}

fn deaths(calm: &Calm) -> Vec<Spot> {
    let troubles = [ChainTrouble::CrashBefore, ChainTrouble::CrashAfter];
    spots(calm, &[Fault::CrashBefore, Fault::CrashAfter], &troubles)
}

fn spots(calm: &Calm, faults: &[Fault], troubles: &[ChainTrouble]) -> Vec<Spot> {
    let writes = (0..calm.writes).flat_map(|n| faults.iter().map(move |f| Spot::Write(n, *f)));
    let mut all: Vec<Spot> = writes.collect();
    for (chain, (_, calls)) in calm.chains.iter().enumerate() {
        for (n, _) in (0..).zip(calls) {
            all.extend(troubles.iter().map(|trouble| Spot::Call(chain, n, *trouble)));
        }
    }
    for (n, _) in (0..).zip(&calm.learns) {
        all.extend(troubles.iter().map(|trouble| Spot::Learn(n, *trouble)));
    }
    all
}

/// Every call that may come twice: where the node signs, each call that sends is an effect of its own.
fn twice(calm: &Calm) -> Vec<Spot> {
    let mut all = Vec::new();
    for (chain, (locking, calls)) in calm.chains.iter().enumerate() {
        for (n, ChainCall { moment, .. }) in (0..).zip(calls) {
            let sends = *moment == Moment::Broadcast && *locking != Locking::Reference;
            if sends || *moment == Moment::Sign {
                all.push(Spot::Call(chain, n, ChainTrouble::Twice));
            }
        }
    }
    all
}

fn runs<C>(trial: &ChainTrial<C>) -> impl Iterator<Item = (&C, bool, u64)> {
    trial.cases.iter().flat_map(move |case| {
        let fuses = trial.fuse.iter();
        fuses.flat_map(move |fuse| trial.seeds.clone().map(move |seed| (case, *fuse, seed)))
    })
}

fn each<C: ChainCase>(trial: &ChainTrial<C>, disturb: impl Fn(&Calm) -> Vec<Vec<Spot>>) {
    for (case, fuse, seed) in runs(trial) {
        let calm = play(trial, case, (fuse, seed), &[]);
        for spots in disturb(&calm) {
            play(trial, case, (fuse, seed), &spots);
        }
    }
}

/// The longest wait, in seconds, for the end of a stop that a wallet's transaction made.
const STOPS: u32 = 600;

/// Minimum number of deaths in a row with which a transfer that was tried alone has a case.
const POISONOUS: usize = 3;

/// A case being played; its words begin every complaint, and repeat the run.
struct Run<'a, C: ChainCase> {
    service: SimService,
    ports: ChainPorts<C::Chain>,
    place: Place,
    case: &'a C,
    line: String,
    /// Attempts may take long, and an operator is told so.
    slow: bool,
    /// A process lacks a key that another one has, and an operator is told so.
    apart: bool,
    /// The journal is set back, and persons look at what was paid since its backup.
    set_back: bool,
    /// How many processes died.
    deaths: usize,
    watch: CaseWatch,
    harm: Harm,
}

/// Plays a case with these disturbances and holds its end against the oracles.
fn play<C: ChainCase>(
    trial: &ChainTrial<C>,
    case: &C,
    (fuse, seed): (bool, u64),
    spots: &[Spot],
) -> Calm {
    let locking = trial.rules.locking;
    let (flow, words) = (case.flow(), case.words());
    let line = format!("{flow}, {words}, {locking:?} fuse={fuse} seed={seed} {spots:?}");
    let (sim, flows) = (Sim::new(seed), Arc::new(flows::registry()));
    sim.bound(20_000_000);
    let place = Place::new(flows.clone());
    let site = (trial.site)(&sim, &place);
    let env = CaseEnv { sim, flows, site, seed };
    let (mut service, ports) = case.service(trial.rules, env);
    service.settings.fuse = fuse;
    service.wraps = trial.wraps.clone();
    let slow = trial.rules.is_rough() || trial.rules.holds_from > 0;
    let harm = match spots {
        [] if !slow => Harm::Step,
        [spot] if !slow => spot.harm(),
        _ => Harm::More,
    };
    let deaths = spots.iter().filter(|spot| spot.harm() == Harm::Death).count();
    let watch = CaseWatch::over(&place, flow);
    let mut run = Run {
        service,
        ports,
        place,
        case,
        line,
        slow,
        apart: false,
        set_back: false,
        deaths,
        watch,
        harm,
    };
    let process = run.service.start_alive(&run.line, |base| run.ports.next_process(base));
    let linked = run.ports.linked();
    let (writes, calls) = (run.place.faults.writes(), begun(&linked));
    let learns = run.ports.learned.calls().len();
    run.place.event_log.begin();
    for spot in spots {
        match *spot {
            Spot::Write(n, fault) => run.place.faults.plan(writes + n, fault),
            Spot::Call(chain, n, trouble) => {
                let at = linked.iter().zip(&calls).nth(chain);
                at.into_iter().for_each(|(at, before)| at.link.plan(before + n, trouble));
            }
            Spot::Learn(n, trouble) => {
                let before = u64::try_from(learns).unwrap_or(u64::MAX);
                run.ports.learned.plan(before + n, trouble);
            }
        }
    }
    let began = run.service.sim.time();
    let (process, ended) = run.perform(process);
    let since = |(at, before): (&LinkedChain<C::Chain>, &u64)| {
        let calls = at.link.log_of_calls().split_off(usize::try_from(*before).unwrap_or(0));
        (at.chain.rules().locking, calls)
    };
    let calm = Calm {
        writes: run.place.faults.writes() - writes,
        chains: linked.iter().zip(&calls).map(since).collect(),
        learns: run.ports.learned.calls().split_off(learns),
        log: counted(run.place.event_log.read(), writes),
        took: run.watch.ended().unwrap_or(began).saturating_sub(began),
        ends: ends(&linked, &ended),
    };
    run.judge(&process, &ended);
    calm
}

/// The writes of the case, with numbers counted from where it began.
fn counted(log: Vec<LoggedEvent>, before: u64) -> Vec<LoggedEvent> {
    let since = |event| match event {
        LoggedEvent::Write { n, subject, edges } => {
            LoggedEvent::Write { n: n - before, subject, edges }
        }
        event @ (LoggedEvent::Call { .. } | LoggedEvent::Bus { .. }) => event,
    };
    log.into_iter().map(since).collect()
}

/// How many calls of each chain were begun.
fn begun<C>(linked: &[LinkedChain<C>]) -> Vec<u64> {
    linked.iter().map(|at| at.link.calls()).collect()
}

impl<C: ChainCase> Run<'_, C> {
    /// Clients insist until every transfer ended, over as many processes as it takes.
    fn perform(&mut self, process: SimProcess) -> (SimProcess, Vec<Record>) {
        let Self { service, ports, case, line, watch, .. } = self;
        let sim = service.sim.clone();
        let insist = |process: &SimProcess| {
            let insists = case.insists(ChainClient::at(&sim, process, ports));
            let insists = watch.watched(insists, sim.clone());
            ended_and_final(insists, sim.clone(), process.opened.journal.clone())
        };
        match service.outlive(line, process, |base| ports.next_process(base), insist) {
            Ok((process, Ok(ended))) => (process, ended),
            Ok((_, Err(why))) => panic!("{}: {why}; {:?}", self.line, self.place.cases()),
            Err(stop) => panic!("{}: {stop:?}", self.line),
        }
    }

    fn judge(&self, process: &SimProcess, ended: &[Record]) {
        let chains: Vec<C::Chain> =
            self.ports.linked().into_iter().map(|linked| linked.chain).collect();
        let mut faults = self.case.faults(&chains, ended, self.harm);
        // each is closed by the fact that ends it
        let wallets = chains.iter().any(|chain| chain.rules().strangers > 0);
        let refuses = chains.iter().any(|chain| chain.rules().refuses_from > 0);
        let misleads = chains.iter().any(|chain| chain.rules().misleads > 0);
        let hides = chains.iter().any(|chain| chain.rules().hides_from > 0);
        let expected: BTreeSet<&str> = [
            (self.slow, "ATTEMPT_SLOW"),
            (wallets || self.set_back, "LANE_AHEAD"),
            (self.set_back, "FOREIGN_PAYMENT"),
            (wallets && hides, "LOCK_SPENT"),
            // each question is asked again until two answers are alike
            (misleads, "PROVIDERS_DISAGREE"),
            (self.slow, "STUCK"),
            (self.slow || self.case.may_be_refused(), "CHAIN_BACKLOG"),
            (refuses, "TOKEN_REFUSES"),
            (self.apart, "KEY_MISSING"),
            (self.deaths >= POISONOUS, "POISON"),
        ]
        .into_iter()
        .filter_map(|(may_be, kind)| may_be.then_some(kind))
        .collect();
        faults.extend(self.left(process, chains, ended.to_vec()));
        faults.extend(self.watch.silent());
        let cases = self.place.cases().into_iter().filter(|case| !expected.contains(case));
        faults.extend(cases.map(|case| format!("a case: {case}")));
        assert!(faults.is_empty(), "{}: {faults:#?}", self.line);
    }

    /// What is wrong with what was left of these transfers.
    fn left(&self, process: &SimProcess, chains: Vec<C::Chain>, ended: Vec<Record>) -> Vec<String> {
        let service = &self.service;
        let (journal, flows) = (process.opened.journal.clone(), service.flows.clone());
        let learned = self.ports.learned.clone();
        let read = service.sim.block_on(async move {
            chain_faults(&*journal, &flows, &chains, &learned, &ended).await
        });
        read.unwrap_or_else(|stop| vec![format!("it stopped: {stop:?}")])
    }
}

/// The longest time after which providers that mislead now and then have agreed once, in seconds.
const AGREED: u32 = 600;

/// How transfers ended, once the blocks that they are in are final, what a wallet's last transactions stopped goes on,
/// and the providers agree.
async fn ended_and_final(
    insists: Fut<'static, Result<Vec<Record>, String>>,
    clock: Sim,
    journal: Arc<dyn Journal>,
) -> Result<Vec<Record>, String> {
    let ended = insists.await;
    clock.sleep(60_000).await;
    for _ in 0..STOPS {
        match journal.service_status().await {
            Ok(status) if !status.paused.is_empty() => clock.sleep(1_000).await,
            Ok(_) | Err(_) => break,
        }
    }
    let disagree = |case: &OpenCase| &*case.kind == "PROVIDERS_DISAGREE";
    for _ in 0..AGREED {
        match journal.open_cases().await {
            Ok(open) if open.iter().any(disagree) => clock.sleep(1_000).await,
            Ok(_) | Err(_) => break,
        }
    }
    ended
}

/// Every output, in the order of the futures.
pub(super) async fn join<F: Future<Output: Unpin> + Unpin>(mut futures: Vec<F>) -> Vec<F::Output> {
    let mut outputs: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    poll_fn(|cx| {
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none()
                && let Poll::Ready(ready) = Pin::new(future).poll(cx)
            {
                *output = Some(ready);
            }
        }
        if outputs.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs.into_iter().flatten().collect()
}
